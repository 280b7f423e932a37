//! Whether an answer is borne out by what the tools returned.
//!
//! A model of this size makes values up, and takes them from the next section or column. Its answers about results have few
//! forms, so both can be seen.

use serde_json::Value;

use super::conversation::Turn;

/// The words that its answers about results are made of, beside those of the request, the call and the result. Whatever else
/// it says there it made up.
const OWN_WORDS: &str = "a added again allow an and any are as ask at because beyond by command comparing copied counting \
    created deleted did do does done empty error executable explaining failed file find folder for found from function has i \
    in is it its like made me model moved named no nobody none not of on or output renamed rule say see small terminal that the \
    there this to very was well with without work wrote you";
/// Questions begin with these.
const ASKING: [&str; 9] = ["what", "who", "whose", "when", "where", "which", "why", "how", "whom"];
/// A question with one of these is about the assistant, the user or what is here.
const NEAR: [&str; 10] = ["you", "your", "yourself", "i", "me", "my", "we", "our", "this", "here"];
/// So many lines at most are about a request.
const FEW: usize = 3;
/// What separates the columns of a table.
const SEPARATORS: [char; 4] = ['|', '\t', ';', ','];

/// True for a question about the world, which a model of this size can hardly answer.
pub(super) fn is_of_fact(request: &str) -> bool {
    let words = words(request);
    words.first().is_some_and(|first| ASKING.contains(&first.as_str()))
        && !words.iter().any(|word| NEAR.contains(&word.as_str()))
}

/// True when an answer to a question of fact may be so: it speaks of what was asked about, and gives no figure of its own.
pub(super) fn may_be_so(request: &str, answer: &str) -> bool {
    let (asked, said) = (words(request), words(answer));
    let is_figure = |word: &&String| word.starts_with(|c: char| c.is_ascii_digit());
    let figures_are_given = said.iter().filter(is_figure).all(|figure| asked.contains(figure));
    let subject = asked.iter().rfind(|word| word.chars().count() > 3);
    let stem = subject.map(|word| word.chars().take(4).collect::<String>()).unwrap_or_default();
    answer.starts_with("I ") || (figures_are_given && answer.to_lowercase().contains(&stem))
}

/// The lines of the last result that a request is about: of a table its head and rows, else those with several words of the
/// request.
pub(super) fn lines_about(turn: &Turn) -> Option<String> {
    let result = turn.last().map(|(_, result)| result.to_text())?;
    rows_about(&turn.said, &result).or_else(|| {
        let most = result.lines().map(|line| shared(turn, line)).max().filter(|most| *most > 1)?;
        let found: Vec<&str> = result.lines().filter(|line| shared(turn, line) == most).collect();
        (found.len() <= FEW).then(|| found.join("\n"))
    })
}

/// How many longer words of a request a text has; those of the calls, such as a file's name, do not count.
pub(super) fn shared(turn: &Turn, text: &str) -> usize {
    let called: Vec<String> =
        turn.steps.iter().flat_map(|step| words(&Value::from(step.call.args.clone()).to_string())).collect();
    let counts = |word: &&String| word.chars().count() > 3 && !called.contains(word);
    let text = text.to_lowercase();
    words(&turn.said).iter().filter(counts).filter(|word| text.contains(word.as_str())).count()
}

/// The head of a table, and the rows of it with a word of the request that few rows have.
fn rows_about(request: &str, table: &str) -> Option<String> {
    let (head, rows) = table.split_once('\n')?;
    let separator = SEPARATORS.into_iter().find(|separator| head.contains(*separator))?;
    let columns = head.matches(separator).count();
    let rows: Vec<&str> = rows.lines().collect();
    if !rows.iter().all(|row| row.matches(separator).count() == columns) {
        return None;
    }
    let asked = words(request);
    let names = |row: &&&str| {
        let cells: Vec<String> = row.split(separator).map(|cell| cell.trim().to_lowercase()).collect();
        cells.iter().any(|cell| asked.contains(cell))
    };
    let found: Vec<&str> = rows.iter().filter(names).copied().collect();
    (!found.is_empty()).then(|| format!("{head}\n{}", found.join("\n")))
}

