//! Names close to a name: "did you mean".

/// Longer names are not compared: nobody mistypes them, and comparing costs.
const LONGEST: usize = 64;

/// The name nearest to `wanted`, if one is near enough to be what was meant.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(wanted);
    if wanted.is_empty() || wanted.len() > LONGEST {
        return None;
    }
    let most = (wanted.len() / 3).clamp(1, 4);
    names
        .filter(|name| name.len() <= LONGEST)
        .map(|name| {
            let name_plain = plain(name);
            let far = distance(&wanted, &name_plain);
            // `shell` for `run_shell_command`: too far letter by letter, yet plainly meant.
            let contained = wanted.len() >= 4 && contains(&name_plain, &wanted);
            (if contained { far.min(most) } else { far }, name)
        })
        .filter(|(far, _)| *far <= most)
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| name)
}

/// Letters and digits in lower case: `readFile`, `read-file` and `read_file` are one name.
fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(LONGEST + 1).collect()
}

fn contains(name: &[char], part: &[char]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

/// How many letters must be changed, added, removed or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found_and_what_was_not_is_not() {
        let names = ["read_file", "write_file", "run_shell_command", "glob", "grep_search"];
        let near = |wanted| nearest(wanted, names.into_iter());
        assert_eq!(near("readFile"), Some("read_file"));
        assert_eq!(near("raed_file"), Some("read_file"));
        assert_eq!(near("shell"), Some("run_shell_command"));
        assert_eq!(near("grep"), Some("grep_search"));
        assert_eq!(near("golb"), Some("glob"));
        assert_eq!(near("deploy"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"x".repeat(1 << 20)), None);
    }
}
