//! What a server keeps in the database that it shares with other nodes.

use std::path::PathBuf;
use std::time::Duration;

use charla::{Environment, Failure};
use charla_store::{Database, DatabaseError, DatabaseOptions, Schema};

/// The server's own tables.
const SERVER: Schema = Schema {
    name: "server",
    steps: &[
        "
create table charla.audit (
    number bigint primary key,
    line text not null
);
create table charla.repeats (
    person text not null,
    key text not null,
    request text not null,
    claim text not null unique,
    node text not null,
    status bigint,
    body bytea,
    at timestamptz not null default clock_timestamp(),
    primary key (person, key)
);
create index on charla.repeats (at);
",
        "
create table charla.accounts (
    one boolean primary key default true check (one),
    version bigint not null,
    book text not null
);
",
        "
create table charla.arrivals (
    id text primary key,
    node text not null
);
create table charla.files (
    person text not null,
    name text not null,
    version bigint not null,
    body bytea,
    primary key (person, name)
);
",
        // What users spend changes with every answer: in rows of their own nobody waits for another's. `by` is whoever wrote last, so that a
        // statement that is sent again finds what it has done.
        "
create table charla.purses (
    person text primary key,
    version bigint not null,
    by text not null,
    purse text not null,
    at timestamptz not null default clock_timestamp()
);
create index on charla.purses (at);
create table charla.spending (
    person text not null,
    day bigint not null,
    model text not null,
    tokens bigint not null,
    usd double precision not null,
    primary key (person, day, model)
);
",
    ],
};

/// A database to share.
#[derive(Clone)]
pub struct SharedDatabase {
    /// `postgres://user:password@host/name`.
    pub address: String,
    /// How long a node may be silent before others go on with its sessions; six seconds when left out.
    pub lease: Option<Duration>,
    /// The file with the key that encrypts what users keep there; one in the server's folder when left out.
    pub key_file: Option<PathBuf>,
}

impl SharedDatabase {
    /// The database at this address, used as is usual.
    pub fn new(address: String) -> Self {
        Self { address, lease: None, key_file: None }
    }
}

/// The address may hold a password.
impl std::fmt::Debug for SharedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("SharedDatabase").field("lease", &self.lease).finish_non_exhaustive()
    }
}

/// Connects to the database, whose tables are up to date then.
pub async fn connect(shared: &SharedDatabase) -> Result<Database, Failure> {
    let options = DatabaseOptions {
        address: shared.address.clone(),
        lease: shared.lease.unwrap_or(DatabaseOptions::LEASE),
        schemas: vec![SERVER],
    };
    Database::connect(options).await.map_err(|error| {
        let failure = Failure::system(error.to_string());
        match error {
            DatabaseError::Away(_) => failure.with_hint("is it running, and is its address right?"),
            DatabaseError::Refused(_) => failure.with_hint(
                "the address is postgres://USER:PASSWORD@HOST/NAME, and the user may make tables there",
            ),
        }
    })
}

/// The folder of files that sessions of this user name in their records.
pub(crate) fn sessions_folder(environment: &Environment) -> Result<PathBuf, Failure> {
    let home = environment.charla_home().ok_or_else(crate::no_home)?;
    Ok(home.join("sessions"))
}
