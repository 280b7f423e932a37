//! The journal's page: it names every kind of record with every field, and no other.

use std::collections::BTreeMap;

use charla_proto::Record;
use proc_macro2::TokenTree;

use crate::markdown::{code_blocks, code_spans, document, rows, section};
use crate::source::{modules_of, types};

/// The fields of each kind of record, as they are declared.
fn kinds() -> BTreeMap<String, Vec<String>> {
    let modules = modules_of("proto");
    let record = modules.iter().find(|module| module.path == ["record"]).unwrap();
    let structs: BTreeMap<String, Vec<String>> = types(&record.tokens, "struct").into_iter().collect();
    let name = |tokens: &[TokenTree]| match tokens {
        [TokenTree::Ident(word), TokenTree::Punct(_), TokenTree::Group(facts)] if word == "facts" => {
            Some(facts.stream())
        }
        _ => None,
    };
    let facts: Vec<TokenTree> = record.tokens.windows(3).find_map(name).unwrap().into_iter().collect();
    let mut kinds = BTreeMap::new();
    let mut kind = None;
    for token in facts {
        match token {
            TokenTree::Literal(literal) => kind = Some(literal.to_string().trim_matches('"').to_owned()),
            TokenTree::Group(body) => {
                let body = body.stream().to_string();
                let body = body.trim_end_matches(['>', ' ']).rsplit(['<', ' ']).next().unwrap_or_default();
                if let (Some(kind), Some(fields)) = (kind.take(), structs.get(body)) {
                    kinds.insert(kind, fields.clone());
                }
            }
            _ => {}
        }
    }
    kinds
}

/// The fields the page tells of, for each kind of record. A section is about one kind, or its tables name them.
fn documented(document: &str) -> BTreeMap<String, Vec<String>> {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for heading in document.lines().filter(|line| line.starts_with("### `")) {
        let named = code_spans(heading);
        let mut kind = named[0].to_owned();
        // The first table tells of the fields, further ones of their values.
        let text = section(document, heading).split("\n\n").find(|block| block.starts_with('|')).unwrap();
        for cells in rows(text) {
            if let (3, [name]) = (cells.len(), code_spans(cells[0]).as_slice()) {
                kind = (*name).to_owned();
                assert!(named.contains(name), "`{name}` is not in {heading:?}");
            }
            let fields = code_spans(cells[cells.len() - 2]).into_iter().map(str::to_owned);
            kinds.entry(kind.clone()).or_default().extend(fields);
        }
    }
    kinds
}

#[test]
fn every_record_is_told_of_with_its_fields() {
    let document = document("docs/journal.md");
    let (mut declared, mut told) = (kinds(), documented(&document));
    assert!(declared.len() > 20, "hardly any kinds were found: {declared:?}");
    declared.values_mut().chain(told.values_mut()).for_each(|fields| fields.sort());
    assert_eq!(told, declared, "left: docs/journal.md; right: proto/src/record.rs");
}

#[test]
fn the_example_is_a_journal() {
    let document = document("docs/journal.md");
    let text = section(&document, "## A turn that was left open");
    let lines: Vec<&str> = code_blocks(text, "json").into_iter().flat_map(str::lines).collect();
    assert!(!lines.is_empty());
    for line in lines {
        let record = Record::from_json(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}
