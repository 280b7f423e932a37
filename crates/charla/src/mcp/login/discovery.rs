//! Who gives permission for a server, found out as the protocol says.

use serde_json::Value;

use super::web::Web;

/// Where permission is asked for and given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Authority {
    /// The page that asks the person.
    pub(super) authorize: String,
    /// Where codes become tokens.
    pub(super) token: String,
    /// Where programs make themselves known.
    pub(super) register: Option<String>,
    /// What is asked for.
    pub(super) scopes: Vec<String>,
}

impl Authority {
    /// The authority of a server: the one its metadata names, else the server's own address.
    pub(super) async fn of(server: &str, web: &Web) -> Result<Self, String> {
        let about = resource(server, web).await?;
        let (own, _) = split(server).ok_or("its address cannot be read")?;
        let named = about.pointer("/authorization_servers/0").and_then(Value::as_str);
        let issuer = named.unwrap_or(own);
        let scopes = about.get("scopes_supported").and_then(Value::as_array);
        let scopes =
            scopes.into_iter().flatten().filter_map(|scope| scope.as_str().map(str::to_owned)).collect();
        let (origin, path) = split(issuer).ok_or("the address of its authority cannot be read")?;
        let path = path.trim_end_matches('/');
        let places = [
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
            format!("{origin}/.well-known/openid-configuration{path}"),
            format!("{origin}{path}/.well-known/openid-configuration"),
        ];
        for place in places {
            if let Some(metadata) = web.get(&place).await? {
                return Self::from_metadata(&metadata, scopes);
            }
        }
        // Older servers are their own authority, at places that were agreed on.
        let at = |name: &str| format!("{origin}/{name}");
        Ok(Self { authorize: at("authorize"), token: at("token"), register: Some(at("register")), scopes })
    }

    fn from_metadata(metadata: &Value, scopes: Vec<String>) -> Result<Self, String> {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        let missing = |key: &str| format!("its authority names no `{key}`");
        let methods = metadata.get("code_challenge_methods_supported").and_then(Value::as_array);
        if methods.is_some_and(|methods| !methods.iter().any(|method| method == "S256")) {
            return Err("its authority does not take S256".to_owned());
        }
        Ok(Self {
            authorize: text("authorization_endpoint").ok_or_else(|| missing("authorization_endpoint"))?,
            token: text("token_endpoint").ok_or_else(|| missing("token_endpoint"))?,
            register: text("registration_endpoint"),
            scopes,
        })
    }
}

/// What a server says about its protection; nothing where it says nothing.
async fn resource(server: &str, web: &Web) -> Result<Value, String> {
    let greeting = web.send("GET", server, "", String::new()).await?;
    let named = greeting.challenge.as_deref().and_then(metadata_place).map(str::to_owned);
    let (origin, path) = split(server).ok_or("its address cannot be read")?;
    let places = [
        named,
        Some(format!("{origin}/.well-known/oauth-protected-resource{}", path.trim_end_matches('/'))),
        Some(format!("{origin}/.well-known/oauth-protected-resource")),
    ];
    for place in places.into_iter().flatten() {
        if let Some(about) = web.get(&place).await? {
            return Ok(about);
        }
    }
    Ok(Value::Null)
}

/// The `resource_metadata` of a challenge.
fn metadata_place(challenge: &str) -> Option<&str> {
    let rest = challenge.split("resource_metadata=").nth(1)?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([',', ' ']).next(),
    }
}

/// Origin and path of an address, without its query.
fn split(url: &str) -> Option<(&str, &str)> {
    let after = url.find("://")? + 3;
    let end = url.get(after..)?.find(['/', '?', '#']).map_or(url.len(), |at| after + at);
    let path = url.get(end..)?.split(['?', '#']).next()?;
    Some((url.get(..end)?, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_challenges_are_taken_apart() {
        assert_eq!(split("https://h:1/a/b?c=d"), Some(("https://h:1", "/a/b")));
        assert_eq!(split("https://h"), Some(("https://h", "")));
        assert_eq!(split("nonsense"), None);
        let challenge =
            r#"Bearer error="invalid_token", resource_metadata="https://h/.well-known/x", scope="a""#;
        assert_eq!(metadata_place(challenge), Some("https://h/.well-known/x"));
        assert_eq!(metadata_place("Bearer"), None);
    }

    #[test]
    fn an_authority_without_s256_is_refused() {
        let metadata = serde_json::json!({
            "authorization_endpoint": "https://a", "token_endpoint": "https://t", "code_challenge_methods_supported": ["plain"],
        });
        assert!(Authority::from_metadata(&metadata, Vec::new()).is_err());
    }
}
