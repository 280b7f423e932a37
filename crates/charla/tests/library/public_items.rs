//! Everything that a program may name of the library, beside the list that is kept of it. What changes here changes for
//! whoever embeds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/public-api.txt");

type Names = Vec<String>;

/// The modules of the workspace's crates by their paths, the crate's name first, each with its items.
#[derive(Default)]
struct Sources {
    modules: BTreeMap<Names, Vec<Item>>,
}

impl Sources {
    /// Those of every crate beside this one: what is named from them is public here, too.
    fn of_workspace() -> Self {
        let mut sources = Self::default();
        let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        for entry in fs::read_dir(crates).unwrap() {
            let entry = entry.unwrap();
            let folder = entry.file_name().into_string().unwrap();
            let source = entry.path().join("src");
            let name = if folder == "charla" { folder } else { format!("charla_{folder}") };
            if source.join("lib.rs").exists() {
                sources.read(&source.join("lib.rs"), &source, vec![name]);
            }
        }
        sources
    }

    fn read(&mut self, file: &Path, folder: &Path, path: Names) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.take(parsed.items, folder, path);
    }

    fn take(&mut self, mut items: Vec<Item>, folder: &Path, path: Names) {
        items.retain(|item| !is_test(item));
        for item in &mut items {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            let (child, inside) = (joined(&path, &name), folder.join(&name));
            match &mut module.content {
                Some((_, items)) => self.take(std::mem::take(items), &inside, child),
                None => {
                    let beside: PathBuf = folder.join(format!("{name}.rs"));
                    let file = if beside.exists() { beside } else { inside.join("mod.rs") };
                    self.read(&file, &inside, child);
                }
            }
        }
        self.modules.insert(path, items);
    }

    /// The module and the name of what a path names, seen from a module; nothing of a crate from elsewhere. A crate itself
    /// is a name in no module.
    fn resolve(&self, module: &[String], path: &[String]) -> Option<(Names, String)> {
        let (mut at, mut rest) = (module.to_vec(), path);
        while let Some(first) = rest.first() {
            match first.as_str() {
                "crate" => at.truncate(1),
                "self" => {}
                "super" => drop(at.pop()),
                _ => break,
            }
            rest = &rest[1..];
        }
        let outside = rest.first().filter(|first| {
            let is_crate = self.modules.contains_key(std::slice::from_ref(*first));
            is_crate && !self.modules.contains_key(&joined(&at, first))
        });
        if let Some(name) = outside {
            at = vec![name.clone()];
            rest = &rest[1..];
            if rest.is_empty() {
                return Some((Vec::new(), name.clone()));
            }
        }
        let (name, modules) = rest.split_last()?;
        for step in modules {
            at = match self.modules.contains_key(&joined(&at, step)) {
                true => joined(&at, step),
                false => return None,
            };
        }
        self.declared(&at, name)
    }

    /// Where the item of this name in a module is declared, through whatever it is imported by.
    fn declared(&self, module: &[String], name: &str) -> Option<(Names, String)> {
        let items = self.modules.get(module)?;
        if items.iter().any(|item| name_of(item).is_some_and(|found| found == name)) {
            return Some((module.to_vec(), name.to_owned()));
        }
        let imports = items.iter().filter_map(|item| match item {
            Item::Use(import) => Some(leaves(&import.tree, Vec::new())),
            _ => None,
        });
        let (path, _) = imports.flatten().find(|(path, given)| given == name && path.len() > 1)?;
        self.resolve(module, &path)
    }

    /// The public methods and constants of a type, in whatever module they are written.
    fn methods(&self, home: &(Names, String)) -> Vec<String> {
        let mut found = Vec::new();
        let same_crate = self.modules.iter().filter(|(module, _)| module.first() == home.0.first());
        for (module, items) in same_crate {
            for item in items {
                let Item::Impl(block) = item else { continue };
                let Type::Path(path) = &*block.self_ty else { continue };
                let names: Names = path.path.segments.iter().map(|part| part.ident.to_string()).collect();
                if block.trait_.is_none() && self.resolve(module, &names).as_ref() == Some(home) {
                    found.extend(block.items.iter().filter_map(method));
                }
            }
        }
        found
    }

    /// The crates that a module gives its users as a whole.
    fn whole_crates(&self, module: &[String]) -> BTreeSet<String> {
        let imports = self.modules[module].iter().filter_map(|item| match item {
            Item::Use(import) if is_public(&import.vis) => Some(leaves(&import.tree, Vec::new())),
            _ => None,
        });
        let homes = imports.flatten().filter_map(|(path, _)| self.resolve(module, &path));
        homes.filter(|(place, _)| place.is_empty()).map(|(_, name)| name).collect()
    }
}

/// What programs may name, line by line.
struct Listing<'a> {
    sources: &'a Sources,
    /// Crates that are listed as a whole: what is named from them elsewhere stands there.
    whole: BTreeSet<String>,
    lines: BTreeSet<String>,
}

