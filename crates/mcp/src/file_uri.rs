//! Addresses of files that programs read in more than one way.

use charla_proto::text::percent_decoded;

/// True for the address of a file that one server may take for another file than the rules are asked about: libraries turn backslashes
/// into slashes, leave control characters out, end a path at a zero, take what stands where a machine's name does for a folder, or keep
/// what follows a `?` or `#`.
pub(crate) fn is_ambiguous(uri: &str) -> bool {
    let is_left_out = |c: char| c.is_control() || c.is_whitespace();
    let bare: String = uri.chars().filter(|c| !is_left_out(*c)).collect();
    let Some((scheme, rest)) = bare.split_once(':') else { return false };
    if !scheme.eq_ignore_ascii_case("file") {
        return false;
    }
    let machine = rest.strip_prefix("//").map(|rest| rest.split(['/', '#', '?']).next().unwrap_or_default());
    let is_elsewhere =
        machine.is_some_and(|name| !name.is_empty() && !name.eq_ignore_ascii_case("localhost"));
    let has_path_behind = rest.split_once(['#', '?']).is_some_and(|(_, behind)| has_slash(behind));
    let hides = |text: &str| text.contains(|c: char| c.is_control() || c == '\\');
    is_elsewhere || has_path_behind || hides(uri) || hides(&percent_decoded(uri))
}

fn has_slash(text: &str) -> bool {
    percent_decoded(text).contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_names_one_file_is_clear() {
        for uri in [
            "file:///w/a%20b",
            "FILE://localhost/w/a",
            "file:/w/a?x#y",
            "note:a\\b",
            "http://h/a#/b",
            "a",
            " file:///w/a b",
        ] {
            assert!(!is_ambiguous(uri), "{uri}");
        }
    }

    #[test]
    fn an_address_that_may_name_two_is_not() {
        for uri in [
            "file:///w\\secrets/k",
            "file:\\\\\\w\\secrets\\k",
            "file://\\w/secrets/k",
            "file:///w%5csecrets/k",
            "file:///w/sec\trets/k",
            "fi\nle:///w/secrets/k",
            "\u{1}file:///w/secrets/k",
            "file:///w/secrets/k%00.txt",
            "file:///w/secrets/k%0a",
            "file://secrets/k",
            "file://./secrets/k",
            "file:///w/x#/../secrets/k",
            "file:///w/x?%2f..%2fsecrets",
        ] {
            assert!(is_ambiguous(uri), "{uri:?}");
        }
    }
}
