//! Extensions in whole runs: read before they are agreed to, installed as a copy, used, kept to what was agreed to, gone.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::place::{Place, server};
use crate::terminal::Terminal;

/// Writes an extension with these files into a folder of the test's.
fn extension(place: &Place, name: &str, manifest: &Value, files: &[(&str, &str)]) -> PathBuf {
    let folder = place.path().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("gemini-extension.json"), manifest.to_string()).unwrap();
    for (file, text) in files {
        std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

fn plain(version: &str) -> Value {
    json!({"name": "test-extension", "version": version})
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn installed(place: &Place) -> Vec<String> {
    let all = place.run(&["extensions", "list", "--json"]).out;
    let all: Vec<Value> = serde_json::from_str(&all).unwrap();
    all.iter()
        .map(|one| format!("{} {}", one["name"].as_str().unwrap(), one["version"].as_str().unwrap()))
        .collect()
}

#[test]
fn one_is_installed_listed_updated_and_removed() {
    let place = Place::new();
    let folder = extension(&place, "ext", &plain("0.0.1"), &[]);
    let run = place.run_with_input(&["extensions", "install", text(&folder)], "y\n");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("\"test-extension\" installed successfully"), "{}", run.out);
    assert!(run.err.contains("Do you want to continue"), "{}", run.err);
    for listing in [&["extensions", "list"][..], &["--list-extensions"]] {
        let listed = place.run(listing).out;
        assert!(listed.starts_with("test-extension (v0.0.1) - enabled, from ~/ext"), "{listed}");
    }
    let again = place.run(&["extensions", "install", text(&folder), "--consent"]);
    assert!(again.code != Some(0) && again.err.contains("is installed already"), "{}", again.err);
    let same = place.run(&["extensions", "update", "test-extension"]);
    assert!(same.out.contains("already up to date"), "{}", same.out);

    extension(&place, "ext", &plain("0.0.2"), &[]);
    let run = place.run_with_input(&["extensions", "update", "test-extension"], "y\n");
    assert!(run.out.contains("successfully updated: 0.0.1 → 0.0.2"), "{}{}", run.out, run.err);
    assert_eq!(installed(&place), ["test-extension 0.0.2"]);
    assert_eq!(place.run(&["extensions", "disable", "test-extension"]).code, Some(0));
    assert!(place.run(&["extensions", "list"]).out.contains("disabled"));
    assert_eq!(place.run(&["extensions", "uninstall", "test-extension"]).code, Some(0));
    assert!(installed(&place).is_empty() && !place.home().join("extensions/test-extension").exists());
    let unknown = place.run(&["extensions", "uninstall", "test-extension"]);
    assert_eq!(unknown.code, Some(42), "{}", unknown.err);
}

#[test]
fn nothing_is_installed_without_a_yes_to_all_that_runs() {
    let place = Place::new();
    let manifest = json!({
        "name": "busy", "version": "1", "excludeTools": ["web_fetch"], "contextFileName": "ABOUT.md",
        "mcpServers": {
            "remote": {"httpUrl": "http://localhost:9/mcp", "trust": true},
            "local": {"command": "node", "args": ["${extensionPath}/x.js", "a b\u{1b}[2J"], "env": {"T": "$TOKEN"}},
        },
    });
    let hooks = json!({"hooks": {"BeforeTool": [{"matcher": "write_.*", "hooks": [{"type": "command", "command": "./evil.sh\nrm"}]}]}});
    let files = [
        ("ABOUT.md", "Be busy."),
        ("hooks/hooks.json", &hooks.to_string()),
        ("skills/s/SKILL.md", "---\ndescription: A skill\n---\nx"),
        ("agents/a.md", "---\nname: a\ndescription: An agent\n---\nx"),
        ("commands/go.toml", "prompt = 'x'"),
    ];
    let folder = extension(&place, "ext", &manifest, &files);
    for answer in ["n\n", "", "\n", "Y?\n"] {
        let run = place.run_with_input(&["extensions", "install", text(&folder)], answer);
        assert_eq!(run.code, Some(42), "{answer:?}");
        assert!(run.err.contains("Installation aborted"), "{}", run.err);
        for shown in [
            " * remote (remote): http://localhost:9/mcp",
            " * local (local): node '${extensionPath}/x.js' ",
            "env {\"T\":\"$TOKEN\"}",
            " * BeforeTool (write_.*): ./evil.sh",
            " * ABOUT.md",
            " * s: A skill",
            " * a: An agent",
            " * commands/go.toml",
            " * web_fetch",
        ] {
            assert!(run.out.contains(shown), "{shown}\n{}", run.out);
        }
        assert!(!run.out.contains('\u{1b}') && !run.out.contains("\nrm"), "{}", run.out);
        assert!(installed(&place).is_empty() && !place.home().join("extensions/busy").exists());
    }
    // What is left of an attempt is nothing.
    assert_eq!(std::fs::read_dir(place.home().join("extensions")).unwrap().count(), 0);
}

#[test]
fn hostile_ones_are_refused_or_cut_down() {
    let place = Place::new();
    let install = |folder: &Path| place.run(&["extensions", "install", "--consent", text(folder)]);
    let rows = [
        (json!({"name": "../x", "version": "1"}), "is no name"),
        (json!({"name": "x", "version": 1}), "`version` is no text"),
        (json!({"name": "x"}), "no `version`"),
        (json!({"name": ["x"], "version": "1"}), "`name` is no text"),
        (json!({"name": "x", "version": "1", "contextFileName": "../../.ssh/id"}), "is no file of it"),
        (json!({"name": "x", "version": "1", "mcpServers": []}), "no object"),
        (json!({"name": "x", "version": "1", "excludeTools": [1]}), "no list of texts"),
        (json!("x"), "no object"),
    ];
    for (manifest, why) in rows {
        let run = install(&extension(&place, "bad", &manifest, &[]));
        assert_eq!(run.code, Some(42), "{manifest}");
        assert!(run.err.contains(why), "{manifest}: {}", run.err);
    }
    let folder =
        extension(&place, "links", &plain("1"), &[("skills/s/SKILL.md", "---\ndescription: d\n---\nx")]);
    std::fs::write(place.path().join("secret"), "SECRET").unwrap();
    symlink(place.path().join("secret"), folder.join("GEMINI.md")).unwrap();
    symlink(place.path(), folder.join("skills/all")).unwrap();
    let run = install(&folder);
    assert!(run.out.contains("Not copied") && run.out.contains("GEMINI.md"), "{}", run.out);
    let copy = place.home().join("extensions/test-extension");
    assert!(!copy.join("GEMINI.md").exists() && !copy.join("skills/all").exists());
    assert!(copy.join("skills/s/SKILL.md").exists());

    let folder = extension(&place, "huge", &json!({"name": "huge", "version": "1"}), &[]);
    std::fs::File::create(folder.join("big")).unwrap().set_len(100 * 1024 * 1024).unwrap();
    let run = install(&folder);
    assert!(run.code == Some(42) && run.err.contains("too large"), "{}", run.err);
    assert_eq!(installed(&place), ["test-extension 1"]);
    for nothing in ["nowhere", "-x", "ext::sh -c true"] {
        let run = place.run(&["extensions", "install", "--consent", "--", nothing]);
        assert_eq!(run.code, Some(42), "{nothing}: {}", run.err);
    }
}

/// The entry of the MCP client's own test server, copied into an extension.
fn server_entry() -> (Value, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let entry = json!({"command": "python3", "args": ["${extensionPath}${/}server.py", "plain", "${workspacePath}/notes"]});
    (entry, std::fs::read_to_string(script).unwrap())
}

#[test]
fn the_program_of_its_server_starts_where_it_was_installed() {
    let (entry, script) = server_entry();
    let echo = Reply::new().call("s__echo", json!({"text": "from afar"}));
    let server = server(Script::new([echo, "Done.".into()]));
    let place = Place::lasting().with_addresses(&server);
    let manifest = json!({"name": "busy", "version": "1", "mcpServers": {"s": entry}});
    let folder = extension(&place, "ext", &manifest, &[("server.py", script.as_str())]);
    assert_eq!(place.run(&["extensions", "install", "--consent", text(&folder)]).code, Some(0));
    let run = place.run(&["-m", "gemini/gemini-test", "--allowed-tools", "s__echo", "-p", "go"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(!run.err.contains("Error executing tool"), "{}", run.err);
    let tested = place.run(&["mcp", "test", "s"]);
    assert_eq!(tested.code, Some(0), "{}", tested.err);
}

#[test]
fn what_it_brings_is_used_until_it_is_disabled_left_out_or_changed() {
    let (entry, script) = server_entry();
    let echo = || Reply::new().call("s__echo", json!({"text": "from afar"}));
    let server = server(Script::new([
        echo(),
        "Done.".into(),
        "No.".into(),
        "No.".into(),
        "No.".into(),
        "Yes.".into(),
    ]));
    let place = Place::with_server(&server);
    let manifest =
        json!({"name": "busy", "version": "1", "excludeTools": ["web_fetch"], "mcpServers": {"s": entry}});
    let files = [
        ("GEMINI.md", "Always be busy."),
        ("server.py", script.as_str()),
        ("skills/tables/SKILL.md", "---\ndescription: Makes tables\n---\nx"),
        ("agents/helper.md", "---\nname: helper\ndescription: Helps\n---\nHelp."),
    ];
    let folder = extension(&place, "ext", &manifest, &files);
    assert_eq!(place.run(&["extensions", "install", "--consent", text(&folder)]).code, Some(0));
    let skills = place.run(&["skills", "list"]).out;
    assert_eq!(skills, "tables  (extension busy)  Makes tables\n");
    assert_eq!(place.run(&["agents", "list"]).out, "helper  (extension busy)  Helps\n");
    let ask = |more: &[&str]| place.run(&[&["-m", "gemini/gemini-test", "-p", "go"], more].concat());
    let told = |index: usize| server.requests()[index].body.to_string();

    let run = ask(&["--allowed-tools", "s__echo"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        told(0).contains("From the extension busy") && told(0).contains("Always be busy."),
        "{}",
        told(0)
    );
    assert!(told(0).contains("tables: Makes tables") && !told(0).contains("web_fetch"), "{}", told(0));
    assert!(told(1).contains("from afar"), "{}", told(1));

    let none = |index: usize| !told(index).contains("Always be busy.") && told(index).contains("web_fetch");
    ask(&["-e", "none"]);
    assert!(none(2), "{}", told(2));
    place.run(&["extensions", "disable", "busy"]);
    ask(&[]);
    assert!(none(3), "{}", told(3));
    place.run(&["extensions", "enable", "busy"]);
    // Whoever changes the copy has nobody's consent.
    let copy = place.home().join("extensions/busy/GEMINI.md");
    std::fs::write(&copy, "Always be evil.").unwrap();
    let run = ask(&[]);
    assert!(
        run.err.contains("the extension busy is left out: what it brings is not what was agreed to"),
        "{}",
        run.err
    );
    assert!(none(4) && !told(4).contains("evil"), "{}", told(4));
    std::fs::write(&copy, "Always be busy.").unwrap();
    ask(&[]);
    assert!(told(5).contains("Always be busy."), "{}", told(5));
}

#[test]
fn its_hooks_run_once_it_is_installed_and_not_before() {
    let server = server(Script::new(["No.", "Yes."]));
    let place = Place::with_server(&server);
    let hooks = json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": "cat > /dev/null; touch \"${extensionPath}\"/ran"}]}]}});
    let folder = extension(&place, "ext", &plain("1"), &[("hooks/hooks.json", &hooks.to_string())]);
    let ran = place.home().join("extensions/test-extension/ran");
    let ask = || place.run(&["-m", "gemini/gemini-test", "-p", "go"]);
    place.run_with_input(&["extensions", "install", text(&folder)], "n\n");
    assert_eq!(ask().code, Some(0));
    assert!(!ran.exists() && !folder.join("ran").exists());
    let run = place.run_with_input(&["extensions", "install", text(&folder)], "y\n");
    assert!(run.out.contains(" * BeforeAgent: cat > /dev/null; touch"), "{}", run.out);
    let run = ask();
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(ran.exists(), "{}", run.err);
}