impl Listing<'_> {
    /// What is public of a module, each thing under the path by which programs name it.
    fn public(&mut self, module: &[String], shown: &str) {
        for item in &self.sources.modules[module] {
            match item {
                Item::Use(import) if is_public(&import.vis) => {
                    for (path, given) in leaves(&import.tree, Vec::new()) {
                        self.imported(module, &path, &format!("{shown}::{given}"));
                    }
                }
                Item::Mod(child) if is_public(&child.vis) => {
                    let name = child.ident.to_string();
                    self.public(&joined(module, &name), &format!("{shown}::{name}"));
                }
                item => {
                    if let Some(name) = name_of(item).filter(|_| visibility(item).is_some_and(is_public)) {
                        let home = (module.to_vec(), name.clone());
                        self.named(&home, &format!("{shown}::{name}"));
                    }
                }
            }
        }
    }

    /// What another module declares, under the name that it has here.
    fn imported(&mut self, module: &[String], path: &[String], shown: &str) {
        let home = self.sources.resolve(module, path);
        let elsewhere = |home: &(Names, String)| {
            home.0.first().is_some_and(|name| *name != module[0] && self.whole.contains(name))
        };
        match home {
            Some((place, name)) if place.is_empty() => {
                self.lines.insert(format!("{shown} = {}", path.join("::")));
                self.public(&[name], shown);
            }
            Some(home) if !elsewhere(&home) => self.named(&home, shown),
            _ => {
                self.lines.insert(format!("{shown} = {}", path.join("::")));
                self.made(module, path, shown);
            }
        }
    }

    /// What macros make in the module that should declare it: there is no item of the name, so what they are given stands for it.
    fn made(&mut self, module: &[String], path: &[String], shown: &str) {
        let Some((_, place)) = path.split_last() else { return };
        let Some((at, last)) = self.sources.resolve(module, place) else { return };
        let around = shown.rsplit_once("::").map_or(shown, |(around, _)| around);
        for item in self.sources.modules.get(&joined(&at, &last)).into_iter().flatten() {
            let Item::Macro(called) = item else { continue };
            if called.ident.is_some() {
                continue;
            }
            let name = written(&called.mac.path);
            let given = without_words(&written(&called.mac.tokens));
            self.lines.extend(entries(&given).map(|entry| format!("{around}::{last} by {name}!: {entry}")));
        }
    }

    /// A public item under this name, with what is public in it.
    fn named(&mut self, home: &(Names, String), shown: &str) {
        let items = &self.sources.modules[&home.0];
        // A function may have the name of a module beside it.
        let mut found: Vec<&Item> =
            items.iter().filter(|item| name_of(item).as_ref() == Some(&home.1)).collect();
        found.sort_by_key(|item| matches!(item, Item::Mod(_)));
        let Some(item) = found.first() else { return };
        if let Item::Mod(module) = item {
            return self.public(&joined(&home.0, &module.ident.to_string()), shown);
        }
        self.lines.insert(format!("{shown}: {}", head(item)));
        let inside = members(item).into_iter().chain(self.sources.methods(home));
        self.lines.extend(inside.map(|member| format!("{shown}::{member}")));
    }
}

fn joined(path: &[String], name: &str) -> Names {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The names that an import gives, with the paths they stand for.
fn leaves(tree: &UseTree, mut path: Names) -> Vec<(Names, String)> {
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.to_string());
            leaves(&step.tree, path)
        }
        UseTree::Name(name) if name.ident == "self" => {
            let given = path.last().cloned().unwrap_or_default();
            vec![(path, given)]
        }
        UseTree::Name(name) => vec![(joined(&path, &name.ident.to_string()), name.ident.to_string())],
        UseTree::Rename(name) => vec![(joined(&path, &name.ident.to_string()), name.rename.to_string())],
        UseTree::Glob(_) => panic!("a glob hides what is public: {path:?}"),
        UseTree::Group(group) => group.items.iter().flat_map(|tree| leaves(tree, path.clone())).collect(),
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(item: &Item) -> bool {
    attributes(item).iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.meta.to_token_stream().to_string().contains("test")
    })
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn visibility(item: &Item) -> Option<&Visibility> {
    match item {
        Item::Const(item) => Some(&item.vis),
        Item::Enum(item) => Some(&item.vis),
        Item::Fn(item) => Some(&item.vis),
        Item::Static(item) => Some(&item.vis),
        Item::Struct(item) => Some(&item.vis),
        Item::Trait(item) => Some(&item.vis),
        Item::Type(item) => Some(&item.vis),
        _ => None,
    }
}

