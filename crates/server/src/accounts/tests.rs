use super::*;

fn account(role: Role) -> Account {
    Account {
        id: String::new(),
        role,
        password: None,
        identity: None,
        workspace: "/srv/anna".into(),
        network: false,
        budget: Budget::default(),
        spent: Spending::default(),
        reserved: Reserved::default(),
    }
}

fn add(name: &'static str) -> Change {
    Box::new(move |book| book.add(name, account(Role::Member)))
}

#[tokio::test]
async fn what_one_process_changes_the_others_see() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (FileAccounts::new(folder.path()), FileAccounts::new(folder.path()));
    assert!(one.book().unwrap().accounts.is_empty());
    one.change(add("anna")).await.unwrap();
    other.change(add("ben")).await.unwrap();
    let names: Vec<String> = one.book().unwrap().accounts.keys().cloned().collect();
    assert_eq!(names, ["anna", "ben"]);
    assert!(matches!(other.change(add("anna")).await, Err(AccountError::Taken(_))));
}

#[tokio::test]
async fn changes_that_meet_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    FileAccounts::new(folder.path()).change(add("anna")).await.unwrap();
    let spend = || async {
        let accounts = FileAccounts::new(folder.path());
        let more: Change = Box::new(|book| {
            let account = book.account_mut("anna")?;
            account.spent = account.spent.and(1, 0.0);
            Ok(())
        });
        accounts.change(more).await.unwrap();
    };
    futures_util::future::join_all((0..40).map(|_| spend())).await;
    let book = FileAccounts::new(folder.path()).book().unwrap();
    assert_eq!(book.account("anna").unwrap().spent.tokens, 40);
}

#[tokio::test]
async fn a_book_that_is_not_understood_is_an_error_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("accounts.json");
    std::fs::write(&path, "{\"accounts\": 5}").unwrap();
    let accounts = FileAccounts::new(folder.path());
    assert!(accounts.book().is_err());
    assert!(matches!(accounts.change(add("anna")).await, Err(AccountError::Kept(_))));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "{\"accounts\": 5}");
}

#[test]
fn names_are_plain_and_nobody_takes_one_that_means_somebody_else() {
    let mut book = Book::default();
    for name in ["", "Anna", "9lives", "a b", "../x", "ünal", &"a".repeat(33)] {
        assert!(matches!(book.add(name, account(Role::Member)), Err(AccountError::Name(_))), "{name}");
    }
    for name in ["web", "admin", "system", "charla", "nobody", "user", "session", "node"] {
        let refused = book.add(name, account(Role::Member)).unwrap_err();
        assert!(
            matches!(refused, AccountError::Reserved(_))
                && refused.to_string().contains("the program itself")
        );
    }
    for name in ["anna", "b.e-n_2"] {
        book.add(name, account(Role::Member)).unwrap();
    }
    let known = Account { identity: Some("a@example.org".into()), ..account(Role::Viewer) };
    book.add("carl", known.clone()).unwrap();
    assert!(matches!(book.add("dora", known), Err(AccountError::Identity(_))));
}

#[test]
fn with_an_account_goes_everything_that_was_theirs() {
    let mut book = Book::default();
    for name in ["anna", "ben"] {
        book.add(name, account(Role::Member)).unwrap();
        let whose = book.whose(name).unwrap();
        let token = Token { id: name.into(), whose: whose.clone(), label: String::new(), made: 0 };
        book.tokens.insert(name.into(), token);
        let link = Link { whose: whose.clone(), node: String::new(), until: u64::MAX, token: None };
        book.links.insert(name.into(), link);
        book.sign_ins.insert(name.into(), SignIn { whose, until: u64::MAX, token: None });
    }
    book.let_in("anna", "s1", "ben", Right::Approve).unwrap();
    book.let_in("ben", "s2", "anna", Right::Approve).unwrap();
    assert_eq!(book.shared_with("anna", "s2"), Some(("ben", Right::Approve)));
    book.remove("anna").unwrap();
    assert_eq!(book.tokens.keys().collect::<Vec<_>>(), ["ben"]);
    assert_eq!(book.sign_ins.keys().collect::<Vec<_>>(), ["ben"]);
    assert_eq!(book.links.keys().collect::<Vec<_>>(), ["ben"]);
    assert_eq!(book.shared_with("ben", "s1"), None);
    assert_eq!(book.shared_with("anna", "s2"), None);
    assert!(matches!(book.remove("anna"), Err(AccountError::Unknown(_))));
}

