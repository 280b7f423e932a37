//! Messages that hooks give in place of a conversation: what of it they leave is kept whole, calls and results included.
//!
//! Hooks see the words of a conversation and nothing else. A message of theirs stands for one that they were given, where it can be
//! told for which; then only the words are theirs.

use std::sync::Arc;

use charla_proto::{Content, Part, PartKind, Role};

/// What is sent: these messages, each with what belongs to the content that it stands for.
///
/// As many as were given, by the same speakers, stand for those. Otherwise a message stands for the next content with the same
/// words; what has no words (calls, results) goes with the content before it.
pub(super) fn correspond(contents: &[Arc<Content>], messages: &[Content]) -> Vec<Arc<Content>> {
    let first = contents.iter().position(|content| has_words(content)).unwrap_or(contents.len());
    let (before, rest) = contents.split_at(first);
    let given: Vec<&[Arc<Content>]> = rest.chunk_by(|_, next| !has_words(next)).collect();
    let same_speakers = given.len() == messages.len()
        && given.iter().zip(messages).all(|(given, message)| speaks_as(&given[0], message));
    match same_speakers {
        true => before.iter().cloned().chain(reworded(&given, messages)).collect(),
        false => recognized(&given, messages),
    }
}

fn reworded(given: &[&[Arc<Content>]], messages: &[Content]) -> Vec<Arc<Content>> {
    let mut sent = Vec::new();
    for (given, message) in given.iter().zip(messages) {
        let Some((first, follow)) = given.split_first() else { continue };
        sent.push(match first.text() == message.text() {
            true => first.clone(),
            false => Arc::new(with_words(first, message)),
        });
        sent.extend_from_slice(follow);
    }
    sent
}

fn recognized(given: &[&[Arc<Content>]], messages: &[Content]) -> Vec<Arc<Content>> {
    let (mut sent, mut next) = (Vec::new(), 0);
    for message in messages {
        let is_it =
            |given: &&[Arc<Content>]| speaks_as(&given[0], message) && given[0].text() == message.text();
        match given.iter().skip(next).position(is_it) {
            Some(at) => {
                let found = next + at;
                sent.extend(given.get(found).into_iter().flat_map(|given| given.iter().cloned()));
                next = found + 1;
            }
            None => sent.push(Arc::new(message.clone())),
        }
    }
    sent
}

fn has_words(content: &Content) -> bool {
    !content.text().is_empty()
}

fn speaks_as(content: &Content, message: &Content) -> bool {
    (content.role == Role::Model) == (message.role == Role::Model)
}

/// The content with the words of this message where its own stood: part by part where there are as many, and otherwise in the place
/// of those parts that are not found in them any more. A signature belongs to the words that it was made for.
fn with_words(content: &Content, message: &Content) -> Content {
    let said: Vec<&str> =
        message.parts.iter().filter(|part| is_word(part)).filter_map(Part::as_text).collect();
    let own: Vec<&str> =
        content.parts.iter().filter(|part| is_word(part)).filter_map(Part::as_text).collect();
    let words = match said.len() == own.len() {
        true => said.into_iter().map(str::to_owned).collect(),
        false => divided(&own, &said.concat()),
    };
    let mut words = words.into_iter();
    let mut changed = Content { parts: Vec::new(), ..content.clone() };
    for part in &content.parts {
        match is_word(part).then(|| words.next().unwrap_or_default()) {
            None => changed.parts.push(part.clone()),
            Some(same) if part.as_text() == Some(same.as_str()) => changed.parts.push(part.clone()),
            Some(other) if other.is_empty() => {}
            Some(other) => changed.parts.push(Part::text(other)),
        }
    }
    changed
}

fn is_word(part: &Part) -> bool {
    matches!(part.kind, PartKind::Text(_)) && !part.thought
}

/// These words over as many parts as there were: those that they begin and end with stay, the first of the others takes the rest.
fn divided(own: &[&str], words: &str) -> Vec<String> {
    let mut rest = words;
    let from_front = own.iter().map_while(|part| rest.strip_prefix(part).map(|after| rest = after)).count();
    let behind = own.iter().skip(from_front).rev();
    let from_back = behind.map_while(|part| rest.strip_suffix(part).map(|before| rest = before)).count();
    let mut divided: Vec<String> = own.iter().map(|part| (*part).to_owned()).collect();
    let changed = divided.iter_mut().take(own.len() - from_back).skip(from_front);
    for (at, part) in changed.enumerate() {
        *part = if at == 0 { rest.to_owned() } else { String::new() };
    }
    // Every part is there, and words behind them.
    if from_front == own.len()
        && let Some(last) = divided.last_mut()
    {
        last.push_str(rest);
    }
    divided
}

