//! The inline screen: what is finished goes into the terminal's own scrollback once, what lives stands below it.
//!
//! The live region is a list of rows at the bottom of what was written. A frame compares what it should show with what
//! stands there and writes the rows that differ. Rows that are finished leave the region at its top and are never
//! touched again; where they stood as live rows before, not a byte is written for them.

use std::fmt::Write as _;

/// How large the terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns of a row.
    pub columns: usize,
    /// Rows of the screen.
    pub rows: usize,
}

/// A row as it is written: painted, and no wider than the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The bytes, colours included; no line ends and no cursor movements.
    pub bytes: String,
    /// How many columns it takes.
    pub columns: usize,
}

/// A place in the live region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The row of the region, from 0.
    pub row: usize,
    /// The column, from 0.
    pub column: usize,
}

/// What a terminal does with rows that no longer fit when it becomes narrower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Narrowing {
    /// It breaks them into more rows.
    #[default]
    Breaks,
    /// It cuts them off.
    Cuts,
}

/// What stands at the bottom of the terminal, and how to change it.
#[derive(Debug)]
pub struct Screen {
    size: Size,
    /// What becomes of rows that no longer fit.
    narrowing: Narrowing,
    /// The rows of the live region; never empty: the cursor is in one of them.
    shown: Vec<Row>,
    cursor: Place,
}

const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?25h\u{1b}[?2026l";
const ERASE_LINE: &str = "\u{1b}[K";
/// From the beginning of a row on. Its first column goes by itself: tmux takes an erasure that begins in the corner of the
/// screen for a clearing, and keeps what was there in its history.
const ERASE_BELOW: &str = "\u{1b}[K\u{1b}[2G\u{1b}[J\r";

impl Screen {
    /// A screen whose cursor is at the beginning of an empty row.
    pub fn new(size: Size, narrowing: Narrowing) -> Self {
        Self { size, narrowing, shown: vec![Row::default()], cursor: Place::default() }
    }

    /// An empty screen of the same kind, as large as this.
    pub fn anew(&self, size: Size) -> Self {
        Self::new(size, self.narrowing)
    }

    /// How large it is.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The bytes that write `finished` for good, show `live` below it and put the cursor into that; nothing where all of
    /// it stands there already. A live region that is taller than the screen loses its first rows.
    pub fn frame(&mut self, finished: Vec<Row>, mut live: Vec<Row>, cursor: Place) -> String {
        let over = live.len().saturating_sub(self.size.rows);
        live.drain(..over);
        if live.is_empty() {
            live.push(Row::default());
        }
        let cursor = Place { row: cursor.row.saturating_sub(over).min(live.len() - 1), ..cursor };
        let mut pen = Pen::new(self.cursor, self.shown.len());
        let gone = finished.len();
        let rows: Vec<Row> = finished.into_iter().chain(live).collect();
        for (index, row) in rows.iter().enumerate() {
            if self.shown.get(index) != Some(row) {
                pen.go_to(index);
                pen.write(row);
            }
        }
        if rows.len() < self.shown.len() {
            pen.go_to(rows.len());
            pen.out.push_str(ERASE_BELOW);
        }
        pen.place(gone + cursor.row, cursor.column);
        self.shown = rows.into_iter().skip(gone).collect();
        self.cursor = cursor;
        pen.finish()
    }

    /// The bytes that take the live region off the screen, so that it can be drawn anew or somebody else can write.
    pub fn clear(&mut self) -> String {
        self.clear_from(self.cursor.row)
    }

    /// The terminal has another size now; the bytes that take the live region off it. Where rows that no longer fit are
    /// broken, the region may have become taller than the screen, and nothing reaches what has left it: in a smaller one, rows at the top of the region that
    /// are `settled` stay where they are. How many these are comes with the bytes.
    pub fn resize(&mut self, size: Size, settled: &[Row]) -> (String, usize) {
        let kept = self.kept(size, settled);
        let rows_of = |columns: usize| match self.narrowing {
            Narrowing::Breaks => columns.div_ceil(size.columns.max(1)).max(1),
            Narrowing::Cuts => 1,
        };
        let above = self.shown.get(kept..self.cursor.row).unwrap_or_default();
        let above: usize = above.iter().map(|row| rows_of(row.columns)).sum();
        let within = match self.narrowing {
            Narrowing::Breaks => self.cursor.column / size.columns.max(1),
            Narrowing::Cuts => 0,
        };
        self.size = size;
        (self.clear_from((above + within).min(size.rows.saturating_sub(1))), kept)
    }

    /// How many rows at the top of the region stay in a screen that becomes smaller. What is cut off must be written anew.
    fn kept(&self, size: Size, settled: &[Row]) -> usize {
        let is_smaller = size.columns < self.size.columns || size.rows < self.size.rows;
        if !is_smaller || self.narrowing == Narrowing::Cuts {
            return 0;
        }
        let alike = self.shown.iter().zip(settled).take_while(|(shown, settled)| shown == settled);
        alike.count().min(self.cursor.row)
    }

    fn clear_from(&mut self, above: usize) -> String {
        self.shown = vec![Row::default()];
        self.cursor = Place::default();
        let up = if above > 0 { format!("\u{1b}[{above}A") } else { String::new() };
        format!("\r{up}{ERASE_BELOW}")
    }
}

/// Writes rows of a region, knowing where the cursor is in it.
struct Pen {
    out: String,
    at: Place,
    /// How many rows there are; further ones are made by line ends.
    rows: usize,
    began: Place,
}

impl Pen {
    fn new(at: Place, rows: usize) -> Self {
        Self { out: String::new(), at, rows, began: at }
    }

    /// To the beginning of a row.
    fn go_to(&mut self, row: usize) {
        let there = row.min(self.rows - 1);
        match there.cmp(&self.at.row) {
            std::cmp::Ordering::Less => _ = write!(self.out, "\u{1b}[{}A", self.at.row - there),
            // A line end goes on where the terminal has become lower meanwhile, and lost what stood below its cursor.
            std::cmp::Ordering::Greater => self.out.push_str(&"\n".repeat(there - self.at.row)),
            std::cmp::Ordering::Equal => {}
        }
        self.out.push('\r');
        self.out.push_str(&"\n".repeat(row - there));
        self.rows = self.rows.max(row + 1);
        self.at = Place { row, column: 0 };
    }

    /// Writes a row at its beginning, where the cursor is. What stood there goes first and not behind it: to tmux, a row is
    /// as long as it ever was unless it was erased whole, and breaks into more rows when the window becomes narrow.
    fn write(&mut self, row: &Row) {
        self.out.push_str(ERASE_LINE);
        self.out.push_str(&row.bytes);
        self.at.column = row.columns;
    }

    fn place(&mut self, row: usize, column: usize) {
        if self.out.is_empty() && self.began == (Place { row, column }) {
            return;
        }
        self.go_to(row);
        if column > 0 {
            _ = write!(self.out, "\u{1b}[{}G", column + 1);
        }
        self.at.column = column;
    }

    fn finish(self) -> String {
        match self.out.is_empty() {
            true => String::new(),
            false => format!("{BEGIN}{}{END}", self.out),
        }
    }
}

#[cfg(test)]
mod tests;
