//! Packs the adapter, which is part of the program.

use std::path::PathBuf;
use std::{env, fs, io};

#[path = "src/packing.rs"]
mod packing;

const ADAPTER: &str = "../../model/adapter.gguf";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src/packing.rs");
    println!("cargo:rerun-if-changed={ADAPTER}");
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(folder.join("adapter.packed"), packing::pack(&fs::read(ADAPTER)?))
}
