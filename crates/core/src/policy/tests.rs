use std::path::{Path, PathBuf};

use charla_proto::{ApprovalMode, Args, Confinement, Effect, Lane, Plan, Policy, Preview, Verdict, Word};

use super::{Decision, RuleBook, RuleFile, Scope, Tier, Wall, allowed_tools, trusted_servers};

const ALL_MODES: [ApprovalMode; 4] =
    [ApprovalMode::Plan, ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo];

fn scope() -> Scope {
    Scope {
        links: Vec::new(),
        wall: Wall::WHOLE,
        roots: vec![PathBuf::from("/w")],
        home: Some(PathBuf::from("/home/u")),
        plans: Some(PathBuf::from("/w/.charla/plans")),
        readable: vec![PathBuf::from("/home/u/.charla/skills/one")],
        proof: None,
    }
}

fn file(tier: Tier, text: &str) -> RuleFile {
    RuleFile { tier, name: format!("{tier}.toml"), text: text.into() }
}

fn book(files: &[(Tier, &str)]) -> RuleBook {
    let files: Vec<RuleFile> = files.iter().map(|(tier, text)| file(*tier, text)).collect();
    RuleBook::new(scope(), &files).unwrap()
}

fn plan(tool: &str, effects: Vec<Effect>) -> Plan {
    Plan {
        tool: tool.into(),
        args: Args::new(),
        title: tool.into(),
        effects,
        preview: Preview::None,
        lane: Lane::Shared,
    }
}

fn run(line: &str) -> Plan {
    let words = line.split(' ').map(Word::literal).collect();
    let exec = Effect::Exec {
        command: line.into(),
        cwd: PathBuf::from("/w"),
        words,
        carrier: false,
        fed: false,
        environment: Vec::new(),
    };
    plan("run_shell_command", vec![exec])
}

fn read(path: &str) -> Plan {
    plan("read_file", vec![Effect::Read { path: path.into() }])
}

fn write(path: &str) -> Plan {
    plan("write_file", vec![Effect::Write { path: path.into() }])
}

fn decide(book: &RuleBook, plan: &Plan, mode: ApprovalMode) -> Decision {
    Decision::from(&book.judge(plan, mode))
}

fn decisions(book: &RuleBook, plan: &Plan) -> [Decision; 4] {
    ALL_MODES.map(|mode| decide(book, plan, mode))
}

const ALLOW_MAKE: &str = "[[rule]]\ncommandPrefix = \"make\"\ndecision = \"allow\"\n";
const DENY_MAKE: &str = "[[rule]]\ncommandPrefix = \"make\"\ndecision = \"deny\"\n";
const ASK_MAKE: &str = "[[rule]]\ncommandPrefix = \"make\"\ndecision = \"ask\"\n";

#[test]
fn modes_decide_what_runs_without_rules() {
    use Decision::{Allow, Ask, Deny};
    let book = book(&[]);
    assert_eq!(decisions(&book, &read("/w/a")), [Allow, Allow, Allow, Allow]);
    assert_eq!(decisions(&book, &read("/etc/passwd")), [Ask, Ask, Ask, Allow]);
    assert_eq!(decisions(&book, &read("/w/.env")), [Ask, Ask, Ask, Allow]);
    assert_eq!(decisions(&book, &write("/w/a")), [Deny, Ask, Allow, Allow]);
    assert_eq!(decisions(&book, &write("/w/.charla/plans/a.md")), [Allow, Ask, Allow, Allow]);
    assert_eq!(decisions(&book, &write("/etc/a")), [Deny, Ask, Ask, Allow]);
    assert_eq!(decisions(&book, &write("/w/.git/config")), [Deny, Ask, Ask, Allow]);
    assert_eq!(decisions(&book, &run("make")), [Deny, Ask, Ask, Allow]);
    assert_eq!(decisions(&book, &run("ls")), [Deny, Allow, Allow, Allow]);
    assert_eq!(
        decisions(&book, &plan("web_fetch", vec![Effect::Net { host: "h".into() }])),
        [Ask, Ask, Ask, Allow]
    );
    assert_eq!(decisions(&book, &plan("write_todos", vec![])), [Allow, Allow, Allow, Allow]);
    assert_eq!(decisions(&book, &plan("ask_user", vec![])), [Ask, Ask, Ask, Ask]);
    assert_eq!(decisions(&book, &plan("unheard_of", vec![])), [Deny, Ask, Ask, Allow]);
    let mcp = plan("mcp_s_t", vec![Effect::Mcp { server: "s".into(), tool: "t".into() }]);
    assert_eq!(decisions(&book, &mcp), [Deny, Ask, Ask, Allow]);
}

#[test]
fn a_denial_holds_against_an_allowance_of_any_tier() {
    for denying in [Tier::Workspace, Tier::User, Tier::Admin] {
        for allowing in [Tier::User, Tier::Admin] {
            let book = book(&[(allowing, ALLOW_MAKE), (denying, DENY_MAKE)]);
            assert_eq!(decisions(&book, &run("make")), [Decision::Deny; 4], "{denying} against {allowing}");
        }
    }
}

#[test]
fn within_a_tier_the_higher_priority_decides() {
    let text = "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"deny\"\npriority = 10\n\
                [[rule]]\ncommandPrefix = \"make check\"\ndecision = \"allow\"\npriority = 20\n";
    let book = book(&[(Tier::User, text)]);
    assert_eq!(decide(&book, &run("make check"), ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&book, &run("make"), ApprovalMode::Default), Decision::Deny);
}

