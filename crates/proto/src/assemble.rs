//! Puts a streamed answer together.

use crate::{Candidate, Content, GenerateResponse, Part, PartKind, Role};

/// Collects the chunks of one stream into the answer they make.
///
/// Adjacent texts of the same kind become one part. A part with a signature stays a part of its own,
/// so that the signature goes back on exactly the words it came with; only a signature that arrives
/// after its thought, on an empty thought part, joins the thought before it.
///
/// A text part with `replaces: N` in its `extra` takes the place of the last N bytes of the text before it:
/// the server's finished text was not what it had streamed. A front end that showed the stream may skip it.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    whole: GenerateResponse,
}

impl Assembler {
    /// An empty answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one chunk, in the order they come.
    pub fn push(&mut self, chunk: GenerateResponse) {
        let GenerateResponse {
            candidates,
            usage_metadata,
            model_version,
            response_id,
            prompt_feedback,
            extra,
        } = chunk;
        let whole = &mut self.whole;
        if usage_metadata.is_some() {
            whole.usage_metadata = usage_metadata;
        }
        if whole.model_version.is_none() {
            whole.model_version = model_version;
        }
        if whole.response_id.is_none() {
            whole.response_id = response_id;
        }
        if prompt_feedback.is_some() {
            whole.prompt_feedback = prompt_feedback;
        }
        for (key, value) in extra.iter() {
            whole.extra.insert(key.clone(), value.clone());
        }
        for candidate in candidates {
            self.push_candidate(candidate);
        }
    }

    fn push_candidate(&mut self, new: Candidate) {
        let known = self.whole.candidates.iter().position(|old| old.index == new.index);
        let Some(place) = known else {
            let content = new.content.map(|content| {
                let mut merged =
                    Content { parts: Vec::with_capacity(content.parts.len()), ..content.clone() };
                for part in content.parts {
                    push_part(&mut merged.parts, part);
                }
                merged
            });
            self.whole.candidates.push(Candidate { content, ..new });
            self.whole.candidates.sort_by_key(|candidate| candidate.index);
            return;
        };
        let old = &mut self.whole.candidates[place];
        if let Some(content) = new.content {
            let target =
                old.content.get_or_insert_with(|| Content { role: Role::Model, ..Content::default() });
            if target.origin.is_none() {
                target.origin = content.origin;
            }
            for (key, value) in content.extra.iter() {
                target.extra.insert(key.clone(), value.clone());
            }
            for part in content.parts {
                push_part(&mut target.parts, part);
            }
        }
        if new.finish_reason.is_some() {
            old.finish_reason = new.finish_reason;
            old.native_finish_reason = new.native_finish_reason;
        }
        if new.finish_message.is_some() {
            old.finish_message = new.finish_message;
        }
        old.citations.extend(new.citations);
        for (key, value) in new.extra.iter() {
            old.extra.insert(key.clone(), value.clone());
        }
    }

    /// The answer so far.
    pub fn response(&self) -> &GenerateResponse {
        &self.whole
    }

    /// The whole answer.
    pub fn finish(self) -> GenerateResponse {
        self.whole
    }
}

fn push_part(parts: &mut Vec<Part>, mut new: Part) {
    if let Some(count) = new.extra.remove("replaces") {
        withdraw(parts, count.as_u64().unwrap_or(0) as usize);
        if new == Part::text("") && parts.last() == Some(&new) {
            // All of it was taken back, and nothing put in its place.
            parts.pop();
            return;
        }
    }
    let Some(last) = parts.last_mut() else {
        parts.push(new);
        return;
    };
    let (PartKind::Text(old_text), PartKind::Text(new_text)) = (&mut last.kind, &new.kind) else {
        parts.push(new);
        return;
    };
    let open = last.thought == new.thought && last.thought_signature.is_none() && last.extra == new.extra;
    if open && new.thought_signature.is_none() {
        old_text.push_str(new_text);
    } else if open && new.thought && new_text.is_empty() {
        last.thought_signature = new.thought_signature;
    } else {
        parts.push(new);
    }
}

