//! Recorded traffic of real model APIs, run through the codecs.
//!
//! Every case's response bytes, cut at many places, must decode to what the case expects; every recorded
//! request, read into our types and encoded again, must mean the same. With `WIRE_CORPUS=DIR` another
//! folder of the same layout is used. Prints the failing case ids and one line `N passed, M failed`.

#![expect(clippy::print_stdout, reason = "the report is this test's output")]

mod case;
mod meaning;
mod requests;
mod response;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use case::Case;

/// Cases that cannot apply, each with its reason.
const NOT_APPLICABLE: &[(&str, &str)] = &[];

fn main() -> ExitCode {
    // What `cargo nextest` asks of a test binary with a harness of its own.
    if std::env::args().any(|arg| arg == "--list") {
        if !std::env::args().any(|arg| arg == "--ignored") {
            println!("wire_corpus: test");
        }
        return ExitCode::SUCCESS;
    }
    let root = std::env::var_os("WIRE_CORPUS").map_or_else(own_corpus, PathBuf::from);
    // `WIRE_CASE=text` runs only the cases whose path holds the text, for work on one codec.
    let only = std::env::var("WIRE_CASE").unwrap_or_default();
    let cases = match Case::load_all(&root) {
        Ok(cases) => cases,
        Err(error) => {
            println!("cannot read the corpus at {}: {error}", root.display());
            return ExitCode::FAILURE;
        }
    };
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for case in cases.iter().filter(|case| case.name().contains(&only)) {
        if let Some((id, reason)) = NOT_APPLICABLE.iter().find(|(id, _)| *id == case.id) {
            println!("not applicable: {id}: {reason}");
            skipped += 1;
            continue;
        }
        match check(case) {
            Ok(()) => passed += 1,
            Err(problem) => {
                println!("FAILED {}: {problem}", case.name());
                failed += 1;
            }
        }
    }
    println!("{} cases in {}, {skipped} not applicable", cases.len(), root.display());
    println!("{passed} passed, {failed} failed");
    if failed > 0 || passed == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn own_corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn check(case: &Case) -> Result<(), String> {
    response::check(case).map_err(|problem| format!("response: {problem}"))?;
    requests::check(case).map_err(|problem| format!("request: {problem}"))
}
