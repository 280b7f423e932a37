//! Packs the adapter, which is part of the program.

use std::path::PathBuf;
use std::{env, fs, io};

#[path = "src/packing/coder.rs"]
mod coder;
#[path = "src/packing/pack.rs"]
mod pack;

const ADAPTER: &str = "../../model/adapter.gguf";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/packing");
    println!("cargo:rerun-if-changed={ADAPTER}");
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(folder.join("adapter.packed"), pack::pack(&fs::read(ADAPTER)?))
}
