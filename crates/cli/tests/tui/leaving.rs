//! Every way out, and the terminal as it was found.

use std::process::Command;

use charla_testkit::Script;

use crate::place::{Place, server};
use crate::terminal::Terminal;

#[test]
fn ctrl_c_twice_where_nothing_was_said_breaks_nothing_off() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("default");
    terminal.press("\u{3}");
    terminal.wait_for("Press Ctrl+C again to exit");
    terminal.press("\u{3}");
    let end = terminal.finish();
    assert_eq!(end.code, Some(0));
    assert!(end.is_restored);
    // Nothing was said: there is nothing to come back to.
    assert!(place.journals().is_empty() && !end.rows.join("\n").contains("--resume"), "{:?}", end.rows);
}

#[test]
fn an_earlier_session_stays_even_if_it_was_rewound_to_its_beginning() {
    let server = server(Script::new(["One."]));
    let place = Place::with_server(&server);
    assert_eq!(place.run(&["-m", "openai/gpt-test", "-p", "alpha"]).code, Some(0));
    assert_eq!(place.run(&["rewind", "0"]).code, Some(0));
    let (name, before) = place.journals().pop().unwrap();
    for reader in [None, Some("--screen-reader")] {
        let arguments: Vec<&str> = std::iter::once("--resume").chain(reader).collect();
        let mut terminal = Terminal::sized(&place, &arguments, 100, 40);
        terminal.wait_for("/help lists commands");
        terminal.press("/quit\r");
        let end = terminal.finish();
        assert_eq!(end.code, Some(0), "{reader:?}");
        let (still, after) = place.journals().pop().expect("the session is still there");
        assert!(still == name && after.starts_with(&before), "{reader:?}: {after}");
        assert!(end.rows.join("\n").contains("charla --resume"), "{reader:?}: {:?}", end.rows);
    }
}

#[test]
fn ctrl_c_twice_in_a_conversation_leaves_as_whoever_was_interrupted() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("default");
    terminal.say("hello there");
    terminal.wait_until("the echo", |screen| screen.matches("hello there").count() > 1);
    terminal.wait_without("Esc stops");
    terminal.press("\u{3}");
    terminal.wait_for("Press Ctrl+C again to exit");
    terminal.press("\u{3}");
    let end = terminal.finish();
    assert_eq!((end.code, end.is_restored), (Some(130), true));
    let all = end.rows.join("\n");
    assert!(all.contains("Agent powering down. Goodbye!") && all.contains("--resume"), "{all}");
}

#[test]
fn what_is_typed_after_ctrl_c_makes_it_the_first_again() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("default");
    terminal.press("\u{3}");
    terminal.wait_for("Press Ctrl+C again to exit");
    let pressed = std::time::Instant::now();
    terminal.press("hello");
    terminal.wait_without("Press Ctrl+C again to exit");
    assert!(pressed.elapsed() < std::time::Duration::from_secs(2), "it went away by itself");
    terminal.press("\u{3}\u{3}");
    terminal.wait_for("Press Ctrl+C again to exit");
    terminal.press("\u{3}");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_restored() {
    for signal in ["TERM", "HUP"] {
        let server = server(Script::echo());
        let place = Place::with_server(&server);
        let mut terminal = Terminal::start(&place, &[]);
        terminal.wait_for("default");
        terminal.signal(signal);
        let end = terminal.finish();
        assert_eq!(end.code, Some(130), "{signal}");
        assert!(end.is_restored, "{signal}");
    }
}

/// Has no thread begin once the file is there that `CHARLA_TEST_NO_THREADS` names.
const NO_THREADS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *with) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    const char *file = getenv("CHARLA_TEST_NO_THREADS");
    return file && access(file, F_OK) == 0 ? EAGAIN : real(thread, attributes, work, with);
}
"#;

#[test]
fn a_panic_of_the_program_itself_gives_the_terminal_back() {
    let server = server(Script::new(["Hello."]));
    let place = Place::with_server(&server);
    let (source, library) = (place.path().join("no_threads.c"), place.path().join("no_threads.so"));
    std::fs::write(&source, NO_THREADS).unwrap();
    let mut compiler = Command::new("cc");
    let built =
        compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").output().unwrap();
    assert!(built.status.success(), "{built:?}");
    // Where no thread can begin, keys can no longer be listened to: that the system cannot do it is a panic of the thread's maker.
    let sign = place.path().join("no-threads");
    let editor = format!("touch {} #", sign.display());
    let place = place.variable("EDITOR", &editor).variable("LD_PRELOAD", &library.to_string_lossy());
    let place = place.variable("CHARLA_TEST_NO_THREADS", &sign.to_string_lossy());
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test"]);
    terminal.wait_for("default");
    terminal.say("hello there");
    terminal.wait_for("Hello.");
    terminal.press("\u{7}");
    terminal.wait_for("panicked at");
    let end = terminal.finish();
    assert_eq!((end.code, end.is_restored), (Some(101), true), "{:?}", end.rows);
    // Said before it are the sequences that undo ours, and what was said can be gone on with.
    assert!(place.run(&["sessions"]).out.contains("hello there"));
}
