//! Says how the program is linked, so that it starts with less work and less memory.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Folds functions that are the same, where the linker can.
const FOLD: &str = "-Wl,--icf=all";
/// The first C library that understands packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if runs_with_the_c_library_here() && c_library().is_some_and(|version| version >= PACKED_SINCE) {
        // The program is loaded anywhere, so tens of thousands of addresses are put in at every start. Packed they
        // are a bitmap of a few kilobytes instead of a megabyte that has to be read.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") && linker_takes(FOLD) {
        // The same code made for several types is kept once.
        println!("cargo:rustc-link-arg-bins={FOLD}");
    }
}

/// Whether the linker of this build knows an option: a program of one line is linked with it.
fn linker_takes(option: &str) -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    let folder = PathBuf::from(variable("OUT_DIR"));
    let source = folder.join("nothing.rs");
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg(&source).arg("--out-dir").arg(&folder).args(["--target", &variable("TARGET")]);
    rustc.arg(format!("-Clink-arg={option}"));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    rustc.output().is_ok_and(|done| done.status.success())
}

/// Whether what is built is for systems like this one: a program needs no older C library than the one it was linked
/// with.
fn runs_with_the_c_library_here() -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("HOST") == variable("TARGET")
}

/// The version of the C library here, where it is GNU's.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
