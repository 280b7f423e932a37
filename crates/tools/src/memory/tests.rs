use super::*;

struct Bench {
    folder: tempfile::TempDir,
    places: MemoryPlaces,
}

/// A project in `project`, working in `project/a/b`, with a user's folder in `user`.
fn bench(files: &[(&str, &str)]) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(base.join("project/a/b")).unwrap();
    std::fs::create_dir_all(base.join("user")).unwrap();
    for (path, text) in files {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let places = MemoryPlaces {
        user_folder: Some(base.join("user")),
        project_root: base.join("project"),
        cwd: base.join("project/a/b"),
        home: Some(base),
        owners: Owners::default(),
        files: FileJudge::default(),
    };
    Bench { folder, places }
}

impl Bench {
    fn load(&self) -> Memory {
        load(&self.places)
    }

    /// Paths as seen from the bench's folder.
    fn files(&self, memory: &Memory) -> Vec<String> {
        let base = self.folder.path().canonicalize().unwrap();
        let short = |path: &PathBuf| path.strip_prefix(&base).unwrap().display().to_string();
        memory.files.iter().map(short).collect()
    }
}

#[test]
fn another_agents_file_is_read_where_there_is_no_other() {
    let bench = bench(&[
        ("project/CLAUDE.md", "of the root"),
        ("project/a/CLAUDE.md", "left out"),
        ("project/a/AGENTS.md", "of a"),
    ]);
    let memory = bench.load();
    assert_eq!(bench.files(&memory), ["project/CLAUDE.md", "project/a/AGENTS.md"]);
    assert!(!memory.text.contains("left out"));
}

#[test]
fn files_come_outermost_first_with_their_sources() {
    let bench = bench(&[
        ("AGENTS.md", "above the project"),
        ("user/CHARLA.md", "of the user"),
        ("project/GEMINI.md", "gemini of the root"),
        ("project/AGENTS.md", "agents of the root"),
        ("project/a/b/CHARLA.md", "of the working folder"),
    ]);
    let memory = bench.load();
    assert_eq!(memory.notices, Vec::<String>::new());
    assert_eq!(
        bench.files(&memory),
        ["user/CHARLA.md", "project/AGENTS.md", "project/GEMINI.md", "project/a/b/CHARLA.md"]
    );
    let root = bench.places.project_root.join("AGENTS.md");
    let block = format!(
        "--- Context from: {0} ---\nagents of the root\n--- End of context from: {0} ---",
        root.display()
    );
    assert!(memory.text.contains(&block), "{}", memory.text);
    assert!(!memory.text.contains("above the project"));
}

#[test]
fn a_file_under_two_names_and_the_same_text_twice_are_said_once() {
    let bench = bench(&[("project/AGENTS.md", "rules"), ("project/a/GEMINI.md", "rules\n")]);
    let root = &bench.places.project_root;
    std::os::unix::fs::symlink(root.join("AGENTS.md"), root.join("CHARLA.md")).unwrap();
    let memory = bench.load();
    assert_eq!(memory.text.matches("rules").count(), 1, "{}", memory.text);
}

#[test]
fn nothing_is_found_quietly() {
    assert_eq!(bench(&[]).load(), Memory::default());
}

#[test]
fn imports_are_put_in_place_and_found_from_the_file_that_names_them() {
    let bench = bench(&[
        ("project/AGENTS.md", "See @docs/style.md, and (@./more.md)."),
        ("project/docs/style.md", "STYLE @../deep/x.txt"),
        ("project/deep/x.txt", "DEEP\n"),
        ("project/more.md", "MORE"),
    ]);
    let memory = bench.load();
    assert_eq!(memory.notices, Vec::<String>::new());
    assert!(
        memory.text.contains(
            "See <!-- imported from: docs/style.md -->\nSTYLE <!-- imported from: ../deep/x.txt -->\nDEEP\n"
        ),
        "{}",
        memory.text
    );
    assert!(
        memory
            .text
            .contains("(<!-- imported from: ./more.md -->\nMORE\n<!-- end of import from: ./more.md -->).")
    );
    assert_eq!(memory.files.len(), 4);
}

#[test]
fn what_is_no_import_is_left_alone() {
    let text = "mail me@x.md, @someone, @types/node, `@code.md`, ``a ` @b.md``\n```sh\n@fenced.md\n~~~\n```\n~~~~\n\
                @tilde.md\n~~~\n@tilde.md\n~~~~\n";
    let bench = bench(&[("project/AGENTS.md", text)]);
    let memory = bench.load();
    assert_eq!(memory.notices, Vec::<String>::new());
    assert!(memory.text.contains(text.trim()));
    let after = self::bench(&[("project/AGENTS.md", "```\n```\n@missing.md\n`unclosed @gone.md")]).load();
    assert_eq!(after.notices.len(), 2, "{:?}", after.notices);
}

