//! Packs bytes; for the build, and for tests.

use super::coder::{Model, Range};

/// Packs these bytes.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let (mut model, mut range) = (Model::new(), Range::new());
    let mut packed = Vec::new();
    for byte in bytes {
        let mut left = *byte;
        model.byte(|odds| {
            let bit = left & 0x80 != 0;
            left <<= 1;
            range.narrow(odds, bit);
            while let Some(settled) = range.settled() {
                packed.push(settled);
            }
            bit
        });
    }
    // Whatever number is left stands for all the bits.
    packed.extend(range.high.to_be_bytes());
    packed
}
