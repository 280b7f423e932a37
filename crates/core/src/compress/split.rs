//! Where a conversation is cut in two: what is summarized, and what stays.

use std::sync::Arc;

use charla_proto::{Content, Role};

use super::Said;
use super::size::size;

/// A conversation cut in two.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// What is summarized.
    pub older: Vec<Arc<Content>>,
    /// The record of the first content that stays, or the one behind the last where none does.
    pub kept_from: u64,
    /// The prompt of the turn under way, where it lies before the cut: it stays, too.
    pub prompt: Option<Said>,
    /// What stays, the prompt included.
    pub kept: Vec<Arc<Content>>,
}

/// Cuts where the last `keep` of the characters begin; `None` when nothing can be cut off.
///
/// A cut is only made before a user content that answers no call, so calls and responses stay together. There
/// is always something in the older part that no summary stands for yet: summarizing a summary again
/// would cost a request and win nothing.
pub fn split(contents: &[Said], keep: f64) -> Option<Cut> {
    let first = stand_ins(contents) + 1;
    let places = (first..contents.len()).filter(|index| is_words_at(contents, *index));
    cut_at(contents, place(contents, places, keep)?, None)
}

/// Cuts within the turn under way, between two of its steps; its prompt stays. For turns of so many steps
/// that they fill the window by themselves.
pub fn split_turn(contents: &[Said], keep: f64) -> Option<Cut> {
    let prompt = (0..contents.len()).rev().find(|index| is_words_at(contents, *index))?;
    let steps = (prompt + 2..contents.len()).filter(|index| is_step(contents, *index));
    cut_at(contents, place(contents, steps, keep)?, contents.get(prompt).cloned())
}

/// The first place with enough before it, or else the last.
fn place(contents: &[Said], places: impl Iterator<Item = usize>, keep: f64) -> Option<usize> {
    let sizes: Vec<usize> = contents.iter().map(|(_, content)| size(content)).collect();
    let older = sizes.iter().sum::<usize>() as f64 * (1.0 - keep);
    let mut last = None;
    for index in places {
        last = Some(index);
        if sizes.iter().take(index).sum::<usize>() as f64 >= older {
            break;
        }
    }
    last
}

/// Nothing stays: for a conversation of one turn, which has no place to cut at. `None` where something is open, or where
/// summaries are all there is.
pub fn split_whole(contents: &[Said]) -> Option<Cut> {
    let (last, content) = contents.last().filter(|_| contents.len() > stand_ins(contents))?;
    let is_answer = content.role == Role::Model && content.function_calls().next().is_none();
    let older = contents.iter().map(|(_, content)| content.clone()).collect();
    is_answer.then(|| Cut { older, kept_from: last + 1, prompt: None, kept: Vec::new() })
}

fn cut_at(contents: &[Said], at: usize, prompt: Option<Said>) -> Option<Cut> {
    let (older, kept) = contents.split_at_checked(at)?;
    let kept_from = kept.first()?.0;
    let pinned = prompt.iter().map(|(_, content)| content.clone());
    let kept = pinned.chain(kept.iter().map(|(_, content)| content.clone())).collect();
    Some(Cut { older: older.iter().map(|(_, content)| content.clone()).collect(), kept_from, prompt, kept })
}

fn stand_ins(contents: &[Said]) -> usize {
    contents.iter().take_while(|(seq, _)| *seq == 0).count()
}

/// The user speaks, and answers no call.
pub(super) fn is_words(content: &Content) -> bool {
    content.role == Role::User && content.function_responses().next().is_none()
}

fn is_words_at(contents: &[Said], index: usize) -> bool {
    contents.get(index).is_some_and(|(_, content)| is_words(content))
}

/// The model begins a step of a turn: every call before it has its response.
fn is_step(contents: &[Said], index: usize) -> bool {
    let answered = |index: usize| {
        contents.get(index).is_some_and(|(_, content)| content.function_responses().next().is_some())
    };
    contents.get(index).is_some_and(|(_, content)| content.role == Role::Model) && answered(index - 1)
}

#[cfg(test)]
mod tests {
    use charla_proto::{FunctionCall, FunctionResponse, Part};
    use serde_json::Map;

    use super::*;

    fn user(seq: u64, text: &str) -> Said {
        (seq, Arc::new(Content::user(text)))
    }

    fn model(seq: u64, text: &str) -> Said {
        (seq, Arc::new(Content::model(text)))
    }

    /// A call and its result, as two contents.
    fn step(seq: u64, output: usize) -> [Said; 2] {
        let id = seq.to_string();
        let call = Part::function_call(FunctionCall::new(id.clone(), "f", Map::new()));
        let answer = Part::function_response(FunctionResponse::output(id, "f", "x".repeat(output)));
        [
            (seq, Arc::new(Content::new(Role::Model, vec![call]))),
            (seq + 1, Arc::new(Content::new(Role::User, vec![answer]))),
        ]
    }

    fn kept_from(contents: &[Said]) -> Option<u64> {
        split(contents, 0.3).map(|cut| cut.kept_from)
    }

    #[test]
    fn the_cut_is_at_seventy_percent_and_before_the_users_words() {
        let long = "x".repeat(1000);
        let said = [
            user(1, &long),
            model(2, &long),
            user(3, &long),
            model(4, &long),
            user(5, &long),
            model(6, "y"),
            user(7, "now"),
        ];
        assert_eq!(kept_from(&said), Some(5));
        assert_eq!(split(&said, 0.7).unwrap().kept_from, 3);
        let late = [user(1, "a"), model(2, "b"), user(3, &long), model(4, &long), user(5, "now")];
        assert_eq!(kept_from(&late), Some(5));
        assert_eq!(kept_from(&said[..1]), None);
    }

    #[test]
    fn calls_and_their_results_are_never_parted() {
        let [call, answer] = step(2, 5000);
        assert_eq!(kept_from(&[user(1, "go"), call, answer, model(4, "done")]), None);
    }

    #[test]
    fn a_summary_alone_is_never_summarised_again() {
        let long = "x".repeat(1000);
        let mut said = vec![user(0, &long), model(0, "ok"), user(9, &long), model(10, "a")];
        assert_eq!(kept_from(&said), None);
        said.push(user(11, "next"));
        assert_eq!(kept_from(&said), Some(11));
    }

    #[test]
    fn a_whole_conversation_is_cut_off_behind_its_last_answer_alone() {
        let said = [user(1, "go"), model(2, "done")];
        let cut = split_whole(&said).unwrap();
        assert_eq!((cut.older.len(), cut.kept_from, cut.kept.len()), (2, 3, 0));
        let [call, answer] = step(2, 50);
        let summary = [user(0, "summary"), model(0, "ok")];
        for open in
            [&said[..1], &[user(1, "go"), call.clone()], &[user(1, "go"), call, answer], &summary, &[]]
        {
            assert_eq!(split_whole(open), None);
        }
    }

    #[test]
    fn a_turn_of_many_steps_is_cut_between_two_of_them_and_keeps_its_prompt() {
        let mut said = vec![user(1, "earlier"), model(2, "yes"), user(3, "do it")];
        said.extend([step(4, 900), step(6, 900), step(8, 900), step(10, 900)].concat());
        let cut = split_turn(&said, 0.3).unwrap();
        assert_eq!((cut.kept_from, cut.prompt.as_ref().map(|said| said.0)), (10, Some(3)));
        assert_eq!((cut.older.len(), cut.kept.len()), (9, 3));
        assert_eq!(cut.kept[0].text(), "do it");
        assert_eq!(split_turn(&said[..5], 0.3), None);
    }
}
