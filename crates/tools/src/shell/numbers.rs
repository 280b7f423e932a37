//! Values that are numbers, whatever the shell makes of them: computing with those runs nothing.

use charla_proto::Word;

/// True for a value that is a number, or numbers to be taken one after the other.
pub(super) fn is_number(value: &Word) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let sequence = |text: &str| {
        let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        inside.and_then(|text| text.split_once("..")).is_some_and(|(from, to)| digits(from) && digits(to))
    };
    let sum = |text: &str| text.starts_with("$((") && text.ends_with("))") && text.matches("$(").count() == 1;
    match value.known() {
        Some(text) => digits(text),
        None => {
            let listed = value.text.strip_prefix("$(seq ").and_then(|text| text.strip_suffix(')'));
            let text = listed.unwrap_or(&value.text);
            sum(&value.text)
                || counts(&value.text)
                || text.split(' ').all(|word| digits(word) || listed.is_none() && sequence(word))
        }
    }
}

/// True for a substitution that counts: whatever it is about, it says a number.
fn counts(text: &str) -> bool {
    let Some(inner) = text.trim_matches('"').strip_prefix("$(").and_then(|text| text.strip_suffix(')'))
    else {
        return false;
    };
    let plain = !inner.contains([';', '&', '`', '$', '(', '\n', '\'']);
    let last = inner.rsplit('|').next().unwrap_or(inner).trim();
    let of_input = |command: &str| {
        last.strip_prefix(command)
            .is_some_and(|rest| rest.is_empty() && last != inner || rest.starts_with(" <"))
    };
    plain && (of_input("wc -l") || of_input("wc -c") || matches!(last, "nproc" | "date +%s"))
}
