use std::path::PathBuf;

use super::*;

fn surroundings() -> Environment {
    Environment::of([("GEMINI_API_KEY", "k")])
}

fn translated(text: &str, environment: &Environment) -> (Value, Vec<String>) {
    let mut notices = Vec::new();
    let file = GeminiFile { path: PathBuf::from("settings.json"), bytes: text.as_bytes() };
    let document = document(&file, environment, &mut notices);
    let value = document.map_or(Value::Null, |document| Value::Object(document.value));
    (value, notices.into_iter().map(|notice| notice.text).collect())
}

#[test]
fn every_key_in_our_words_is_one_of_ours() {
    let keys: Vec<String> = super::super::all_keys().into_iter().map(|(key, _)| key).collect();
    for (theirs, ours, _) in KEYS {
        let known = keys.iter().any(|key| key == ours || key.starts_with(&format!("{ours}.")));
        assert!(known, "`{theirs}` becomes `{ours}`, and there is no such key");
    }
}

#[test]
fn what_can_be_taken_is_taken_and_the_rest_is_no_mistake() {
    let rows = [
        (r#"{"model": {"name": "gemini-2.5-pro"}}"#, json!({"model": {"name": "gemini-2.5-pro"}})),
        (r#"{"model": {"name": "auto-gemini-3"}}"#, json!({"model": {"name": "auto-gemini-3"}})),
        (r#"{"model": {"name": "auto"}}"#, json!({})),
        (r#"{"general": {"plan": {"modelRouting": false}}}"#, json!({"model": {"plan": ""}})),
        (r#"{"general": {"plan": {"modelRouting": true}}}"#, json!({})),
        (
            r#"{"general": {"defaultApprovalMode": "plan", "plan": {"directory": "plans"}}}"#,
            json!({"tools": {"approvalMode": "plan", "planDirectory": "plans"}}),
        ),
        (r#"{"general": {"defaultApprovalMode": "yolo"}}"#, json!({})),
        (
            r#"{"tools": {"core": [], "useRipgrep": true}, "coreTools": ["x"]}"#,
            json!({"tools": {"core": []}}),
        ),
        (r#"{"model": {"maxSessionTurns": -1}}"#, json!({})),
        (
            r#"{"telemetry": {"enabled": true, "target": "local", "outfile": "t.log"}}"#,
            json!({"telemetry": {"enabled": true, "outfile": "t.log"}}),
        ),
        (
            r#"{"security": {"auth": {"selectedType": "", "enforcedType": "vertex-ai"}, "folderTrust": {"enabled": false}}}"#,
            json!({"security": {"enforcedAuth": "vertex-ai"}}),
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "args": ["y"], "description": "z", "oauth": {}}}, "debugMode": 1,}"#,
            json!({"mcpServers": {"a": {"command": "x", "args": ["y"]}}}),
        ),
        (
            r#"{"hooks": {"disabled": ["x"], "BeforeTool": [{"matcher": "a", "when": 1, "hooks": [
                {"type": "command", "command": "true", "env": {}}, {"type": "plugin", "command": "x"}]}]},
                "hooksConfig": {"enabled": true, "disabled": ["n"], "notifications": true}}"#,
            json!({"hooks": {"BeforeTool": [{"matcher": "a", "hooks": [{"type": "command", "command": "true"}]}]},
                   "hooksConfig": {"enabled": true, "disabled": ["n"]}}),
        ),
        ("[]", json!({})),
    ];
    for (text, expected) in rows {
        assert_eq!(translated(text, &surroundings()), (expected, Vec::new()), "{text}");
    }
}

#[test]
fn a_model_that_no_key_opens_is_not_wanted() {
    let text = r#"{"model": {"name": "gemini-2.5-pro"}}"#;
    assert_eq!(translated(text, &Environment::default()).0, json!({}));
}

#[test]
fn what_cannot_be_used_is_left_out_and_told() {
    let (value, notices) = translated(r#"{"tools": {"core": "all", "exclude": ["a"]}}"#, &surroundings());
    assert_eq!(value, json!({"tools": {"exclude": ["a"]}}));
    assert!(notices[0].starts_with("settings.json: `tools.core` is left out: "), "{notices:?}");
    let (value, notices) = translated("{", &surroundings());
    assert_eq!(value, Value::Null);
    assert!(notices[0].starts_with("settings.json is left out: "), "{notices:?}");
}
