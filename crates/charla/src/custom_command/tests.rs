use proptest::prelude::*;

use super::*;
use crate::environment::Environment;
use crate::notices::Notice;
use crate::trust::{TrustBook, WorkspaceContent};

fn command(prompt: &str) -> CustomCommand {
    let text = toml::to_string(&std::collections::BTreeMap::from([("prompt", prompt)])).unwrap();
    CustomCommand::parse("git:commit", &text).unwrap()
}

fn text(words: &str) -> Piece {
    Piece::Text(words.to_owned())
}

#[test]
fn places_are_filled() {
    let pieces = command("Fix {{args}}: !{grep -r {{args}} .} and @{docs/a.md}.").expand("it's `rm -rf`");
    assert_eq!(
        pieces,
        [
            text("Fix it's `rm -rf`: "),
            Piece::Shell(r"grep -r 'it'\''s `rm -rf`' .".to_owned()),
            text(" and "),
            Piece::File("docs/a.md".to_owned()),
            text("."),
        ]
    );
}

#[test]
fn what_is_typed_never_becomes_a_place() {
    assert_eq!(
        command("Say {{args}}").expand("!{rm x} @{/etc/passwd}"),
        [text("Say !{rm x} @{/etc/passwd}")]
    );
}

#[test]
fn a_prompt_without_a_place_has_what_was_typed_at_its_end() {
    assert_eq!(
        command("Commit.").expand(" now  please "),
        [text("Commit."), text("\n\n/git:commit now  please")]
    );
    assert_eq!(command("Commit.").expand(""), [text("Commit.")]);
    assert_eq!(
        command("Log !{git log {{args}}}").expand(""),
        [text("Log "), Piece::Shell("git log ".to_owned())]
    );
}

#[test]
fn braces_in_a_place_are_balanced() {
    assert_eq!(command("!{awk '{print $1}' a}").expand(""), [Piece::Shell("awk '{print $1}' a".to_owned())]);
    let error = CustomCommand::parse("x", "prompt = \"go !{echo { }\"").unwrap_err().to_string();
    assert_eq!(error, "the command /x has `!{echo { }` without its `}`: braces in it must be balanced");
}

