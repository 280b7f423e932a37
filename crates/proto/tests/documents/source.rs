//! Rust sources as tokens, so that comments, strings and tests are not taken for production code.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The top of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// One module's production code.
pub(crate) struct Module {
    /// Its place in the crate, from the root; empty for the root itself.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    /// Its tokens, without tests and child modules.
    pub(crate) tokens: Vec<TokenTree>,
    /// Lines of its file outside tests; 0 for a module inside another's file.
    pub(crate) lines: usize,
}

impl Module {
    /// Its file, as a reader would name it.
    pub(crate) fn place(&self) -> String {
        let file = self.file.strip_prefix(repository()).unwrap_or(&self.file);
        file.display().to_string()
    }
}

/// The production modules of a crate, found by following `mod` from its roots.
pub(crate) fn modules_of(krate: &str) -> Vec<Module> {
    let source = repository().join("crates").join(krate).join("src");
    let mut modules = Vec::new();
    for root in ["lib.rs", "main.rs"].map(|name| source.join(name)) {
        if root.exists() {
            read(&root, &source, Vec::new(), &mut modules);
        }
    }
    modules
}

fn read(file: &Path, folder: &Path, path: Vec<String>, modules: &mut Vec<Module>) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let stream: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut tests = 0;
    let tokens = production(stream, &mut tests);
    let lines = text.lines().count() - tests;
    take(tokens, lines, (file, folder), path, modules);
}

/// Takes a module in, and the modules it declares.
fn take(
    tokens: Vec<TokenTree>,
    lines: usize,
    (file, folder): (&Path, &Path),
    path: Vec<String>,
    modules: &mut Vec<Module>,
) {
    let place = modules.len();
    modules.push(Module { path: path.clone(), file: file.to_owned(), tokens: Vec::new(), lines });
    let (mut own, mut index) = (Vec::new(), 0);
    while let Some(token) = tokens.get(index) {
        match (token, tokens.get(index + 1), tokens.get(index + 2)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name)), Some(body)) if word == "mod" => {
                let mut child = path.clone();
                child.push(name.to_string());
                let inside = folder.join(name.to_string());
                match body {
                    TokenTree::Group(group) => {
                        let tokens = group.stream().into_iter().collect();
                        take(tokens, 0, (file, &inside), child, modules);
                    }
                    _ => {
                        let named = file_attribute(&own).map(|given| folder.join(given));
                        let beside = folder.join(format!("{name}.rs"));
                        let found = named.unwrap_or(beside);
                        let found = if found.exists() { found } else { inside.join("mod.rs") };
                        read(&found, &inside, child, modules);
                    }
                }
                index += 3;
            }
            _ => {
                own.push(token.clone());
                index += 1;
            }
        }
    }
    modules[place].tokens = own;
}