#[cfg(test)]
mod tests {
    use charla_proto::{Args, FunctionCall, FunctionResponse};

    use super::*;

    /// Asked, called with words, answered, said.
    fn conversation() -> Vec<Arc<Content>> {
        let call = Part::function_call(FunctionCall::new("1", "ls", Args::new()));
        let result = Part::function_response(FunctionResponse::output("1", "ls", "a.txt"));
        let contents = [
            Content::user("look"),
            Content::new(Role::Model, vec![Part::text("I look.").with_signature("s"), call]),
            Content::new(Role::User, vec![result]),
            Content::user("go on"),
        ];
        contents.into_iter().map(Arc::new).collect()
    }

    fn shapes(contents: &[Arc<Content>]) -> Vec<String> {
        let of = |content: &Arc<Content>| {
            let calls = content.function_calls().count() + content.function_responses().count();
            let role = format!("{:?}", content.role).to_lowercase();
            format!("{role} {:?} +{calls}", content.text())
        };
        contents.iter().map(of).collect()
    }

    fn sent(messages: &[Content]) -> Vec<String> {
        shapes(&correspond(&conversation(), messages))
    }

    #[test]
    fn words_that_are_changed_leave_calls_and_results() {
        let messages = [Content::user("look"), Content::model("[cut]"), Content::user("GO ON")];
        let expected = [r#"user "look" +0"#, r#"model "[cut]" +1"#, r#"user "" +1"#, r#"user "GO ON" +0"#];
        assert_eq!(sent(&messages), expected);
        let same = correspond(&conversation(), &messages);
        assert!(same[1].parts[0].thought_signature.is_none(), "a signature is not for other words");
    }

    #[test]
    fn messages_that_are_added_or_left_out_leave_the_others_whole() {
        let added = [
            Content::user("rules first"),
            Content::user("look"),
            Content::model("I look."),
            Content::user("go on"),
        ];
        let expected = [
            r#"user "rules first" +0"#,
            r#"user "look" +0"#,
            r#"model "I look." +1"#,
            r#"user "" +1"#,
            r#"user "go on" +0"#,
        ];
        assert_eq!(sent(&added), expected);
        assert_eq!(sent(&[Content::user("go on")]), [r#"user "go on" +0"#]);
        assert_eq!(sent(&[Content::user("look"), Content::user("go on")]).len(), 2);
    }

    /// A prompt, a picture and a file.
    fn in_parts() -> Vec<Arc<Content>> {
        let picture = Part::inline_data("image/png", "AA==");
        let parts = vec![Part::text("look at "), picture, Part::text("--- a.txt\n"), Part::text("Anna")];
        vec![Arc::new(Content::new(Role::User, parts))]
    }

    fn parts(message: Content) -> Vec<String> {
        let sent = correspond(&in_parts(), &[message]);
        let shown = |part: &Part| part.as_text().unwrap_or("[picture]").to_owned();
        sent[0].parts.iter().map(shown).collect()
    }

    #[test]
    fn words_of_one_part_that_are_changed_leave_the_other_parts() {
        let changed = parts(Content::user("look at --- a.txt\nthe user"));
        assert_eq!(changed, ["look at ", "[picture]", "--- a.txt\n", "the user"]);
        let changed = parts(Content::user("see --- a.txt\nAnna"));
        assert_eq!(changed, ["see ", "[picture]", "--- a.txt\n", "Anna"]);
        let added = parts(Content::user("look at --- a.txt\nAnna and more"));
        assert_eq!(added, ["look at ", "[picture]", "--- a.txt\n", "Anna and more"]);
    }

    #[test]
    fn words_of_several_parts_that_are_changed_stand_in_one() {
        assert_eq!(parts(Content::user("see B")), ["see B", "[picture]"]);
        assert_eq!(parts(Content::user("look at this")), ["look at ", "[picture]", "this"]);
    }

    #[test]
    fn words_that_are_given_part_by_part_stand_where_those_stood() {
        let texts = ["LOOK AT ", "--- A.TXT\n", "ANNA"].map(Part::text);
        let changed = parts(Content::new(Role::User, texts.to_vec()));
        assert_eq!(changed, ["LOOK AT ", "[picture]", "--- A.TXT\n", "ANNA"]);
    }

    #[test]
    fn other_messages_stand_in_place_of_everything() {
        assert_eq!(sent(&[Content::user("x"), Content::model("y")]), [r#"user "x" +0"#, r#"model "y" +0"#]);
    }
}