/// True when an answer says nothing that the turn's results do not.
pub(super) fn bear_out(turn: &Turn, answer: &str) -> bool {
    let results: Vec<String> =
        turn.steps.iter().filter_map(|step| step.result.as_ref()).map(|result| result.to_text()).collect();
    let result = results.last().map(String::as_str).unwrap_or_default();
    let calls = turn.steps.iter().map(|step| Value::from(step.call.args.clone()).to_string());
    let given: Vec<String> = std::iter::once(turn.said.clone()).chain(calls).chain(results.clone()).collect();
    let given = given.join(" ").to_lowercase();
    let is_given =
        |word: &String| OWN_WORDS.split(' ').any(|own| own == word) || given.contains(word.as_str());
    // Where a line has several words of the request, an answer with none of them misses it.
    if shared(turn, answer) == 0 && lines_about(turn).is_some_and(|lines| !lines.contains(answer)) {
        return false;
    }
    // A sentence may be broken into lines.
    let flat = result.split_whitespace().collect::<Vec<_>>().join(" ");
    words(answer).iter().all(is_given)
        && (flat.contains(answer.trim_end_matches('.')) || in_place(turn, answer, result))
}

/// "The port of the cache is 6390": true when the value stands where the port and the cache are spoken of. What the request
/// names is spoken of there, too.
fn in_place(turn: &Turn, answer: &str, result: &str) -> bool {
    let claims = claims(answer);
    if claims.is_empty() {
        return true;
    }
    let lower = result.to_lowercase();
    let lines: Vec<&str> = lower.lines().collect();
    let mut seen = String::new();
    let asked = words(&turn.said);
    for (about, value) in &claims {
        // "The version of click is 8.1", where a line says `click = "8.1"`.
        let owner = about.split_once(" of ").map(|(_, owner)| owner.to_lowercase());
        let of_its_own = |line: &&str| line.contains(&value.to_lowercase()) && key(line) == owner.as_deref();
        if owner.is_some() && lines.iter().any(of_its_own) {
            return true;
        }
        let about_words = words(about);
        let is_told = |word: &&String| word.len() > 1 && lower.contains(word.as_str());
        let about: Vec<&String> = about_words.iter().filter(is_told).collect();
        let contexts = contexts(&value.to_lowercase(), &lines);
        let fitting: Vec<&String> = contexts
            .iter()
            .filter(|context| about.iter().all(|word| context.contains(word.as_str())))
            .collect();
        if fitting.is_empty() {
            return false;
        }
        // Which column is meant, only words can tell.
        let column = about_words.first();
        if rows_about(&turn.said, result).is_some() && column.is_some_and(|column| !is_asked(&asked, column))
        {
            return false;
        }
        fitting.iter().for_each(|context| seen.push_str(context));
    }
    let mut keys =
        lines.iter().filter_map(|line| key(line)).filter(|key| asked.iter().any(|word| word == key));
    keys.all(|key| seen.contains(key))
}

/// True when the request has the word in this form or another.
fn is_asked(asked: &[String], word: &str) -> bool {
    let stem: String = word.chars().take(3).collect();
    asked.iter().any(|asked| asked.starts_with(&stem))
}

/// What an answer says is what: "The A is X and the B is Y."
fn claims(answer: &str) -> Vec<(&str, &str)> {
    let Some(rest) = answer.trim_end_matches('.').strip_prefix("The ") else { return Vec::new() };
    rest.split(" and the ").filter_map(|claim| claim.split_once(" is ")).collect()
}

fn words(text: &str) -> Vec<String> {
    let small = text.to_lowercase();
    let words = small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.filter(|word| !matches!(*word, "the" | "of")).map(str::to_owned).collect()
}

/// The key of a line that sets one.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once([':', '='])?;
    let key = key.trim().trim_matches(['"', '\'']);
    (key.len() > 1 && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')).then_some(key)
}

/// For each line with the value: the line, the head of its column and what it stands under.
fn contexts(value: &str, lines: &[&str]) -> Vec<String> {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let is_whole = |line: &str, at: usize| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        is_edge(before) && is_edge(line.get(at + value.len()..).and_then(|text| text.chars().next()))
    };
    let has = |line: &str| line.match_indices(value).any(|(at, _)| is_whole(line, at));
    let found: Vec<(usize, &&str)> = lines.iter().enumerate().filter(|(_, line)| has(line)).collect();
    let context = |(at, line): (usize, &&str)| {
        let above = lines.get(..at).unwrap_or_default();
        format!("{line} {} {}\n", head(value, line, above), under(line, above))
    };
    found.into_iter().map(context).collect()
}

