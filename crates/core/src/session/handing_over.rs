//! Somebody elsewhere wants to go on with the session. Whoever has it open says yes by leaving it, or no.
//!
//! The first request is told to the front ends and answered at once. Who asks again waits for what is said to it: the session's end is a yes.

use std::time::Duration;

use charla_proto::{Refusal, Reply};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long somebody who does not ask again is taken to want it still.
const MEANT: Duration = Duration::from_secs(60);

/// What is asked of whoever has the session open, if anything is.
#[derive(Default)]
pub(super) struct HandOver(Option<Wanted>);

struct Wanted {
    by: String,
    /// When it was asked for last.
    at: Instant,
    answer: Answer,
}

enum Answer {
    /// None yet; whoever asked again waits for it.
    Awaited(Option<oneshot::Sender<Reply>>),
    /// No. Who asked has not heard it.
    Kept,
}

impl HandOver {
    /// Takes the request of somebody; true when the front ends are to be told.
    pub(super) fn ask(&mut self, by: &str, reply: oneshot::Sender<Reply>) -> bool {
        let now = Instant::now();
        match self.0.take().filter(|wanted| wanted.by == by && now < wanted.at + MEANT) {
            None => {
                self.0 = Some(Wanted { by: by.to_owned(), at: now, answer: Answer::Awaited(None) });
                let _ = reply.send(Reply::Done);
                true
            }
            Some(Wanted { by, answer: Answer::Awaited(before), .. }) => {
                // One waits for the answer: whoever waited before asks again.
                before.into_iter().for_each(|before| drop(before.send(Reply::Done)));
                self.0 = Some(Wanted { by, at: now, answer: Answer::Awaited(Some(reply)) });
                false
            }
            Some(Wanted { answer: Answer::Kept, .. }) => {
                let _ = reply.send(Reply::Refused(Refusal::Kept));
                false
            }
        }
    }

    /// Says no to whoever asks.
    pub(super) fn keep(&mut self) -> Reply {
        let Some(Wanted { by, answer, .. }) = self.0.take() else {
            return Reply::Refused(Refusal::Nothing { why: "nobody asks for the session".to_owned() });
        };
        let is_told = match answer {
            Answer::Awaited(Some(reply)) => reply.send(Reply::Refused(Refusal::Kept)).is_ok(),
            _ => false,
        };
        if !is_told {
            self.0 = Some(Wanted { by, at: Instant::now(), answer: Answer::Kept });
        }
        Reply::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(wanted: &mut HandOver, by: &str) -> (bool, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        (wanted.ask(by, reply), receiver)
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_is_told_once_and_who_asks_again_hears_the_answer() {
        let mut wanted = HandOver::default();
        assert!(matches!(wanted.keep(), Reply::Refused(Refusal::Nothing { .. })));
        let (is_new, reply) = ask(&mut wanted, "web");
        assert!(is_new && reply.await == Ok(Reply::Done));
        let (is_new, first) = ask(&mut wanted, "web");
        let (is_still_new, mut second) = ask(&mut wanted, "web");
        assert!(!is_new && !is_still_new && first.await == Ok(Reply::Done));
        assert!(second.try_recv().is_err(), "nobody has said anything");
        assert_eq!(wanted.keep(), Reply::Done);
        assert_eq!(second.await, Ok(Reply::Refused(Refusal::Kept)));
        assert!(ask(&mut wanted, "web").0, "it is asked anew");
    }

    #[tokio::test(start_paused = true)]
    async fn a_no_that_nobody_waits_for_is_heard_by_who_asks_again_and_by_nobody_else() {
        let mut wanted = HandOver::default();
        for (by, after, is_heard) in [("web", 1, true), ("anna", 1, false), ("web", 61, false)] {
            drop(ask(&mut wanted, "web"));
            assert_eq!(wanted.keep(), Reply::Done);
            tokio::time::advance(Duration::from_secs(after)).await;
            let (is_new, reply) = ask(&mut wanted, by);
            let heard = reply.await == Ok(Reply::Refused(Refusal::Kept));
            assert_eq!((heard, is_new), (is_heard, !is_heard), "{by} after {after} s");
            wanted = HandOver::default();
        }
    }
}
