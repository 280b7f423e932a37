//! Whether an answer is borne out by what the tools returned.
//!
//! A model of this size makes values up, and takes them from the next line or column. Its answers have few forms: the lines of a
//! file that tell it, or the cells of a table by row and column. So both can be seen.

use charla_proto::{FunctionCall, FunctionResponse};
use serde_json::Value;

use super::conversation::Turn;
use super::place::{Line, Place, flat, stem, words};
use super::table::Table;

/// The words that its answers about results are made of, beside those of the request, the call and the result. Whatever else
/// it says there it made up.
const OWN_WORDS: &str = "a added again allow an and any are as ask at because beyond by command comparing copied counting \
    created deleted did do does done empty error executable explaining failed file find folder for found from function has i \
    in is it its like made me model moved named no nobody none not of on or output renamed rule say see small terminal that the \
    there this to very was well with without work wrote you";
/// What turning something on or off writes.
const TURNS: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];
/// What it says of a file that has no answer.
const SAYS_NOTHING: &str = " does not say that.";
/// Two words of a request that one line alone has: then the file does say something.
const SAYS_SOMETHING: f64 = 1.5;

/// The answer as it may be shown; nothing where the turn's results do not bear it out.
pub(super) fn borne_out(turn: &Turn, answer: &str) -> Option<String> {
    let result = turn.result();
    if !is_given(turn, answer) {
        return None;
    }
    if let Some((claims, table)) = claims(answer).zip(Table::of(&result)) {
        return told(turn, &claims, table);
    }
    let place = Place::new(turn, &result, "");
    let flat = flat(&result);
    let holds = |line: &str| match place.find_text(line) {
        Some(at) => place.is_meant(at),
        None => claims(line).is_none() || flat.contains(line.trim_end_matches('.')),
    };
    let is_there = answer.ends_with(SAYS_NOTHING) && place.most() >= SAYS_SOMETHING;
    (!is_there && answer.lines().all(holds)).then(|| answer.to_owned())
}

