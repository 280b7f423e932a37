//! Taking in a session that was written elsewhere: what it tells was said, and nothing of it is allowed here.

use charla_proto::{Fact, Imported, Record};

/// The records of a session that came `from` elsewhere, under another id where `session` is one. The first one says up to which of them, and the
/// last one from where: the fold knows that nobody here has allowed, chosen or changed what they speak of.
pub fn import(records: &[Record], session: Option<&str>, from: &str, now: u64) -> Vec<Record> {
    let last = records.last().map_or(0, |record| record.seq);
    let mut imported = taken(records, session, Some(last));
    let fact = Fact::Imported(Imported { from: from.to_owned() });
    imported.push(Record::new(last.saturating_add(1), now, fact));
    imported
}

/// True when `kept` is what became of `records` when they were taken in, and nothing more. Sessions that earlier versions took in say so with their
/// last record alone.
pub fn is_import_of(kept: &[Record], records: &[Record]) -> bool {
    match kept.split_last() {
        Some((Record { fact: Fact::Imported(_), .. }, before)) => {
            taken(before, None, None) == taken(records, None, None)
        }
        _ => false,
    }
}

/// The records as they are kept here: nobody's agent, and perhaps of another name.
fn taken(records: &[Record], session: Option<&str>, imported_up_to: Option<u64>) -> Vec<Record> {
    let mut taken = records.to_vec();
    if let Some(first) = taken.first_mut()
        && let Fact::SessionStarted(started) = &mut first.fact
    {
        started.agent = None;
        started.imported_up_to = imported_up_to;
        if let Some(session) = session {
            session.clone_into(&mut started.session);
        }
    }
    taken
}
