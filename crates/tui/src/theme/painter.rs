//! Lines as bytes for a terminal.

use super::{Depth, Style, Theme};
use crate::text::{Line, Role, Span};

/// Writes lines for one terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Painter {
    theme: Theme,
    depth: Depth,
    links: bool,
}

impl Painter {
    /// A painter with a theme for a terminal of so many colours; `links` where it can follow them.
    pub fn new(theme: Theme, depth: Depth, links: bool) -> Self {
        Self { theme, depth, links }
    }

    /// The theme it paints with.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// The same terminal with another theme.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Adds a line's text and escape sequences, without a line break. Every look is ended where its span ends.
    pub fn write(&self, line: &Line, bytes: &mut String) {
        for span in line.spans() {
            self.write_span(span, bytes);
        }
    }

    /// The same as a text of its own.
    pub fn paint(&self, line: &Line) -> String {
        let mut bytes = String::new();
        self.write(line, &mut bytes);
        bytes
    }

    fn write_span(&self, span: &Span, bytes: &mut String) {
        let parameters = self.parameters(span);
        let link = span.link().filter(|_| self.links);
        if let Some(address) = link {
            bytes.extend(["\x1b]8;;", address, "\x1b\\"]);
        }
        if !parameters.is_empty() {
            bytes.extend(["\x1b[", parameters.as_str(), "m"]);
        }
        bytes.push_str(span.text());
        if !parameters.is_empty() {
            bytes.push_str("\x1b[0m");
        }
        if link.is_some() {
            bytes.push_str("\x1b]8;;\x1b\\");
        }
    }

    fn parameters(&self, span: &Span) -> String {
        let style: Style = match span.role() {
            Role::Plain if span.emphasis() == Default::default() => return String::new(),
            role => self.theme.paint(role),
        };
        let emphasis = style.emphasis.with(span.emphasis());
        let codes = [
            (emphasis.bold, "1"),
            (style.dim, "2"),
            (emphasis.italic, "3"),
            (emphasis.underline, "4"),
            (style.reverse, "7"),
            (emphasis.strike, "9"),
        ];
        let mut parameters: Vec<String> =
            codes.into_iter().filter(|(is_on, _)| *is_on).map(|(_, code)| code.to_owned()).collect();
        parameters.extend(style.foreground.and_then(|colour| colour.parameters(self.depth, false)));
        parameters.extend(style.background.and_then(|colour| colour.parameters(self.depth, true)));
        parameters.join(";")
    }
}