#[test]
fn cycles_depth_and_missing_files_are_told() {
    let mut files =
        vec![("project/AGENTS.md".to_owned(), "@./AGENTS.md @./loop.md @./missing.md @./1.md".to_owned())];
    files.push(("project/loop.md".to_owned(), "back to @./AGENTS.md".to_owned()));
    for depth in 1..8 {
        files.push((format!("project/{depth}.md"), format!("level {depth} @./{}.md", depth + 1)));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let memory = bench(&files).load();
    let told = |words: &str| memory.notices.iter().filter(|notice| notice.contains(words)).count();
    assert_eq!(told("it imports itself"), 2, "{:?}", memory.notices);
    assert_eq!(told("@./missing.md not imported: No such file"), 1);
    assert_eq!(told("at most 5 deep"), 1);
    assert!(memory.text.contains("level 5") && !memory.text.contains("level 6"));
    assert!(memory.text.contains("@./missing.md <!-- not imported"));
}

/// How many notices say this.
fn told(memory: &Memory, words: &str) -> usize {
    memory.notices.iter().filter(|notice| notice.contains(words)).count()
}

#[test]
fn a_project_brings_in_nothing_from_elsewhere_even_through_links() {
    let imports =
        "@../secret.md @/etc/hostname @~/secret.md @./link.md @~/user/own.md @./folder/secret.md @docs/in.md";
    let bench = bench(&[
        ("project/AGENTS.md", imports),
        ("secret.md", "SECRET"),
        ("user/own.md", "OWN"),
        ("project/docs/real.md", "INSIDE"),
    ]);
    let base = bench.folder.path();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(base.join(target), base.join("project").join(name)).unwrap();
    };
    link("secret.md", "link.md");
    link(".", "folder");
    link("project/docs/real.md", "docs/in.md");
    let memory = bench.load();
    assert!(!memory.text.contains("SECRET") && !memory.text.contains("OWN"), "{}", memory.text);
    assert!(memory.text.contains("INSIDE"), "links within the project are fine: {:?}", memory.notices);
    assert_eq!(told(&memory, "is outside the project"), 5, "{:?}", memory.notices);
    assert_eq!(told(&memory, "is in your own folder"), 1, "{:?}", memory.notices);
}

