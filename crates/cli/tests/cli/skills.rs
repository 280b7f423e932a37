//! Skills in whole runs: told of, loaded, read from, and left out of workspaces that nobody trusts.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::place::{Place, Run, server};

/// Puts a skill into a folder of skills below the test's folder.
fn skill(place: &Place, within: &str, name: &str, about: &str) {
    let folder = place.path().join(within).join(name);
    std::fs::create_dir_all(folder.join("scripts")).unwrap();
    let text = format!("---\nname: {name}\ndescription: {about}\n---\nAlways say {name}-words.\n");
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    std::fs::write(folder.join("scripts/table.txt"), format!("{name}-table\n")).unwrap();
}

fn ask(place: &Place, more: &[&str]) -> Run {
    place.run(&[&["-m", "gemini/gemini-test", "-p", "go"], more].concat())
}

fn activate(name: &str) -> Reply {
    Reply::new().call("activate_skill", json!({"name": name}))
}

#[test]
fn a_skill_is_told_of_loaded_and_its_files_are_read_unasked() {
    for within in ["home/.charla/skills", "home/.claude/skills"] {
        let place = Place::new();
        skill(&place, within, "tables", "Makes tables");
        let table = place.path().canonicalize().unwrap().join(within).join("tables/scripts/table.txt");
        let command = format!("cat {}", table.display());
        let server = server(Script::new([
            activate("tables"),
            Reply::new().call("read_file", json!({"file_path": table})),
            Reply::new().call("run_shell_command", json!({"command": command})),
            "Done.".into(),
        ]));
        let run = ask(&place.with_addresses(&server), &[]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{within}");
        let requests = server.requests();
        let first = requests[0].body.to_string();
        assert!(first.contains("- tables: Makes tables") && !first.contains("tables-words"), "{first}");
        let second = requests[1].body.to_string();
        assert!(second.contains("<activated_skill name=\\\"tables\\\" from=\\\"user\\\">"), "{second}");
        assert!(
            second.contains("Always say tables-words.") && second.contains("scripts/table.txt"),
            "{second}"
        );
        for read in [2, 3] {
            let last = requests[read].body["contents"].as_array().unwrap().last().unwrap().to_string();
            assert!(last.contains("tables-table"), "{within}: {last}");
        }
    }
}

#[test]
fn a_workspaces_skills_say_nothing_until_it_is_trusted() {
    let server = server(Script::new([
        activate("evil"),
        "No.".into(),
        activate("evil"),
        "Yes.".into(),
        activate("evil"),
        "No.".into(),
    ]));
    let place = Place::with_server(&server);
    skill(&place, "work/.agents/skills", "evil", "Does evil");
    std::fs::create_dir_all(place.work().join(".charla/commands")).unwrap();
    let place = place.file(".charla/commands/model.toml", "prompt = 'x'");
    let run = ask(&place, &[]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("1 skill of this workspace is left out"), "{}", run.err);
    let told = |index: usize| server.requests()[index].body.to_string();
    assert!(!told(0).contains("Does evil") && !told(0).contains("activate_skill"), "{}", told(0));
    assert!(told(1).contains("not found") && !told(1).contains("evil-words"), "{}", told(1));

    let shown = place.run(&["trust", "--yes"]);
    assert!(shown.out.contains(".agents/skills/evil/SKILL.md is a skill, once trusted"), "{}", shown.out);
    assert!(shown.out.contains("/workspace.model is a command, once trusted"), "{}", shown.out);
    assert_eq!(ask(&place, &[]).code, Some(0));
    assert!(told(2).contains("Does evil") && told(3).contains("evil-words"), "{}", told(3));

    std::fs::write(place.work().join(".agents/skills/evil/SKILL.md"), "---\ndescription: Zebras\n---\nx")
        .unwrap();
    let run = ask(&place, &[]);
    assert!(run.err.contains("left out"), "{}", run.err);
    assert!(!told(4).contains("Zebras") && told(5).contains("not found"), "{}", told(5));
}

#[test]
fn many_skills_and_huge_ones_keep_the_prompt_small() {
    let server = server(Script::new([activate("s49"), activate("huge"), "Done.".into()]));
    let place = Place::with_server(&server);
    for number in 0..500 {
        skill(&place, "home/.charla/skills", &format!("s{number:03}"), &"about much ".repeat(40));
    }
    skill(&place, "home/.charla/skills", "huge", "Is huge");
    let huge = format!("---\ndescription: Is huge\n---\n{}", "word ".repeat(2_000_000));
    std::fs::write(place.home().join("skills/huge/SKILL.md"), huge).unwrap();
    let run = ask(&place, &[]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let requests = server.requests();
    let system = requests[0].body["systemInstruction"].to_string();
    assert!(system.len() < 25_000 && system.contains("more are not listed"), "{}", system.len());
    assert!(requests[1].body.to_string().contains("These fit the words: s490, s491"), "{}", requests[1].body);
    let last = requests[2].body["contents"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.len() < 70_000 && last.contains("[cut here"), "{}", last.len());
}

#[test]
fn skills_are_listed_with_what_is_left_out() {
    let place = Place::new();
    skill(&place, "home/.charla/skills", "one", "The first");
    skill(&place, "home/.gemini/skills", "two", "The second");
    skill(&place, "home/.gemini/skills", "up", "x");
    let bad = "---\nname: ../up\ndescription: x\n---\n";
    std::fs::write(place.path().join("home/.gemini/skills/up/SKILL.md"), bad).unwrap();
    let run = place.run(&["skills", "list"]);
    assert_eq!(run.out, "one  (user)  The first\ntwo  (user)  The second\n");
    assert!(run.err.contains("`../up` is no name"), "{}", run.err);
    let rows: Value = serde_json::from_str(&place.run(&["skills", "list", "--json"]).out).unwrap();
    assert_eq!((&rows[1]["name"], &rows[1]["owner"]), (&json!("two"), &json!("user")));
}

#[test]
fn what_a_rule_closes_is_no_skill_and_no_agent_by_any_path() {
    let file =
        |name: &str| format!("---\nname: {name}\ndescription: CANARY about {name}\n---\nCANARY of {name}.\n");
    let agent = |name: &str| json!({"agent_name": name, "prompt": "x"});
    let calls = Reply::new()
        .call("activate_skill", json!({"name": "direct"}))
        .call("activate_skill", json!({"name": "linked"}))
        .call("activate_skill", json!({"name": "mine"}))
        .call("activate_skill", json!({"name": "open"}))
        .call("invoke_agent", agent("dir"))
        .call("invoke_agent", agent("ag"));
    let server = server(Script::new([calls, "Done.".into()]));
    let place = Place::with_server(&server);
    for folder in ["closed", ".charla/skills/direct", ".charla/agents"] {
        std::fs::create_dir_all(place.work().join(folder)).unwrap();
    }
    let place = place
        .file("closed/SKILL.md", &file("linked"))
        .file("closed/ag.md", &file("ag"))
        .file(".charla/skills/direct/SKILL.md", &file("direct"))
        .file(".charla/agents/dir.md", &file("dir"));
    skill(&place, "home/.charla/skills", "mine", "CANARY about mine");
    skill(&place, "home/.charla/skills", "open", "Open to all");
    std::fs::write(place.home().join("skills/open/scripts/hidden.txt"), "x").unwrap();
    std::fs::create_dir_all(place.work().join(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../closed", place.work().join(".claude/skills/s3")).unwrap();
    std::os::unix::fs::symlink("../closed", place.work().join(".claude/agents")).unwrap();
    let paths = json!([
        "closed/**",
        ".charla/skills/direct/**",
        ".charla/agents/dir.md",
        "~/.charla/skills/mine/**",
        "~/.charla/skills/open/scripts/hidden.txt"
    ]);
    let rule = format!("[[rule]]\ntool = \"*\"\npath = {paths}\ndecision = \"deny\"\n");
    std::fs::create_dir_all(place.home().join("policies")).unwrap();
    std::fs::write(place.home().join("policies/own.toml"), rule).unwrap();

    let shown = place.run(&["trust", "--yes"]).out;
    let linked = shown.lines().find(|line| line.contains(".claude/skills/s3/SKILL.md")).unwrap();
    assert!(linked.contains("(a link to ") && linked.contains("/closed/SKILL.md) is left out: "), "{linked}");
    for of in ["skills", "agents"] {
        let listed = place.run(&[of, "list"]);
        assert!(!listed.out.contains("CANARY"), "{}", listed.out);
        assert!(listed.err.contains("is left out: the rule "), "{}", listed.err);
    }
    let run = ask(&place, &[]);
    assert!(run.err.contains("skills/mine/SKILL.md is left out: the rule "), "{}", run.err);
    let told: String = server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!told.contains("CANARY") && !told.contains("mine-words"), "{told}");
    assert!(told.contains("open-words") && told.contains("scripts/table.txt"), "{told}");
    assert!(!told.contains("hidden.txt"), "{told}");
}
