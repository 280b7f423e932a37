//! What one list of lines or words has that another has not.
//!
//! Every diff of the program is made here, over numbers that stand for the texts: the algorithm is compiled once,
//! for one type.

use std::collections::HashMap;
use std::time::Instant;

use similar::algorithms::{Capture, Compact, Replace, myers};

pub use similar::DiffOp;

/// How `old` becomes `new`, in order. After `deadline` a larger diff than the smallest does.
pub fn differences(old: &[&str], new: &[&str], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut known = HashMap::new();
    let old = numbers(old, &mut known);
    let new = numbers(new, &mut known);
    let mut found = Compact::new(Replace::new(Capture::new()), old.as_slice(), new.as_slice());
    let (all_old, all_new) = (0..old.len(), 0..new.len());
    match myers::diff_deadline(&mut found, old.as_slice(), all_old, new.as_slice(), all_new, deadline) {
        Ok(()) => found.into_inner().into_inner().into_ops(),
        Err(never) => match never {},
    }
}

/// The same number for the same text.
fn numbers<'a>(texts: &[&'a str], known: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let number = |text: &&'a str| {
        let next = known.len() as u32;
        *known.entry(text).or_insert(next)
    };
    texts.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::{Algorithm, capture_diff_slices};

    use super::*;

    proptest! {
        #[test]
        fn numbers_differ_as_their_texts_do(
            old in prop::collection::vec("[a-d]", 0..40),
            new in prop::collection::vec("[a-d]", 0..40),
        ) {
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let expected = capture_diff_slices(Algorithm::Myers, &old, &new);
            prop_assert_eq!(differences(&old, &new, None), expected);
        }
    }
}
