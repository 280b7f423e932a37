//! Taking in a session that was written elsewhere: what it tells was said, and nothing of it is allowed here.

use charla_proto::{Fact, Imported, Record};

/// The records of a session that came `from` elsewhere, under another id where `session` is one. The last one says so, and from then
/// on the fold knows that nobody here has allowed, chosen or changed what the ones before speak of.
pub fn import(records: &[Record], session: Option<&str>, from: &str, now: u64) -> Vec<Record> {
    let mut imported = taken(records, session);
    let seq = records.last().map_or(0, |record| record.seq).saturating_add(1);
    imported.push(Record::new(seq, now, Fact::Imported(Imported { from: from.to_owned() })));
    imported
}

/// True when `kept` is what became of `records` when they were taken in, and nothing more.
pub fn is_import_of(kept: &[Record], records: &[Record]) -> bool {
    match kept.split_last() {
        Some((Record { fact: Fact::Imported(_), .. }, before)) => *before == taken(records, None),
        _ => false,
    }
}

/// The records as they are kept here: nobody's agent, and perhaps of another name.
fn taken(records: &[Record], session: Option<&str>) -> Vec<Record> {
    let mut taken = records.to_vec();
    if let Some(first) = taken.first_mut()
        && let Fact::SessionStarted(started) = &first.fact
        && (session.is_some() || started.agent.is_some())
    {
        let mut started = started.clone();
        started.agent = None;
        started.session = session.map_or(started.session, str::to_owned);
        *first = Record::new(first.seq, first.at, Fact::SessionStarted(started));
    }
    taken
}
