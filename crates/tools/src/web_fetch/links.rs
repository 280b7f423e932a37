//! The addresses in a prompt.

use reqwest::Url;

/// The http and https addresses in a text, each once, in their order; and what begins like one and cannot be
/// read.
pub(super) fn find(text: &str) -> (Vec<Url>, Vec<String>) {
    let (mut urls, mut broken) = (Vec::<Url>::new(), Vec::new());
    for word in text.split(|character: char| character.is_whitespace() || "<>\"`|\\^{}".contains(character)) {
        let starts = ["http://", "https://"].iter().filter_map(|scheme| find_ignoring_case(word, scheme));
        let Some(candidate) = starts.min().and_then(|at| word.get(at..)) else { continue };
        let candidate = trim(candidate);
        match Url::parse(candidate) {
            Ok(url) if urls.contains(&url) => {}
            Ok(url) => urls.push(url),
            Err(error) => broken.push(format!("{candidate}: {error}")),
        }
    }
    (urls, broken)
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// Without the punctuation of the sentence around it; a closing bracket stays when its opening one is in the
/// address.
fn trim(word: &str) -> &str {
    let mut word = word;
    loop {
        let opens = |open: char, close: char| word.matches(open).count() >= word.matches(close).count();
        let shorter = match word.chars().next_back() {
            Some(last @ ('.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '…' | '。' | '，')) => {
                word.strip_suffix(last)
            }
            Some(')') if !opens('(', ')') => word.strip_suffix(')'),
            Some(']') if !opens('[', ']') => word.strip_suffix(']'),
            _ => None,
        };
        match shorter {
            Some(shorter) => word = shorter,
            None => return word,
        }
    }
}

/// A page that shows a file on GitHub, as the address of the file itself.
pub(super) fn raw(url: Url) -> Url {
    if !matches!(url.host_str(), Some("github.com" | "www.github.com")) {
        return url;
    }
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    let [owner, repository, "blob", rest @ ..] = segments.as_slice() else { return url };
    let path = format!("https://raw.githubusercontent.com/{owner}/{repository}/{}", rest.join("/"));
    Url::parse(&path).unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_prose() {
        let text = "See https://a.example/x, (http://b.example/y_(z)) and <HTTPS://c.example>; again \
                    https://a.example/x. Not ftp://d.example. [docs](https://e.example/p?q=1#f)。";
        let (urls, broken) = find(text);
        let urls: Vec<&str> = urls.iter().map(Url::as_str).collect();
        assert_eq!(
            urls,
            [
                "https://a.example/x",
                "http://b.example/y_(z)",
                "https://c.example/",
                "https://e.example/p?q=1#f"
            ]
        );
        assert!(broken.is_empty());
        assert_eq!(find("https://[::1/ and http://").1.len(), 2);
    }

    #[test]
    fn a_github_page_of_a_file_becomes_the_file() {
        let raw = |url: &str| raw(Url::parse(url).unwrap()).to_string();
        assert_eq!(
            raw("https://github.com/o/r/blob/main/src/a%20b.rs#L3"),
            "https://raw.githubusercontent.com/o/r/main/src/a%20b.rs"
        );
        assert_eq!(raw("https://github.com/o/r/issues/1"), "https://github.com/o/r/issues/1");
        assert_eq!(raw("https://evil.example/o/r/blob/x"), "https://evil.example/o/r/blob/x");
    }
}
