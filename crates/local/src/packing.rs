//! The adapter's way into the program: packed when it is built, unpacked where the adapter is written.
//!
//! Most of its numbers are of two bytes and lie on a grid of a few dozen. Such words are numbered, so that each has one byte, and
//! deflate leaves little more than what they tell.
#![allow(dead_code, reason = "the build packs, and the program unpacks")]

use std::io;

use miniz_oxide::deflate::core::{self as deflate, CompressionStrategy, CompressorOxide, TDEFLFlush};
use miniz_oxide::inflate::decompress_to_vec;

/// Words that a byte can number.
const WORDS: usize = 256;

/// The words at the end of these bytes as numbers, behind the words by number and the bytes before; all of it deflated.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let (mut words, mut numbers, mut known) = (Vec::new(), Vec::new(), vec![None; 1 << 16]);
    for word in bytes.rchunks_exact(2) {
        let known = &mut known[usize::from(word[0]) << 8 | usize::from(word[1])];
        if known.is_none() && words.len() == WORDS {
            break;
        }
        let number = *known.get_or_insert(words.len() as u8);
        if usize::from(number) == words.len() {
            words.push(word);
        }
        numbers.push(number);
    }
    words.resize(WORDS, &[0, 0]);
    numbers.reverse();
    let before = bytes.len() - 2 * numbers.len();
    let whole = [words.concat().as_slice(), &bytes[..before], &numbers].concat();
    // Weights have no words that come again, so none are looked for.
    let strategy = CompressionStrategy::HuffmanOnly as i32;
    let mut encoder = CompressorOxide::new(deflate::create_comp_flags_from_zip_params(9, -15, strategy));
    let mut packed = Vec::new();
    deflate::compress_to_output(&mut encoder, &whole, TDEFLFlush::Finish, |more| {
        packed.extend_from_slice(more);
        true
    });
    packed
}

/// The `size` bytes that were packed, or an error. What comes out is checked by whoever asks.
pub(crate) fn unpack(packed: &[u8], size: u64) -> io::Result<Vec<u8>> {
    let whole = decompress_to_vec(packed).map_err(|error| io::Error::other(error.to_string()))?;
    let (words, rest) = whole.split_at_checked(2 * WORDS).ok_or(io::ErrorKind::UnexpectedEof)?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let before = (2 * rest.len()).saturating_sub(size).min(rest.len());
    let (before, numbers) = rest.split_at(before);
    let word = |number: &u8| [words[2 * usize::from(*number)], words[2 * usize::from(*number) + 1]];
    Ok(before.iter().copied().chain(numbers.iter().flat_map(word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let weights: Vec<u8> = (0..40_000_u32).flat_map(|i| [(i * i % 7) as u8, (i % 3) as u8]).collect();
        let many: Vec<u8> = (0..2000_u16).flat_map(u16::to_le_bytes).collect();
        let both = [many.as_slice(), b"x", &weights].concat();
        for bytes in [&[][..], b"a", b"GGUF", &[0; 5000], &[255; 5001], &many, &weights, &both] {
            assert_eq!(unpack(&pack(bytes), bytes.len() as u64).unwrap(), bytes);
        }
        assert!(pack(&weights).len() * 3 < weights.len());
    }

    #[test]
    fn what_was_cut_or_changed_comes_to_an_end() {
        let packed = pack(&[7; 100]);
        assert!(unpack(&packed[..3], 100).is_err());
        assert!(unpack(&[], 100).is_err());
        assert_eq!(unpack(&packed, 10_000).unwrap().len(), 100);
    }
}
