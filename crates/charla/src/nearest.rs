//! "Did you mean": the known name closest to a mistyped one.

/// The candidate closest to `typed`, when it is close enough to be what was meant.
///
/// Up to a third of the letters may be wrong; a swap of neighbours counts once. A candidate that begins
/// with what was typed (or the other way round) is taken before a merely similar one.
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = fold(typed);
    let allowed = (typed.len() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = fold(candidate);
            let distance = distance(&typed, &folded);
            let extends = typed.len() >= 3 && (folded.starts_with(&typed) || typed.starts_with(&folded));
            (distance <= allowed || extends).then_some((!extends, distance, candidate))
        })
        .min_by_key(|&(similar_only, distance, _)| (similar_only, distance))
        .map(|(_, _, candidate)| candidate)
}

/// Letters compared without case, hyphens and underscores, so `base_url` finds `baseUrl`.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let width = to.len() + 1;
    let mut before_last: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (row, &a) in from.iter().enumerate() {
        let mut current = vec![row + 1; width];
        for (column, &b) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && a == to[column - 1] && from[row - 1] == b;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current[column + 1] = best;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[width - 1]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typo_finds_the_name_that_was_meant() {
        let keys = ["name", "fallback", "temperature", "maxOutputTokens", "baseUrl"];
        assert_eq!(nearest("nmae", keys), Some("name"));
        assert_eq!(nearest("temprature", keys), Some("temperature"));
        assert_eq!(nearest("base_url", keys), Some("baseUrl"));
        assert_eq!(nearest("fallbacks", keys), Some("fallback"));
        assert_eq!(nearest("max", keys), Some("maxOutputTokens"));
    }

    #[test]
    fn nothing_is_suggested_for_a_word_that_resembles_nothing() {
        assert_eq!(nearest("colour", ["name", "fallback"]), None);
        assert_eq!(nearest("", ["name"]), None);
    }
}
