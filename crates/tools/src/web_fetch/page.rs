//! One page: fetched under limits, as text.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};
use tokio::time::timeout;

use super::address::{Gate, Refusal};
use super::markdown;
use super::rate::Rates;
use crate::process::clean::{clean, is_binary};

const TIME: Duration = Duration::from_secs(10);
const BYTES: usize = 10 * 1024 * 1024;
const REDIRECTS: usize = 5;
const WANTED: &str = "text/markdown, text/plain;q=0.9, text/html;q=0.8, application/json;q=0.8, */*;q=0.1";

/// Fetches one page; `Err` says in words what went wrong.
pub(super) async fn fetch(client: &Client, gate: Gate, rates: &Rates, url: Url) -> Result<String, String> {
    let body = timeout(TIME, request(client, gate, rates, url)).await;
    let (url, kind, bytes) = body.map_err(|_| format!("no answer within {} s", TIME.as_secs()))??;
    // Megabytes of HTML take a while to read.
    let text = tokio::task::spawn_blocking(move || text(&kind, &bytes, &url)).await;
    text.map_err(|_| "the page could not be read".to_owned())?
}

async fn request(
    client: &Client,
    gate: Gate,
    rates: &Rates,
    mut url: Url,
) -> Result<(Url, String, Vec<u8>), String> {
    let host = host(&url);
    if let Err(wait) = rates.take(&host) {
        return Err(format!(
            "Rate limit exceeded for {host}: at most 10 requests a minute; the next is possible in {} s",
            wait.as_secs() + 1
        ));
    }
    for _ in 0..=REDIRECTS {
        gate.check(&url).map_err(|refusal| refusal.to_string())?;
        let response = client.get(url.clone()).header(ACCEPT, WANTED).send().await;
        let response = response.map_err(|error| in_words(&error))?;
        let Some(next) = redirect(&response, &url)? else {
            return Ok((url, kind(&response), body(response).await?));
        };
        gate.check(&next).map_err(|refusal| format!("it leads to {next}: {refusal}"))?;
        if !is_same_host(&url, &next) {
            // What was approved was this host; another is another call.
            return Err(format!("it leads to another host: fetch {next} if you want that page"));
        }
        url = next;
    }
    Err(format!("it leads from one address to the next more than {REDIRECTS} times"))
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase()
}

/// The same host, with or without `www.`.
fn is_same_host(one: &Url, other: &Url) -> bool {
    let (one, other) = (host(one), host(other));
    one.trim_start_matches("www.") == other.trim_start_matches("www.")
}

fn redirect(response: &Response, url: &Url) -> Result<Option<Url>, String> {
    let status = response.status();
    if status.is_success() {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
    let Some(location) = location else { return Err(format!("the server answered {status}")) };
    let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
    url.join(&location).map(Some).map_err(|error| format!("it leads to `{location}`: {error}"))
}

fn kind(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().to_ascii_lowercase()
}

async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    loop {
        let chunk = response.chunk().await.map_err(|error| in_words(&error))?;
        let Some(chunk) = chunk else { return Ok(bytes) };
        bytes.extend_from_slice(&chunk);
        if bytes.len() > BYTES {
            return Err(format!("it is larger than {} MB", BYTES / 1024 / 1024));
        }
    }
}

/// The reason at the bottom of an error, where it says more than that a request failed.
fn in_words(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(source) = reason.source() {
        if let Some(refusal) = source.downcast_ref::<Refusal>() {
            return refusal.to_string();
        }
        reason = source;
    }
    format!("it could not be reached: {reason}")
}

/// A page's text, by its type.
fn text(kind: &str, bytes: &[u8], url: &Url) -> Result<String, String> {
    let media = kind.split(';').next().unwrap_or_default().trim();
    let is_html = matches!(media, "text/html" | "application/xhtml+xml");
    let is_text = media.is_empty()
        || media.starts_with("text/")
        || media.ends_with("+json")
        || media.ends_with("+xml")
        || ["json", "xml", "javascript", "yaml", "x-yaml", "toml", "x-sh", "x-ndjson", "graphql"]
            .iter()
            .any(|name| media.strip_prefix("application/") == Some(name));
    if !is_html && !is_text {
        return Err(format!("it is {media}, and only text can be fetched"));
    }
    if is_binary(bytes) {
        return Err("it is not text".to_owned());
    }
    let latin = ["iso-8859-1", "latin1", "windows-1252"].iter().any(|name| kind.contains(name));
    let decoded = match std::str::from_utf8(bytes) {
        Err(_) if latin => bytes.iter().map(|byte| char::from(*byte)).collect(),
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let decoded = decoded.trim_start_matches('\u{feff}');
    let text = if is_html { markdown::from_html(decoded, url) } else { decoded.to_owned() };
    Ok(clean(text.as_bytes()))
}
