use charla_proto::{Confinement, Confirmation, ConfirmationDetail, Outcome};

use super::*;

fn exec(command: &str, always: Option<&str>) -> Confirmation {
    Confirmation {
        tool: "run_shell_command".to_owned(),
        title: command.to_owned(),
        detail: ConfirmationDetail::Exec { command: command.to_owned(), cwd: "/w".into() },
        rule: "default built-in#8".to_owned(),
        confinement: Some(Confinement::Open),
        isolation: "none".to_owned(),
        reasons: vec!["make: it is not known to be harmless".to_owned()],
        always: always.map(str::to_owned),
    }
}

#[test]
fn only_what_is_offered_is_understood() {
    let plain = exec("make", None);
    assert_eq!(understand("y\n", &plain, false), Word::Answer(Outcome::ProceedOnce));
    assert_eq!(understand(" T ", &plain, false), Word::Answer(Outcome::ProceedAlwaysTool));
    assert_eq!(understand("n", &plain, false), Word::Answer(Outcome::Cancel { reason: None }));
    let reason = Some("use ninja".to_owned());
    assert_eq!(understand("n  use ninja\n", &plain, false), Word::Answer(Outcome::Cancel { reason }));
    for line in ["", "a", "s", "yes please", "q"] {
        assert_eq!(understand(line, &plain, false), Word::Unclear, "{line}");
    }
    let always = exec("make", Some("[[rule]]"));
    assert_eq!(understand("a", &always, false), Word::Answer(Outcome::ProceedAlways));
    assert_eq!(understand("s", &always, false), Word::Answer(Outcome::ProceedAlwaysAndSave));
    assert!(!choices(&plain, false).contains("always and save"));
    assert!(choices(&always, false).contains("always and save"));
    assert_eq!(understand("m", &plain, false), Word::Unclear);
    let (server, tool) = ("notes".to_owned(), "read".to_owned());
    let detail = ConfirmationDetail::Mcp { server, tool, args: Default::default() };
    let of_server = Confirmation { detail, ..exec("read", None) };
    assert_eq!(understand("m", &of_server, false), Word::Answer(Outcome::ProceedAlwaysServer));
    assert!(
        choices(&of_server, false).contains("m always notes") && !choices(&plain, false).contains("m always")
    );
    assert_eq!(understand("v", &plain, false), Word::Unclear);
    assert_eq!(understand("v", &plain, true), Word::View);
    assert!(choices(&plain, true).contains("v view all") && !choices(&plain, false).contains("v view all"));
}
