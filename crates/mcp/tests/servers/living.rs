//! Servers that start, answer, change, die and come back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use charla_mcp::{BegunArgument, Planned, Reach, ServerConfig, State};
use charla_proto::{Effect, Lane, RunContext, ToolContext, ToolErrorKind};
use serde_json::json;

use crate::world::{World, call, call_with, offered, problem, quiet, until, words};

#[tokio::test]
async fn a_tool_is_called_and_its_answer_comes_back_marked() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    assert_eq!(words(&call(&servers, "s__echo", json!({"text": "hello"})).await), "hello");
    // As Gemini CLI names it.
    assert_eq!(words(&call(&servers, "mcp_s_echo", json!({"text": "again"})).await), "again");
    let picture = call(&servers, "s__picture", json!({})).await;
    assert_eq!(picture.content.len(), 2);
    assert!(problem(&call(&servers, "s__refuse", json!({})).await).contains("there is no such table"));
    assert!(servers.tool("s__nothing").is_none() && servers.tool("other__echo").is_none());
}

#[tokio::test]
async fn a_plan_names_server_and_tool_and_annotations_decide_about_the_lane_alone() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    for (name, lane) in [("echo", Lane::Exclusive), ("reads", Lane::Shared)] {
        let tool = servers.tool(&format!("s__{name}")).unwrap();
        let context = ToolContext::default();
        let invocation = tool.prepare(Default::default(), &context).await.ok().unwrap();
        let effect = Effect::Mcp { server: "s".to_owned(), tool: name.to_owned() };
        assert_eq!((&invocation.plan().effects, invocation.plan().lane), (&vec![effect], lane));
    }
}

#[tokio::test]
async fn a_call_of_a_server_that_is_not_there_yet_waits_for_it() {
    let world = World::new();
    let servers = world.start(vec![world.config("s", "plain")]);
    assert_eq!(offered(&servers, usize::MAX), ["find_tools"]);
    assert_eq!(words(&call(&servers, "s__echo", json!({"text": "first"})).await), "first");
    let nothing = world.start(vec![world.config("n", "plain")]);
    let output = call(&nothing, "n__nothing", json!({})).await;
    assert_eq!(output.error.unwrap().kind, ToolErrorKind::UnknownTool);
}

#[tokio::test]
async fn what_a_server_told_before_is_offered_at_once_and_withdrawn_if_it_cannot_be_started() {
    let world = World::new();
    world.started("s", "plain").await;
    let (_, known) = world.remembered.lock().unwrap()[0].clone();
    let planned = |mode| vec![Planned { config: world.config("s", mode), known: known.clone() }];
    let servers = world.start_knowing(planned("plain"));
    assert!(offered(&servers, usize::MAX).contains(&"s__echo".to_owned()));
    assert_eq!(words(&call(&servers, "s__echo", json!({"text": "hi"})).await), "hi");
    let dead = world.start_knowing(planned("dead"));
    assert!(offered(&dead, usize::MAX).contains(&"s__echo".to_owned()));
    dead.settled().await;
    assert_eq!(offered(&dead, usize::MAX), [""; 0]);
    let State::Failed(why) = &dead.health()[0].state else { panic!("it is not dead") };
    assert!(why.contains("cannot find the database"), "{why}");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again_and_keeps_its_tools() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    let before = offered(&servers, usize::MAX);
    for round in 1..=3 {
        let died = problem(&call(&servers, "s__crash", json!({})).await);
        assert!(died.contains("it ended") && died.contains("is not known"), "{died}");
        assert_eq!(offered(&servers, usize::MAX), before);
        let answer = call(&servers, "s__echo", json!({"text": "back"})).await;
        assert_eq!(words(&answer), "back", "round {round}");
    }
    assert_eq!(world.noted("s", "start"), 4);
}

#[tokio::test]
async fn a_cancelled_call_is_told_to_the_server_and_the_next_one_works() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    let (cancel, cancelled) = tokio::sync::oneshot::channel::<()>();
    let cx = RunContext { cancelled: Box::pin(async { drop(cancelled.await) }), ..quiet() };
    let (output, ()) = tokio::join!(call_with(&servers, "s__hang", json!({}), cx), async {
        world.until_noted("s", "hanging", 1).await;
        cancel.send(()).unwrap();
    });
    assert_eq!(output.error.unwrap().kind, ToolErrorKind::Cancelled);
    world.until_noted("s", "cancelled", 1).await;
    assert_eq!(words(&call(&servers, "s__echo", json!({"text": "on"})).await), "on");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let world = World::new();
    let config = ServerConfig { timeout: Duration::from_millis(200), ..world.config("s", "plain") };
    let servers = world.start(vec![config]);
    servers.settled().await;
    let output = call(&servers, "s__hang", json!({})).await;
    assert_eq!(output.error.unwrap().kind, ToolErrorKind::TimedOut);
    world.until_noted("s", "cancelled", 1).await;
}