#[test]
fn the_workspace_may_tighten_and_never_loosen() {
    let loose = book(&[(Tier::Workspace, ALLOW_MAKE)]);
    assert_eq!(decide(&loose, &run("make"), ApprovalMode::Default), Decision::Ask);
    let notices: Vec<&str> = loose.notices().collect();
    assert!(
        matches!(*notices, [only] if only.starts_with("workspace workspace.toml#1: ignored")),
        "{notices:?}"
    );
    let tight = book(&[(Tier::User, ALLOW_MAKE), (Tier::Workspace, ASK_MAKE)]);
    assert_eq!(decide(&tight, &run("make"), ApprovalMode::Default), Decision::Ask);
    let softening = book(&[(Tier::User, DENY_MAKE), (Tier::Workspace, ASK_MAKE)]);
    assert_eq!(decide(&softening, &run("make"), ApprovalMode::Yolo), Decision::Deny);
}

#[test]
fn notices_are_known_by_whose_rules_they_are_about() {
    let odd = "odd = 1\n";
    let book = book(&[(Tier::User, odd), (Tier::Workspace, &format!("{odd}{ALLOW_MAKE}"))]);
    let of = |tier| book.notices_of(tier).collect::<Vec<_>>();
    assert_eq!(of(Tier::User), ["user.toml: `odd` means nothing here"]);
    let theirs = of(Tier::Workspace);
    assert!(
        matches!(*theirs, [odd, ignored] if odd.contains("`odd`") && ignored.contains("ignored")),
        "{theirs:?}"
    );
    assert_eq!(book.notices().count(), 3);
}

#[test]
fn whoever_lets_a_guest_in_may_tighten_and_never_loosen() {
    use Decision::{Allow, Ask, Deny};
    let host = book(&[(Tier::User, ALLOW_MAKE), (Tier::Admin, ALLOW_MAKE), (Tier::Host, ASK_MAKE)]);
    assert_eq!(decide(&host, &run("make"), ApprovalMode::Yolo), Ask);
    let host = book(&[(Tier::Workspace, ASK_MAKE), (Tier::User, ALLOW_MAKE), (Tier::Host, DENY_MAKE)]);
    assert_eq!(decide(&host, &run("make"), ApprovalMode::Yolo), Deny);
    let host = book(&[(Tier::Host, ALLOW_MAKE)]);
    assert_eq!(decide(&host, &run("make"), ApprovalMode::Default), Ask);
    let notices: Vec<&str> = host.notices().collect();
    assert!(notices[0].contains("may ask or deny"), "{notices:?}");
    let host = book(&[(Tier::Host, "[[rule]]\ntoolName = \"write_file\"\ndecision = \"ask\"\n")]);
    assert_eq!(decisions(&host, &write("/w/a")), [Deny, Ask, Ask, Ask]);
    assert_eq!(decide(&host, &read("/w/a"), ApprovalMode::Default), Allow);
}

#[test]
fn a_guest_reaches_the_workspace_alone_whoever_allows_more() {
    use Decision::{Allow, Deny};
    let allow = "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\n";
    let guest = book(&[(Tier::User, allow), (Tier::Admin, allow)]).within_workspace();
    let up_again = [read("/w/../other/x"), write("/w/a/../../other/x")];
    let beyond = [read("/etc/passwd"), write("/home/u/x"), read("/"), read("/home/u/.charla/keys.json")];
    for beyond in beyond.into_iter().chain(up_again) {
        assert_eq!(decisions(&guest, &beyond), [Deny; 4], "{:?}", beyond.effects);
    }
    assert_eq!(decisions(&guest, &plan("run_shell_command", vec![Effect::Unconfined])), [Deny; 4]);
    assert_eq!(decide(&guest, &write("/w/a"), ApprovalMode::Yolo), Allow);
    assert_eq!(decide(&guest, &run("make"), ApprovalMode::Yolo), Allow, "the kernel holds commands");
    assert!(guest.withheld("grep", std::path::Path::new("/home/u/x"), ApprovalMode::Yolo).is_some());
    assert!(guest.withheld("grep", std::path::Path::new("/w/x"), ApprovalMode::Yolo).is_none());
}

#[test]
fn the_strictest_part_decides_and_the_verdict_names_what_is_missing() {
    let book = book(&[(Tier::User, ALLOW_MAKE)]);
    let mut both = run("make");
    both.effects.extend(run("cargo install x").effects);
    both.effects.push(Effect::Write { path: "/tmp/x".into() });
    let Verdict::Ask { missing, .. } = book.judge(&both, ApprovalMode::Default) else { panic!() };
    let what: Vec<&str> = missing.iter().map(|part| part.what.as_str()).collect();
    assert_eq!(what, ["cargo install x", "write /tmp/x"]);
    assert_eq!(
        missing[0].always.as_deref(),
        Some(
            "[[rule]]\ncommand = \"cargo install x\"\ncwd = \".\"\nenvironment = []\n\
             workspace = \"/w\"\nconfinement = \"asked\"\ndecision = \"allow\"\n"
        )
    );
}

