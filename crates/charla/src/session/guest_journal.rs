//! The journal of a guest's session. What the model is told of it is no path: the file is beyond what a guest reaches.

use std::sync::Arc;

use charla_proto::{BoxFuture, Journal, JournalError, JournalReader, Record};

/// A journal that says which session it is, and not where it lies.
pub(super) struct GuestJournal {
    journal: Box<dyn Journal>,
    session: String,
}

impl GuestJournal {
    pub(super) fn new(journal: Box<dyn Journal>, session: &str) -> Self {
        Self { journal, session: session.to_owned() }
    }
}

impl Journal for GuestJournal {
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        self.journal.append(records)
    }

    fn reader(&self) -> Option<Arc<dyn JournalReader>> {
        let reader = self.journal.reader()?;
        Some(Arc::new(GuestReader { reader, session: self.session.clone() }))
    }
}

struct GuestReader {
    reader: Arc<dyn JournalReader>,
    session: String,
}

impl JournalReader for GuestReader {
    fn read(&self, after: u64, each: &mut dyn FnMut(Record)) -> Result<(), JournalError> {
        self.reader.read(after, each)
    }

    fn place(&self) -> String {
        format!("the records of session {}, which its user can read", self.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Elsewhere;

    impl Journal for Elsewhere {
        fn append<'a>(&'a mut self, _: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn reader(&self) -> Option<Arc<dyn JournalReader>> {
            Some(Arc::new(Elsewhere))
        }
    }

    impl JournalReader for Elsewhere {
        fn read(&self, _: u64, _: &mut dyn FnMut(Record)) -> Result<(), JournalError> {
            Ok(())
        }

        fn place(&self) -> String {
            "/srv/charla/server/users/anna/sessions/01a1.jsonl".to_owned()
        }
    }

    #[test]
    fn a_guest_is_told_of_no_file_of_the_server() {
        let place = GuestJournal::new(Box::new(Elsewhere), "01a1").reader().unwrap().place();
        assert!(place.contains("01a1") && !place.contains('/'), "{place}");
    }
}
