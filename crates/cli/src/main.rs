//! The binary `charla`. Everything is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Its variables hold keys, and the commands it starts must not read them.
    charla::hide_process();
    let code = charla_cli::run(std::env::args_os());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