/// The lines that a request is about, in place of an answer that does not hold: of a table its head and rows, else those that it
/// points to, else those that the model named.
pub(super) fn lines_about(turn: &Turn, answer: &str) -> Option<String> {
    let result = turn.result();
    let place = Place::new(turn, &result, "");
    let named =
        || answer.lines().filter_map(|line| place.find_text(line)).map(|at| place.lines[at].at).collect();
    let mut best = if place.most() > 0.0 { place.best() } else { named() };
    if let Some(table) = Table::of(&result)
        && table.rows.iter().flatten().any(|cell| best.contains(&cell.at))
    {
        best.insert(table.head);
    }
    let lines: Vec<&str> = result.lines().collect();
    let shown: Vec<&str> = best.iter().map(|at| lines[*at].trim()).collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

/// True when a change that is about to be made is one that the request asks for: its new words are the request's, and the request
/// does not point to another line of the file.
pub(super) fn is_asked_for(turn: &Turn, old: &str, new: &str) -> bool {
    let (said, kept) = (words(&turn.said), words(old));
    let is_said =
        |word: &String| said.contains(word) || kept.contains(word) || TURNS.contains(&word.as_str());
    let result = turn.result();
    let place = Place::new(turn, &result, new);
    let is_there = old.lines().all(|line| place.find_text(line).is_none_or(|at| place.fits(at)));
    words(new).iter().all(is_said) && is_there
}

/// True when each word of an answer is the model's own kind of words, or was given to it.
fn is_given(turn: &Turn, answer: &str) -> bool {
    let step = |(call, result): &(FunctionCall, Option<FunctionResponse>)| {
        let result = result.as_ref().map(|result| result.to_text()).unwrap_or_default();
        format!(" {} {result}", Value::from(call.args.clone()))
    };
    let given = turn.said.clone() + &turn.steps.iter().map(step).collect::<String>();
    let given = given.to_lowercase();
    let is_own = |word: &str| OWN_WORDS.split_whitespace().any(|own| own == word);
    words(answer).iter().all(|word| is_own(word) || given.contains(word.as_str()))
}

/// What the cells hold that an answer names, where the request names them, too: their values are read from the table.
fn told(turn: &Turn, claims: &[(&str, &str)], table: Table<'_>) -> Option<String> {
    let (_, name) = claims.first()?.0.split_once(" of ")?;
    let said: Vec<String> = words(&turn.said).iter().map(|word| stem(word)).collect();
    let is_named = words(name).iter().all(|word| said.contains(&stem(word)));
    let is_row = |row: &Vec<Line<'_>>| row.iter().any(|cell| cell.value == words(name));
    let row = table.rows.into_iter().find(is_row).filter(|_| is_named)?;
    let place = Place::weighed(turn, row, name);
    let mut told = Vec::new();
    for (about, _) in claims {
        let column = words(about.split_once(" of ").map_or(*about, |(column, _)| column));
        let at = place.find(|cell| cell.key == column).filter(|at| place.is_meant(*at))?;
        told.push(format!("{about} is {}", place.lines[at].text));
    }
    Some(format!("The {}.", told.join(" and the ")))
}

/// What an answer says is what: "The A of X is 1 and the B is 2."
fn claims(answer: &str) -> Option<Vec<(&str, &str)>> {
    let rest = answer.trim_end_matches('.').strip_prefix("The ")?;
    rest.split(" and the ").map(|claim| claim.split_once(" is ")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::{Content, Part, Role};

    use super::*;

    const YAML: &str =
        "server:\n  host: 0.0.0.0\n  port: 8080\ncache:\n  host: one\n  port: 6390\n  ttl_days: 9\n";
    const TOML: &str = "[package]\nname = \"kiln\"\nversion = \"2.7.1\"\n\n[dependencies]\nclick = \"8.1\"\n";
    const CSV: &str = "name,pieces,due\nOksana,15,2026-11-07\nGreta,7,2026-11-15\n";
    const TABLE: &str = "# Kilns\n\n| name | volume | cooling |\n|---|---|---|\n| Bertha | 220 l | 14 h |\n";
    const PROSE: &str = "The vent is\nleft open.\nElements are replaced after 150 firings.\n";

    const STOCK: &str = "sku,name,qty\nB1,Kestrel X11 chain,9\nB2,Kestrel X12 chain,4\n";
    const PRICES: &str =
        "| job | city bike | e-bike |\n|---|---|---|\n| brakes | 32 | 38 |\n| chain | 9 | 11 |\n";
    const BEDS: &str = "beds:\n  - plant: leek\n    water: weekly\n\n  - plant: basil\n    water: daily\n";
    const TEAM: &str =
        "[[person]]\nname = \"Ben\"\noffice = \"A1\"\n\n[[person]]\nname = \"Ines\"\noffice = \"B7\"\n";
    const FLEET: &str = r#"{
  "ships": [
    {
      "name": "Astra",
      "captain": "Nils",
      "passengers": 199
    },
    {
      "name": "Juno",
      "captain": "Ulrika",
      "passengers": 120
    }
  ]
}"#;

    fn turn(said: &str, result: &str) -> Turn {
        let call = FunctionCall { name: "read_file".to_owned(), ..FunctionCall::default() };
        let contents = [
            Content::user(said),
            Content::new(Role::Model, vec![Part::function_call(call)]),
            Content::new(
                Role::User,
                vec![Part::function_response(FunctionResponse::output("1", "read_file", result))],
            ),
        ];
        Turn::all(&contents.map(Arc::new)).remove(0)
    }

    fn is_borne_out(said: &str, result: &str, answer: &str) -> bool {
        borne_out(&turn(said, result), answer).as_deref() == Some(answer)
    }

    #[test]
    fn an_answer_holds_where_its_line_stands_where_the_request_points() {
        for (said, result, answer) in [
            ("which port has the cache?", YAML, "port: 6390"),
            ("host and port of the server?", YAML, "host: 0.0.0.0\nport: 8080"),
            ("how long is the ttl?", YAML, "ttl_days: 9"),
            ("what version is it?", TOML, "version = \"2.7.1\""),
            ("which version of click?", TOML, "click = \"8.1\""),
            ("how many pieces for Greta?", CSV, "The pieces of Greta is 7."),
            ("how many Kestrel X11 chains do we have?", STOCK, "The qty of Kestrel X11 chain is 9."),
            ("what do brakes cost for an e-bike?", PRICES, "The e-bike of brakes is 38."),
            ("who is the captain of the Juno?", FLEET, "\"captain\": \"Ulrika\""),
            ("and of the Juno?", FLEET, "\"captain\": \"Ulrika\""),
            ("and for basil?", BEDS, "water: daily"),
            ("and for Ines?", TEAM, "office = \"B7\""),
            ("gretas pieces and due date?", CSV, "The pieces of Greta is 7 and the due is 2026-11-15."),
            ("how long is the cooling of Bertha?", TABLE, "The cooling of Bertha is 14 h."),
            ("and the vent?", PROSE, "The vent is left open."),
            ("when are elements replaced?", PROSE, "Elements are replaced after 150 firings."),
            ("the password in a.yaml?", YAML, "a.yaml does not say that."),
        ] {
            assert!(is_borne_out(said, result, answer), "{answer}");
        }
    }

    #[test]
    fn a_line_from_elsewhere_or_from_nowhere_does_not_hold() {
        for (said, result, answer) in [
            ("what is the ttl of the cache?", YAML, "port: 8080"),
            ("which port has the cache?", YAML, "port: 6379"),
            ("which port has the cache?", YAML, "The port of the cache is 6390."),
            ("when is the wedding of Greta?", CSV, "The due of Greta is 2026-11-15."),
            ("how many pieces for Tom?", CSV, "The pieces of Greta is 7."),
            ("what do brakes cost for an e-bike?", PRICES, "The city bike of brakes is 32."),
            ("who is the captain of the Juno?", FLEET, "\"captain\": \"Nils\""),
            ("and for basil?", BEDS, "water: weekly"),
            ("and for Ines?", TEAM, "office = \"A1\""),
            ("how many lifeboats does the Astra carry?", FLEET, "\"passengers\": 199"),
            ("what is the name?", TOML, "name = \"Odalys\""),
            ("who is the owner?", TOML, "name = \"kiln\""),
            ("after how many firings are elements replaced? a.md", PROSE, "a.md does not say that."),
            ("after how many firings are elements replaced? a.md", PROSE, "The vent is\nleft open."),
        ] {
            assert!(!is_borne_out(said, result, answer), "{answer}");
        }
    }

    #[test]
    fn the_value_of_a_cell_is_read_from_the_table() {
        let turn = turn("how many pieces for Greta?", CSV);
        let told = borne_out(&turn, "The pieces of Greta is 15.");
        assert_eq!(told.as_deref(), Some("The pieces of Greta is 7."));
    }
}
