//! The binary `charla`. Everything is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = charla_cli::run(std::env::args_os());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
