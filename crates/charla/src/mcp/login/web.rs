//! Small questions over HTTP, encrypted unless they stay on this machine.

use charla_providers::Client;
use charla_providers::net::ExchangeRequest;
use serde_json::Value;

/// The longest answer that is taken.
const LONGEST: usize = 1024 * 1024;

/// Asks authorities.
#[derive(Clone)]
pub(in crate::mcp) struct Web {
    client: Client,
}

/// An answer with any status.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) challenge: Option<String>,
    pub(super) body: Value,
}

impl Web {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// What is at an address, if it is there.
    pub(super) async fn get(&self, url: &str) -> Result<Option<Value>, String> {
        let answer = self.send("GET", url, "", String::new()).await?;
        Ok((answer.status == 200 && answer.body.is_object()).then_some(answer.body))
    }

    pub(super) async fn post_json(&self, url: &str, body: &Value) -> Result<Value, String> {
        self.post(url, "application/json", body.to_string()).await
    }

    pub(super) async fn post_form(&self, url: &str, fields: &[(&str, &str)]) -> Result<Value, String> {
        self.post(url, "application/x-www-form-urlencoded", form(fields)).await
    }

    async fn post(&self, url: &str, kind: &str, body: String) -> Result<Value, String> {
        let answer = self.send("POST", url, kind, body).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        let text = |key: &str| answer.body.get(key).and_then(Value::as_str).unwrap_or_default();
        let said: String =
            format!("{} {}", text("error"), text("error_description")).chars().take(200).collect();
        Err(format!("{url} answered with status {} {}", answer.status, said.trim()).trim_end().to_owned())
    }

    pub(super) async fn send(
        &self,
        method: &str,
        url: &str,
        kind: &str,
        body: String,
    ) -> Result<Answered, String> {
        if !is_safe(url) {
            return Err(format!("{url} is neither encrypted nor on this machine"));
        }
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        if !kind.is_empty() {
            headers.push(("content-type".to_owned(), kind.to_owned()));
        }
        let request = ExchangeRequest { method, url, headers: &headers, body };
        let answer = self.client.exchange(request).await.map_err(|error| error.to_string())?;
        let (status, challenge) = (answer.status(), answer.header("www-authenticate").map(str::to_owned));
        let bytes = answer.whole(LONGEST).await.map_err(|error| error.to_string())?;
        Ok(Answered { status, challenge, body: serde_json::from_slice(&bytes).unwrap_or_default() })
    }
}

/// Fields as a form.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Secrets go over encrypted connections, and over those that do not leave this machine.
fn is_safe(url: &str) -> bool {
    let here = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    let is_here = |start: &&str| url.strip_prefix(*start).is_some_and(|rest| rest.starts_with([':', '/']));
    url.starts_with("https://") || here.iter().any(|start| is_here(&start))
}

#[cfg(test)]
mod tests {
    use super::is_safe;

    #[test]
    fn only_this_machine_is_spoken_to_in_the_clear() {
        for safe in ["https://a.example/x", "http://127.0.0.1:7/x", "http://localhost/x", "http://[::1]:7/"] {
            assert!(is_safe(safe), "{safe}");
        }
        for other in
            ["http://a.example/", "http://localhost.evil.example/", "http://127.0.0.1@evil/", "ftp://x", ""]
        {
            assert!(!is_safe(other), "{other}");
        }
    }
}
