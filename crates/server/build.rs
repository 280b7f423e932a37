//! Packs the web page, which is part of the program.

use std::path::PathBuf;
use std::{env, fs, io};

use miniz_oxide::deflate::compress_to_vec;

const LEVEL: u8 = 10;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=page");
    let entries: Vec<fs::DirEntry> = fs::read_dir("page")?.collect::<io::Result<_>>()?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    let mut whole = String::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Neither names nor texts hold the character that parts them.
        whole += &format!("{name}\0{}\0", fs::read_to_string(&path)?);
    }
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(folder.join("page.packed"), compress_to_vec(whole.as_bytes(), LEVEL))
}
