//! A session's story as one page of HTML that needs nothing beside it and loads nothing.
//!
//! What was said comes from models, tools and files: markup in it is text, a link leads to the web or nowhere, and a
//! picture is a link. The page forbids itself to load or run anything, should that ever fail.

use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::story::{Said, SessionStory, TurnStory};

const STYLE: &str = include_str!("story_page.css");

/// The page.
pub fn page(story: &SessionStory) -> String {
    let title = escaped(if story.title.is_empty() { &story.session } else { &story.title });
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<header>\n<h1>{title}</h1>\n<dl>\n"
    );
    let forked = story.forked_from.as_ref();
    let facts = [
        ("session", Some(story.session.clone())),
        ("folder", Some(story.folder.display().to_string())),
        ("model", Some(story.model.clone())),
        ("forked from", forked.map(|(parent, message)| format!("{parent}, message {message}"))),
        ("spent", Some(story.spent.in_words())),
    ];
    for (name, value) in facts.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    page.push_str("</dl>\n</header>\n");
    for turn in &story.turns {
        push_turn(turn, story, &mut page);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn push_turn(turn: &TurnStory, story: &SessionStory, page: &mut String) {
    let _ = writeln!(page, "<section id=\"turn-{0}\">\n<h2>Turn {0}</h2>", turn.turn);
    turn.said.iter().for_each(|said| push_said(said, page));
    if !turn.files.is_empty() {
        let files = escaped(&turn.files_in_words(&story.folder));
        let _ = writeln!(page, "<p class=\"files\">Files: {files}</p>");
    }
    page.push_str("</section>\n");
}

fn push_said(said: &Said, page: &mut String) {
    let _ = match said {
        Said::User { text, .. } => {
            writeln!(page, "<article class=\"user\"><h3>You</h3>\n<pre>{}</pre></article>", escaped(text))
        }
        Said::Model { text, is_plain: true, .. } => {
            writeln!(page, "<article class=\"model\"><h3>Model</h3>\n<pre>{}</pre></article>", escaped(text))
        }
        Said::Model { text, .. } => {
            writeln!(page, "<article class=\"model\"><h3>Model</h3>\n{}</article>", rendered(text))
        }
        Said::Summary { text } => {
            let inner = rendered(text);
            writeln!(page, "<details><summary>Summary of the older part</summary>\n{inner}</details>")
        }
        Said::Tool { name, arguments, success, output } => {
            let state = if *success { "" } else { " class=\"failed\"" };
            let (name, arguments, output) = (escaped(name), escaped(arguments), escaped(output));
            writeln!(
                page,
                "<details{state}><summary><b>{name}</b> <code>{arguments}</code></summary>\n<pre>{output}</pre></details>"
            )
        }
    };
}

/// Markdown as HTML.
fn rendered(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(markdown, options).map(harmless);
    let mut text = String::new();
    html::push_html(&mut text, events);
    text
}

/// An event that cannot do anything.
fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: web_address(dest_url), title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: web_address(dest_url), title, id })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    }
}

/// The address, if it leads to the web or to a mailbox.
fn web_address(address: CowStr<'_>) -> CowStr<'_> {
    let lower = address.trim().to_ascii_lowercase();
    let is_harmless = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    if is_harmless { address } else { CowStr::Borrowed("#") }
}

/// Text that is no markup, in which nothing hides.
fn escaped(text: &str) -> String {
    let text = charla_proto::text::readable(text);
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Spent;

    fn story(said: Vec<Said>) -> SessionStory {
        SessionStory {
            session: "s-1".to_owned(),
            title: "A <b>title</b>".to_owned(),
            folder: "/home/anna".into(),
            model: "a/b".to_owned(),
            forked_from: None,
            started_at: 0,
            last_at: 0,
            spent: Spent::default(),
            turns: vec![TurnStory {
                turn: 1,
                said,
                files: vec![("/home/anna/a.txt".into(), false)],
                ..TurnStory::default()
            }],
        }
    }

    #[test]
    fn everything_that_was_said_is_on_the_page() {
        let page = page(&story(vec![
            Said::User { message: 1, text: "why\n<you>?".to_owned() },
            Said::Tool {
                name: "read_file".to_owned(),
                arguments: "{\"a\":1}".to_owned(),
                success: false,
                output: "no & no".to_owned(),
            },
            Said::Model {
                message: 2,
                text: "**Because** `x`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".to_owned(),
                is_plain: false,
            },
            Said::Model { message: 3, text: "__init__.py".to_owned(), is_plain: true },
            Said::Summary { text: "earlier".to_owned() },
        ]));
        for expected in [
            "<title>A &lt;b&gt;title&lt;/b&gt;</title>",
            "<pre>why\n&lt;you&gt;?</pre>",
            "<details class=\"failed\"><summary><b>read_file</b> <code>{&quot;a&quot;:1}</code></summary>",
            "<pre>no &amp; no</pre>",
            "<strong>Because</strong> <code>x</code>",
            "<td>2</td>",
            "<pre>__init__.py</pre>",
            "<p>earlier</p>",
            "Files: a.txt",
        ] {
            assert!(page.contains(expected), "{expected} is missing:\n{page}");
        }
    }

    #[test]
    fn nothing_that_was_said_can_act() {
        let hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n[a](javascript:alert(1)) \
            [b]( JavaScript:alert(2)) ![c](https://evil.example/pixel.png) <javascript:alert(3)> [d](data:text/html,x)\n\n\
            ```\"><script>\nx\n```\n";
        let all = [
            Said::User { message: 1, text: hostile.to_owned() },
            Said::Model { message: 2, text: hostile.to_owned(), is_plain: false },
            Said::Model { message: 3, text: hostile.to_owned(), is_plain: true },
            Said::Summary { text: hostile.to_owned() },
            Said::Tool {
                name: hostile.to_owned(),
                arguments: hostile.to_owned(),
                success: true,
                output: hostile.to_owned(),
            },
        ];
        let page = page(&story(all.to_vec()));
        for forbidden in
            ["<script", "<img", "href=\"javascript", "href=\" JavaScript", "href=\"data:", " src="]
        {
            let shown = page.replace("&lt;img src=", "");
            assert!(!shown.contains(forbidden), "{forbidden} is in:\n{page}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}