#[test]
fn the_rules_a_verdict_offers_allow_exactly_what_was_missing() {
    let mut asked = run("cargo install x");
    asked.effects.push(Effect::Write { path: "/tmp/[x]".into() });
    let Some(Effect::Exec { environment, .. }) = asked.effects.first_mut() else { panic!() };
    environment.push(("FOO".into(), Word::literal("1")));
    asked.effects.insert(0, Effect::Env { name: "FOO".into(), value: Word::literal("1") });
    let Verdict::Ask { missing, .. } = book(&[]).judge(&asked, ApprovalMode::Default) else { panic!() };
    let text: String = missing.into_iter().filter_map(|part| part.always).collect();
    let book = book(&[(Tier::User, &text)]);
    assert_eq!(decide(&book, &asked, ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&book, &run("cargo install x y"), ApprovalMode::Default), Decision::Ask);
    assert_eq!(decide(&book, &run("cargo install"), ApprovalMode::Default), Decision::Ask);
}

#[test]
fn what_is_delicate_is_never_offered_as_always() {
    let lines = ["sudo ls", "rm -rf x", "git reset --hard", "cat .env", "head -1 certs/server.key"];
    let files = [read("/w/.env"), write("/w/.env"), write("/w/AGENTS.md"), write("/w/.git/config")];
    for asked in lines.map(run).into_iter().chain(files) {
        let Verdict::Ask { missing, .. } = book(&[]).judge(&asked, ApprovalMode::Default) else { panic!() };
        assert_eq!(missing[0].always, None, "{:?}", asked.effects);
    }
}

#[test]
fn a_verdict_names_the_file_and_the_rule() {
    let text =
        format!("{ASK_MAKE}\n[[rule]]\ncommandPrefix = \"x\"\ndecision = \"deny\"\nreason = \"no x\"\n");
    let book = book(&[(Tier::User, &text)]);
    assert_eq!(
        book.judge(&run("x y"), ApprovalMode::Default),
        Verdict::Deny { rule: "user user.toml#2".into(), reason: "x y: no x".into() }
    );
}

#[test]
fn prefixes_match_word_by_word() {
    let book = book(&[(Tier::User, "[[rule]]\ncommandPrefix = \"git fetch\"\ndecision = \"allow\"\n")]);
    for (line, expected) in [
        ("git fetch", Decision::Allow),
        ("git fetch origin", Decision::Allow),
        ("git fetchx", Decision::Ask),
        ("git -c x fetch", Decision::Ask),
        ("git", Decision::Ask),
    ] {
        assert_eq!(decide(&book, &run(line), ApprovalMode::Default), expected, "{line}");
    }
}

#[test]
fn a_pattern_allows_whole_commands_and_denies_parts() {
    let allow = book(&[(Tier::User, "[[rule]]\ncommandRegex = \"make [a-z]+\"\ndecision = \"allow\"\n")]);
    assert_eq!(decide(&allow, &run("make check"), ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&allow, &run("make check -f x"), ApprovalMode::Default), Decision::Ask);
    let deny = book(&[(Tier::User, "[[rule]]\ncommandRegex = \"--force\"\ndecision = \"deny\"\n")]);
    assert_eq!(decide(&deny, &run("make x --force"), ApprovalMode::Yolo), Decision::Deny);
}

#[test]
fn tools_are_named_by_pattern_server_and_older_names() {
    let mcp = plan("mcp_db_query", vec![Effect::Mcp { server: "db".into(), tool: "query".into() }]);
    for text in [
        "tool = \"mcp_db_*\"",
        "tool = \"mcp_*\"",
        "tool = \"db__query\"",
        "mcpName = \"db\"",
        "mcpName = \"db\"\ntool = \"query\"",
        "toolName = [\"x\", \"mcp_db_query\"]",
    ] {
        let book = book(&[(Tier::User, &format!("[[rule]]\n{text}\ndecision = \"allow\"\n"))]);
        assert_eq!(decide(&book, &mcp, ApprovalMode::Default), Decision::Allow, "{text}");
    }
    for text in ["tool = \"mcp_d\"", "mcpName = \"other\"", "mcpName = \"db\"\ntool = \"other\""] {
        let book = book(&[(Tier::User, &format!("[[rule]]\n{text}\ndecision = \"allow\"\n"))]);
        assert_eq!(decide(&book, &mcp, ApprovalMode::Default), Decision::Ask, "{text}");
    }
    let old = book(&[(Tier::User, "[[rule]]\ntoolName = \"ShellTool\"\ndecision = \"deny\"\n")]);
    assert_eq!(decide(&old, &run("ls"), ApprovalMode::Yolo), Decision::Deny);
}

/// A call of this tool of a server, under the name that it is declared by.
fn of_server(declared: &str, server: &str, tool: &str) -> Plan {
    plan(declared, vec![Effect::Mcp { server: server.into(), tool: tool.into() }])
}

