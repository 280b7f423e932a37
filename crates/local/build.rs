//! Packs the adapter, which is part of the program.

use std::fs::File;
use std::path::PathBuf;
use std::{env, io};

use flate2::Compression;
use flate2::write::GzEncoder;

const ADAPTER: &str = "../../model/adapter.gguf";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ADAPTER}");
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let packed = File::create(folder.join("adapter.gguf.gz"))?;
    let mut packed = GzEncoder::new(packed, Compression::best());
    io::copy(&mut File::open(ADAPTER)?, &mut packed)?;
    packed.finish().map(drop)
}
