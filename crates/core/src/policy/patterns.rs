//! The patterns of paths, in one spelling however a rule spells them.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The patterns of a rule without `.`, double slashes and a slash at the end. A restriction (`strict`) that names a folder holds
/// for all below it, and one that could never match is a mistake: it would leave open what it is there to close.
pub(super) fn normal(written: &[String], strict: bool) -> Result<Vec<String>, String> {
    let mut patterns = Vec::new();
    for pattern in written {
        let root = if pattern.starts_with('/') { "/" } else { "" };
        let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let path = format!("{root}{}", parts.join("/"));
        if !strict {
            patterns.push(path);
            continue;
        }
        if let Some(mistake) = mistake(pattern) {
            return Err(format!("path `{pattern}`: {mistake}"));
        }
        let is_folder = pattern.ends_with('/') || !parts.last().is_some_and(|last| is_wild(last));
        let below = is_folder.then(|| format!("{}/**", path.trim_end_matches('/')));
        patterns.push(path);
        patterns.extend(below);
    }
    Ok(patterns)
}

/// Why no path is ever named by a pattern, and what to write instead.
fn mistake(pattern: &str) -> Option<&'static str> {
    let mut after_dollar = pattern.split('$').skip(1).filter_map(|rest| rest.chars().next());
    if pattern.split('/').all(|part| matches!(part, "" | ".")) && !pattern.starts_with('/') {
        return Some("it names no file; write `**` for all of them, or the whole path of a folder");
    }
    if pattern.split(['/', '{', ',', '}']).any(|part| part == "..") {
        return Some("`..` is not followed here; write where it leads, from the workspace, `~/` or `/`");
    }
    if after_dollar.any(|next| next.is_alphabetic() || matches!(next, '_' | '{')) {
        return Some(
            "variables are not filled in; write the path from the workspace, `~/` or `/` (`[$]` for the character)",
        );
    }
    if pattern.strip_prefix('~').is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
        return Some("only `~/` stands for a home; write the whole path (`[~]` for the character)");
    }
    None
}

/// The folder or file that a pattern names before its first wildcard.
pub(super) fn place_of(pattern: &Path) -> PathBuf {
    pattern.iter().take_while(|part| !is_wild(&part.to_string_lossy())).collect()
}

/// True for a part of a path that is more than a name.
pub(super) fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[', '{', '\\'])
}

pub(super) fn glob_set(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.map_err(|error| error.to_string())?);
    }
    set.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pattern: &str, strict: bool) -> Result<Vec<String>, String> {
        normal(&[pattern.to_owned()], strict)
    }

    #[test]
    fn a_pattern_means_the_same_however_it_is_spelled() {
        for (written, strict, meant) in [
            ("secrets/**", true, &["secrets/**"][..]),
            ("secrets", true, &["secrets", "secrets/**"]),
            ("secrets/", true, &["secrets", "secrets/**"]),
            ("./secrets/**", true, &["secrets/**"]),
            ("secrets//**", true, &["secrets/**"]),
            ("secrets/./**", true, &["secrets/**"]),
            ("/w//secrets/**", true, &["/w/secrets/**"]),
            ("~/vault/", true, &["~/vault", "~/vault/**"]),
            ("~/./vault/**", true, &["~/vault/**"]),
            ("~", true, &["~", "~/**"]),
            ("/", true, &["/", "/**"]),
            ("*.txt", true, &["*.txt"]),
            ("priv*/", true, &["priv*", "priv*/**"]),
            ("routes/[$]id", true, &["routes/[$]id"]),
            ("secrets/", false, &["secrets"]),
            ("./src/**", false, &["src/**"]),
            ("/w/$x", false, &["/w/$x"]),
        ] {
            assert_eq!(one(written, strict).unwrap(), meant, "{written}");
        }
        for (written, hint) in [
            ("", "no file"),
            ("./", "no file"),
            ("x/../secrets/**", "`..`"),
            ("{../a,b}/**", "`..`"),
            ("$HOME/vault/**", "`~/`"),
            ("${PWD}/x", "variables"),
            ("~other/vault/**", "whole path"),
        ] {
            assert!(one(written, true).unwrap_err().contains(hint), "{written}");
        }
    }
}
