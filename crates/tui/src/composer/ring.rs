//! What was cut, for putting it elsewhere.

/// How many cuts are kept.
const KEPT: usize = 30;

/// A text that was cut or copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// It.
    pub text: String,
    /// It consists of whole lines.
    pub is_lines: bool,
}

/// Where a cut lies, seen from the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Behind it.
    After,
    /// Before it.
    Before,
}

/// The cuts, the latest last.
#[derive(Clone, Debug, Default)]
pub struct KillRing {
    cuts: Vec<Cut>,
    /// The next cut belongs to the last one.
    joins: bool,
    /// Which cut was put last, counted from the latest.
    put: usize,
}

impl KillRing {
    /// Keeps a cut; cuts in a row are one.
    pub fn cut(&mut self, text: &str, side: Side) {
        if text.is_empty() {
            return;
        }
        match self.cuts.last_mut().filter(|last| self.joins && !last.is_lines) {
            Some(last) if side == Side::After => last.text.push_str(text),
            Some(last) => last.text.insert_str(0, text),
            None => self.keep(Cut { text: text.to_owned(), is_lines: false }),
        }
        self.joins = true;
    }

    /// Keeps a text by itself.
    pub fn keep(&mut self, cut: Cut) {
        if self.cuts.len() == KEPT {
            self.cuts.remove(0);
        }
        self.cuts.push(cut);
        (self.put, self.joins) = (0, false);
    }

    /// The next cut stands for itself.
    pub fn pause(&mut self) {
        self.joins = false;
    }

    /// The latest cut.
    pub fn latest(&mut self) -> Option<Cut> {
        self.put = 0;
        self.cuts.last().cloned()
    }

    /// The cut before the one that was put last; before the oldest comes the latest.
    pub fn older(&mut self) -> Option<Cut> {
        let number = self.cuts.len();
        self.put = (self.put + 1).checked_rem(number)?;
        self.cuts.get(number - 1 - self.put).cloned()
    }
}