#[test]
fn what_one_server_may_do_no_other_may_by_a_name_that_reads_alike() {
    let judge = |text: &str, plan: &Plan, decision: &str| {
        let book = book(&[(Tier::User, &format!("[[rule]]\n{text}\ndecision = \"{decision}\"\n"))]);
        decide(&book, plan, ApprovalMode::Default)
    };
    let rows = [
        ("tool = \"files__*\"", of_server("files_x-83e4fb9c__d", "files__x", "d")),
        ("tool = \"a__b__c\"", of_server("a_b-0badcafe__c", "a__b", "c")),
        ("tool = \"mcp_github_*\"", of_server("github_evil__t", "github_evil", "t")),
        ("tool = \"mcp_github_*\"", of_server("mcp_github_evil__t", "mcp_github_evil", "t")),
        ("tool = \"mcp_a_b_c\"", of_server("a_b__c", "a_b", "c")),
        ("mcpName = \"files\"", of_server("files_x-83e4fb9c__d", "files__x", "d")),
    ];
    for (text, other) in &rows {
        assert_eq!(judge(text, other, "allow"), Decision::Ask, "{text}");
    }
    // A restriction means whatever could be meant.
    for (text, other) in rows.iter().filter(|(text, _)| text.starts_with("tool")) {
        assert_eq!(judge(text, other, "deny"), Decision::Deny, "{text}");
    }
    for (text, own) in [
        ("tool = \"files__*\"", of_server("files__x", "files", "x")),
        ("tool = \"a__b__c\"", of_server("a__b__c", "a", "b__c")),
        ("tool = \"mcp_a_b_c\"", of_server("a__b_c", "a", "b_c")),
        ("tool = \"mcp_*\"", of_server("github_evil__t", "github_evil", "t")),
        ("tool = \"docs__sampling/createMessage\"", of_server("docs__s", "docs", "sampling/createMessage")),
    ] {
        assert_eq!(judge(text, &own, "allow"), Decision::Allow, "{text}");
    }
}

#[test]
fn trust_in_a_server_is_trust_in_that_one() {
    let trusting = |names: &[&str]| book(&[]).with(trusted_servers(names.iter().copied()).unwrap());
    let (own, other) = (of_server("files__x", "files", "x"), of_server("f-1__d", "files__x", "d"));
    assert_eq!(decide(&trusting(&["files"]), &own, ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&trusting(&["files"]), &other, ApprovalMode::Default), Decision::Ask);
    assert_eq!(decide(&trusting(&["files*", "*"]), &other, ApprovalMode::Default), Decision::Ask);
}

#[test]
fn always_for_what_one_server_does_is_not_for_another() {
    let reading = |server: &str| of_server("read_mcp_resource", server, "resources/read");
    let Verdict::Ask { missing, .. } = book(&[]).judge(&reading("docs"), ApprovalMode::Default) else {
        panic!()
    };
    let always = missing[0].always.clone().unwrap();
    let book = book(&[(Tier::User, &always)]);
    assert_eq!(decide(&book, &reading("docs"), ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&book, &reading("evil"), ApprovalMode::Default), Decision::Ask);
}

#[test]
fn arguments_are_matched_but_cannot_allow_a_command() {
    let book = book(&[(
        Tier::User,
        "[[rule]]\ntool = \"web_fetch\"\nargsPattern = \"docs\\\\.rs\"\ndecision = \"allow\"\n\
         [[rule]]\ntool = \"run_shell_command\"\nargsPattern = \"make\"\ndecision = \"allow\"\n",
    )]);
    let mut fetch = plan("web_fetch", vec![Effect::Net { host: "docs.rs".into() }]);
    assert_eq!(decide(&book, &fetch, ApprovalMode::Default), Decision::Ask);
    fetch.args.insert("url".into(), "https://docs.rs/x".into());
    assert_eq!(decide(&book, &fetch, ApprovalMode::Default), Decision::Allow);
    assert_eq!(book.notices().count(), 1);
    assert_eq!(decide(&book, &run("make"), ApprovalMode::Default), Decision::Ask);
}

#[test]
fn redirects_follow_a_rule_that_allows_them() {
    let mut redirected = run("make");
    redirected.effects.push(Effect::Write { path: "/w/log".into() });
    let plain = book(&[(Tier::User, ALLOW_MAKE)]);
    assert_eq!(decide(&plain, &redirected, ApprovalMode::Default), Decision::Ask);
    let open = book(&[(Tier::User, &format!("{ALLOW_MAKE}allowRedirection = true\n"))]);
    assert_eq!(decide(&open, &redirected, ApprovalMode::Default), Decision::Allow);
    redirected.effects.push(Effect::Write { path: "/tmp/log".into() });
    assert_eq!(decide(&open, &redirected, ApprovalMode::Default), Decision::Ask);
}

#[test]
fn allowed_tools_allow_what_they_name() {
    let book = book(&[]).with(allowed_tools(["run_shell_command(wc)", "write_file"]).unwrap());
    assert_eq!(decide(&book, &write("/w/a"), ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&book, &write("/etc/a"), ApprovalMode::Default), Decision::Ask);
    assert_eq!(decide(&book, &run("node -e 1"), ApprovalMode::Default), Decision::Ask);
    assert_eq!(decide(&book, &run("wc -l a"), ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&book, &run("ls"), ApprovalMode::Default), Decision::Ask);
    assert_eq!(decide(&book, &run("ls"), ApprovalMode::Yolo), Decision::Allow);
    let all = RuleBook::new(scope(), &[]).unwrap().with(allowed_tools(["run_shell_command"]).unwrap());
    assert_eq!(decide(&all, &run("node -e 1"), ApprovalMode::Default), Decision::Allow);
}

