//! What packing and unpacking have in common: how likely a bit is, and the range that a row of bits leaves.

/// The likelihood of a zero is so many bits wide.
const BITS: u32 = 16;
/// A likelihood is never nearer than this to certainty.
const LEAST: i32 = 32;
/// Likelihoods follow about so many of the last bits.
const MEMORY: i32 = 64;
/// The likelihoods of one byte's bits, by the bits before them.
const NODES: usize = 256;

/// How often a bit was zero at one place.
#[derive(Clone, Copy)]
struct Odds {
    of_zero: i32,
    seen: i32,
}

impl Odds {
    const EVEN: Self = Self { of_zero: 1 << (BITS - 1), seen: 0 };

    fn saw(&mut self, bit: bool) {
        self.seen = (self.seen + 1).min(MEMORY - 1);
        let towards = if bit { 0 } else { (1 << BITS) - 1 };
        let moved = self.of_zero + (towards - self.of_zero) / (self.seen + 1);
        self.of_zero = moved.clamp(LEAST, (1 << BITS) - LEAST);
    }
}

/// How likely each bit is, by the bits of its byte before it. Weights are often two bytes wide, so the second byte of two
/// goes by the first one, too.
pub(crate) struct Model {
    /// For the second byte, by the first; then for the first byte.
    odds: Vec<[Odds; NODES]>,
    /// The first byte of two, when the second is next.
    first: Option<u8>,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self { odds: vec![[Odds::EVEN; NODES]; NODES + 1], first: None }
    }

    /// The next byte: `bit` is told how likely a zero is, and tells the bit.
    pub(crate) fn byte(&mut self, mut bit: impl FnMut(u32) -> bool) -> u8 {
        let odds = &mut self.odds[self.first.map_or(NODES, usize::from)];
        let mut node = 1;
        while node < NODES {
            let bit = bit(odds[node].of_zero.unsigned_abs());
            odds[node].saw(bit);
            node = node << 1 | usize::from(bit);
        }
        let byte = (node - NODES) as u8;
        self.first = if self.first.is_none() { Some(byte) } else { None };
        byte
    }
}

/// The numbers that stand for the bits so far.
pub(crate) struct Range {
    low: u32,
    pub(crate) high: u32,
}

impl Range {
    pub(crate) fn new() -> Self {
        Self { low: 0, high: u32::MAX }
    }

    /// The last number that stands for a zero.
    pub(crate) fn middle(&self, odds: u32) -> u32 {
        let part = (u64::from(self.high - self.low) * u64::from(odds)) >> BITS;
        self.low + part as u32
    }

    /// Goes on with a bit.
    pub(crate) fn narrow(&mut self, odds: u32, bit: bool) {
        let middle = self.middle(odds);
        if bit {
            self.low = middle + 1;
        } else {
            self.high = middle;
        }
    }

    /// The first byte of all numbers that are left, once it is the same; the numbers go on without it.
    pub(crate) fn settled(&mut self) -> Option<u8> {
        if (self.low ^ self.high) >> 24 != 0 {
            return None;
        }
        let byte = (self.high >> 24) as u8;
        self.low <<= 8;
        self.high = self.high << 8 | 0xff;
        Some(byte)
    }
}
