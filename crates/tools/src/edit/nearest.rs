//! Near misses: text that differs from what is there by a few misspelt words.
//!
//! Only misspellings count as near. Another number, operator, name or word is not a slip but another text,
//! however few letters it takes: `max` is two letters from `min`.

use std::ops::Range;

use super::lines::{Lines, plain};
use super::tokens;

/// How much comparing may cost, in character pairs.
const WORK: usize = 40_000_000;

struct Near {
    first: usize,
    distance: f64,
}

/// The one run of lines that is `wanted` but for misspelt words; `None` when there is none or more than one.
pub(super) fn only_misspelt(lines: &Lines, wanted: &[&str], with_end: bool) -> Option<Range<usize>> {
    let count = wanted.len();
    let wanted: Vec<Vec<String>> = wanted.iter().map(|line| tokens::split(line)).collect();
    let there: Vec<Vec<String>> = (0..lines.count()).map(|index| tokens::split(lines.line(index))).collect();
    let misspelt = |run: &[Vec<String>]| run.iter().zip(&wanted).all(|(a, b)| tokens::are_misspelt(a, b));
    let mut runs = there.windows(count).enumerate().filter(|(_, run)| misspelt(run)).map(|(first, _)| first);
    let only = runs.next()?;
    runs.next().is_none().then(|| lines.range(only, count, with_end))
}

/// Tells the model what is nearest to what it looked for.
pub(super) fn in_words(lines: &Lines, wanted: &[&str]) -> String {
    let Some(best) = rank(lines, wanted).and_then(|ranked| ranked.into_iter().next()) else {
        return String::new();
    };
    if best.distance > 0.6 {
        return String::new();
    }
    let shown = wanted.len().clamp(1, 6);
    let excerpt: Vec<String> = (best.first..best.first + shown)
        .map(|index| lines.line(index).chars().take(200).collect::<String>())
        .collect();
    format!(" The nearest text is at line {}:\n{}\n", best.first + 1, excerpt.join("\n"))
}

/// Runs of lines by how far they are from `wanted`, nearest first; `None` when it would cost too much.
fn rank(lines: &Lines, wanted: &[&str]) -> Option<Vec<Near>> {
    let wanted: Vec<Vec<char>> = wanted.iter().map(|line| plain(line).chars().collect()).collect();
    let there: Vec<Vec<char>> =
        (0..lines.count()).map(|index| plain(lines.line(index)).chars().collect()).collect();
    let size = |lines: &[Vec<char>]| lines.iter().map(Vec::len).sum::<usize>();
    let total = size(&wanted).max(1);
    if size(&there).saturating_mul(total) > WORK || wanted.len() > there.len() {
        return None;
    }
    let runs = there.windows(wanted.len()).enumerate();
    let mut ranked: Vec<Near> = runs
        .map(|(first, run)| {
            let differing: usize = run.iter().zip(&wanted).map(|(line, wanted)| distance(line, wanted)).sum();
            Near { first, distance: differing as f64 / total.max(size(run)) as f64 }
        })
        .collect();
    ranked.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    Some(ranked)
}

/// How many characters must be changed, added or removed to make one from the other.
fn distance(a: &[char], b: &[char]) -> usize {
    if a == b {
        return 0;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
