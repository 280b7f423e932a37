//! Says how the program is linked, so that it starts with less work and less memory.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first C library that understands packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);
/// The functions that a start calls; `bench/order.py` makes the list.
const START: &str = "start.txt";
/// Set to anything, it keeps the names of functions in a released program, for `bench/order.py`.
const KEPT: &str = "CHARLA_KEEP_SYMBOLS";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={START}");
    if runs_with_the_c_library_here() && c_library().is_some_and(|version| version >= PACKED_SINCE) {
        // The program is loaded anywhere, so tens of thousands of addresses are put in at every start. Packed they
        // are a bitmap of a few kilobytes instead of a megabyte that has to be read.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo:rerun-if-env-changed={KEPT}");
    if variable("PROFILE") == "release"
        && variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable(KEPT).is_empty()
    {
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
    if variable("PROFILE") == "release" {
        // A start calls a small part of the program. Where that lies scattered, nearly all of the program becomes
        // resident with it.
        let arguments = ordering(&fs::read_to_string(START)?, &PathBuf::from(variable("OUT_DIR")))?;
        if links_with(&arguments) {
            arguments.iter().for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
        }
    }
    Ok(())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// What makes the linker put these functions side by side, before all others. The hash in a name changes with the libraries'
/// versions: then the functions of that name still come first, in no order among them. What is not there is passed over.
fn ordering(list: &str, folder: &Path) -> io::Result<[String; 4]> {
    let names: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    let patterns: String = names.iter().map(|name| format!("      .text.{}\n", lasting(name))).collect();
    let (order, script) = (folder.join("start.order"), folder.join("start.ld"));
    fs::write(&order, names.join("\n"))?;
    fs::write(
        &script,
        format!("SECTIONS {{\n  .text.start : {{\n    *(\n{patterns}    )\n  }}\n}}\nINSERT BEFORE .text;\n"),
    )?;
    Ok([
        format!("-Wl,-T,{}", script.display()),
        format!("-Wl,--symbol-ordering-file={}", order.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
        // Functions with the same code are one: nobody here compares their addresses.
        "-Wl,--icf=all".to_owned(),
    ])
}

/// A function's name without its hash, as a pattern.
fn lasting(name: &str) -> String {
    const HASH: &str = "17h";
    match name.rsplit_once(HASH) {
        Some((before, _)) if name.starts_with("_ZN") => format!("{before}{HASH}*"),
        _ => name.to_owned(),
    }
}

/// Whether the linker that is used here takes these arguments. Only the one that comes with the compiler does.
fn links_with(arguments: &[String]) -> bool {
    let folder = PathBuf::from(variable("OUT_DIR"));
    let source = folder.join("linked.rs");
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--target", &variable("TARGET"), "--out-dir"]).arg(&folder).arg(&source);
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    rustc.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    let told = fs::write(&source, "fn main() {}").and_then(|()| rustc.output());
    told.is_ok_and(|told| told.status.success())
}

/// Whether what is built is for systems like this one: a program needs no older C library than the one it was linked
/// with.
fn runs_with_the_c_library_here() -> bool {
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