#[test]
fn a_folder_is_a_word_to_its_hooks_whatever_its_name() {
    let server = server(Script::new(["Done."]));
    let place = Place::with_server(&server);
    let command =
        "cat > /dev/null; printf '%s\\n' ${workspacePath} \"${workspacePath}\" > ${extensionPath}${/}told";
    let hooks = json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": command}]}]}});
    let folder = extension(&place, "ext", &plain("1"), &[("hooks/hooks.json", &hooks.to_string())]);
    assert_eq!(place.run(&["extensions", "install", "--consent", text(&folder)]).code, Some(0));
    let evil = place.work().join("a b;touch made; $(touch made)");
    std::fs::create_dir(&evil).unwrap();
    let mut process = place.process(&["-m", "gemini/gemini-test", "-p", "go"]);
    let output = process.current_dir(&evil).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!evil.join("made").exists());
    let told = std::fs::read_to_string(place.home().join("extensions/test-extension/told")).unwrap();
    let name = evil.canonicalize().unwrap();
    assert_eq!(told, format!("{0}\n{0}\n", name.display()));
}

#[test]
fn an_update_asks_again_when_it_brings_something_else() {
    let place = Place::new();
    let folder = extension(&place, "ext", &plain("1"), &[]);
    assert_eq!(place.run(&["extensions", "install", "--consent", text(&folder)]).code, Some(0));
    let other = json!({"name": "test-extension", "version": "2", "mcpServers": {"s": {"command": "evil"}}});
    extension(&place, "ext", &other, &[]);
    let run = place.run_with_input(&["extensions", "update", "test-extension"], "n\n");
    assert!(run.code == Some(42) && run.out.contains(" * s (local): evil"), "{}{}", run.out, run.err);
    assert!(run.err.contains("Update aborted"), "{}", run.err);
    assert_eq!(installed(&place), ["test-extension 1"]);
    let run = place.run_with_input(&["extensions", "update", "--all"], "y\n");
    assert!(run.out.contains("1 → 2"), "{}{}", run.out, run.err);
    // What is new, gone or says something else is marked.
    let third = json!({"name": "test-extension", "version": "3", "mcpServers": {"t": {"command": "evil"}}});
    extension(&place, "ext", &third, &[("commands/c.toml", "prompt = 'one'")]);
    let run = place.run_with_input(&["extensions", "update", "test-extension"], "y\n");
    let marked: Vec<&str> =
        run.out.lines().skip_while(|line| !line.starts_with("What changed")).skip(1).take(3).collect();
    let expected = [
        " - It runs these MCP servers: s (local): evil",
        " + It runs these MCP servers: t (local): evil",
        " + It brings these commands: commands/c.toml",
    ];
    assert_eq!(marked, expected, "{}", run.out);
    extension(&place, "ext", &third, &[("commands/c.toml", "prompt = 'two'")]);
    let run = place.run_with_input(&["extensions", "update", "test-extension"], "y\n");
    assert!(run.out.contains("\n ~ The text of commands/c.toml\n"), "{}", run.out);
    let renamed = json!({"name": "another", "version": "3"});
    extension(&place, "ext", &renamed, &[]);
    let run = place.run(&["extensions", "update", "test-extension"]);
    assert!(run.code == Some(42) && run.err.contains("no longer test-extension"), "{}", run.err);
}