/// What an item is, with what it derives.
fn head(item: &Item) -> String {
    let kind = match item {
        Item::Const(item) => format!("const {}", written(&item.ty)),
        Item::Enum(item) => format!("enum{}", written(&item.generics)),
        Item::Fn(item) => written(&item.sig),
        Item::Static(item) => format!("static {}", written(&item.ty)),
        Item::Struct(item) => format!("struct{}", written(&item.generics)),
        Item::Trait(item) => format!("trait{}", written(&item.generics)),
        Item::Type(item) => format!("type {}", written(&item.ty)),
        _ => String::new(),
    };
    let derived = attributes(item).iter().filter(|attribute| attribute.path().is_ident("derive"));
    let derived = derived.filter_map(|attribute| attribute.meta.require_list().ok());
    let mut derived: Vec<String> = derived
        .flat_map(|list| {
            list.tokens.to_string().split(',').map(|name| name.trim().to_owned()).collect::<Names>()
        })
        .filter(|name| !name.is_empty())
        .collect();
    derived.sort_unstable();
    match derived.is_empty() {
        true => kind,
        false => format!("{kind} ({})", derived.join(", ")),
    }
}

/// Public fields, variants, or what a trait asks for.
fn members(item: &Item) -> Vec<String> {
    let field = |field: &syn::Field| {
        let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_else(|| "0".to_owned());
        format!("{name}: {}", written(&field.ty))
    };
    match item {
        Item::Struct(item) => item.fields.iter().filter(|one| is_public(&one.vis)).map(field).collect(),
        Item::Enum(item) => {
            let variant = |variant: &syn::Variant| match &variant.fields {
                Fields::Unit => variant.ident.to_string(),
                Fields::Named(named) => {
                    let fields: Vec<String> = named.named.iter().map(field).collect();
                    format!("{} {{ {} }}", variant.ident, fields.join(", "))
                }
                fields => {
                    let fields: Vec<String> = fields.iter().map(|field| written(&field.ty)).collect();
                    format!("{}({})", variant.ident, fields.join(", "))
                }
            };
            item.variants.iter().map(variant).collect()
        }
        Item::Trait(item) => {
            let wanted = item.items.iter().filter_map(|item| match item {
                TraitItem::Fn(function) if function.default.is_some() => {
                    Some(format!("{} (given)", written(&function.sig)))
                }
                TraitItem::Fn(function) => Some(written(&function.sig)),
                _ => None,
            });
            wanted.collect()
        }
        _ => Vec::new(),
    }
}

fn method(item: &ImplItem) -> Option<String> {
    match item {
        ImplItem::Fn(function) if is_public(&function.vis) => Some(written(&function.sig)),
        ImplItem::Const(item) if is_public(&item.vis) => {
            Some(format!("const {}: {}", item.ident, written(&item.ty)))
        }
        _ => None,
    }
}

/// What a macro is given, without documentation.
fn without_words(given: &str) -> String {
    let mut parts = given.split("# [doc = \"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once("\"]").map_or("", |(_, rest)| rest))
}

/// What stands between the commas of a text that are within no brackets.
fn entries(text: &str) -> impl Iterator<Item = String> {
    let mut depth = 0;
    let outer = move |c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    let entries: Names =
        text.split(outer).map(|entry| entry.split_whitespace().collect::<Vec<&str>>().join(" ")).collect();
    entries.into_iter().filter(|entry| !entry.is_empty())
}

/// Tokens as people write them.
fn written(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (" ,", ","),
        (" : ", ": "),
        ("& ", "&"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" < ", "<"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        ("' ", "'"),
        (",)", ")"),
        ("[ ", "["),
        (" ]", "]"),
        ("->(", "-> ("),
        ("-> ", "-> "),
        (" ;", ";"),
        ("(mut ", "("),
        (", mut ", ", "),
    ] {
        text = text.replace(from, to);
    }
    text
}

#[test]
fn the_public_items_are_those_that_are_listed() {
    let sources = Sources::of_workspace();
    let top = ["charla".to_owned()];
    let mut listing =
        Listing { sources: &sources, whole: sources.whole_crates(&top), lines: BTreeSet::new() };
    listing.public(&top, "charla");
    let lines = listing.lines;
    for wanted in [
        "charla::Charla: struct (Clone)",
        // Of crates that are given as a whole, and of one that is not.
        "charla::proto::Outcome::ProceedOnce",
        "charla::providers::Client::fn new",
        "charla::SessionHandle::fn subscribe",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(wanted)), "{wanted} is not found");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(LIST, text).unwrap();
    }
    let listed = fs::read_to_string(LIST).unwrap_or_default();
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let gone = listed.difference(&lines).map(|line| format!("- {line}"));
    let new = lines.difference(&listed).map(|line| format!("+ {line}"));
    let difference: Vec<String> = gone.chain(new).collect();
    assert!(
        difference.is_empty(),
        "the public items of `charla` changed (- breaks programs, + is new):\n{}\nIf that is meant, run this test once with \
         UPDATE_DOCS=1 and tell of it in CHANGELOG.md.",
        difference.join("\n")
    );
}
