//! Where less is sent than was said: summaries, cut outputs, prompts that were left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Compressed, CompressionFailed, Content, OutputsCut, Part, PartKind, Role};

/// Characters that are kept of each text of a prompt that did not fit the window.
const REFUSED_PROMPT: usize = 1000;

type Said = (u64, Arc<Content>);

/// What of a conversation is sent in another form, or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shortening {
    /// What stands for the older part of the conversation.
    pub compressed: Option<Compressed>,
    /// The compression that failed last; none once one succeeded, or once the conversation is another.
    pub failed: Option<CompressionFailed>,
    /// Records of prompts that were taken back before they were answered.
    pub(super) left_out: BTreeSet<u64>,
    /// The records after which nothing that was said before is sent.
    cleared: Vec<u64>,
    /// Contents that are sent cut, by their record.
    trimmed: BTreeMap<u64, Arc<Content>>,
    /// Records whose media are not sent: a provider refused them.
    without_media: BTreeSet<u64>,
    /// Contents were let go of, see [`super::Conversation::forget_replaced`].
    forgetful: bool,
    /// Contents that were let go of are needed again.
    lacking: bool,
}

impl Shortening {
    /// True when a summary stands for a part, or outputs or a refused prompt are cut.
    pub fn is_any(&self) -> bool {
        self.compressed.is_some() || !self.trimmed.is_empty()
    }

    pub(super) fn compress(&mut self, compressed: Compressed) {
        self.compressed = Some(compressed);
        self.failed = None;
    }

    /// Nothing that was said until this record is sent any more.
    pub(super) fn clear(&mut self, seq: u64) {
        self.compressed = None;
        self.failed = None;
        self.cleared.push(seq);
    }

    pub(super) fn restore(&mut self) {
        self.trimmed.clear();
        self.uncompress();
    }

    fn uncompress(&mut self) {
        self.compressed = None;
        self.failed = None;
        self.lacking |= self.forgetful;
    }

    pub(super) fn rewind(&mut self, to: u64) {
        if self.compressed.as_ref().is_some_and(|compressed| compressed.kept_from > to) {
            self.uncompress();
        }
        if self.cleared.last().is_some_and(|cleared| *cleared > to) {
            self.uncompress();
            self.cleared.retain(|cleared| *cleared <= to);
        }
        self.failed = None;
        self.trimmed.retain(|seq, _| *seq <= to);
        self.left_out.retain(|seq| *seq <= to);
        self.without_media.retain(|seq| *seq <= to);
    }

    pub(super) fn cut_outputs(&mut self, cut: &OutputsCut, contents: &[Said]) {
        for (seq, content) in contents {
            let is_cut = |id: &Option<String>| id.as_ref().is_some_and(|id| cut.calls.contains(id));
            if !content.function_responses().any(|response| is_cut(&response.id)) {
                continue;
            }
            let mut content = (**self.trimmed.get(seq).unwrap_or(content)).clone();
            for part in &mut content.parts {
                if let PartKind::FunctionResponse(response) = &mut part.kind
                    && is_cut(&response.id)
                {
                    response.cut(cut.kept, cut.whole_in.as_deref());
                }
            }
            self.trimmed.insert(*seq, Arc::new(content));
        }
    }

    /// A prompt that was too long for the window is sent by its beginning from now on. It was refused and got no
    /// answer; whole, it would stand in the way of every later prompt. True when there was something to cut.
    pub(super) fn cut_refused_prompt(&mut self, contents: &[Said]) -> bool {
        let Some((seq, prompt)) = contents.last() else { return false };
        let mut prompt = Content::clone(prompt);
        let mut is_cut = false;
        for part in &mut prompt.parts {
            if let PartKind::Text(text) = &mut part.kind
                && let Some((end, _)) = text.char_indices().nth(REFUSED_PROMPT)
            {
                text.truncate(end);
                text.push_str("\n[… the rest did not fit the window and was left out …]");
                is_cut = true;
            }
        }
        if is_cut {
            self.trimmed.insert(*seq, Arc::new(prompt));
        }
        is_cut
    }

    /// What was said since the last answer is sent without its media from now on. The provider refused it, and would refuse it
    /// again with every later prompt. True when there was any.
    pub(super) fn leave_out_refused_media(&mut self, contents: &[Said]) -> bool {
        let known = self.without_media.len();
        self.without_media.extend(media_since_the_last_answer(contents));
        self.without_media.len() > known
    }

    pub(super) fn sent(&self, contents: &[Said]) -> Vec<Said> {
        let from = self.compressed.as_ref().map_or(0, |compressed| compressed.kept_from);
        let from = from.max(self.cleared.last().map_or(0, |cleared| cleared.saturating_add(1)));
        let stand_ins = self.compressed.iter().flat_map(|compressed| {
            let told = [(0, compressed.summary.clone()), (0, compressed.acknowledgement.clone())];
            told.into_iter().chain(compressed.prompt.clone())
        });
        let kept = contents.iter().filter(|(seq, _)| *seq >= from && !self.left_out.contains(seq));
        let kept = kept.map(|(seq, content)| (*seq, self.trimmed.get(seq).unwrap_or(content).clone()));
        let sent = stand_ins.chain(kept).map(|(seq, content)| match self.without_media.contains(&seq) {
            true => (seq, Arc::new(without_media(&content))),
            false => (seq, content),
        });
        sent.collect()
    }

    pub(super) fn forget_replaced(&mut self, contents: &mut Vec<Said>) {
        let Some(compressed) = &self.compressed else { return };
        let from = compressed.kept_from;
        let known = contents.len();
        contents.retain(|(seq, _)| *seq >= from);
        self.trimmed.retain(|seq, _| *seq >= from);
        self.left_out.retain(|seq| *seq >= from);
        self.without_media.retain(|seq| *seq >= from);
        self.forgetful |= contents.len() < known;
        contents.shrink_to(contents.len() * 2);
    }

    pub(super) fn is_whole(&self) -> bool {
        !self.lacking
    }
}

/// The records with media that no model has answered to.
pub(super) fn media_since_the_last_answer(contents: &[Said]) -> impl Iterator<Item = u64> {
    let said = contents.iter().rev().take_while(|(_, content)| content.role == Role::User);
    said.filter(|(_, content)| content.parts.iter().any(Part::has_media)).map(|(seq, _)| *seq)
}

/// The content with a word for each media, in its place or after the answers of tools.
fn without_media(content: &Content) -> Content {
    let mut content = content.clone();
    let mut beside = Vec::new();
    for part in &mut content.parts {
        match &mut part.kind {
            PartKind::InlineData(blob) => *part = about_media(&blob.mime_type),
            PartKind::FileData(file) => *part = about_media(&file.file_uri),
            PartKind::FunctionResponse(response) => {
                let media = response.parts.extract_if(.., |part| part.has_media());
                beside.extend(media.map(|_| about_media(&format!("media of {}", response.name))));
            }
            _ => {}
        }
    }
    content.parts.extend(beside);
    content
}

fn about_media(what: &str) -> Part {
    Part::text(format!("\n[{what} was left out: the provider refused the request that it came with]\n"))
}
