//! Near misses: text that differs from what is there by a few characters.

use std::ops::Range;

use super::lines::{Lines, plain};

/// A near miss may differ in one character of ten.
const TOLERANCE: f64 = 0.10;
/// Shorter texts are too easily near to something else.
const LEAST: usize = 12;
/// Another place this much worse than the best is no rival.
const MARGIN: f64 = 0.15;
/// How much comparing may cost, in character pairs.
const WORK: usize = 40_000_000;

struct Near {
    first: usize,
    distance: f64,
}

/// The one run of lines that is nearly `wanted`; `None` when there is none or more than one.
pub(super) fn only_near_miss(lines: &Lines, wanted: &[&str], with_end: bool) -> Option<Range<usize>> {
    let text = wanted.iter().map(|line| plain(line)).collect::<Vec<_>>().join("\n");
    if text.chars().count() < LEAST {
        return None;
    }
    let ranked = rank(lines, wanted)?;
    let best = ranked.first().filter(|near| near.distance <= TOLERANCE)?;
    let rival = ranked.iter().skip(1).find(|near| near.first.abs_diff(best.first) >= 1);
    if rival.is_some_and(|rival| rival.distance < best.distance + MARGIN) {
        return None;
    }
    Some(lines.range(best.first, wanted.len(), with_end))
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
