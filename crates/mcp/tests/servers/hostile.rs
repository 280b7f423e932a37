//! Servers that lie, flood and break off.

use charla_mcp::State;
use serde_json::json;

use crate::world::{World, call, offered, problem, words};

#[tokio::test]
async fn names_and_words_of_a_server_act_on_nothing() {
    let world = World::new();
    let servers = world.started("h", "hostile").await;
    let names = offered(&servers, usize::MAX);
    assert_eq!(names, ["h__read_file", "h__flood", "h__long_line", "h__wrong_id", "h__deep"]);
    let tool = servers.tool("h__read_file").unwrap();
    assert!(!tool.declaration().description.contains('\u{1b}'));
    let left_out = &servers.health()[0].left_out;
    assert_eq!(left_out.len(), 2, "{left_out:?}");
    assert!(left_out.iter().all(|why| !why.contains('\u{1b}')));
    assert!(servers.tool("read_file").is_none(), "no name of ours is taken");
}

#[tokio::test]
async fn floods_and_answers_for_nobody_do_no_harm() {
    let world = World::new();
    let servers = world.started("h", "hostile").await;
    let flooded = words(&call(&servers, "h__flood", json!({})).await);
    assert!(flooded.starts_with("flooded") && flooded.len() < 50_000);
    assert_eq!(words(&call(&servers, "h__wrong_id", json!({})).await), "right");
    assert_eq!(words(&call(&servers, "h__deep", json!({})).await), "shallow");
    assert_eq!(world.noted("h", "start"), 1);
}

#[tokio::test]
async fn a_message_without_end_ends_the_server_and_not_us() {
    let world = World::new();
    let servers = world.started("h", "hostile").await;
    let why = problem(&call(&servers, "h__long_line", json!({})).await);
    assert!(why.contains("a message of more than"), "{why}");
    assert_eq!(words(&call(&servers, "h__wrong_id", json!({})).await), "right");
    assert_eq!(servers.health()[0].state, State::Ready);
}

#[tokio::test]
async fn a_list_without_end_ends_and_its_tools_are_there_once() {
    let world = World::new();
    let servers = world.started("h", "endless").await;
    assert_eq!(offered(&servers, usize::MAX), ["h__again", "h__another_0"]);
    assert!(world.noted("h", "page") <= 100, "{} pages", world.noted("h", "page"));
    assert!(servers.health()[0].left_out.len() <= 1000);
    assert_eq!(words(&call(&servers, "h__again", json!({})).await), "called again");
}
