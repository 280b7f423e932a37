//! Identity tokens: signed JSON, believed only when a key of the provider signed it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::{Deserialize, Deserializer};

/// How far clocks may differ.
const SLACK: u64 = 60;
/// What a subject begins with where it might be taken for an address.
const SUBJECT: &str = "sub:";

/// The provider's keys.
#[derive(Debug, Deserialize)]
pub(super) struct Keys {
    keys: Vec<Key>,
}

/// One key; of a kind that is not known it is never used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Key {
    kid: Option<String>,
    kty: String,
    crv: String,
    n: String,
    e: String,
    x: String,
    y: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Claims {
    iss: String,
    sub: String,
    #[serde(deserialize_with = "one_or_many")]
    aud: Vec<String>,
    azp: Option<String>,
    exp: u64,
    /// Whole seconds, or not.
    #[serde(default)]
    nbf: f64,
    #[serde(default)]
    iat: f64,
    nonce: Option<String>,
    email: Option<String>,
    #[serde(default)]
    email_verified: bool,
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audience {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Audience::deserialize(deserializer)? {
        Audience::One(one) => vec![one],
        Audience::Many(many) => many,
    })
}

impl Claims {
    /// Whether the token was made by this provider for this client and this attempt, and still counts.
    pub(super) fn is_for(&self, issuer: &str, client: &str, nonce: &str, now: u64) -> bool {
        let party = match (&self.azp, self.aud.len()) {
            (Some(party), _) => party == client,
            (None, many) => many == 1,
        };
        self.iss == issuer
            && self.aud.iter().any(|audience| audience == client)
            && party
            && self.exp.saturating_add(SLACK) > now
            && [self.nbf, self.iat].into_iter().all(|begins| begins <= now.saturating_add(SLACK) as f64)
            && !nonce.is_empty()
            && self.nonce.as_deref() == Some(nonce)
    }

    /// What this person is known by: the subject, and an address that the provider has verified. What looks like an address is
    /// one: a subject that does is known by `sub:` before it, so that nobody becomes another by choosing a name.
    pub(super) fn identities(self) -> Vec<String> {
        let is_address = |text: &str| text.contains('@') && !text.starts_with(SUBJECT);
        let email = self.email.filter(|email| self.email_verified && is_address(email));
        let plain = Some(self.sub.clone()).filter(|sub| !sub.contains('@') && !sub.starts_with(SUBJECT));
        plain.into_iter().chain([format!("{SUBJECT}{}", self.sub)]).chain(email).collect()
    }
}

/// What a token says that one of these keys signed.
pub(super) fn verified(token: &str, keys: &Keys) -> Option<Claims> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
    let signature = decoded(signature)?;
    let fits = |key: &&Key| header.kid.is_none() || header.kid == key.kid;
    let mut keys = keys.keys.iter().filter(fits);
    keys.any(|key| key.has_signed(&header.alg, signed.as_bytes(), &signature).is_some())
        .then(|| serde_json::from_slice(&decoded(claims)?).ok())
        .flatten()
}

impl Key {
    /// The algorithm is the token's word, and must be one that this kind of key has.
    fn has_signed(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> Option<()> {
        match (algorithm, self.kty.as_str()) {
            ("RS256", "RSA") => {
                let key = RsaPublicKeyComponents { n: decoded(&self.n)?, e: decoded(&self.e)? };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).ok()
            }
            ("ES256", "EC") if self.crv == "P-256" => {
                let point: Vec<u8> =
                    std::iter::once(4).chain(decoded(&self.x)?).chain(decoded(&self.y)?).collect();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).ok()
            }
            _ => None,
        }
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::{Value, json};

    use super::*;

    fn pair() -> (EcdsaKeyPair, Keys) {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        let (x, y) = pair.public_key().as_ref().get(1..).unwrap().split_at(32);
        let [x, y] = [x, y].map(|half| URL_SAFE_NO_PAD.encode(half));
        let keys =
            json!({"keys": [{"kty": "oct"}, {"kty": "EC", "crv": "P-256", "kid": "1", "x": x, "y": y}]});
        (pair, serde_json::from_value(keys).unwrap())
    }

    fn signed(pair: &EcdsaKeyPair, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let signature = pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn claims() -> Value {
        json!({
            "iss": "https://id", "sub": "s1", "aud": "charla", "exp": 1000, "nonce": "n",
            "email": "a@x", "email_verified": true,
        })
    }

    #[test]
    fn only_what_the_provider_signed_is_believed() {
        let (pair, keys) = pair();
        let good = signed(&pair, &json!({"alg": "ES256", "kid": "1"}), &claims());
        assert_eq!(verified(&good, &keys).unwrap().identities(), ["s1", "sub:s1", "a@x"]);
        let (stranger, _) = self::pair();
        assert_eq!(
            verified(&signed(&stranger, &json!({"alg": "ES256", "kid": "1"}), &claims()), &keys),
            None
        );
        for header in [json!({"alg": "none"}), json!({"alg": "HS256"}), json!({"alg": "ES256", "kid": "2"})] {
            assert_eq!(verified(&signed(&pair, &header, &claims()), &keys), None, "{header}");
        }
        let mut changed = claims();
        changed["sub"] = "s2".into();
        let parts: Vec<&str> = good.split('.').collect();
        let forged = format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(changed.to_string()), parts[2]);
        assert_eq!(verified(&forged, &keys), None);
        for nonsense in ["", "a.b", "a.b.c", "..", &good.replace('.', "")] {
            assert_eq!(verified(nonsense, &keys), None, "{nonsense}");
        }
    }

    #[test]
    fn a_token_counts_for_its_client_its_attempt_and_its_time() {
        let read = |change: &dyn Fn(&mut Value)| {
            let mut value = claims();
            change(&mut value);
            serde_json::from_value::<Claims>(value).unwrap()
        };
        let fits = |claims: &Claims| claims.is_for("https://id", "charla", "n", 900);
        assert!(fits(&read(&|_| {})));
        assert!(fits(&read(&|it| it["aud"] = json!(["charla"]))));
        assert!(!fits(&read(&|it| it["aud"] = json!(["charla", "other"]))));
        assert!(fits(&read(&|it| {
            it["aud"] = json!(["charla", "other"]);
            it["azp"] = json!("charla");
        })));
        for (name, value) in [
            ("iss", json!("https://evil")),
            ("aud", json!("other")),
            ("azp", json!("other")),
            ("exp", json!(800)),
            ("nonce", json!("m")),
            ("nbf", json!(961)),
            ("iat", json!(4000)),
        ] {
            assert!(!fits(&read(&|it| it[name] = value.clone())), "{name}");
        }
        let unverified = read(&|it| it["email_verified"] = json!(false));
        assert_eq!(unverified.identities(), ["s1", "sub:s1"]);
        assert!(fits(&read(&|it| it["iat"] = json!(899.5))));
    }

    #[test]
    fn a_subject_is_never_taken_for_an_address_nor_an_address_for_a_subject() {
        let of = |sub: &str, email: &str| {
            let mut value = claims();
            value["sub"] = sub.into();
            value["email"] = email.into();
            serde_json::from_value::<Claims>(value).unwrap().identities()
        };
        assert_eq!(of("ben@example.org", "mallory@x"), ["sub:ben@example.org", "mallory@x"]);
        assert_eq!(of("s2", "sub:s1@x"), ["s2", "sub:s2"]);
        assert_eq!(of("s2", "s1"), ["s2", "sub:s2"], "no address");
        assert_eq!(of("sub:s1", "m@x"), ["sub:sub:s1", "m@x"]);
    }
}