#[test]
fn who_may_only_look_is_let_in_to_read_and_nothing_more() {
    let mut book = Book::default();
    book.add("vera", account(Role::Viewer)).unwrap();
    let refused = book.let_in("anna", "s1", "vera", Right::Approve).unwrap_err();
    assert!(
        matches!(refused, AccountError::OnlyLooks(_)) && refused.to_string().contains("`vera` is a viewer")
    );
    assert_eq!(book.shared_with("vera", "s1"), None);
    book.let_in("anna", "s1", "vera", Right::Read).unwrap();
    assert_eq!(book.shared_with("vera", "s1"), Some(("anna", Right::Read)));
    assert!(matches!(book.let_in("anna", "s1", "nobody-here", Right::Read), Err(AccountError::Unknown(_))));
    book.let_in("anna", "s1", OWNER, Right::Approve).unwrap();
}

#[test]
fn a_folder_that_holds_keys_is_nobodys_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["home/.charla/server", "home/work"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    let given = |name: &str| workspace(&at(name), &at("home/.charla")).is_ok();
    assert!(given("home/work"));
    assert!(!given("home") && !given("") && !given("home/.charla") && !given("home/.charla/server"));
    assert!(!given("nowhere"));
}

#[test]
fn who_has_a_session_of_the_same_id_shares_their_own_and_not_the_others() {
    let mut book = Book::default();
    for name in ["ben", "mallory"] {
        book.add(name, account(Role::Member)).unwrap();
    }
    book.let_in("anna", "s1", "ben", Right::Read).unwrap();
    book.let_in("eve", "s1", "mallory", Right::Approve).unwrap();
    assert_eq!(book.shared_with("mallory", "s1"), Some(("eve", Right::Approve)));
    assert_eq!(book.shared_with("ben", "s1"), Some(("anna", Right::Read)));
    book.take_back("eve", "s1", None);
    assert_eq!((book.shared_with("mallory", "s1"), book.shares.len()), (None, 1));
    book.take_back("anna", "s1", Some("ben"));
    assert!(book.shares.is_empty());
}

#[test]
fn workspaces_that_lie_in_one_another_are_told() {
    let of = |folder: &str| Account { workspace: folder.into(), ..account(Role::Member) };
    let mut book = Book::default();
    book.add("anna", of("/srv/anna")).unwrap();
    book.add("ben", of("/srv/ben")).unwrap();
    book.add("carl", of("/srv/annabel")).unwrap();
    assert_eq!(book.overlaps(), Vec::<String>::new());
    book.add("dora", of("/srv/anna/inner")).unwrap();
    let told = book.overlaps();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("anna and dora"), "{told:?}");
}

#[test]
fn somebody_who_is_called_as_another_was_is_somebody_else() {
    let mut book = Book::default();
    book.add("anna", account(Role::Member)).unwrap();
    let first = book.whose("anna").unwrap();
    assert!(book.has(&first));
    book.remove("anna").unwrap();
    book.add("anna", account(Role::Member)).unwrap();
    assert_ne!(book.whose("anna").unwrap(), first);
    assert!(!book.has(&first) && book.account_of(&first).is_none());
    let earlier = Account { id: String::new(), ..account(Role::Member) };
    assert_eq!(earlier.place("anna"), "anna", "accounts of earlier versions stay where they are");
}

#[test]
fn what_an_earlier_version_kept_is_read_and_belongs_to_the_name() {
    let kept = r#"{"tokens": {"h": {"id": "t", "user": "anna", "label": "l", "made": 1}}}"#;
    let mut book: Book = serde_json::from_str(kept).unwrap();
    book.add("anna", account(Role::Member)).unwrap();
    assert!(book.has(&book.tokens["h"].whose));
    let again: Book = serde_json::from_str(&serde_json::to_string(&book).unwrap()).unwrap();
    assert_eq!(again, book);
}