#[test]
fn what_is_unclear_is_not_allowed_by_rules_about_commands() {
    let unclear = plan("run_shell_command", vec![Effect::Unclear { what: "$x".into(), reason: "?".into() }]);
    let prefix = book(&[(Tier::User, ALLOW_MAKE)]);
    assert_eq!(decide(&prefix, &unclear, ApprovalMode::Default), Decision::Ask);
    let denying = book(&[(Tier::User, DENY_MAKE)]);
    assert_eq!(decide(&denying, &unclear, ApprovalMode::Yolo), Decision::Ask);
    assert_eq!(decide(&book(&[]), &unclear, ApprovalMode::Yolo), Decision::Allow);
}

#[test]
fn a_file_that_is_not_understood_is_an_error_not_a_gap() {
    for text in [
        "[[rule]]\ndecision = \"allow\"",
        "[[rule]]\ntool = \"x\"\ndecision = \"perhaps\"",
        "[[rule]]\ntool = \"x\"",
        "[[rule]]\ntool = \"x\"\ndecision = \"ask_user\"\ncommandprefix = \"y\"",
        "[[rule]]\ntool = \"x\"\ndecision = \"deny\"\npriority = 1000",
        "[[rule]]\ncommandPrefix = \"'a\"\ndecision = \"deny\"",
        "[[rule]]\ncommandRegex = \"(\"\ndecision = \"deny\"",
        "[[rule]]\ncommandPrefix = \"a\"\npath = \"b\"\ndecision = \"deny\"",
        "[[rules]]",
        "x",
        "[[rule]]\ncommandPrefix = \" \"\ndecision = \"deny\"",
    ] {
        let error = RuleBook::new(scope(), &[file(Tier::User, text)]).unwrap_err();
        assert_eq!(error.file, "user.toml", "{text}");
    }
}

#[test]
fn a_rule_that_contradicts_itself_allows_nothing_and_leaves_the_others() {
    let allow = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make\"\ncommandRegex = \".*\"\ndecision = \"allow\"\npriority = 900\n";
    let deny = "[[rule]]\ncommandPrefix = \"make\"\ndecision = \"deny\"\n";
    let both = RuleBook::new(scope(), &[file(Tier::User, &format!("{allow}{deny}"))]).unwrap();
    assert_eq!(decide(&both, &run("make"), ApprovalMode::Default), Decision::Deny);
    let alone = RuleBook::new(scope(), &[file(Tier::User, allow)]).unwrap();
    assert_eq!(decide(&alone, &run("make"), ApprovalMode::Default), Decision::Ask);
    assert!(alone.notices().any(|notice| notice.contains("rule 1") && notice.contains("left out")));
}

#[test]
fn a_key_that_is_mistyped_is_told_with_the_one_that_was_meant() {
    for (typed, meant) in [
        ("comandPrefix", "`comandPrefix` (did you mean `commandPrefix`?)"),
        ("command_prefix", "`command_prefix` (did you mean `commandPrefix`?)"),
        ("tolName", "`tolName` (did you mean `toolName`?)"),
        ("zebra", "unknown key `zebra`: it is left out"),
    ] {
        let text = format!("[[rule]]\ntool = \"x\"\n{typed} = \"y\"\ndecision = \"allow\"\n");
        let notices: Vec<String> = book(&[(Tier::User, &text)]).notices().map(str::to_owned).collect();
        assert!(notices.len() == 1 && notices[0].contains(meant), "{typed}: {notices:?}");
    }
}

#[test]
fn the_same_rules_with_another_scope_are_no_second_copy() {
    let book = book(&[(Tier::User, ALLOW_MAKE)]);
    let wider = book.clone().reading(vec!["/elsewhere".into()]);
    assert!(std::ptr::eq(book.rules(), wider.rules()));
}

#[test]
fn a_rule_without_a_tool_is_about_every_tool_unless_it_allows() {
    for (decision, expected) in [("ask_user", Decision::Ask), ("deny", Decision::Deny)] {
        let book = book(&[(Tier::User, &format!("[[rule]]\ndecision = \"{decision}\"\npriority = 999\n"))]);
        assert_eq!(decide(&book, &run("ls"), ApprovalMode::Default), expected, "{decision}");
    }
}

#[test]
fn rules_run_their_own_tests() {
    let text = format!(
        "{ALLOW_MAKE}\n[[rule.test]]\ncommand = \"make check\"\nexpect = \"allow\"\n[[rule.test]]\ncommand = \"rm x\"\nexpect = \"deny\"\n"
    );
    let (count, failures) = book(&[(Tier::User, &text)]).run_tests(&run);
    assert_eq!((count, failures.len()), (2, 1));
    assert_eq!(failures[0].test.command, "rm x");
    assert_eq!(failures[0].got, Decision::Ask);
}

#[test]
fn a_tool_is_offered_when_some_call_of_it_could_run() {
    let plain = book(&[]);
    let (default, planning) = (ApprovalMode::Default, ApprovalMode::Plan);
    assert!(plain.offers("read_file", default, false));
    assert!(!plain.offers("web_fetch", default, false) && plain.offers("web_fetch", default, true));
    assert!(
        !plain.offers("replace", default, false) && plain.offers("replace", ApprovalMode::AutoEdit, false)
    );
    assert!(plain.offers("run_shell_command", default, false));
    assert!(!plain.offers("run_shell_command", planning, true));
    assert!(plain.offers("write_file", planning, false));
    let denied = book(&[(Tier::User, "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"deny\"\n")]);
    assert!(!denied.offers("run_shell_command", ApprovalMode::Yolo, true));
    let partly = "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"deny\"\npriority = 1\n[[rule]]\ncommandPrefix = \"ls -F\"\ndecision = \"allow\"\n";
    assert!(book(&[(Tier::User, partly)]).offers("run_shell_command", default, false));
}

