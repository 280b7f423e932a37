//! What the server knows while it runs.

use std::sync::Arc;

use charla_core::CancellationToken;
use charla_store::Database;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::arrivals::Arrivals;
use crate::audit::Audit;
use crate::bodies::Bodies;
use crate::guard::Names;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::oidc::Oidc;
use crate::people::People;
use crate::places::Places;
use crate::probe::Probe;
use crate::rate::Rate;
use crate::repeats::Repeats;

/// Requests that one user may send at once, and on average in a second.
const REQUESTS: (f64, f64) = (1000.0, 200.0);
/// Attempts to sign in from one address.
const ATTEMPTS: (f64, f64) = (10.0, 0.2);
/// Beginnings to sign in at a provider of identities from one address.
const BEGINNINGS: (f64, f64) = (30.0, 1.0);
/// Requests of one user that are being answered at the same time: their bodies may come slowly.
const AT_ONCE: usize = 64;
/// Streams of events that one user may have open.
const STREAMS: usize = 64;
/// Sessions that are read at the same time: each may be large.
const READS: usize = 8;
/// Large outputs that are fetched at the same time: each may be in memory as a whole.
const OUTPUTS: usize = 2;

/// The server's state.
pub(crate) struct App {
    pub(crate) people: Arc<People>,
    pub(crate) access: Access,
    pub(crate) names: Names,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) oidc: Option<Oidc>,
    pub(crate) repeats: Repeats,
    pub(crate) arrivals: Arrivals,
    pub(crate) audit: Audit,
    pub(crate) limits: RateLimits,
    pub(crate) probe: Probe,
    /// What running steps at other nodes show, where there are others.
    pub(crate) live: Option<Live>,
    /// What several nodes share, where they do.
    pub(crate) database: Option<Database>,
    /// The server ends: streams are closed and nothing new is begun.
    pub(crate) stopping: CancellationToken,
}

/// How often is too often.
pub(crate) struct RateLimits {
    pub(crate) requests: Rate<String>,
    /// Attempts to sign in from one address: with passwords, and with one-time links, which nobody guesses.
    pub(crate) attempts: Rate<String>,
    pub(crate) links: Rate<String>,
    pub(crate) beginnings: Rate<String>,
    /// Attempts to sign in as somebody, wherever they come from.
    pub(crate) names: Rate<String>,
    pub(crate) bodies: Bodies,
    pub(crate) at_once: Places,
    pub(crate) streams: Places,
    /// Sessions that are read at the same time, whole or a page of them; further ones wait.
    pub(crate) reads: Semaphore,
    /// Large outputs that are brought here from a database at the same time.
    pub(crate) outputs: Semaphore,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            requests: Rate::new(REQUESTS.0, REQUESTS.1),
            attempts: Rate::new(ATTEMPTS.0, ATTEMPTS.1),
            links: Rate::new(ATTEMPTS.0, ATTEMPTS.1),
            beginnings: Rate::new(BEGINNINGS.0, BEGINNINGS.1),
            names: Rate::new(ATTEMPTS.0, ATTEMPTS.1),
            bodies: Bodies::default(),
            at_once: Places::new(AT_ONCE),
            streams: Places::new(STREAMS),
            reads: Semaphore::new(READS),
            outputs: Semaphore::new(OUTPUTS),
        }
    }
}
