//! Whether an answer is borne out by what the tools returned, and a change by what was asked for: a model of this size makes
//! values up.

use charla_proto::{FunctionCall, FunctionResponse};
use serde_json::Value;

use super::conversation::Turn;
use super::place::{points_nowhere, weights, words};

/// The words that its answers about results are made of, beside those of the request, the call and the result. Whatever else
/// it says there it made up.
const OWN_WORDS: &str = "a added again allow an and any are as ask at because beyond by command comparing copied counting \
    created deleted did do does done empty error executable explaining failed file find folder for found from function has i \
    in is it its like made me model moved named no nobody none not of on or output renamed rule say see small terminal that the \
    there this to very was well with without work wrote you";
/// What turning something on or off writes.
const TURNS: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];

/// True when an answer may be shown: each word of it is the model's own kind of words, or was given to it, and what it says that
/// belongs together stands in one line. The value that a line sets is no answer where no word of the request stands in the text.
pub(super) fn is_borne_out(turn: &Turn, answer: &str) -> bool {
    let step = |(call, result): &(FunctionCall, Option<FunctionResponse>)| {
        let result = result.as_ref().map(|result| result.to_text()).unwrap_or_default();
        format!(" {} {result}", Value::from(call.args.clone()))
    };
    let given = (turn.said.clone() + &turn.steps.iter().map(step).collect::<String>()).to_lowercase();
    let is_own = |word: &str| OWN_WORDS.split_whitespace().any(|own| own == word);
    let is_given = |word: &String| is_own(word) || given.contains(word.as_str());
    let result = turn.result();
    let has = |line: &str, told: &str| words(told).iter().all(|word| words(line).contains(word));
    let is_line = |told: &str| result.lines().any(|line| line.trim() == told);
    let is_strange = |told: &str| is_line(told) && points_nowhere(turn, &result);
    let stands = |told: String| result.lines().any(|line| has(line, &told)) && !is_strange(&told);
    words(answer).iter().all(is_given) && answer.lines().filter_map(told_together).all(stands)
}

/// What a line of an answer tells of one line: the value of a key, or the values of a row: "The A of X is 1 and the B is 2."
fn told_together(line: &str) -> Option<String> {
    let Some((_, claims)) = line.strip_prefix("The ").and_then(|rest| rest.split_once(" of ")) else {
        return (line.contains(": ") || line.contains('=')).then(|| line.to_owned());
    };
    let mut claims = claims.split(" and the ").filter_map(|claim| claim.split_once(" is "));
    let (name, first) = claims.next()?;
    Some(claims.fold(format!("{name} {first}"), |told, (_, value)| format!("{told} {value}")))
}

/// True when a change that is about to be made is one that the request asks for: its new words are the request's, and the request
/// does not clearly point to another line of the file.
pub(super) fn is_asked_for(turn: &Turn, old: &str, new: &str) -> bool {
    let (said, kept, result) = (words(&turn.said), words(old), turn.result());
    let is_said =
        |word: &String| said.contains(word) || kept.contains(word) || TURNS.contains(&word.as_str());
    let weights = weights(turn, &result, new);
    let values = result.lines().zip(&weights).filter(|(line, _)| told_together(line).is_some());
    let most = values.map(|(_, weight)| *weight).fold(0.0, f64::max);
    let is_meant = |line: &str| {
        let mut found =
            result.lines().zip(&weights).filter(|(text, _)| text.trim() == line.trim()).peekable();
        found.peek().is_none() || found.any(|(_, weight)| weight * 2.0 >= most)
    };
    words(new).iter().all(is_said) && old.lines().all(is_meant)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::{Content, Part, Role};

    use super::*;

    const YAML: &str =
        "server:\n  host: 0.0.0.0\n  port: 8080\ncache:\n  host: one\n  port: 6390\n  ttl_days: 9\n";
    const CSV: &str = "name,pieces,due\nOksana,12,2026-11-07\nGreta,7,2026-11-15\n";
    const TABLE: &str = "# Kilns\n\n| name | volume | cooling |\n|---|---|---|\n| Bertha | 220 l | 14 h |\n";
    const PROSE: &str = "The vent is\nleft open.\nElements are replaced after 150 firings.\n";
    const FLEET: &str = "{\n  \"name\": \"Juno\",\n  \"captain\": \"Ulrika\",\n  \"passengers\": 120\n}";

    fn holds(said: &str, result: &str, answer: &str) -> bool {
        let call = FunctionCall { name: "read_file".to_owned(), ..FunctionCall::default() };
        let contents = [
            Content::user(said),
            Content::new(Role::Model, vec![Part::function_call(call)]),
            Content::new(
                Role::User,
                vec![Part::function_response(FunctionResponse::output("1", "read_file", result))],
            ),
        ];
        is_borne_out(&Turn::all(&contents.map(Arc::new)).remove(0), answer)
    }

    #[test]
    fn an_answer_holds_where_what_it_tells_stands_together() {
        for (said, result, answer) in [
            ("which port has the cache?", YAML, "port: 6390"),
            ("host and port of the server?", YAML, "host: 0.0.0.0\nport: 8080"),
            ("how many pieces for Greta?", CSV, "The pieces of Greta is 7."),
            ("gretas pieces and due date?", CSV, "The pieces of Greta is 7 and the due is 2026-11-15."),
            ("how long is the cooling of Bertha?", TABLE, "The cooling of Bertha is 14 h."),
            ("who is the captain of the Juno?", FLEET, "\"captain\": \"Ulrika\""),
            ("and the vent?", PROSE, "The vent is left open."),
            ("when are elements replaced?", PROSE, "Elements are replaced after 150 firings."),
            ("the password in a.yaml?", YAML, "a.yaml does not say that."),
            ("what is this project about?", PROSE, "Elements: replaced after 150 firings."),
        ] {
            assert!(holds(said, result, answer), "{answer}");
        }
    }

    #[test]
    fn what_stands_nowhere_or_apart_does_not_hold() {
        for (said, result, answer) in [
            ("which port has the cache?", YAML, "port: 6379"),
            ("which port has the cache?", YAML, "port: one"),
            ("which port has the cache?", YAML, "The port of the cache is 6390."),
            ("how many pieces for Greta?", CSV, "The pieces of Greta is 12."),
            ("how many pieces for Tom?", CSV, "The pieces of Tom is 7."),
            ("gretas pieces and due date?", CSV, "The pieces of Greta is 7 and the due is 2026-11-07."),
            ("who is the captain of the Juno?", FLEET, "\"captain\": \"Nils\""),
            ("what is the fax number?", YAML, "host: one"),
        ] {
            assert!(!holds(said, result, answer), "{answer}");
        }
    }
}
