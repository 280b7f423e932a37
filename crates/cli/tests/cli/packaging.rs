//! What packages carry beside the binary: manual pages, completions, the list of what the program is made of; and the question what is new.

use std::path::Path;
use std::process::Command;

use charla_testkit::Script;
use serde_json::{Value, json};

use crate::place::{Place, server};

/// The commands that the help of these words lists.
fn commands(place: &Place, words: &[&str]) -> Vec<String> {
    let help = place.run(&[words, &["--help"]].concat()).out;
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let rows = list.lines().take_while(|line| !line.is_empty());
    let names = rows.filter_map(|row| row.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    assert_eq!(place.run(&["man", "--into", "pages"]).code, Some(0));
    let folder = place.work().join("pages");
    let pages: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let first = commands(&place, &[]);
    assert!(first.len() > 20, "{first:?}");
    let below = ["sessions", "mcp", "extensions", "auth"].map(|name| (name, commands(&place, &[name])));
    assert!(below.iter().all(|(_, names)| names.len() > 1), "{below:?}");
    let below =
        below.into_iter().flat_map(|(name, all)| all.into_iter().map(move |one| format!("{name}-{one}")));
    for name in first.into_iter().chain(below) {
        let wanted = format!("charla-{name}.1");
        assert!(pages.contains(&wanted), "{wanted} is not among {pages:?}");
    }
    for page in &pages {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains("\n.TH ") && text.contains("\n.SH NAME"), "{page}");
    }
    let one = std::fs::read_to_string(folder.join("charla.1")).unwrap();
    assert_eq!(one, place.run(&["man"]).out, "the page of the program is the one that `man` prints");
}

#[test]
fn completions_are_scripts_of_their_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = place.run(&["completions", shell]);
        assert!(run.code == Some(0) && run.out.contains("sessions"), "{shell}");
        if shell == "bash" {
            let checked = Command::new("bash").args(["-n", "-c", &run.out]).status().unwrap();
            assert!(checked.success());
        }
    }
}

/// `./test` runs the whole of it: here, that it sees what is wrong.
#[test]
fn a_wheel_that_cannot_be_imported_fails_the_check_of_packages() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let version = env!("CARGO_PKG_VERSION");
    let check = |module: &str| {
        let wheel = place.path().join(format!("charla-{version}-py3-none-any.whl"));
        let made = Command::new("python3")
            .args(["-c", include_str!("packaging/wheel.py"), version, module])
            .arg(&wheel)
            .status();
        assert!(made.unwrap().success());
        let mut check = Command::new(root.join("packaging/check.sh"));
        check.args(["--only", "wheel", env!("CARGO_BIN_EXE_charla"), ""]).arg(&wheel).output().unwrap()
    };
    let good = check(&format!("__version__ = '{version}'\n"));
    let told = String::from_utf8_lossy(&good.stdout);
    if told.contains("skipped") {
        return;
    }
    let wanted = format!("charla {version}");
    assert!(
        good.status.success() && told.contains("ok      Python wheel") && told.contains(&wanted),
        "{told}"
    );
    for bad in ["raise ImportError('no native half')", "__version__ = '0.0.0'", "import nothing_such"] {
        let seen = check(bad);
        let told = String::from_utf8_lossy(&seen.stdout);
        assert!(seen.status.code() == Some(1) && told.contains("FAILED  Python wheel"), "{bad}: {told}");
    }
}

#[test]
fn what_is_new_is_told_and_nothing_else_done() {
    let news = |version: &str| {
        let page = json!({"version": version, "url": "https://example.org/charla", "notes": "Faster."});
        let script = json!({"pages": {"/newest.json": {"content_type": "application/json", "body": page.to_string()}}});
        server(serde_json::from_value::<Script>(script).unwrap())
    };
    let place = Place::new();
    let newer = news("99.0.0");
    let source = format!("{}/newest.json", newer.url());
    let run = place.run(&["update", "--check", "--from", &source]);
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        run.out.starts_with(&format!("charla 99.0.0 is there; this is {version}\nFaster.\n")),
        "{}{}",
        run.out,
        run.err
    );
    assert_eq!(run.code, Some(0));
    let told: Value =
        serde_json::from_str(&place.run(&["update", "--check", "--json", "--from", &source]).out).unwrap();
    assert_eq!((&told["newer"], &told["newest"]), (&json!(true), &json!("99.0.0")));
    let same = news(version);
    let place = place.variable("CHARLA_UPDATE_SOURCE", &format!("{}/newest.json", same.url()));
    assert!(place.run(&["update", "--check"]).out.contains("is the newest"));
    let odd = news("soon");
    let run = place.run(&["update", "--check", "--from", &format!("{}/newest.json", odd.url())]);
    assert!(run.code == Some(1) && run.err.contains("no version"), "{}", run.err);
    let run = place.run(&["update", "--check", "--from", &format!("{}/nothing.json", odd.url())]);
    assert!(run.code == Some(1) && run.out.is_empty(), "{}", run.err);
}

#[test]
fn nobody_is_asked_what_is_new_without_a_source() {
    let place = Place::new();
    if charla::update::default_source().is_some() {
        return;
    }
    let run = place.run(&["update", "--check"]);
    assert!(run.code == Some(42) && run.err.contains("--from URL"), "{}", run.err);
    assert!(run.err.contains("built without an address"), "{}", run.err);
    assert_ne!(place.run(&["update"]).code, Some(0), "there is no updating by itself");
}

#[test]
fn the_list_of_parts_names_every_crate_that_is_linked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let made = Command::new(python).arg("packaging/sbom.py").current_dir(&root).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let list: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!((&list["bomFormat"], &list["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    assert_eq!(list["metadata"]["component"]["name"], "charla");
    let parts = list["components"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    for wanted in ["tokio", "rustls", "serde_json", "charla-core"] {
        assert!(names.contains(&wanted), "{wanted}");
    }
    for not in ["proptest", "insta", "charla-testkit", "assert_cmd"] {
        assert!(!names.contains(&not), "{not} is in no release");
    }
    let outside = parts.iter().filter(|part| !part["name"].as_str().unwrap().starts_with("charla"));
    for part in outside {
        assert!(part["purl"].as_str().unwrap().starts_with("pkg:cargo/"), "{part}");
        assert_eq!(part["hashes"][0]["alg"], "SHA-256", "{part}");
        assert!(part["licenses"][0]["expression"].is_string(), "{part}");
    }
    let known: Vec<&Value> = parts.iter().map(|part| &part["bom-ref"]).collect();
    for dependency in list["dependencies"].as_array().unwrap() {
        let targets = dependency["dependsOn"].as_array().unwrap();
        assert!(targets.iter().all(|target| known.contains(&target)), "{dependency}");
    }
}