#[tokio::test]
async fn progress_is_shown_while_a_call_runs() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    let shown = Arc::new(Mutex::new(String::new()));
    let showing = shown.clone();
    let cx = RunContext { live: Box::new(move |text| showing.lock().unwrap().push_str(text)), ..quiet() };
    assert_eq!(words(&call_with(&servers, "s__steps", json!({}), cx).await), "done");
    assert_eq!(*shown.lock().unwrap(), "1 of 2: step 1\n2 of 2: step 2\n");
}

#[tokio::test]
async fn tools_that_come_while_it_runs_are_offered() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    let version = servers.version();
    call(&servers, "s__grow", json!({})).await;
    until(|| offered(&servers, usize::MAX).contains(&"s__grown".to_owned())).await;
    assert!(servers.version() > version);
}

#[tokio::test]
async fn prompts_and_resources_are_listed_and_read() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    let prompts = servers.prompts();
    assert_eq!((prompts.len(), prompts[0].prompt.arguments.len()), (1, 2));
    let filled = servers.expand("s", "greet", &[("who".to_owned(), "Ada".to_owned())]).await;
    assert_eq!(filled.as_deref(), Ok("Greet Ada"));
    assert!(servers.expand("t", "greet", &[]).await.is_err());
    let tool = |name: &str| {
        let offer = servers.offer(usize::MAX);
        offer.tools.into_iter().map(|(_, tool)| tool).find(|tool| tool.declaration().name == name).unwrap()
    };
    let context = ToolContext::default();
    let list = tool("list_mcp_resources").prepare(Default::default(), &context).await.ok().unwrap();
    assert_eq!(words(&list.run(quiet()).await), "note:one one");
    let args = json!({"uri": "note:one"}).as_object().cloned().unwrap();
    let read = tool("read_mcp_resource").prepare(args, &context).await.ok().unwrap();
    assert!(matches!(read.plan().effects.as_slice(), [Effect::Mcp { .. }]));
    assert_eq!(words(&read.run(quiet()).await), "[resource note:one]\na note");
    let parts = servers.resource("s", "note:two").await.unwrap().unwrap();
    assert!(parts[0].as_text().unwrap().contains("[resource note:two]\na note"));
    assert!(servers.resource("t", "note:two").await.is_none());
    for uri in [
        "file:///w/secrets/k",
        "file:///w/secret%73/k?x#y",
        "FILE://localhost/w/secrets/k",
        "file:/w/secrets/k",
    ] {
        assert_eq!(servers.resource("s", uri).await, Some(Err("it is denied".to_owned())), "{uri}");
        let args = serde_json::Map::from_iter([("uri".to_owned(), uri.into())]);
        let refused = tool("read_mcp_resource").prepare(args, &context).await.err().unwrap();
        assert_eq!(refused.kind, charla_proto::ToolErrorKind::DeniedByRule, "{uri}");
    }
    for uri in [
        "file:///w\\secrets/k",
        "file://\\w/secrets/k",
        "file:///w%5Csecrets/k",
        "fi\tle:///w/secrets/k",
        "file:///w/secrets/k%00.txt",
        "file://secrets/k",
        "file:///w/x#/../secrets/k",
    ] {
        let why = servers.resource("s", uri).await.unwrap().unwrap_err();
        assert!(why.contains("more than one file"), "{uri:?}: {why}");
        let args = serde_json::Map::from_iter([("uri".to_owned(), uri.into())]);
        let refused = tool("read_mcp_resource").prepare(args, &context).await.err().unwrap();
        assert_eq!(refused.kind, charla_proto::ToolErrorKind::DeniedByRule, "{uri:?}");
    }
}

#[tokio::test]
async fn resources_of_a_server_that_is_not_there_yet_are_waited_for() {
    let world = World::new();
    for (name, args, told) in [
        ("list_mcp_resources", json!({}), "note:one one"),
        ("read_mcp_resource", json!({"uri": "note:one"}), "[resource note:one]\na note"),
        ("read_mcp_resource", json!({"uri": "note:one", "server": "s"}), "[resource note:one]\na note"),
    ] {
        let servers = world.start(vec![world.config("s", "plain"), world.config("d", "dead")]);
        assert_eq!(words(&call(&servers, name, args).await), told);
        servers.shutdown().await;
    }
    let servers = world.started("n", "namesake").await;
    let told = "note:one one\nAddresses to be filled in where braces are:\nnote:{name} any note";
    assert_eq!(words(&call(&servers, "list_mcp_resources", json!({})).await), told);
    let servers = world.started("m", "many").await;
    assert!(servers.tool("list_mcp_resources").is_none());
}

