//! What is read of a page, beside what a conforming tokenizer reads.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use proptest::prelude::*;

use super::*;

/// Joins texts that stand together, so that only what is read counts.
fn joined<'a>(pieces: impl Iterator<Item = Piece<'a>>) -> Vec<Piece<'a>> {
    let mut all: Vec<Piece<'a>> = Vec::new();
    for piece in pieces {
        match (all.last_mut(), piece) {
            (_, Piece::Text(text)) if text.is_empty() => {}
            (Some(Piece::Text(before)), Piece::Text(text)) => before.to_mut().push_str(&text),
            (_, piece) => all.push(piece),
        }
    }
    all
}

#[derive(Default)]
struct Conforming(RefCell<Vec<Piece<'static>>>);

impl TokenSink for Conforming {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let piece = match token {
            Token::CharacterTokens(text) => Piece::Text(text.to_string().into()),
            Token::TagToken(tag) if tag.kind == TagKind::EndTag => Piece::Close(tag.name.to_string()),
            Token::TagToken(tag) => Piece::Open(Tag {
                name: tag.name.to_string(),
                attributes: tag
                    .attrs
                    .iter()
                    .map(|attribute| (attribute.name.local.to_string(), attribute.value.to_string()))
                    .collect(),
                self_closing: tag.self_closing,
            }),
            _ => return TokenSinkResult::Continue,
        };
        let result = match &piece {
            Piece::Open(tag) => match tag.name.as_str() {
                "script" => TokenSinkResult::RawData(RawKind::ScriptData),
                "style" | "iframe" | "noembed" | "noframes" | "xmp" => {
                    TokenSinkResult::RawData(RawKind::Rawtext)
                }
                "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
                _ => TokenSinkResult::Continue,
            },
            _ => TokenSinkResult::Continue,
        };
        self.0.borrow_mut().push(piece);
        result
    }
}

fn conforming(html: &str) -> Vec<Piece<'static>> {
    let tokenizer = Tokenizer::new(Conforming::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    while !input.is_empty() {
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    joined(tokenizer.sink.0.into_inner().into_iter())
}

/// Of two attributes of one name the first counts; a conforming tokenizer leaves the second out.
fn without_doubles(mut pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    for piece in &mut pieces {
        if let Piece::Open(tag) = piece {
            let mut names = std::collections::HashSet::new();
            tag.attributes.retain(|(name, _)| names.insert(name.clone()));
        }
    }
    pieces
}

fn pieces(html: &str) -> Vec<Piece<'_>> {
    without_doubles(joined(Pieces::new(html)))
}

#[test]
fn odd_pages_are_read_as_browsers_read_them() {
    let pages = [
        "a<b",
        "a < b",
        "<",
        "</",
        "</>x",
        "</ x>y",
        "<a href=x?a=1&amp=2&b>t</a>",
        "<a b='1'c=\"2\" d = 3/>x",
        "<a =b==c / d>x",
        "<a b=>x",
        "<A HREF=X>t</A B=c>",
        "<!-->a<!--->b<!-- x --!>c<!-- -- > -->d<!---->e",
        "<!-- unclosed",
        "<!DOCTYPE html PUBLIC \"a>b\">x",
        "<![CDATA[a>b]]>c<?php 1>2 ?>d",
        "<title>a</b>&lt;</titlex></TITLE >b",
        "<title>a</title",
        "<script>a</script x=1>b",
        "<script><!-- <script> </script> --> </script>x",
        "<script><!--> </script>x",
        "<script><!-- --x </script>y</script>",
        "<script><!--<script></script></script>x",
        "<style></STYLE/>x",
        "a\0b<c\0 d\0=e\0>\0<title>\0</title>",
        "\u{feff}a\u{feff}",
        "&#x80;&#0;&#xD800;&notit;&amp&;&#;&#xg;",
    ];
    for page in pages {
        assert_eq!(pieces(page), conforming(page), "{page}");
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let words = prop_oneof![
        "[a-c]{1,2}",
        " ",
        "\n",
        "<",
        "</",
        "/",
        ">",
        "=",
        "\"",
        "'",
        "-",
        "--",
        "<!--",
        "-->",
        "!",
        "\\?",
        "&",
        "#",
        "x41",
        ";",
        "amp",
        "&not",
        "in;",
        "\0",
        "<script",
        "</script>",
        "<script>",
        "<title>",
        "</title",
        "<style>",
        "</STYLE>",
        "<a href=",
        "<b c='d'>",
        "é",
    ];
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_page_is_read_as_a_conforming_tokenizer_reads_it(page in fragments()) {
        prop_assert_eq!(pieces(&page), conforming(&page));
    }
}