#[test]
fn a_memory_file_that_is_a_link_out_of_the_project_is_left_out() {
    let bench = bench(&[("secret.md", "SECRET"), ("project/docs/agents.md", "INSIDE")]);
    let root = &bench.places.project_root;
    std::os::unix::fs::symlink("../secret.md", root.join("AGENTS.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("GEMINI.md")).unwrap();
    std::os::unix::fs::symlink("docs/agents.md", root.join("CHARLA.md")).unwrap();
    let memory = bench.load();
    assert!(memory.text.contains("INSIDE"), "{}", memory.text);
    assert!(!memory.text.contains("SECRET") && !memory.text.contains("root:"), "{}", memory.text);
    assert_eq!(told(&memory, "is outside the project"), 2, "{:?}", memory.notices);
}

#[test]
fn the_users_own_file_brings_in_files_of_their_home_by_lines_of_their_own() {
    let bench = bench(&[
        (
            "user/CHARLA.md",
            "@~/other/AGENTS.md\n@~/.ssh/id_rsa\n@/etc/hostname\n## Remembered\n- @~/private.md\n",
        ),
        ("other/AGENTS.md", "Tests first.\n@./beside.md\n"),
        ("other/beside.md", "BESIDE"),
        ("private.md", "PRIVATE"),
        (".ssh/id_rsa", "PRIVATE"),
    ]);
    let memory = bench.load();
    assert!(memory.text.contains("Tests first.") && memory.text.contains("BESIDE"), "{:?}", memory.notices);
    assert!(!memory.text.contains("PRIVATE"), "{}", memory.text);
    assert_eq!(told(&memory, "it looks like a secret"), 1, "{:?}", memory.notices);
    assert_eq!(told(&memory, "is outside your own folder; name it on a line of its own"), 1);
    assert_eq!(told(&memory, "is outside your own folder"), 2, "{:?}", memory.notices);
}

#[test]
fn secrets_are_not_brought_in_by_anybody() {
    let bench = bench(&[
        ("project/AGENTS.md", "@./.env @./server.pem @./.ssh/id_rsa @./harmless.md"),
        ("project/.env", "CANARY"),
        ("project/server.pem", "CANARY"),
        ("project/.ssh/id_rsa", "CANARY"),
        ("user/CHARLA.md", "@./.env @./own.md"),
        ("user/.env", "CANARY"),
        ("user/own.md", "OWN"),
    ]);
    let root = &bench.places.project_root;
    std::os::unix::fs::symlink(".env", root.join("harmless.md")).unwrap();
    let memory = bench.load();
    assert!(!memory.text.contains("CANARY"), "{}", memory.text);
    assert!(memory.text.contains("OWN"), "{}", memory.text);
    assert_eq!(told(&memory, "it looks like a secret"), 5, "{:?}", memory.notices);
}

#[test]
fn in_the_home_the_users_own_folder_is_no_part_of_the_project() {
    let bench = bench(&[
        ("AGENTS.md", "@user/keys.md"),
        ("user/keys.md", "CANARY"),
        ("user/CHARLA.md", "@./keys.md"),
    ]);
    let home = bench.places.home.clone().unwrap();
    let mut places = MemoryPlaces { project_root: home.clone(), cwd: home, ..bench.places.clone() };
    let memory = load(&places);
    assert_eq!(
        memory.text.matches("CANARY").count(),
        1,
        "only the user's own file brings it in: {}",
        memory.text
    );
    places.user_folder = None;
    assert!(load(&places).text.contains("CANARY"));
}

#[test]
fn what_the_project_says_is_told_apart_from_what_the_user_says() {
    let bench = bench(&[
        ("user/CHARLA.md", "of the user"),
        ("project/AGENTS.md", "of the project @./more.md"),
        ("project/more.md", "and more"),
    ]);
    let memory = bench.load();
    assert!(!memory.project_text().contains("of the user") && memory.project_text().contains("and more"));
    assert_eq!((memory.files.len(), memory.project_files.len()), (3, 2));
    assert_eq!(Memory::default().project_text(), "");
}

#[test]
fn files_of_other_users_are_left_out() {
    let bench = bench(&[
        ("project/AGENTS.md", "@./more.md"),
        ("project/more.md", "CANARY"),
        ("project/a/AGENTS.md", "CANARY"),
    ]);
    let root = &bench.places.project_root;
    let given =
        ["more.md", "a/AGENTS.md"].map(|name| std::os::unix::fs::chown(root.join(name), Some(4321), None));
    if given.iter().any(Result::is_err) {
        eprintln!("not tried: only the administrator can give files away");
        return;
    }
    let memory = bench.load();
    assert!(!memory.text.contains("CANARY"), "{}", memory.text);
    assert_eq!(told(&memory, "it belongs to another user (number 4321)"), 2, "{:?}", memory.notices);
}

#[test]
fn a_cut_is_announced() {
    let bench = bench(&[("project/AGENTS.md", "äöü".repeat(10).as_str()), ("project/a/AGENTS.md", "more")]);
    let memory = load_within(&bench.places, 20);
    assert!(memory.text.contains(&format!("{}äö\n[… ", "äöü".repeat(6))), "{}", memory.text);
    assert_eq!(memory.notices.len(), 2);
}

#[test]
fn odd_files_neither_hang_nor_fail() {
    let bench =
        bench(&[("project/AGENTS.md", "@./dir.md @./zero.md @./pipe.md"), ("project/zero.md", "a\0b")]);
    let root = &bench.places.project_root;
    std::fs::create_dir(root.join("dir.md")).unwrap();
    std::fs::create_dir(root.join("GEMINI.md")).unwrap();
    let made =
        std::process::Command::new("mkfifo").arg(root.join("pipe.md")).arg(root.join("CHARLA.md")).status();
    assert!(made.unwrap().success());
    let memory = bench.load();
    assert_eq!(memory.notices.len(), 3, "{:?}", memory.notices);
}

#[test]
fn importing_one_large_file_often_does_not_fill_the_memory() {
    let large = "x".repeat(MEMORY_LIMIT);
    let bench = bench(&[("project/AGENTS.md", "@./l.md\n".repeat(50).as_str()), ("project/l.md", &large)]);
    let memory = bench.load();
    assert_eq!(memory.files.len(), 5);
    assert!(memory.notices.iter().any(|notice| notice.contains("too much is imported already")));
}