/// The head of the column that has the value, in a table's row.
fn head<'a>(value: &str, row: &str, above: &[&'a str]) -> &'a str {
    let columns = |line: &str, separator: char| line.matches(separator).count();
    let separator = SEPARATORS.into_iter().find(|separator| columns(row, *separator) > 0);
    let Some(separator) = separator else { return "" };
    let heads = above.iter().find(|line| columns(line, separator) == columns(row, separator));
    let column = row.split(separator).position(|cell| cell.trim() == value);
    heads.zip(column).and_then(|(heads, column)| heads.split(separator).nth(column)).unwrap_or_default()
}

/// The lines that a line stands under: those indented less, and the title of its section.
fn under(line: &str, above: &[&str]) -> String {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut least = depth(line);
    let mut found = Vec::new();
    for line in above.iter().rev().filter(|line| !line.trim().is_empty()) {
        let is_title = line.starts_with(['[', '#']);
        if depth(line) < least || is_title {
            least = least.min(depth(line));
            found.push(*line);
        }
        if is_title {
            break;
        }
    }
    found.join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::{Content, FunctionCall, FunctionResponse, Part, Role};

    use super::*;

    const YAML: &str =
        "server:\n  host: 0.0.0.0\n  port: 8080\ncache:\n  host: one\n  port: 6390\n  ttl_days: 9\n";
    const TOML: &str = "[package]\nname = \"kiln\"\nversion = \"2.7.1\"\n\n[dependencies]\nclick = \"8.1\"\n";
    const CSV: &str = "name,pieces,due\nOksana,15,2026-11-07\nGreta,7,2026-11-15\n";
    const TABLE: &str = "# Kilns\n\n| name | volume | cooling |\n|---|---|---|\n| Bertha | 220 l | 14 h |\n";
    const PROSE: &str = "The vent is\nleft open.\nElements are replaced after 150 firings.\n";

    fn is_borne_out(said: &str, result: &str, answer: &str) -> bool {
        let call = FunctionCall { name: "read_file".to_owned(), ..FunctionCall::default() };
        let contents = [
            Content::user(said),
            Content::new(Role::Model, vec![Part::function_call(call)]),
            Content::new(
                Role::User,
                vec![Part::function_response(FunctionResponse::output("1", "read_file", result))],
            ),
        ];
        let turns = Turn::all(&contents.map(Arc::new));
        bear_out(&turns[0], answer)
    }

    #[test]
    fn an_answer_holds_where_its_value_stands_where_it_says() {
        for (said, result, answer) in [
            ("which port has the cache?", YAML, "The port of the cache is 6390."),
            ("host and port of the server?", YAML, "The host is 0.0.0.0 and the port is 8080."),
            ("how long is the ttl?", YAML, "The ttl days is 9."),
            ("what version is it?", TOML, "The version is 2.7.1."),
            ("which version of click?", TOML, "The version of click is 8.1."),
            ("how many pieces for Greta?", CSV, "The pieces of Greta is 7."),
            ("how long does Bertha cool?", TABLE, "The cooling of Bertha is 14 h."),
            ("and the vent?", PROSE, "The vent is left open."),
            ("when are elements replaced?", PROSE, "Elements are replaced after 150 firings."),
            ("the password in a.yaml?", YAML, "a.yaml does not say that."),
        ] {
            assert!(is_borne_out(said, result, answer), "{answer}");
        }
    }

    #[test]
    fn a_value_from_elsewhere_or_from_nowhere_does_not_hold() {
        for (said, result, answer) in [
            ("which port has the cache?", YAML, "The port of the cache is 8080."),
            ("which port has the cache?", YAML, "The port of the cache is 6379."),
            ("which port has the cache?", YAML, "The port of the cache is 639."),
            ("what port does the server listen on?", YAML, "The server is 0.0.0.0."),
            ("when is the order of Greta due?", CSV, "The due of Greta is 7."),
            ("how many pieces for Greta?", CSV, "The pieces of Greta is 15."),
            ("how large is Bertha?", TABLE, "The volume of Bertha is 14 h."),
            ("what is the name?", TOML, "The name is Odalys."),
            ("after how many firings are elements replaced? a.md", PROSE, "a.md does not say that."),
            ("after how many firings are elements replaced? a.md", PROSE, "The vent is left open."),
        ] {
            assert!(!is_borne_out(said, result, answer), "{answer}");
        }
    }
}
