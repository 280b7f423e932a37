//! Whether there is a newer version. Asked only when a person wants to know, of the address they name, or else of the one that the
//! program was built with; nothing is ever installed.

use std::cmp::Ordering;
use std::time::Duration;

use charla_providers::net::ExchangeRequest;
use serde::Deserialize;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::network;
use crate::settings::Settings;

/// How long the answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may be.
const LONGEST: usize = 64 * 1024;

/// What a source says of the newest version: a JSON document with these fields.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Release {
    /// Its version, such as `1.2.0`.
    pub version: String,
    /// Where people find it.
    #[serde(default)]
    pub url: Option<String>,
    /// What is new, in words.
    #[serde(default)]
    pub notes: Option<String>,
}

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where this program asks when nobody names a source: beside the releases it was built for, if whoever built it named them
/// by the variable `CHARLA_RELEASE_URL`.
pub fn default_source() -> Option<String> {
    option_env!("CHARLA_RELEASE_URL").and_then(source_below)
}

/// The document about the newest version among the releases at this address.
fn source_below(releases: &str) -> Option<String> {
    let releases = releases.trim().trim_end_matches('/');
    (!releases.is_empty()).then(|| format!("{releases}/newest.json"))
}

impl Release {
    /// True when it is newer than this program; nothing when its version cannot be read.
    pub fn is_newer(&self) -> Option<bool> {
        Some(compare(&self.version, VERSION)? == Ordering::Greater)
    }
}

/// Asks the source for the newest version.
pub async fn newest(
    source: &str,
    settings: &Settings,
    environment: &Environment,
) -> Result<Release, Failure> {
    if !source.starts_with("https://") && !source.starts_with("http://") {
        return Err(Failure::input(format!("\"{source}\" is no address")).with_hint(Hint::Text(
            "it is the http or https address of a JSON document with `version`, `url` and `notes`".to_owned(),
        )));
    }
    let client = network::client(settings, environment, source.starts_with("https://"))?;
    let asked = async {
        let request = ExchangeRequest { method: "GET", url: source, headers: &[], body: String::new() };
        let answer = client.exchange(request).await?;
        let status = answer.status();
        answer.whole(LONGEST).await.map(|body| (status, body))
    };
    let failed = |why: String| Failure::system(format!("the source cannot tell what is new: {why}"));
    let answered =
        tokio::time::timeout(PATIENCE, asked).await.map_err(|_| failed("it does not answer".to_owned()))?;
    let (status, body) = answered.map_err(|error| Failure::from(&error))?;
    if status != 200 {
        return Err(failed(format!("it answers {status}")));
    }
    serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))
}

/// How two versions stand, by the rules of semantic versions; nothing where one is none.
fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (Version::read(one)?, Version::read(other)?);
    let before = one.numbers.cmp(&other.numbers);
    // A version that is not out yet comes before the one that it will be.
    Some(before.then_with(|| match (one.early, other.early) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(one), Some(other)) => parts(one).cmp(parts(other)),
    }))
}

/// What stands between the points of a version that is not out yet: numbers come before words, and each in their own order.
fn parts(early: &str) -> impl Iterator<Item = (bool, u64, &str)> {
    early.split('.').map(|part| part.parse().map_or((true, 0, part), |number| (false, number, "")))
}

struct Version<'a> {
    numbers: [u64; 3],
    early: Option<&'a str>,
}

impl<'a> Version<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split('+').next()?;
        let (numbers, early) =
            text.split_once('-').map_or((text, None), |(numbers, early)| (numbers, Some(early)));
        let read: Vec<u64> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { numbers: read.try_into().ok()?, early })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_order() {
        let order = [
            "0.1.0-1",
            "0.1.0-alpha",
            "0.1.0-beta.9",
            "0.1.0-beta.10",
            "0.1.0-rc",
            "0.1.0",
            "0.1.9",
            "0.1.10",
            "v0.2.0+build",
            "1.0.0",
        ];
        for (place, one) in order.iter().enumerate() {
            for (other_place, other) in order.iter().enumerate() {
                assert_eq!(compare(one, other), Some(place.cmp(&other_place)), "{one} {other}");
            }
        }
        for none in ["", "1", "1.2", "1.2.3.4", "1.x.0", "99999999999999999999.0.0"] {
            assert_eq!(compare(none, "1.0.0"), None, "{none}");
        }
    }

    #[test]
    fn the_source_lies_beside_the_releases_that_the_program_was_built_for() {
        for named in ["https://example.org/charla", " https://example.org/charla/\n"] {
            assert_eq!(source_below(named).as_deref(), Some("https://example.org/charla/newest.json"));
        }
        assert_eq!(source_below(" "), None, "an empty variable is none");
    }
}
