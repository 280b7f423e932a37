//! The places that hooks of extensions name. A folder's name is somebody else's text: the shell gets it as a variable, never
//! as a part of the command line.

use std::path::Path;

/// The variables that stand for places.
const PLACES: [&str; 2] = ["extensionPath", "workspacePath"];
/// What stands for the separator of paths.
const SEPARATORS: [&str; 2] = ["${/}", "${pathSeparator}"];

/// The variables for a hook of the extension in this folder.
pub(super) fn variables(extension: &Path, workspace: &str) -> [(String, String); 2] {
    let [own, works] = PLACES.map(str::to_owned);
    [(own, extension.to_string_lossy().into_owned()), (works, workspace.to_owned())]
}

/// The command line of such a hook for the shell: a place that stands in no quotes gets some, so that it stays one word.
pub(super) fn line(command: &str) -> String {
    let command = SEPARATORS.iter().fold(command.to_owned(), |line, name| line.replace(name, "/"));
    let names = PLACES.map(|name| format!("${{{name}}}"));
    let (mut line, mut open, mut rest) = (String::new(), None, command.as_str());
    while let Some(letter) = rest.chars().next() {
        let place = names.iter().find(|name| open.is_none() && rest.starts_with(name.as_str()));
        let taken = match (letter, open, place) {
            (_, _, Some(name)) => {
                line.push_str(&format!("\"{name}\""));
                rest = rest.get(name.len()..).unwrap_or_default();
                continue;
            }
            ('\\', None | Some('"'), _) => rest.chars().take(2).map(char::len_utf8).sum(),
            ('"' | '\'', None, _) => {
                open = Some(letter);
                1
            }
            (quote, Some(begun), _) if quote == begun => {
                open = None;
                1
            }
            _ => letter.len_utf8(),
        };
        let (head, tail) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        line.push_str(head);
        rest = tail;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_place_stays_one_word_in_any_quotes() {
        let rows = [
            ("cat ${extensionPath}${/}x", r#"cat "${extensionPath}"/x"#),
            (r#"cat "${extensionPath}/x""#, r#"cat "${extensionPath}/x""#),
            ("sh -c 'cat ${workspacePath}'", "sh -c 'cat ${workspacePath}'"),
            (
                r#"echo \" ${workspacePath} "a\"" ${workspacePath}"#,
                r#"echo \" "${workspacePath}" "a\"" "${workspacePath}""#,
            ),
            ("echo 'a' ${workspacePath} ${other} ä\\", "echo 'a' \"${workspacePath}\" ${other} ä\\"),
        ];
        for (command, expected) in rows {
            assert_eq!(line(command), expected);
        }
    }
}