#[test]
fn extensions_that_are_installed_at_once_are_all_there() {
    let place = Place::new();
    let install = |n: usize| {
        let folder = place.path().join(format!("e{n}"));
        std::fs::create_dir_all(&folder).unwrap();
        let manifest = json!({"name": format!("e{n}"), "version": "1"});
        std::fs::write(folder.join("gemini-extension.json"), manifest.to_string()).unwrap();
        place.spawn(&["extensions", "install", "--consent", folder.to_str().unwrap()])
    };
    let children: Vec<_> = (0..6).map(install).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let listed = place.run(&["extensions", "list"]).out;
    assert!((0..6).all(|n| listed.contains(&format!("e{n} (v1) - enabled"))), "{listed}");
}

#[test]
fn an_entry_that_leads_elsewhere_is_taken_out_and_nothing_is_removed() {
    let place = Place::new();
    let precious = place.home().join("precious/kept");
    std::fs::create_dir_all(precious.parent().unwrap()).unwrap();
    std::fs::write(&precious, "kept").unwrap();
    std::fs::create_dir_all(place.home().join("extensions")).unwrap();
    let entry = json!({"origin": "local", "place": "/x", "enabled": true, "agreed": ""});
    let book = json!({"../precious": entry, "link": entry}).to_string();
    std::fs::write(place.home().join("extensions.json"), book).unwrap();
    std::os::unix::fs::symlink(precious.parent().unwrap(), place.home().join("extensions/link")).unwrap();
    for name in ["../precious", "link"] {
        let run = place.run(&["extensions", "uninstall", name]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.err);
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "kept", "{name}");
    }
    assert_eq!(place.run(&["extensions", "uninstall", "../precious"]).code, Some(42));
}