/// The file a `#[path = "…"]` right before names.
fn file_attribute(before: &[TokenTree]) -> Option<String> {
    let Some(TokenTree::Group(attribute)) = before.last() else { return None };
    let mut tokens = attribute.stream().into_iter();
    match (tokens.next(), tokens.nth(1)) {
        (Some(TokenTree::Ident(word)), Some(TokenTree::Literal(file))) if word == "path" => {
            Some(file.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}

/// The tokens without whatever `#[cfg(test)]` stands before, whose lines are counted.
fn production(stream: TokenStream, tests: &mut usize) -> Vec<TokenTree> {
    let mut tokens = stream.into_iter().peekable();
    let mut kept = Vec::new();
    while let Some(token) = tokens.next() {
        let is_mark = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '#');
        if is_mark && tokens.peek().is_some_and(is_cfg_test) {
            let first = token.span().start().line;
            let last = tokens.by_ref().find(ends_item).map_or(first, |token| token.span().end().line);
            *tests += last - first + 1;
            continue;
        }
        kept.push(match token {
            TokenTree::Group(group) => {
                let inner = production(group.stream(), tests).into_iter().collect();
                TokenTree::Group(Group::new(group.delimiter(), inner))
            }
            token => token,
        });
    }
    kept
}

fn is_cfg_test(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.stream().to_string().replace(' ', "") == "cfg(test)")
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(mark) => mark.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

/// Every string in the code as it is written, without its quotes; documentation and other attributes are none.
pub(crate) fn strings(tokens: &[TokenTree]) -> Vec<String> {
    let (mut found, mut after_mark) = (Vec::new(), false);
    for token in tokens {
        match token {
            TokenTree::Group(group) if after_mark && group.delimiter() == Delimiter::Bracket => {}
            TokenTree::Group(group) => found.extend(strings(&group.stream().into_iter().collect::<Vec<_>>())),
            TokenTree::Literal(literal) => {
                let written = literal.to_string();
                let text = written.trim_start_matches(['b', 'r', '#']).trim_end_matches('#');
                let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                found.extend(text.map(str::to_owned));
            }
            _ => {}
        }
        // Inner attributes have an exclamation mark in between.
        after_mark = match token {
            TokenTree::Punct(mark) => mark.as_char() == '#' || after_mark && mark.as_char() == '!',
            _ => false,
        };
    }
    found
}

/// A path that stands somewhere in the code, as in `std::fs::read` or a branch of a `use`.
pub(crate) struct CodePath {
    pub(crate) segments: Vec<String>,
    /// The name a `use` gives it; nothing elsewhere.
    pub(crate) name: Option<String>,
}

/// Every path with at least two segments, those in the arguments of macros included, and every branch of a `use`.
pub(crate) fn paths(tokens: &[TokenTree]) -> Vec<CodePath> {
    let mut found = Vec::new();
    walk(tokens, &[], false, &mut found);
    found
}

fn walk(tokens: &[TokenTree], prefix: &[String], mut in_use: bool, found: &mut Vec<CodePath>) {
    let mut index = 0;
    while index < tokens.len() {
        match &tokens[index] {
            TokenTree::Ident(word) if word == "use" => {
                in_use = true;
                index += 1;
            }
            TokenTree::Ident(_) => index = path_at(tokens, index, prefix, in_use, found),
            TokenTree::Group(group) => {
                walk(&group.stream().into_iter().collect::<Vec<_>>(), &[], false, found);
                index += 1;
            }
            TokenTree::Punct(mark) => {
                in_use &= mark.as_char() != ';';
                index += 1;
            }
            TokenTree::Literal(_) => index += 1,
        }
    }
}

/// Takes the path that begins at `index`; where it ends.
fn path_at(
    tokens: &[TokenTree],
    mut index: usize,
    prefix: &[String],
    in_use: bool,
    found: &mut Vec<CodePath>,
) -> usize {
    let mut segments = prefix.to_vec();
    while let Some(TokenTree::Ident(word)) = tokens.get(index) {
        segments.push(word.to_string());
        index += 1;
        if !is_separator(tokens, index) {
            break;
        }
        if let Some(TokenTree::Group(branches)) = tokens.get(index + 2)
            && in_use
        {
            walk(&branches.stream().into_iter().collect::<Vec<_>>(), &segments, true, found);
            return index + 3;
        }
        index += 2;
    }
    let mut name = segments.last().cloned();
    if let (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(alias))) =
        (tokens.get(index), tokens.get(index + 1))
        && word == "as"
        && in_use
    {
        name = Some(alias.to_string());
        index += 2;
    }
    if segments.len() > 1 || in_use {
        found.push(CodePath { segments, name: name.filter(|_| in_use) });
    }
    index
}

/// `::` stands here.
fn is_separator(tokens: &[TokenTree], index: usize) -> bool {
    let colon = |index: usize, spacing: Option<Spacing>| match tokens.get(index) {
        Some(TokenTree::Punct(mark)) => {
            mark.as_char() == ':' && spacing.is_none_or(|spacing| mark.spacing() == spacing)
        }
        _ => false,
    };
    colon(index, Some(Spacing::Joint)) && colon(index + 1, None)
}

/// The names of the fields or variants of each type that begins with `keyword` (`struct`, `enum`).
pub(crate) fn types(tokens: &[TokenTree], keyword: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match (token, tokens.get(index + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == keyword => {
                if let Some(TokenTree::Group(body)) = tokens[index..].iter().find(|token| ends_item(token)) {
                    let body: Vec<TokenTree> = body.stream().into_iter().collect();
                    let members = if keyword == "enum" { variants(&body) } else { fields(&body) };
                    found.push((name.to_string(), members));
                }
            }
            (TokenTree::Group(group), _) => {
                found.extend(types(&group.stream().into_iter().collect::<Vec<_>>(), keyword));
            }
            _ => {}
        }
    }
    found
}

/// What stands before each single colon.
fn fields(body: &[TokenTree]) -> Vec<String> {
    let mut names = Vec::new();
    let mut index = 0;
    while index < body.len() {
        if is_separator(body, index) {
            index += 2;
            continue;
        }
        if let (TokenTree::Ident(name), Some(TokenTree::Punct(mark))) = (&body[index], body.get(index + 1))
            && mark.as_char() == ':'
            && !is_separator(body, index + 1)
        {
            names.push(name.to_string());
        }
        index += 1;
    }
    names
}

/// The first word after each comma and attribute.
fn variants(body: &[TokenTree]) -> Vec<String> {
    let mut names = Vec::new();
    let mut expected = true;
    for token in body {
        match token {
            TokenTree::Ident(name) if expected => {
                names.push(name.to_string());
                expected = false;
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' => expected = true,
            _ => {}
        }
    }
    names
}