#[tokio::test]
async fn a_resource_that_a_server_lists_is_read_while_another_is_still_being_started() {
    let world = World::new();
    let servers = world.start(vec![world.config("d", "silent"), world.config("s", "plain")]);
    until(|| servers.with_resources() == ["s"]).await;
    let read = call(&servers, "read_mcp_resource", json!({"uri": "note:one"}));
    let read = tokio::time::timeout(Duration::from_secs(30), read).await.expect("nobody waits for d");
    assert_eq!(words(&read), "[resource note:one]\na note");
}

#[tokio::test]
async fn values_of_a_prompts_arguments_are_proposed() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    let begun = |server: &str, begun: &str| BegunArgument {
        server: server.to_owned(),
        prompt: "greet".to_owned(),
        argument: "who".to_owned(),
        begun: begun.to_owned(),
        others: vec![("how".to_owned(), "warmly".to_owned())],
    };
    assert_eq!(servers.completions(&begun("s", "Ad")).await, ["Ada", "Adam", "Ad Lib"]);
    assert_eq!(servers.completions(&begun("s", "x")).await, [""; 0]);
    assert_eq!(servers.completions(&begun("t", "Ad")).await, [""; 0]);
    let asked = r#"complete {"argument": {"name": "who", "value": "Ad"}, "context": {"arguments": {"how": "warmly"}}, "ref": {"name": "greet", "type": "ref/prompt"}}"#;
    assert_eq!(world.noted("s", asked), 1);
    // One that proposes nothing is not asked.
    let silent = world.started("m", "many").await;
    assert_eq!(silent.completions(&begun("m", "Ad")).await, [""; 0]);
    assert_eq!(world.noted("m", asked), 0);
}

#[tokio::test]
async fn of_many_tools_those_are_offered_that_were_found() {
    let world = World::new();
    let servers = world.started("s", "many").await;
    assert_eq!(offered(&servers, usize::MAX).len(), 300);
    assert_eq!(offered(&servers, 20_000), ["find_tools"]);
    let find = servers.offer(20_000).tools.remove(0).1;
    let args = json!({"query": "do thing 217"}).as_object().cloned().unwrap();
    let context = ToolContext::default();
    let invocation = find.prepare(args, &context).await.ok().unwrap();
    assert_eq!(invocation.plan().effects, []);
    let output = invocation.run(quiet()).await;
    assert!(output.content[0].as_text().unwrap().contains("s__tool_217"));
    let now = offered(&servers, 20_000);
    assert!(now.contains(&"s__tool_217".to_owned()) && now.len() < 10, "{now:?}");
    // One that was not found can be called all the same.
    assert_eq!(words(&call(&servers, "s__tool_5", json!({})).await), "called tool_5");
}

#[tokio::test]
async fn nobody_waits_for_dead_servers() {
    let world = World::new();
    let missing = |name: &str| {
        let mut config = world.config(name, "plain");
        if let Reach::Process(command) = &mut config.reach {
            command.program = "/no/such/program".to_owned();
        }
        config
    };
    let mut configs: Vec<ServerConfig> = (0..10).map(|n| missing(&format!("m{n}"))).collect();
    configs.extend((0..10).map(|n| world.config(&format!("d{n}"), ["dead", "silent"][n % 2])));
    configs.push(world.config("s", "plain"));
    let servers = world.start(configs);
    assert_eq!(offered(&servers, usize::MAX), ["find_tools"], "before any of them could say anything");
    assert_eq!(words(&call(&servers, "s__echo", json!({"text": "here"})).await), "here");
    until(|| servers.health().iter().filter(|health| matches!(health.state, State::Failed(_))).count() == 15)
        .await;
}

#[tokio::test]
async fn servers_end_with_the_session() {
    let world = World::new();
    let servers = world.started("s", "plain").await;
    let tool = servers.tool("s__echo").unwrap();
    servers.shutdown().await;
    let context = ToolContext::default();
    let invocation = tool.prepare(Default::default(), &context).await.ok().unwrap();
    assert!(invocation.run(quiet()).await.error.is_some());
    assert_eq!(world.noted("s", "start"), 1);
}
