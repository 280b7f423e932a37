//! What a request says, whatever wire it is written in.

use serde_json::Value;

/// The meaning of one request: two requests that mean the same compare equal.
#[derive(Debug, Default, PartialEq)]
pub struct Meaning {
    pub system: String,
    pub turns: Vec<Turn>,
    pub tools: Vec<ToolMeaning>,
}

#[derive(Debug, PartialEq)]
pub struct Turn {
    /// `user` or `model`; tool results are the user's.
    pub role: &'static str,
    pub items: Vec<Item>,
}

#[derive(Debug, PartialEq)]
pub enum Item {
    Text(String),
    Thought {
        text: String,
        signature: Option<String>,
    },
    Call {
        id: Option<String>,
        name: String,
        args: Value,
    },
    Result {
        id: Option<String>,
        text: String,
        error: bool,
    },
    /// Media: its type where the wire tells it, and its data or address.
    Media {
        mime: String,
        data: String,
    },
    /// A block of the vendor's own, unchanged.
    Opaque(Value),
}

#[derive(Debug, PartialEq)]
pub struct ToolMeaning {
    pub name: String,
    pub description: String,
    /// The argument schema, or the whole tool for one the provider runs.
    pub schema: Value,
}

impl Meaning {
    /// Adds an item for `role`; same-role neighbours share a turn, neighbouring texts are one text.
    pub fn push(&mut self, role: &'static str, item: Item) {
        let turn = match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn,
            _ => {
                self.turns.push(Turn { role, items: Vec::new() });
                let last = self.turns.len() - 1;
                &mut self.turns[last]
            }
        };
        match (turn.items.last_mut(), item) {
            (_, Item::Text(text)) if text.is_empty() => {}
            (Some(Item::Text(old)), Item::Text(new)) => old.push_str(&new),
            (_, item) => turn.items.push(item),
        }
    }
}

/// Says where two meanings differ first.
pub fn difference(recorded: &Meaning, ours: &Meaning) -> Option<String> {
    let cut = |text: String| text.chars().take(600).collect::<String>();
    if recorded.system != ours.system {
        return Some(cut(format!("system: {:?} became {:?}", recorded.system, ours.system)));
    }
    for (n, (a, b)) in recorded.turns.iter().zip(&ours.turns).enumerate() {
        if a != b {
            return Some(cut(format!("turn {n}: {a:?}")) + &cut(format!("\n  became {b:?}")));
        }
    }
    if recorded.turns.len() != ours.turns.len() {
        return Some(format!("{} turns became {}", recorded.turns.len(), ours.turns.len()));
    }
    for (a, b) in recorded.tools.iter().zip(&ours.tools) {
        if a != b {
            return Some(cut(format!("tool: {a:?}")) + &cut(format!("\n  became {b:?}")));
        }
    }
    (recorded.tools.len() != ours.tools.len())
        .then(|| format!("{} tools became {}", recorded.tools.len(), ours.tools.len()))
}