#[test]
fn rules_added_by_an_always_allow_what_they_name_and_no_denial() {
    let always = |book: &RuleBook, plan: &Plan| match book.judge(plan, ApprovalMode::Default) {
        Verdict::Ask { missing, .. } => missing[0].always.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    let plain = book(&[]);
    let extended = plain.with_rules(&always(&plain, &run("make all"))).unwrap();
    let decide = |plan: &Plan| Decision::from(&extended.judge(plan, ApprovalMode::Default));
    assert_eq!(decide(&run("make all")), Decision::Allow);
    assert_eq!(decide(&run("make clean")), Decision::Ask);
    let denying = book(&[(Tier::Workspace, DENY_MAKE)]);
    let extended = denying.with_rules(ALLOW_MAKE).unwrap();
    assert_eq!(Decision::from(&extended.judge(&run("make all"), ApprovalMode::Default)), Decision::Deny);
    assert!(plain.with_rules("[[rule]]\ntoool = 1").is_err());
}

#[test]
fn a_fetch_asks_for_each_new_host_and_remembers_that_host() {
    let fetch = |host: &str| plan("web_fetch", vec![Effect::Net { host: host.into() }]);
    let plain = book(&[]);
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit] {
        let Verdict::Ask { missing, .. } = plain.judge(&fetch("docs.rs"), mode) else { panic!() };
        let rule = missing[0].always.clone().unwrap();
        assert!(rule.contains("host = \"docs.rs\""), "{rule}");
        let extended = plain.with_rules(&rule).unwrap();
        assert_eq!(Decision::from(&extended.judge(&fetch("docs.rs"), mode)), Decision::Allow);
        assert_eq!(Decision::from(&extended.judge(&fetch("DOCS.rs"), mode)), Decision::Allow);
        for other in ["evil.example", "docs.rs.evil.example", "xdocs.rs", "a.docs.rs"] {
            assert_eq!(Decision::from(&extended.judge(&fetch(other), mode)), Decision::Ask, "{other}");
        }
    }
    let wide = book(&[(Tier::User, "[[rule]]\nhost = \"*.docs.rs\"\ndecision = \"allow\"\n")]);
    assert_eq!(decide(&wide, &fetch("a.docs.rs"), ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&wide, &fetch("docs.rs"), ApprovalMode::Default), Decision::Ask);
    let denied = book(&[(
        Tier::User,
        "[[rule]]\nhost = [\"evil.example\", \"*.evil.example\"]\ndecision = \"deny\"\n",
    )]);
    for host in ["evil.example", "EVIL.example", "evil.example.", "a.evil.example", "a.evil.example."] {
        assert_eq!(decide(&denied, &fetch(host), ApprovalMode::Yolo), Decision::Deny, "{host}");
    }
}

#[test]
fn a_rule_holds_in_its_workspace_and_folder() {
    let of = |bound: &str| {
        let text = format!("[[rule]]\ncommand = \"make\"\n{bound}\ndecision = \"allow\"\n");
        decide(&book(&[(Tier::User, &text)]), &run("make"), ApprovalMode::Default)
    };
    for bound in ["", "cwd = \".\"", "cwd = \"/w\"", "cwd = \"sub/..\"", "workspace = \"/w\""] {
        assert_eq!(of(bound), Decision::Allow, "{bound}");
    }
    for bound in ["cwd = \"sub\"", "cwd = \"/\"", "workspace = \"/other\"", "workspace = \"/w/sub\""] {
        assert_eq!(of(bound), Decision::Ask, "{bound}");
    }
    for wrong in ["tool = \"x\"\ncwd = \".\"", "tool = \"x\"\nworkspace = \"w\""] {
        let text = format!("[[rule]]\n{wrong}\ndecision = \"allow\"\n");
        assert!(RuleBook::new(scope(), &[file(Tier::User, &text)]).is_err(), "{wrong}");
    }
}

#[test]
fn a_rule_about_a_variable_may_name_its_value() {
    let set = |value: Word| plan("run_shell_command", vec![Effect::Env { name: "FOO".into(), value }]);
    let one = book(&[(Tier::User, "[[rule]]\nenv = \"FOO=1\"\ndecision = \"allow\"\n")]);
    assert_eq!(decide(&one, &set(Word::literal("1")), ApprovalMode::Default), Decision::Allow);
    assert_eq!(decide(&one, &set(Word::literal("2")), ApprovalMode::Default), Decision::Ask);
    assert_eq!(decide(&one, &set(Word::single("$x")), ApprovalMode::Default), Decision::Ask);
    let denied = book(&[(Tier::User, "[[rule]]\nenv = \"FOO=1\"\ndecision = \"deny\"\n")]);
    assert_eq!(decide(&denied, &set(Word::literal("1")), ApprovalMode::Yolo), Decision::Deny);
    assert_eq!(decide(&denied, &set(Word::single("$x")), ApprovalMode::Yolo), Decision::Ask);
    assert_eq!(decide(&denied, &set(Word::literal("2")), ApprovalMode::Yolo), Decision::Allow);
}

