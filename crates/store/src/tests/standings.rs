//! What waits across sessions is what each one's records say, whoever keeps it.

use std::collections::HashMap;

use charla_proto::Standing;
use serde_json::{Value, json};

use super::*;

/// The same numbers every time, one after another.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Any fact that questions depend on, whether it makes sense there or not.
fn fact(dice: &mut Dice, session: &str) -> Value {
    let (turn, call) = (1 + dice.roll(2), format!("c{}", dice.roll(4)));
    let approval = format!("{session}:{call}");
    let said = json!({"role": "user", "parts": [{"text": "go \u{0}"}]});
    match dice.roll(13) {
        0 => json!({"kind": "turn_started", "turn": turn, "prompt": said, "id": "p", "by": "a"}),
        1 | 2 => {
            let calls = (0..=dice.roll(3)).map(|number| {
                json!({"functionCall": {"id": format!("c{number}"), "name": "run", "args": {"n": number}}})
            });
            let content = json!({"role": "model", "parts": calls.collect::<Vec<_>>()});
            json!({"kind": "model_content", "turn": turn, "content": content, "finish": "STOP"})
        }
        3..=6 => {
            json!({"kind": "call_asked", "turn": turn, "call": call, "approval": approval, "confirmation": {
            "tool": "run", "title": "a \u{0}", "rule": "r", "isolation": "none",
            "detail": {"type": "exec", "command": "c", "cwd": "/w"}}})
        }
        7 => {
            json!({"kind": "approval_answered", "approval": approval, "by": "a", "outcome": {"outcome": "proceed_once"}})
        }
        8 => json!({"kind": "approval_answered", "approval": approval, "by": "a", "args": {"n": 9},
            "outcome": {"outcome": "modify", "args": {"n": 9}}}),
        9 => json!({"kind": "call_ended", "turn": turn, "call": call, "status": "success",
            "response": {"id": call, "name": "run", "response": {}}}),
        10 => json!({"kind": "turn_ended", "turn": turn, "end": "finished"}),
        11 => {
            json!({"kind": "prompt_queued", "prompt": "q", "content": said, "by": "a", "delivery": "after_turn"})
        }
        _ => match dice.roll(3) {
            0 => json!({"kind": "imported", "from": "elsewhere"}),
            1 => json!({"kind": "rewound", "to": 2, "by": "a"}),
            _ => json!({"kind": "call_started", "turn": turn, "call": call}),
        },
    }
}

fn record(seq: u64, mut fact: Value) -> Record {
    fact["seq"] = seq.into();
    fact["at"] = 1.into();
    Record::from_json(&fact.to_string()).unwrap()
}

/// Where sessions stand by their records alone.
async fn folded(store: &dyn SessionStore) -> HashMap<String, Standing> {
    let mut standings = HashMap::new();
    for summary in store.list().await.unwrap().sessions {
        let standing = Standing::of(&store.fold(&summary.session).await.unwrap());
        standings.insert(summary.session, standing);
    }
    standings
}

/// Where sessions stand as the store says, if it does; those that rest are left out.
pub(super) async fn what_waits_is_what_the_records_say(store: &dyn SessionStore) {
    let mut dice = Dice(7);
    let mut most = 0;
    for round in 0..12 {
        let session = format!("s{round}");
        let mut owned = store.create(&[first(&session), prompt(2, "begin")]).await.unwrap();
        let mut seq = 3;
        while seq < 60 {
            let some: Vec<Record> =
                (0..=dice.roll(3)).map(|more| record(seq + more, fact(&mut dice, &session))).collect();
            owned.journal.append(&some).await.unwrap();
            seq += some.len() as u64;
            // Whoever goes on with it knows what waits, too.
            if dice.roll(8) == 0 {
                drop(owned);
                owned = store.take_over(&session).await.unwrap();
            }
            let said = folded(store).await;
            most = most.max(said.values().map(|standing| standing.questions.len()).max().unwrap_or(0));
            if let Some(kept) = store.standings().await.unwrap() {
                let waiting = said.into_iter().filter(|(_, standing)| *standing != Standing::default());
                assert_eq!(kept, waiting.collect::<HashMap<_, _>>(), "{session} at {seq}");
            }
        }
    }
    assert!(most > 1, "questions waited at the same time");
    store.prune(&["s0".to_owned(), "s1".to_owned()]).await.unwrap();
}
