//! The signed assertion by which a service account asks for a token.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use charla_proto::LlmError;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;

use super::adc::config;

/// An assertion for one hour, issued at `now` (seconds since 1970).
pub(super) fn assertion(
    email: &str,
    key_pem: &str,
    key_id: Option<&str>,
    audience: &str,
    scope: &str,
    now: u64,
) -> Result<String, LlmError> {
    let header = json!({"alg": "RS256", "typ": "JWT", "kid": key_id});
    let claims = json!({"iss": email, "scope": scope, "aud": audience, "iat": now, "exp": now + 3600});
    let encode = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let key = private_key(key_pem)?;
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature)
        .map_err(|_| config("the service account's private key cannot sign".to_owned()))?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn private_key(pem: &str) -> Result<RsaKeyPair, LlmError> {
    let body: String = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----")).collect();
    let der = STANDARD
        .decode(body)
        .map_err(|_| config("the service account's private key is not valid PEM".to_owned()))?;
    RsaKeyPair::from_pkcs8(&der)
        .map_err(|error| config(format!("the service account's private key cannot be used: {error}")))
}