#[test]
fn plan_mode_keeps_its_word_unless_a_rule_names_it() {
    let general = "[[rule]]\ntool = [\"run_shell_command\", \"write_file\"]\ndecision = \"allow\"\n";
    let named = format!("{general}modes = [\"plan\"]\n");
    for call in [run("make"), run("ls"), write("/w/a"), write("/w/src/b")] {
        assert_eq!(decide(&book(&[(Tier::User, general)]), &call, ApprovalMode::Plan), Decision::Deny);
        assert_eq!(decide(&book(&[(Tier::User, &named)]), &call, ApprovalMode::Plan), Decision::Allow);
    }
    let mut shell = run("ls");
    shell.effects = vec![Effect::Write { path: "/w/.charla/plans/a.md".into() }];
    assert_eq!(decide(&book(&[]), &shell, ApprovalMode::Plan), Decision::Deny);
}

#[test]
fn a_plan_is_a_text_that_neither_runs_nor_instructs() {
    use Decision::{Allow, Ask, Deny};
    for name in ["a.md", "deep/b.MD"] {
        let call = write(&format!("/w/.charla/plans/{name}"));
        assert_eq!(decisions(&book(&[]), &call), [Allow, Ask, Allow, Allow], "{name}");
    }
    for name in [
        "",
        "p.sh",
        "pre-commit",
        ".md",
        "AGENTS.md",
        "deep/claude.md",
        ".git/a.md",
        ".agents/skills/x/SKILL.md",
    ] {
        let call = write(&format!("/w/.charla/plans/{name}"));
        assert_eq!(decisions(&book(&[]), &call), [Deny, Ask, Ask, Allow], "{name}");
    }
}

#[test]
fn auto_edit_asks_about_what_runs_or_instructs_later() {
    let book = book(&[]);
    for path in [
        "/w/AGENTS.md",
        "/w/a/.Cursor/x",
        "/w/.github/workflows/ci.yml",
        "/w/.bash_aliases",
        "/w/.cargo/config.toml",
    ] {
        assert_eq!(decide(&book, &write(path), ApprovalMode::AutoEdit), Decision::Ask, "{path}");
    }
    for path in ["/w/Makefile", "/w/build.rs", "/w/package.json"] {
        assert_eq!(decide(&book, &write(path), ApprovalMode::AutoEdit), Decision::Allow, "{path}");
    }
}

fn confinement(book: &RuleBook, plan: &Plan) -> Option<Confinement> {
    match book.judge(plan, ApprovalMode::Default) {
        Verdict::Allow { confinement, .. } => Some(confinement),
        _ => None,
    }
}

#[test]
fn an_allowance_never_takes_what_only_reads_out_of_the_wall() {
    let broad = || book(&[]).with(allowed_tools(["run_shell_command"]).unwrap());
    let grep = || book(&[]).with(allowed_tools(["run_shell_command(grep)"]).unwrap());
    for line in ["grep -r x .", "diff -ruN src .", "git grep x", "git diff", "git log -p"] {
        assert_eq!(confinement(&broad(), &run(line)), Some(Confinement::Reading), "{line}");
    }
    assert_eq!(confinement(&grep(), &run("grep -rn x certs")), Some(Confinement::Reading));
    assert_eq!(confinement(&grep(), &run("ls")), None);
    assert_eq!(confinement(&broad(), &run("grep -R x")), None);
    assert_eq!(confinement(&broad(), &run("make")), Some(Confinement::Asked));
    let stated = "[[rule]]\ntool = \"run_shell_command\"\nconfinement = \"open\"\ndecision = \"allow\"\n";
    assert_eq!(confinement(&book(&[(Tier::User, stated)]), &run("git diff")), Some(Confinement::Open));
    let whole = "[[rule]]\ncommand = \"git diff\"\ndecision = \"allow\"\n";
    assert_eq!(confinement(&book(&[(Tier::User, whole)]), &run("git diff")), Some(Confinement::Open));
}

#[test]
fn git_beside_what_reaches_further_asks_when_it_shows_what_it_keeps() {
    let touch = "[[rule]]\ncommand = \"touch one\"\nconfinement = \"asked\"\ndecision = \"allow\"\n";
    let book = book(&[(Tier::User, touch)]);
    let beside = |line: &str| {
        let mut both = run("touch one");
        both.effects.extend(run(line).effects);
        decide(&book, &both, ApprovalMode::Default)
    };
    for line in ["git diff", "git log -p", "git show", "git grep x", "git stash show -p"] {
        assert_eq!(beside(line), Decision::Ask, "{line}");
    }
    for line in ["git status", "git log --oneline", "git diff --stat", "git branch"] {
        assert_eq!(beside(line), Decision::Allow, "{line}");
    }
    let mut redirected = run("git diff");
    redirected.effects.push(Effect::Write { path: "/w/out.txt".into() });
    assert_eq!(decide(&book, &redirected, ApprovalMode::AutoEdit), Decision::Allow);
}