#[test]
fn a_link_is_installed_from_where_it_leads() {
    let place = Place::new();
    let real = extension(&place, "real", &plain("1"), &[]);
    let link = place.path().join("link");
    symlink(&real, &link).unwrap();
    assert_eq!(place.run(&["extensions", "install", "--consent", text(&link)]).code, Some(0));
    let book = std::fs::read_to_string(place.home().join("extensions.json")).unwrap();
    assert!(book.contains(text(&real.canonicalize().unwrap())) && !book.contains("/link"), "{book}");
}

#[test]
fn folders_are_asked_about_where_gemini_clis_settings_want_it_by_where_they_lead() {
    let place = Place::new();
    let home = place.home().parent().unwrap().to_owned();
    std::fs::create_dir_all(home.join(".gemini")).unwrap();
    let settings = json!({"security": {"folderTrust": {"enabled": true}}});
    std::fs::write(home.join(".gemini/settings.json"), settings.to_string()).unwrap();
    let real = extension(&place, "real", &plain("1"), &[]).canonicalize().unwrap();
    let other = json!({"name": "other-extension", "version": "1"});
    let other = extension(&place, "other", &other, &[]).canonicalize().unwrap();
    let link = place.path().join("link");
    symlink(&real, &link).unwrap();
    let install = ["extensions", "install", text(&link)];
    let mut terminal = Terminal::start(&place, &install);
    for question in ["Do you want to trust this folder", "trust this workspace", "Do you want to continue"] {
        terminal.wait_for(question);
        terminal.type_in("y\r");
    }
    terminal.wait_for("installed successfully");
    let trusted = || {
        let text = std::fs::read_to_string(home.join(".gemini/trustedFolders.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let work = place.work().canonicalize().unwrap();
    assert_eq!(trusted(), json!({text(&real): "TRUST_FOLDER", text(&work): "TRUST_FOLDER"}));

    // What was agreed to is the folder, not the link.
    std::fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    let mut terminal = Terminal::start(&place, &install);
    terminal.wait_for("Do you want to trust this folder");
    terminal.type_in("n\r");
    terminal.wait_for("Installation aborted");
    assert_eq!(installed(&place), ["test-extension 1"]);
    assert!(trusted().get(text(&other)).is_none());

    // A folder that is trusted is not asked about, and whoever says nothing agrees to nothing.
    assert_eq!(place.run(&["extensions", "uninstall", "test-extension"]).code, Some(0));
    let run = place.run_with_input(&["extensions", "install", text(&real)], "y\n");
    assert!(run.code == Some(0) && !run.err.contains("trust this"), "{}", run.err);
    let run = place.run_with_input(&install, "");
    assert!(run.code == Some(42) && run.err.contains("Installation aborted"), "{}", run.err);
}

#[test]
fn a_repository_is_fetched_and_runs_nothing() {
    let place = Place::new();
    let folder = extension(&place, "repo", &plain("1"), &[("GEMINI.md", "From git.")]);
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-C", text(&folder)];
        let done = Command::new("git").args(identity).args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    let commit = |message: &str| {
        git(&["add", "-A"]);
        git(&["commit", "-qm", message]);
    };
    git(&["init", "-q"]);
    commit("one");
    // A template of the user's would put a hook into every clone.
    let template = place.path().join("template/hooks");
    std::fs::create_dir_all(&template).unwrap();
    let traces = place.path().join("traces");
    let hook = template.join("post-checkout");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", traces.display())).unwrap();
    assert!(Command::new("chmod").args(["+x", text(&hook)]).status().unwrap().success());
    let config = format!("[init]\n templateDir = {}\n", place.path().join("template").display());
    std::fs::write(place.path().join("home/.gitconfig"), config).unwrap();

    let address = format!("file://{}", text(&folder));
    let run = place.run(&["extensions", "install", "--consent", &address]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let copy = place.home().join("extensions/test-extension");
    assert!(copy.join("GEMINI.md").exists() && !copy.join(".git").exists());
    extension(&place, "repo", &plain("2"), &[]);
    commit("two");
    let run = place.run(&["extensions", "update", "test-extension"]);
    assert!(run.out.contains("1 → 2"), "{}{}", run.out, run.err);
    assert!(!traces.exists(), "a hook ran");
    let run = place.run(&["extensions", "install", "--consent", "file:///nowhere/at/all"]);
    assert!(run.code == Some(42) && run.err.contains("cannot fetch"), "{}", run.err);
}