/// Takes the last `count` bytes off the last part, if that is text that long.
fn withdraw(parts: &mut [Part], count: usize) {
    if let Some(Part { kind: PartKind::Text(text), .. }) = parts.last_mut()
        && let Some(kept) = text.len().checked_sub(count)
        && text.is_char_boundary(kept)
    {
        text.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FinishReason, UsageMetadata};

    fn chunk(parts: Vec<Part>) -> GenerateResponse {
        let content = Some(Content::new(Role::Model, parts));
        GenerateResponse {
            candidates: vec![Candidate { content, ..Candidate::default() }],
            ..GenerateResponse::default()
        }
    }

    fn assemble(chunks: Vec<GenerateResponse>) -> GenerateResponse {
        let mut assembler = Assembler::new();
        for chunk in chunks {
            assembler.push(chunk);
        }
        assembler.finish()
    }

    #[test]
    fn adjacent_texts_become_one_part_and_thoughts_stay_apart() {
        let whole = assemble(vec![
            chunk(vec![Part::thought("I ")]),
            chunk(vec![Part::thought("think"), Part::text("Hel")]),
            chunk(vec![Part::text("lo")]),
        ]);
        let parts = &whole.content().unwrap().parts;
        assert_eq!(parts, &[Part::thought("I think"), Part::text("Hello")]);
    }

    #[test]
    fn texts_of_the_same_peculiarity_become_one_part() {
        let refusal = |text: &str| {
            let mut part = Part::text(text);
            part.extra.insert("refusal", true.into());
            part
        };
        let whole = assemble(vec![
            chunk(vec![Part::text("Well.")]),
            chunk(vec![refusal("I ")]),
            chunk(vec![refusal("cannot")]),
        ]);
        assert_eq!(whole.content().unwrap().parts, [Part::text("Well."), refusal("I cannot")]);
    }

    #[test]
    fn a_correction_replaces_what_was_streamed_and_nothing_before_it() {
        let mut correction = Part::text("it ran in the box");
        correction.extra.insert("replaces", 7.into());
        let whole = assemble(vec![
            chunk(vec![Part::text("First. ")]),
            chunk(vec![Part::text("it ran.")]),
            chunk(vec![correction]),
        ]);
        assert_eq!(whole.content().unwrap().parts, [Part::text("First. it ran in the box")]);
        let mut withdrawal = Part::text("");
        withdrawal.extra.insert("replaces", 5.into());
        let thought = Part::thought("First");
        let whole =
            assemble(vec![chunk(vec![Part::text("First")]), chunk(vec![withdrawal, thought.clone()])]);
        assert_eq!(whole.content().unwrap().parts, [thought]);
        let mut lone = Part::text("alone");
        lone.extra.insert("replaces", 7.into());
        assert_eq!(assemble(vec![chunk(vec![lone])]).text(), "alone");
    }

    #[test]
    fn a_signature_after_its_thought_joins_it_and_closes_it() {
        let whole = assemble(vec![
            chunk(vec![Part::thought("one")]),
            chunk(vec![Part::thought("").with_signature("sig-1")]),
            chunk(vec![Part::thought("").with_signature("sig-2")]),
        ]);
        let parts = &whole.content().unwrap().parts;
        let one = Part::thought("one").with_signature("sig-1");
        let two = Part::thought("").with_signature("sig-2");
        assert_eq!(parts, &[one, two]);
    }

    #[test]
    fn a_signed_empty_text_is_kept_as_a_part_of_its_own() {
        let whole = assemble(vec![
            chunk(vec![Part::text("answer")]),
            chunk(vec![Part::text("").with_signature("sig")]),
        ]);
        assert_eq!(whole.content().unwrap().parts.len(), 2);
    }

    #[test]
    fn the_last_usage_and_the_last_finish_reason_count() {
        let usage = |n| Some(UsageMetadata { total_token_count: Some(n), ..UsageMetadata::default() });
        let mut first = chunk(vec![Part::text("a")]);
        first.usage_metadata = usage(1);
        first.candidates[0].finish_reason = Some(FinishReason::Stop);
        let mut second = chunk(vec![Part::text("b")]);
        second.usage_metadata = usage(2);
        second.candidates[0].finish_reason = Some(FinishReason::Recitation);
        let whole = assemble(vec![first, second]);
        assert_eq!(whole.usage_metadata, usage(2));
        assert_eq!(whole.finish_reason(), Some(&FinishReason::Recitation));
        assert_eq!(whole.text(), "ab");
    }

    #[test]
    fn candidates_are_kept_apart_by_index() {
        let mut other = chunk(vec![Part::text("two")]);
        other.candidates[0].index = 1;
        let whole = assemble(vec![other, chunk(vec![Part::text("one")])]);
        assert_eq!(whole.candidates.len(), 2);
        assert_eq!(whole.text(), "one");
    }
}