#[test]
fn a_prefix_allows_what_its_own_words_say() {
    let decided = |prefix: &str, line: &str| {
        let text = format!("[[rule]]\ncommandPrefix = \"{prefix}\"\ndecision = \"allow\"\n");
        decide(&book(&[(Tier::User, &text)]), &run(line), ApprovalMode::Default)
    };
    for (prefix, line) in [
        ("git", "git clean -fdx"),
        ("git", "git reset --hard"),
        ("git", "git -c alias.x=!./x x"),
        ("git", "git fast-export --all"),
        ("git push", "git push --force"),
        ("git push", "git push --exe=./x . main"),
        ("rm", "rm -rf x"),
        ("chmod", "chmod -R 700 x"),
        ("curl", "curl -T f example.org"),
    ] {
        assert_eq!(decided(prefix, line), Decision::Ask, "{prefix}: {line}");
    }
    for (prefix, line) in [
        ("git", "git commit -m x"),
        ("git", "git tag -a v1 -m x"),
        ("git", "git branch -d x"),
        ("git", "git stash"),
        ("git clean", "git clean -fdx"),
        ("git reset --hard", "git reset --hard HEAD"),
        ("git format-patch", "git format-patch -1"),
        ("git push --force", "git push --force origin"),
        ("rm", "rm x"),
        ("rm -rf", "rm -rf x"),
        ("curl", "curl -sSL https://example.org"),
    ] {
        assert_eq!(decided(prefix, line), Decision::Allow, "{prefix}: {line}");
    }
}

#[test]
fn git_goes_unconfined_by_name_in_plain_forms_alone() {
    let push = book(&[]).with(allowed_tools(["run_shell_command(git push)"]).unwrap());
    assert_eq!(confinement(&push, &run("git push origin main")), Some(Confinement::Open));
    assert_eq!(confinement(&push, &run("git push ./evil.git main")), Some(Confinement::Asked));
    assert_eq!(confinement(&push, &run("git push --sig origin")), Some(Confinement::Asked));
    assert_eq!(confinement(&push, &run("git push --exe=./x . main")), None);
}

#[test]
fn under_an_allowance_of_every_command_a_script_asks_where_a_path_is_denied() {
    // How much lies elsewhere is not known, so that the kernel may not keep all of it.
    let denied = "[[rule]]\ntool = \"*\"\npath = [\"/w/vault.txt\", \"/other/**\"]\ndecision = \"deny\"\n";
    let all = |denied| book(&[(Tier::User, denied)]).with(allowed_tools(["run_shell_command"]).unwrap());
    for line in ["python3 -c x", "sed rvault.txt f", "sort --files0-from=names", ". src/x.sh"] {
        assert_eq!(decide(&all(denied), &run(line), ApprovalMode::Default), Decision::Ask, "{line}");
    }
    for line in ["ls", "touch a", "cp a b"] {
        assert_eq!(decide(&all(denied), &run(line), ApprovalMode::Default), Decision::Allow, "{line}");
    }
    assert_eq!(decide(&all(""), &run("python3 -c x"), ApprovalMode::Default), Decision::Allow);
    let named = book(&[(Tier::User, denied), (Tier::User, ALLOW_MAKE)]);
    assert_eq!(decide(&named, &run("make"), ApprovalMode::Default), Decision::Allow);
}

#[test]
fn what_is_secret_in_a_home_is_kept_by_the_tools_that_read_files() {
    use charla_proto::{HOME_SECRETS, Withheld};
    let home = PathBuf::from("/home/user");
    let scope =
        Scope { roots: vec![home.clone()], home: Some(home.clone()), wall: Wall::WHOLE, ..Scope::default() };
    let book = RuleBook::new(scope.clone(), &[]).unwrap();
    for entry in HOME_SECRETS {
        for path in [home.join(entry), home.join(entry).join("any")] {
            for tool in ["read_file", "read_many_files", "grep_search"] {
                let kept = book.withheld(tool, &path, ApprovalMode::Default);
                assert_eq!(kept, Some(Withheld::Secret), "{tool} {}", path.display());
            }
            assert!(scope.secret(&path).is_some(), "{}", path.display());
        }
    }
    // Instructions lie beside keys, and folders of these names elsewhere are ordinary.
    for path in ["/home/user/.charla/AGENTS.md", "/home/user/project/.claude/settings.json", "/w/.charla/x"] {
        assert_eq!(book.withheld("read_file", Path::new(path), ApprovalMode::Default), None, "{path}");
    }
    let within = Scope { roots: vec![home.join(".claude/skills/one")], ..scope };
    let within = RuleBook::new(within, &[]).unwrap();
    let skill = home.join(".claude/skills/one/run.py");
    assert_eq!(within.withheld("read_file", &skill, ApprovalMode::Default), None);
    let other = home.join(".claude/other.json");
    assert_eq!(within.withheld("read_file", &other, ApprovalMode::Default), Some(Withheld::Secret));
    let opened = book.reading(vec![home.join(".charla/skills")]);
    let skill = home.join(".charla/skills/x/run.py");
    assert_eq!(opened.withheld("read_file", &skill, ApprovalMode::Default), None);
}

#[test]
fn what_a_container_refuses_holds_no_command() {
    fn refused() -> Wall {
        Wall { reading: true, editing: false }
    }
    fn nothing() -> Wall {
        Wall::default()
    }
    let runs = |proof: Option<fn() -> Wall>, line: &str| {
        let book = RuleBook::new(Scope { proof, ..scope() }, &[]).unwrap();
        decide(&book, &run(line), ApprovalMode::AutoEdit) == Decision::Allow
    };
    assert!(runs(None, "cat f") && runs(None, "touch f"));
    assert!(runs(Some(refused), "cat f") && !runs(Some(refused), "touch f"));
    assert!(!runs(Some(nothing), "cat f") && !runs(Some(nothing), "touch f"));
}
