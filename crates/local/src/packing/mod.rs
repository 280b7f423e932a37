//! The adapter's way into the program: packed when it is built, unpacked where the adapter is written.
//!
//! Weights have no words that come again, so what packs text well leaves a sixth of them too much. What they have is bytes
//! that come more often than others, the more so where the byte before is known; each bit is coded by how often it came.

mod coder;
#[cfg(test)]
mod pack;

use coder::{Model, Range};

#[cfg(test)]
pub(crate) use pack::pack;

/// The `size` bytes that were packed. Bytes that are missing count as zeros: what comes out is checked anyway.
pub(crate) fn unpack(packed: &[u8], size: usize) -> Vec<u8> {
    let mut rest = packed.iter().copied();
    let mut next = || u32::from(rest.next().unwrap_or_default());
    let mut code = (0..4).fold(0, |code, _| code << 8 | next());
    let (mut model, mut range) = (Model::new(), Range::new());
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        bytes.push(model.byte(|odds| {
            let bit = code > range.middle(odds);
            range.narrow(odds, bit);
            while range.settled().is_some() {
                code = code << 8 | next();
            }
            bit
        }));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let weights: Vec<u8> = (0..40_000_u32).flat_map(|i| [(i * i % 7) as u8, (i % 3) as u8]).collect();
        for bytes in [&[][..], b"a", b"GGUF", &[0; 5000], &[255; 5001], &weights] {
            let packed = pack(bytes);
            assert_eq!(unpack(&packed, bytes.len()), bytes);
        }
        assert!(pack(&weights).len() * 3 < weights.len());
    }

    #[test]
    fn what_was_cut_or_changed_comes_to_an_end() {
        let packed = pack(&[7; 100]);
        assert_eq!(unpack(&packed[..3], 100).len(), 100);
        assert_eq!(unpack(&[], 100).len(), 100);
    }
}
