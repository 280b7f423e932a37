//! Faults of the way to the server, and servers that are slow or silent.

use charla_testkit::{Reply, Script, Step};
use serde_json::{Value, json};

use super::{Peer, Row};

/// Limits on silence short enough to wait for, long enough for a busy machine.
fn patience(seconds: f64) -> Value {
    json!({
        "retry": {"initialDelaySeconds": 0, "maxDelaySeconds": 0, "maxAttempts": 4},
        "network": {"idleTimeoutSeconds": seconds, "firstByteTimeoutSeconds": seconds},
    })
}

pub fn nameless() -> Row {
    Row::new("name that nobody has", Script::always("never"))
        .peer(Peer::Nameless)
        .fails(1, "network", 0)
        .events("init message retry error result")
        .says("the name charla.invalid cannot be found")
        .says("after 3 attempts")
}

pub fn all() -> Vec<Row> {
    let never = || Script::always("never");
    let comment = || Step::Comment("keep-alive".into());
    let kept_alive = Reply::new().step(comment()).delay(700).step(comment()).delay(700).text("Hello.");
    let drip = Step::Drip { bytes: 16, delay: 1 };
    let drip = Reply::new().step(drip).chunk(1).step(Step::Pace(250)).text("Hello.");
    vec![
        Row::new("nobody listens", never())
            .peer(Peer::Refusing)
            .fails(1, "network", 0)
            .events("init message error result")
            .says("nothing answers at 127.0.0.1:1: connection refused")
            .never_says("attempt")
            .says("hint: is the local server running"),
        Row::new("server without TLS at an https address", never())
            .peer(Peer::TakenForTls)
            .fails(1, "network", 0)
            .events("init message error result")
            .says("does not answer in TLS")
            .says("needs http:// instead of https://"),
        Row::once("silence in the middle of an answer", Reply::new().text("Hel").stall())
            .settings(patience(1.0))
            .events("init message retry message result")
            .says("sent nothing for 1 s in the middle of the answer"),
        Row::once("no first byte", Reply::new().step(Step::Hang))
            .settings(patience(1.0))
            .says("sent no answer within 1 s"),
        Row::stays("no first byte, ever", 3, "timeout", Reply::new().step(Step::Hang))
            .settings(patience(0.3))
            .says("after 3 attempts")
            .says("network.firstByteTimeoutSeconds"),
        Row::new("nothing but comments for longer than the limit on silence", Script::always(kept_alive))
            .settings(patience(1.0))
            .never_says("attempt"),
        Row::new("slow drip that takes longer than the limit on silence", Script::always(drip))
            .settings(patience(1.0))
            .never_says("attempt"),
    ]
}
