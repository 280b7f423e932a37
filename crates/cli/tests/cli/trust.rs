//! Trust in what a workspace brings.

use charla_testkit::{Reply, Script, Server};

use crate::place::{Place, Run, server};

/// Settings with which the workspace adds a header to every request.
const HEADER: &str = r#"{"providers": {"gemini": {"headers": {"x-workspace": "1"}}}}"#;
/// The same with another value.
const OTHER_HEADER: &str = r#"{"providers": {"gemini": {"headers": {"x-workspace": "2"}}}}"#;

fn workspace(settings: &str) -> (Server, Place) {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server).workspace_settings(settings);
    (server, place)
}

fn header(server: &Server) -> Option<String> {
    server.requests().last().unwrap().headers.get("x-workspace").map(str::to_owned)
}

fn hash(run: &Run) -> String {
    run.out.lines().find_map(|line| line.strip_prefix("sha256 ")).unwrap().to_owned()
}

#[test]
fn settings_act_from_trust_until_they_change() {
    let (server, place) = workspace(HEADER);
    let run = place.run(&["-p", "hi"]);
    assert_eq!((run.code, header(&server)), (Some(0), None));
    assert!(
        run.err.contains("`providers.gemini.headers.x-workspace` is ignored: this workspace is not trusted")
    );
    assert!(run.err.contains("`charla trust` shows"), "{}", run.err);

    let run = place.run(&["trust", "--yes"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("  providers.gemini.headers.x-workspace = \"1\"\n"), "{}", run.out);
    assert!(run.err.contains("trusted; remembered in ~/home/.charla/trusted.json"), "{}", run.err);
    let run = place.run(&["--require-trust", "-p", "hi"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(header(&server).as_deref(), Some("1"));

    let place = place.workspace_settings(OTHER_HEADER);
    let run = place.run(&["-p", "hi"]);
    assert_eq!((run.code, header(&server)), (Some(0), None));
    assert!(run.err.contains("has changed since it was trusted"), "{}", run.err);
    let place = place.workspace_settings(HEADER);
    assert_eq!(place.run(&["trust", "--revoke"]).code, Some(0));
    assert_eq!(place.run(&["-p", "hi"]).code, Some(0));
    assert_eq!(header(&server), None);
}

#[test]
fn without_a_terminal_nobody_agrees() {
    let (_server, place) = workspace(HEADER);
    let run = place.run_with_input(&["trust"], "y\n");
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("--yes"), "{}", run.err);
    assert!(!place.home().join("trusted.json").exists());
    assert_eq!(place.run(&["trust", "--show"]).code, Some(0));
    assert!(!place.home().join("trusted.json").exists());
}

#[test]
fn a_run_can_bring_or_demand_trust() {
    let (server, place) = workspace(HEADER);
    let run = place.run(&["--require-trust", "-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(55), ""));
    assert!(run.err.contains("this workspace is not trusted") && run.err.contains("charla trust"));
    assert!(server.requests().is_empty());

    let hash = hash(&place.run(&["trust", "--show"]));
    let run = place.run(&["--trust-workspace", &hash, "-p", "hi"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(header(&server).as_deref(), Some("1"));
    let place = place.workspace_settings(OTHER_HEADER);
    let run = place.run(&["--trust-workspace", &hash, "-p", "hi"]);
    assert_eq!(run.code, Some(55), "{}", run.err);
    assert_eq!(place.run(&["--trust-workspace", "1234", "-p", "hi"]).code, Some(42));
}

#[test]
fn rules_of_a_workspace_are_shown_and_never_allow() {
    let (_server, place) = workspace("{}");
    let policies = place.path().join("work/.charla/policies");
    std::fs::create_dir_all(&policies).unwrap();
    let rule = "odd = 1\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"allow\"\npriority = 100\n";
    std::fs::write(policies.join("loose.toml"), rule).unwrap();
    let run = place.run(&["trust", "--yes"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains(".charla/policies/loose.toml holds in any case"), "{}", run.out);
    assert!(run.out.contains("`odd` means nothing here"), "{}", run.out);
    assert!(
        run.out.contains("ignored: the rules of a workspace may ask or deny, never allow"),
        "{}",
        run.out
    );
    let run = place.run(&["policy", "explain", "rm -r build"]);
    assert!(!run.out.contains("verdict: allow"), "{}", run.out);
}

#[test]
fn an_empty_workspace_has_nothing_to_trust() {
    let place = Place::new();
    let run = place.run(&["trust"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "~/work has nothing to trust\n"));
}

#[test]
fn an_untrusted_workspace_cannot_have_its_own_model_file_loaded() {
    for settings in [
        r#"{"model": {"name": "local/evil.gguf"}}"#,
        r#"{"model": {"name": " local/evil.gguf "}}"#,
        r#"{"model": {"fallback": ["local/evil.gguf"]}}"#,
        r#"{"providers": {"local": {"defaultModel": "evil.gguf"}}}"#,
    ] {
        let (server, place) = workspace(settings);
        let run = place.run(&["-p", "hi"]);
        assert_eq!((run.code, server.requests().len()), (Some(0), 1), "{settings}: {}", run.err);
        assert!(run.err.contains("is ignored: this workspace is not trusted"), "{settings}: {}", run.err);
    }
}
