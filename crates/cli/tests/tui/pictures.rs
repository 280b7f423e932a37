//! Pictures of the terminal for the documentation, made of real runs against the scripted server.
//!
//! `scripts/pictures.sh` runs these and writes into `docs/`. A picture is an SVG: text on a grid, in the colours of the run.

use std::fmt::Write as _;
use std::path::Path;

use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::place::{Place, server};
use crate::terminal::Terminal;

const COLUMNS: u16 = 96;
const ROWS: u16 = 34;
/// A cell, in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 16.0;

/// A terminal's own colours.
struct Paper {
    name: &'static str,
    /// What it answers when it is asked for its background.
    answer: &'static str,
    text: &'static str,
    background: &'static str,
}

const PAPERS: [Paper; 2] = [
    Paper {
        name: "dark",
        answer: "\u{1b}]11;rgb:1616/1818/1d1d\u{7}",
        text: "#d7dae0",
        background: "#16181d",
    },
    Paper {
        name: "light",
        answer: "\u{1b}]11;rgb:ffff/ffff/ffff\u{7}",
        text: "#24292f",
        background: "#ffffff",
    },
];

const BEFORE: &str = "pub fn total(prices: &[f64]) -> f64 {\n    let mut sum = 0.0;\n    for i in 0..prices.len() - 1 {\n        sum += prices[i];\n    }\n    sum\n}\n";

const ANSWER: &str = "The last price is never added: the range ends **one too early**, and an empty slice would even panic.\n\n\
    | prices | `total` says | right |\n|---|---|---|\n| `[2.0, 3.0]` | 2.0 | 5.0 |\n| `[]` | panics | 0.0 |\n\n\
    An iterator has neither problem:\n";

#[test]
#[ignore = "writes pictures into docs/"]
fn the_terminal_with_a_question_on_dark_and_on_light() {
    for paper in &PAPERS {
        let replace = json!({
            "file_path": "src/total.rs",
            "old_string": "    let mut sum = 0.0;\n    for i in 0..prices.len() - 1 {\n        sum += prices[i];\n    }\n    sum\n",
            "new_string": "    prices.iter().sum()\n",
        });
        let read = Reply::new().call("read_file", json!({ "file_path": "src/total.rs" }));
        let server = server(Script::new([read, Reply::new().text(ANSWER).call("replace", replace)]));
        let place = Place::with_server(&server).variable("COLORTERM", "truecolor");
        std::fs::create_dir(place.work().join("src")).unwrap();
        let place = place.file("src/total.rs", BEFORE);
        let mut terminal = Terminal::sized(&place, &["-m", "openai/gpt-5.2"], COLUMNS, ROWS);
        terminal.wait_for("openai/gpt-5.2");
        terminal.press(paper.answer);
        terminal.say("Why is the total of my prices wrong?");
        terminal.wait_for("r no, with a reason");
        let file = format!("../../docs/terminal-{}.svg", paper.name);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        std::fs::write(file, picture(terminal.model(), paper)).unwrap();
    }
}

/// The screen as an SVG.
fn picture(screen: &vt100::Screen, paper: &Paper) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let width = f64::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace\" font-size=\"14\" \
         xml:space=\"preserve\">\n",
        paper.background
    );
    for row in 0..rows {
        for run in runs(screen, row, columns, paper) {
            run.draw(row, &mut svg);
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Cells of a row that look alike.
struct Run {
    column: u16,
    cells: u16,
    text: String,
    look: Look,
}

#[derive(Clone, PartialEq)]
struct Look {
    text: String,
    behind: Option<String>,
    bold: bool,
    italic: bool,
    underline: bool,
    dim: bool,
}

fn runs(screen: &vt100::Screen, row: u16, columns: u16, paper: &Paper) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let (cells, look) = (if cell.is_wide() { 2 } else { 1 }, look(cell, paper));
        match runs.last_mut() {
            Some(last) if last.look == look => {
                last.text.push_str(text);
                last.cells += cells;
            }
            _ => runs.push(Run { column, cells, text: text.to_owned(), look }),
        }
    }
    runs
}

fn look(cell: &vt100::Cell, paper: &Paper) -> Look {
    let (mut text, mut behind) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    if cell.inverse() {
        let front = text.unwrap_or_else(|| paper.text.to_owned());
        (text, behind) = (behind.or_else(|| Some(paper.background.to_owned())), Some(front));
    }
    Look {
        text: text.unwrap_or_else(|| paper.text.to_owned()),
        behind,
        bold: cell.bold(),
        italic: cell.italic(),
        underline: cell.underline(),
        dim: cell.dim(),
    }
}

/// A colour of the run; nothing for the terminal's own.
fn colour(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        vt100::Color::Idx(number) => panic!("the run uses colour {number}, which only a terminal knows"),
    }
}

impl Run {
    fn draw(&self, row: u16, svg: &mut String) {
        let (x, y) = (MARGIN + f64::from(self.column) * CELL.0, MARGIN + f64::from(row) * CELL.1);
        let width = f64::from(self.cells) * CELL.0;
        if let Some(behind) = &self.look.behind {
            let height = CELL.1;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{behind}\"/>"
            );
        }
        if self.text.trim().is_empty() {
            return;
        }
        let mut style = format!("fill=\"{}\"", self.look.text);
        let marks = [
            (self.look.bold, " font-weight=\"bold\""),
            (self.look.italic, " font-style=\"italic\""),
            (self.look.underline, " text-decoration=\"underline\""),
            (self.look.dim, " opacity=\"0.6\""),
        ];
        marks.iter().filter(|(holds, _)| *holds).for_each(|(_, mark)| style.push_str(mark));
        let text = self.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let base = y + CELL.1 * 0.75;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{base:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" {style}>{text}</text>"
        );
    }
}
