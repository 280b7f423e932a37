//! Says how the program is linked, so that it starts with less work and less memory.

use std::env;
use std::process::Command;

/// The first C library that understands packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if runs_with_the_c_library_here() && c_library().is_some_and(|version| version >= PACKED_SINCE) {
        // The program is loaded anywhere, so tens of thousands of addresses are put in at every start. Packed they
        // are a bitmap of a few kilobytes instead of a megabyte that has to be read.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
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
