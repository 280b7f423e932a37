//! `/stats`: what was used and paid, and what fills the window.

use std::collections::BTreeMap;

use charla::models::Prices;
use charla_proto::{Content, PartKind, Role as Speaker, Said, UsageMetadata};
use charla_terminal::wording;

use crate::text::{Line, Role};

/// Columns of a bar.
const BAR: usize = 30;

/// Tokens by model.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    models: BTreeMap<String, (u64, UsageMetadata)>,
}

impl Tally {
    /// An answer came.
    pub fn add(&mut self, model: &str, usage: &UsageMetadata) {
        let (answers, sum) = self.models.entry(model.to_owned()).or_default();
        *answers += 1;
        sum.add(usage);
    }

    /// Other answers came, too.
    pub fn join(&mut self, others: &Self) {
        for (model, (answers, usage)) in &others.models {
            let (sum, used) = self.models.entry(model.clone()).or_default();
            *sum += answers;
            used.add(usage);
        }
    }

    /// A row for each model.
    pub fn lines(&self, prices: &Prices) -> Vec<Line> {
        if self.models.is_empty() {
            return vec![Line::of(Role::Dim, "no answers yet")];
        }
        let rows = self.models.iter().map(|(model, (answers, usage))| {
            let cached = usage.cached_content_token_count.unwrap_or(0);
            let cost = prices
                .of(model, usage)
                .map_or_else(|| "price unknown".to_owned(), |cost| format!("${cost:.4}"));
            let mut line = Line::of(Role::Accent, model);
            line.push(
                Role::Plain,
                &format!(
                    "  {answers} {} · {} in ({} cached) · {} out · {cost}",
                    if *answers == 1 { "answer" } else { "answers" },
                    wording::tokens(usage.prompt_token_count.unwrap_or(0)),
                    wording::tokens(cached),
                    wording::tokens(usage.output()),
                ),
            );
            line
        });
        rows.collect()
    }
}

/// What the next request holds, by kind, in about so many tokens, and the window where it is known.
pub struct Filling {
    sizes: [(&'static str, u64); 5],
    window: Option<u32>,
}

impl Filling {
    /// Of a conversation behind a prompt and declarations of tools.
    pub fn of(contents: &[Said], system: u64, declarations: u64, window: Option<u32>) -> Self {
        let mut sizes = [
            ("system prompt", system),
            ("tools", declarations),
            ("you", 0),
            ("model", 0),
            ("tool results", 0),
        ];
        for said in contents {
            let (words, results) = measure(&said.content);
            let speaker = if said.content.role == Speaker::User { 2 } else { 3 };
            sizes[speaker].1 += words;
            sizes[4].1 += results;
        }
        Self { sizes, window }
    }

    /// What is left of the window.
    fn free(&self) -> Option<u64> {
        Some(u64::from(self.window?).saturating_sub(self.sum()))
    }

    fn sum(&self) -> u64 {
        self.sizes.iter().map(|(_, size)| size).sum()
    }

    /// Bars, against the window where it is known.
    pub fn bars(&self) -> Vec<Line> {
        let whole = self.window.map_or(self.sum(), u64::from).max(1);
        let bar = |size: u64| {
            "█".repeat(usize::try_from((size * BAR as u64).div_ceil(whole)).unwrap_or(BAR).min(BAR))
        };
        let row = |name: &str, size: u64, role: Role| {
            let mut line = Line::plain(&format!("{name:<14} {:>7}  ", wording::tokens(size)));
            line.push(role, &bar(size));
            line
        };
        let filled = self.sizes.iter().map(|(name, size)| row(name, *size, Role::Accent));
        filled.chain(self.free().map(|free| row("free", free, Role::Border))).collect()
    }

    /// The same for whoever hears it.
    pub fn words(&self) -> Vec<String> {
        let filled = self.sizes.iter().copied().chain(self.free().map(|free| ("free", free)));
        filled.map(|(name, size)| format!("{name}: {} tokens", wording::tokens(size))).collect()
    }
}

/// About how many tokens a content has: words and calls, and results of tools.
fn measure(content: &Content) -> (u64, u64) {
    let (mut words, mut results) = (0, 0);
    for part in &content.parts {
        match &part.kind {
            PartKind::Text(text) => words += text.len() / 4,
            PartKind::FunctionCall(call) => {
                words += serde_json::to_string(&call.args).map_or(0, |text| text.len() / 4)
            }
            PartKind::FunctionResponse(response) => results += response.to_text().len() / 4,
            // An image costs about as much, whatever its size in bytes.
            PartKind::InlineData(_) | PartKind::FileData(_) => words += 260,
            _ => {}
        }
    }
    (words as u64, results as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_parts_of_the_window() {
        let filling = Filling::of(&[], 500, 0, Some(1000));
        let text: Vec<String> = filling.bars().iter().map(Line::text).collect();
        assert_eq!(text[0].matches('█').count(), 15, "{text:?}");
        assert_eq!(text[1].matches('█').count(), 0);
        assert!(text[5].starts_with("free") && text[5].matches('█').count() == 15, "{text:?}");
        let words = filling.words();
        assert_eq!((words[0].as_str(), words[5].as_str()), ("system prompt: 500 tokens", "free: 500 tokens"));
    }
}
