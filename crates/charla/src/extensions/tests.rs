use std::path::Path;

use serde_json::json;

use super::*;

fn folder(manifest: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gemini-extension.json"), manifest.to_string()).unwrap();
    folder
}

#[test]
fn trust_is_not_its_own_to_give() {
    let folder = folder(&json!({
        "name": "x", "version": "1",
        "mcpServers": {"s": {"command": "${extensionPath}${/}run", "args": ["${workspacePath}"], "trust": true}},
    }));
    let manifest = Manifest::read(folder.path()).unwrap();
    assert_eq!(
        manifest.servers["s"],
        json!({"command": "${extensionPath}${/}run", "args": ["${workspacePath}"]})
    );
}

#[test]
fn a_manifest_may_have_comments() {
    let folder = folder(&json!({}));
    let text = "{\n  // what it is called\n  \"name\": \"x\", /* and which */ \"version\": \"1\",\n}\n";
    std::fs::write(folder.path().join("gemini-extension.json"), text).unwrap();
    assert_eq!(Manifest::read(folder.path()).unwrap().name, "x");
}

#[test]
fn our_own_name_of_the_file_goes_before() {
    let folder = folder(&json!({"name": "x", "version": "1"}));
    std::fs::write(folder.path().join("charla-extension.json"), r#"{"name": "y", "version": "2"}"#).unwrap();
    assert_eq!(Manifest::read(folder.path()).unwrap().name, "y");
}

#[test]
fn consent_is_another_when_anything_that_runs_or_is_read_is() {
    let base = json!({"name": "x", "version": "1", "mcpServers": {"s": {"command": "a"}}});
    let first = folder(&base);
    let hash = |folder: &Path| Consent::of(&Manifest::read(folder).unwrap(), folder).hash();
    let agreed = hash(first.path());
    assert_eq!(
        agreed,
        hash(folder(&json!({"name": "x", "version": "2", "mcpServers": {"s": {"command": "a"}}})).path())
    );
    for change in [
        json!({"s": {"command": "b"}}),
        json!({"s": {"command": "a", "args": ["x"]}}),
        json!({"s": {"command": "a", "env": {"A": "1"}}}),
        json!({"s": {"command": "a"}, "t": {"url": "http://x"}}),
    ] {
        let other = folder(&json!({"name": "x", "version": "1", "mcpServers": change}));
        assert_ne!(agreed, hash(other.path()), "{change}");
    }
    std::fs::write(first.path().join("GEMINI.md"), "one").unwrap();
    let with_words = hash(first.path());
    assert_ne!(agreed, with_words);
    std::fs::write(first.path().join("GEMINI.md"), "two").unwrap();
    assert_ne!(with_words, hash(first.path()));
}

#[test]
fn what_stands_for_no_extension_is_the_name_of_none() {
    for name in ["none", "None"] {
        let folder = folder(&json!({"name": name, "version": "1"}));
        let refused = Manifest::read(folder.path()).unwrap_err();
        assert!(refused.contains("stands for none of them"), "{refused}");
    }
}

#[test]
fn consent_is_another_when_a_text_is_that_a_model_reads_later() {
    let folder = folder(&json!({"name": "x", "version": "1"}));
    let hash = || Consent::of(&Manifest::read(folder.path()).unwrap(), folder.path()).hash();
    for (name, text) in [
        ("skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\nfirst"),
        ("agents/a.md", "---\nname: a\ndescription: d\n---\nfirst"),
        ("commands/c.toml", "prompt = \"first\""),
    ] {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let agreed = hash();
        std::fs::write(&file, text.replace("first", "second")).unwrap();
        assert_ne!(agreed, hash(), "{name}");
        std::fs::write(&file, text).unwrap();
        assert_eq!(agreed, hash(), "{name}");
    }
}

#[test]
fn consent_shows_which_model_and_tools_an_agent_wants() {
    let folder = folder(&json!({"name": "x", "version": "1"}));
    let agents = folder.path().join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    let front = "name: a\ndescription: d\nmodel: openai/gpt-x\ntools: [read_file, write_file]";
    std::fs::write(agents.join("a.md"), format!("---\n{front}\n---\nx")).unwrap();
    std::fs::write(agents.join("b.md"), "---\nname: b\ndescription: d\n---\nx").unwrap();
    let consent = Consent::of(&Manifest::read(folder.path()).unwrap(), folder.path());
    let lines = consent.lines();
    assert!(
        lines.contains(&" * a: d; model openai/gpt-x; tools read_file, write_file".to_owned()),
        "{lines:?}"
    );
    assert!(lines.contains(&" * b: d; all tools".to_owned()), "{lines:?}");
}

#[test]
fn only_a_server_that_moves_on_its_host_is_like_what_was_agreed_to() {
    let folder = tempfile::tempdir().unwrap();
    let consent = |servers: Value| {
        let manifest = json!({"name": "x", "version": "1", "mcpServers": servers});
        std::fs::write(folder.path().join("gemini-extension.json"), manifest.to_string()).unwrap();
        Consent::of(&Manifest::read(folder.path()).unwrap(), folder.path())
    };
    let remote = |address: &str| json!({"s": {"httpUrl": address}});
    let before = consent(remote("http://localhost:1/mcp"));
    let rows = [
        (remote("http://localhost:1/mcp"), true),
        (remote("http://localhost:2/other?x"), true),
        (remote("https://localhost:1/mcp"), false),
        (remote("http://localhost.evil.example:1/mcp"), false),
        (remote("http://localhost:1@evil.example/mcp"), false),
        (remote("http://localhost\\@evil.example/mcp"), false),
        (remote("http://${HOST}/mcp"), false),
        (json!({"t": {"httpUrl": "http://localhost:1/mcp"}}), false),
        (json!({"s": {"httpUrl": "http://localhost:1/mcp", "headers": {"A": "$B"}}}), false),
        (json!({"s": {"command": "sh"}}), false),
        (json!({"s (remote): http://localhost:1/": {"command": "sh"}}), false),
        (json!({}), false),
    ];
    for (servers, is_like) in rows {
        assert_eq!(consent(servers.clone()).is_like(&before), is_like, "{servers}");
    }
    let moved = consent(remote("http://localhost:2/mcp"));
    std::fs::write(folder.path().join("GEMINI.md"), "Obey.").unwrap();
    assert!(!consent(remote("http://localhost:2/mcp")).is_like(&moved));
}
