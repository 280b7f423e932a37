//! What "always" answers allow, in words.

use charla_core::policy::grant_in_words;
use charla_core::session::SESSION;
use charla_proto::text::one_line;
use charla_proto::{CallAsked, Confirmation, Grant, GrantRevoked, Granted, Outcome};

/// What an answer has allowed beyond its own call; nothing where it allows no more.
pub fn given(outcome: &Outcome, confirmation: &Confirmation) -> Option<String> {
    Grant::of(outcome, confirmation).map(|grant| format!("always: {}", grant_in_words(&grant)))
}

/// The same with how long it holds: the question of an agent is answered for its own session.
pub fn given_to(outcome: &Outcome, asked: &CallAsked) -> Option<String> {
    let whose = if asked.stands_for.is_some() { "for the agent that asked" } else { "for this session" };
    given(outcome, &asked.confirmation).map(|words| format!("{words}, {whose}"))
}

/// What was taken back. A rule that was saved with it stays.
pub fn revoked(grant: &Grant, saved: bool) -> String {
    let besides = if saved { "; the rule that was saved with it stays" } else { "" };
    format!("no longer always: {}{besides}", grant_in_words(grant))
}

/// What a record takes back; nothing where a copy of a session begins without it and a saved rule still allows it.
pub fn taken_back(revoked: &GrantRevoked) -> Option<String> {
    let still_holds = revoked.saved && revoked.by == SESSION;
    (!still_holds).then(|| self::revoked(&revoked.grant, revoked.saved))
}

/// What holds in a session, with the numbers by which it is taken back. `me` is who reads it.
pub fn listed(grants: &[Granted], me: &str) -> Vec<String> {
    let first = match grants.len() {
        0 => return vec!["nothing is always allowed in this session".to_owned()],
        1 => {
            "1 thing is always allowed in this session; `/approvals revoke NUMBER` takes it back:".to_owned()
        }
        count => {
            format!(
                "{count} things are always allowed in this session; `/approvals revoke NUMBER` takes one back:"
            )
        }
    };
    let row = |granted: &Granted| {
        let number =
            granted.number().map_or_else(|| one_line(&granted.approval), |number| number.to_string());
        let by = match granted.by == me {
            true => String::new(),
            false => format!("  (by {})", one_line(&granted.by)),
        };
        let saved = if granted.saved { "  (saved as a rule, too)" } else { "" };
        format!("{number:>5}  {}{by}{saved}", grant_in_words(&granted.grant))
    };
    std::iter::once(first).chain(grants.iter().map(row)).collect()
}

/// The grant that a person names, by its number or by the whole id of its question.
pub fn named<'a>(grants: &'a [Granted], words: &str) -> Option<&'a Granted> {
    let number: Option<u64> = words.parse().ok();
    grants
        .iter()
        .find(|granted| granted.approval == words || (number.is_some() && granted.number() == number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(approval: &str, by: &str, saved: bool) -> Granted {
        let grant = Grant::Tool { tool: "write_file".to_owned() };
        Granted { approval: approval.to_owned(), by: by.to_owned(), grant, saved }
    }

    #[test]
    fn grants_are_listed_by_the_numbers_that_take_them_back() {
        assert_eq!(listed(&[], "user"), ["nothing is always allowed in this session"]);
        let grants = [granted("01a1:4", "user", false), granted("01a1:12", "anna", true)];
        let lines = listed(&grants, "user");
        assert!(lines[0].starts_with("2 things are always allowed"), "{lines:?}");
        assert_eq!(lines[1], "    4  the tool write_file");
        assert_eq!(lines[2], "   12  the tool write_file  (by anna)  (saved as a rule, too)");
        for (words, expected) in [
            ("4", Some("01a1:4")),
            ("12", Some("01a1:12")),
            ("01a1:4", Some("01a1:4")),
            ("1", None),
            ("", None),
        ] {
            assert_eq!(named(&grants, words).map(|found| found.approval.as_str()), expected, "{words}");
        }
    }
}
