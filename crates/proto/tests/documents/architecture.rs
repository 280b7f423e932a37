//! The map: `ARCHITECTURE.md` names crates, what they touch and where things are. Here it is held to it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::markdown::{code_spans, document, rows, section};
use crate::source::{modules_of, paths, repository, types};

/// What the standard library and tokio offer of the world outside a process.
const OUTSIDE: [&str; 4] = ["env", "fs", "net", "process"];

/// Structs that may have more than twelve fields, with the reason.
const WIDE: [(&str, &str); 2] = [
    ("GenerateRequest", "has the fields of a request to a model, as the wire formats have them"),
    ("RuleText", "has the keys of a rule, as users write them in TOML"),
];

/// A row of the table of crates.
struct Row {
    needs: BTreeSet<String>,
    touches: BTreeSet<String>,
}

fn table() -> BTreeMap<String, Row> {
    let document = document("ARCHITECTURE.md");
    let words = |cell: &str| code_spans(cell).into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
    let row = |cells: Vec<&str>| {
        assert_eq!(cells.len(), 5, "{cells:?}");
        let name = code_spans(cells[0])[0].to_owned();
        (name, Row { needs: words(cells[2]), touches: words(cells[3]) })
    };
    rows(section(&document, "## Crates")).into_iter().map(row).collect()
}

/// Our crates that each crate needs outside of its tests.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let arguments = ["metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let folder = |path: &str| path.rsplit_once("/crates/").map(|(_, name)| name.to_owned());
    let package = |package: &Value| {
        let manifest = package["manifest_path"].as_str()?.strip_suffix("/Cargo.toml")?;
        let declared = package["dependencies"].as_array()?.iter();
        let needed = declared.filter(|dependency| dependency["kind"] != "dev");
        let ours = needed.filter_map(|dependency| folder(dependency["path"].as_str()?));
        Some((folder(manifest)?, ours.collect()))
    };
    metadata["packages"].as_array().unwrap().iter().filter_map(package).collect()
}

#[test]
fn crates_need_each_other_as_the_table_says() {
    let table: BTreeMap<_, _> = table().into_iter().map(|(name, row)| (name, row.needs)).collect();
    assert_eq!(dependencies(), table, "left: what cargo says; right: what ARCHITECTURE.md says");
}

/// The paths to the world outside that a crate's production code names, with a file that does.
fn outside(krate: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for module in modules_of(krate) {
        for path in paths(&module.tokens) {
            let [root, area, ..] = path.segments.as_slice() else { continue };
            if ["std", "tokio"].contains(&root.as_str()) && OUTSIDE.contains(&area.as_str()) {
                found.entry(path.segments.join("::")).or_insert_with(|| module.place());
            }
        }
    }
    found
}

/// True when a path is covered by what the table says: a whole area (`fs`), or single names (`std::env::consts`).
fn covers(allowed: &str, path: &str) -> bool {
    let area = path.split("::").nth(1);
    area == Some(allowed) || path == allowed || path.starts_with(&format!("{allowed}::"))
}

#[test]
fn crates_touch_what_the_table_says_and_nothing_else() {
    let mut wrong = Vec::new();
    for (krate, row) in table() {
        let used = outside(&krate);
        for (path, place) in &used {
            if !row.touches.iter().any(|allowed| covers(allowed, path)) {
                wrong.push(format!("`{krate}` must not touch {path}: {place}"));
            }
        }
        for allowed in &row.touches {
            if !used.keys().any(|path| covers(allowed, path)) {
                wrong.push(format!("ARCHITECTURE.md lets `{krate}` touch `{allowed}`, and it does not"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_place_the_map_names_exists() {
    let document = document("ARCHITECTURE.md");
    let is_path = |span: &&str| span.contains('/') && !span.contains([' ', '<', ':', '*']);
    let places: Vec<&str> = code_spans(&document).into_iter().filter(is_path).collect();
    assert!(places.len() > 40, "hardly any places were found");
    let exists =
        |place: &str| repository().join("crates").join(place).exists() || repository().join(place).exists();
    let missing: Vec<&str> = places.into_iter().filter(|place| !exists(place)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
}

#[test]
fn the_command_line_stays_small_and_the_loop_can_be_read() {
    let lines: usize = modules_of("cli").iter().map(|module| module.lines).sum();
    assert!((1000..4000).contains(&lines), "`cli` has {lines} production lines");
    let core = modules_of("core");
    let turn = core.iter().find(|module| module.path == ["session", "turn"]).unwrap();
    assert!(turn.lines < 300, "{} has {} lines", turn.place(), turn.lines);
}

#[test]
fn no_struct_is_a_heap_of_fields() {
    let modules = ["proto", "core"].into_iter().flat_map(modules_of);
    let structs: Vec<_> = modules.flat_map(|module| types(&module.tokens, "struct")).collect();
    assert!(structs.len() > 100, "hardly any structs were found");
    let mut wide: Vec<&str> =
        structs.iter().filter(|(_, fields)| fields.len() > 12).map(|(name, _)| name.as_str()).collect();
    wide.sort_unstable();
    assert_eq!(wide, WIDE.map(|(name, _)| name), "structs with more than 12 fields, and those that may");
}
