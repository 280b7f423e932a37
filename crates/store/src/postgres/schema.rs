//! The tables, made and changed step by step. Whoever keeps something in the database brings steps of its own.

use tokio_postgres::Client;

use super::connections::{DatabaseError, of};

/// Any number that nobody else takes for a lock: only one process changes tables at a time.
const LOCK: i64 = 0x6368_6172_6c61;

/// Tables of one component. A step that was released is never changed: what comes later is one more step.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The component's name.
    pub name: &'static str,
    /// Its steps in order, each one or more statements.
    pub steps: &'static [&'static str],
}

/// The tables of sessions.
pub(super) const STORE: Schema = Schema { name: "store", steps: &[STEP_1, STEP_2, STEP_3, STEP_4] };

const STEP_1: &str = "
create table charla.nodes (
    id text primary key,
    started timestamptz not null default clock_timestamp(),
    lease_until timestamptz not null
);
create table charla.sessions (
    key bigint generated always as identity primary key,
    space text not null,
    id text not null,
    started text not null,
    model text not null,
    title text not null default '',
    has_turns boolean not null default false,
    seq bigint not null,
    size bigint not null,
    modified timestamptz not null default clock_timestamp(),
    owner text,
    token bigint not null default 1,
    made_by text not null,
    unique (space, id)
);
create index on charla.sessions (owner) where owner is not null;
create table charla.records (
    session bigint not null references charla.sessions (key) on delete cascade,
    seq bigint not null,
    body text not null,
    primary key (session, seq)
);
create table charla.mentions (
    session bigint not null references charla.sessions (key) on delete cascade,
    kind text not null,
    name text not null,
    primary key (kind, name, session)
);
create index on charla.mentions (session);
create table charla.contents (
    hash text primary key,
    bytes bytea not null,
    kept_at timestamptz not null default clock_timestamp()
);
create table charla.outputs (
    space text not null,
    session text not null,
    name text not null,
    bytes bytea not null,
    kept_at timestamptz not null default clock_timestamp(),
    primary key (space, session, name)
);
create table charla.commands (
    id text primary key,
    number bigint generated always as identity,
    session bigint not null,
    node text not null,
    sender text not null,
    body bytea not null,
    sent_at timestamptz not null default clock_timestamp(),
    taken boolean not null default false,
    outcome text,
    reply bytea
);
create index on charla.commands (node, number) where outcome is null;
";

/// Questions that wait. `known_seq` is the last record that they are of: an older node that writes records leaves it behind.
const STEP_2: &str = "
alter table charla.sessions
    add column known_seq bigint not null default 0,
    add column turn_open boolean not null default false;
create index on charla.sessions (space) where turn_open or known_seq <> seq;
create table charla.approvals (
    session bigint not null references charla.sessions (key) on delete cascade,
    seq bigint not null,
    number bigint not null,
    space text not null,
    id text not null,
    question text not null,
    primary key (session, seq, number)
);
create index on charla.approvals (space, id);
";

/// When sessions began, by their first records. An older node leaves it at 0.
const STEP_3: &str = "
alter table charla.sessions add column began bigint not null default 0;
update charla.sessions s set began = coalesce((
    select substring(left(r.body, 100) from '\"at\":([0-9]{1,18})')::bigint
    from charla.records r where r.session = s.key order by r.seq limit 1), 0);
";

/// Outputs that are gone with their sessions: every node has its own copies to remove.
const STEP_4: &str = "
create table charla.deleted_outputs (
    number bigint generated always as identity primary key,
    space text not null,
    session text not null,
    at timestamptz not null default clock_timestamp()
);
create index on charla.deleted_outputs (at);
";

/// Brings the tables of these components up to date. Several processes may begin at once: one does it, others wait.
pub(super) async fn update(client: &Client, schemas: &[Schema]) -> Result<(), DatabaseError> {
    let run = |text: String| async move { client.batch_execute(&text).await.map_err(|error| of(&error)) };
    run(format!("select pg_advisory_lock({LOCK})")).await?;
    let updated = update_locked(client, schemas).await;
    let unlocked = run(format!("select pg_advisory_unlock({LOCK})")).await;
    updated.and(unlocked)
}

async fn update_locked(client: &Client, schemas: &[Schema]) -> Result<(), DatabaseError> {
    let run = |text: String| async move { client.batch_execute(&text).await.map_err(|error| of(&error)) };
    run("create schema if not exists charla;
         create table if not exists charla.steps (
             component text not null, step int not null, at timestamptz not null default clock_timestamp(),
             primary key (component, step))"
        .to_owned())
    .await?;
    for schema in schemas {
        let done = "select coalesce(max(step), 0)::int8 from charla.steps where component = $1";
        let row = client.query_one(done, &[&schema.name]).await.map_err(|error| of(&error))?;
        let done = usize::try_from(row.get::<_, i64>(0)).unwrap_or(0);
        if done > schema.steps.len() {
            let Schema { name, steps } = schema;
            return Err(DatabaseError::Refused(format!(
                "its tables of `{name}` are of step {done}, made by a newer version of Charla; this one knows {}",
                steps.len()
            )));
        }
        for (step, text) in schema.steps.iter().enumerate().skip(done) {
            let (name, number) = (schema.name, step + 1);
            let note = format!("insert into charla.steps (component, step) values ('{name}', {number})");
            run(format!("begin; {text}; {note}; commit")).await?;
        }
    }
    Ok(())
}