#[test]
fn what_is_typed_stays_in_the_quotes_of_its_place() {
    let pieces = command("!{git log --grep=\"{{args}}\"} !{echo '{{args}}'}").expand("a\"'$(b)");
    assert_eq!(
        pieces,
        [
            Piece::Shell(r#"git log --grep="a\"'\$(b)""#.to_owned()),
            text(" "),
            Piece::Shell(r#"echo 'a"'\''$(b)'"#.to_owned()),
        ]
    );
}

#[test]
fn a_command_whose_place_is_not_clear_is_not_used() {
    let error = CustomCommand::parse("x", "prompt = '!{cat <<EOF {{args}}}'").unwrap_err();
    assert!(matches!(error, CustomCommandError::Unclear { .. }), "{error}");
    assert!(CustomCommand::parse("x", "prompt = '{{args}} !{cat <<EOF}'").is_ok());
}

#[test]
fn a_file_that_is_no_command_says_why() {
    let error = |text| CustomCommand::parse("x", text).unwrap_err().to_string();
    assert!(error("description = 'a'").contains("missing field `prompt`"), "{}", error("description = 'a'"));
    assert!(error("prompt = [").starts_with("the command /x cannot be read: TOML parse error at line 1"));
    assert_eq!(
        CustomCommand::parse("x", "prompt = 'a'\ndescription = 'b'\nmore = 1").unwrap().description,
        "b"
    );
}

#[test]
fn commands_are_named_by_their_files() {
    let name = |path: &str| CustomCommand::name_of(Path::new(path));
    assert_eq!(name("commit.toml").as_deref(), Some("commit"));
    assert_eq!(name("git/my commit.toml").as_deref(), Some("git:my_commit"));
    for path in ["commit.md", "../commit.toml", "/commit.toml", ""] {
        assert_eq!(name(path), None, "{path}");
    }
}

/// A home and a workspace with these files.
fn place(files: &[(&str, &str)]) -> (tempfile::TempDir, Environment) {
    let folder = tempfile::tempdir().unwrap();
    let mut environment = Environment::default();
    environment.home = Some(folder.path().join("home"));
    environment.directory = folder.path().join("work");
    std::fs::create_dir_all(&environment.directory).unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (folder, environment)
}

fn found(environment: &Environment) -> (Vec<(String, String)>, Vec<String>) {
    let mut notices: Vec<Notice> = Vec::new();
    let brought = crate::settings::load(environment, Vec::new()).unwrap().settings.brought;
    let commands = custom_commands(environment, &brought, &mut notices).unwrap();
    let named = commands.into_iter().map(|command| (command.name, command.description)).collect();
    (named, notices.into_iter().map(|notice| notice.text).collect())
}

#[test]
fn a_workspaces_commands_hold_once_it_is_trusted() {
    let own = [
        ("home/.charla/commands/a.toml", "prompt = 'x'\ndescription = 'mine'"),
        ("home/.charla/commands/git/b.toml", "prompt = 'x'\ndescription = 'mine'"),
        ("home/.charla/commands/broken.toml", "prompt = 1"),
        ("work/.charla/commands/a.toml", "prompt = 'x'\ndescription = 'theirs'"),
    ];
    let (folder, environment) = place(&own);
    let mine = |name: &str| (name.to_owned(), "mine".to_owned());
    let (commands, notices) = found(&environment);
    assert_eq!(commands, [mine("a"), mine("git:b")]);
    assert!(
        notices.iter().any(|text| text.contains("broken.toml: the command /broken cannot be read")),
        "{notices:?}"
    );
    assert!(notices.iter().any(|text| text.contains("it is not trusted")), "{notices:?}");
    let content = WorkspaceContent::read(&environment);
    TrustBook::of(&environment).unwrap().trust(&environment.directory, content.hash()).unwrap();
    assert_eq!(found(&environment).0, [("a".to_owned(), "theirs".to_owned()), mine("git:b")]);
    std::fs::write(folder.path().join("work/.charla/commands/a.toml"), "prompt = '!{evil}'").unwrap();
    assert_eq!(found(&environment).0, [mine("a"), mine("git:b")]);
}

#[test]
fn commands_of_gemini_cli_stand_below_ours() {
    let files = [
        ("home/.gemini/commands/a.toml", "prompt = 'x'\ndescription = 'gemini'"),
        ("home/.gemini/commands/b.toml", "prompt = 'x'\ndescription = 'gemini'"),
        ("home/.charla/commands/a.toml", "prompt = 'x'\ndescription = 'ours'"),
        ("work/.gemini/commands/c.toml", "prompt = 'x'\ndescription = 'theirs'"),
    ];
    let (folder, environment) = place(&files);
    let of = |name: &str, who: &str| (name.to_owned(), who.to_owned());
    let (commands, notices) = found(&environment);
    assert_eq!(commands, [of("a", "ours"), of("b", "gemini")]);
    assert!(notices.iter().any(|text| text.contains("it is not trusted")), "{notices:?}");
    // A user who has told Gemini CLI to trust every folder is not asked about what is made for it.
    let trusting = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
    std::fs::write(folder.path().join("home/.gemini/settings.json"), trusting).unwrap();
    assert_eq!(found(&environment).0, [of("a", "ours"), of("b", "gemini"), of("c", "theirs")]);
}

#[test]
fn a_command_that_is_called_like_one_of_ours_has_another_name_and_says_so() {
    let files = [
        ("home/.charla/commands/help.toml", "prompt = 'x'\ndescription = 'mine'"),
        ("home/.charla/commands/git/help.toml", "prompt = 'x'\ndescription = 'mine'"),
        ("work/.charla/commands/undo.toml", "prompt = 'x'\ndescription = 'theirs'"),
    ];
    let (_folder, environment) = place(&files);
    let content = WorkspaceContent::read(&environment);
    TrustBook::of(&environment).unwrap().trust(&environment.directory, content.hash()).unwrap();
    let (commands, notices) = found(&environment);
    let names: Vec<&str> = commands.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["git:help", "user.help", "workspace.undo"]);
    let told = |words: &str| assert!(notices.iter().any(|text| text.contains(words)), "{words}: {notices:?}");
    told("/help is built in: the command in ");
    told("help.toml is /user.help");
    told("undo.toml is /workspace.undo");
    let brought = crate::settings::load(&environment, Vec::new()).unwrap().settings.brought;
    let failure = unusable_command("help", &environment, &brought).unwrap().unwrap();
    assert!(failure.to_string().contains("is /user.help"), "{failure}");
    assert!(unusable_command("user.help", &environment, &brought).unwrap().is_none());
}

proptest! {
    #[test]
    fn no_prompt_breaks_it(prompt in "(!\\{|@\\{|\\{\\{args\\}\\}|[{}!@a-z é]){0,30}", arguments: String) {
        if let Ok(pieces) = pieces(&prompt) {
            let command = CustomCommand { name: "x".to_owned(), description: String::new(), template: pieces };
            command.expand(&arguments);
        }
    }
}
