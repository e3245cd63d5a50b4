//! The keys of an issuer.

use std::time::{Duration, Instant};

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{Jwk, JwkSet, PublicKeyUse},
};
use tokio::sync::Mutex;

use super::{super::Denied, fetch};

/// How long after a look at the keys an unknown one is looked for again: otherwise everyone who invents a
/// key could have us ask the issuer.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// The keys of one issuer, kept until a token names another.
#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    state: Mutex<Option<Found>>,
}

#[derive(Debug)]
struct Found {
    address: String,
    set: JwkSet,
    looked: Instant,
}

impl Keys {
    pub(super) fn new(issuer: String) -> Self {
        Self { issuer, state: Mutex::new(None) }
    }

    /// Reads the issuer's metadata and keys.
    pub(super) async fn discover(&self) -> Result<(), String> {
        let issuer = self.issuer.clone();
        let (address, set) = fetch::in_background(move || fetch::issuer(&issuer)).await?;
        *self.state.lock().await = Some(Found { address, set, looked: Instant::now() });
        Ok(())
    }

    /// The key `kid`, for signatures of `algorithm`; without a name the only one that there is.
    pub(super) async fn find(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, Denied> {
        let mut state = self.state.lock().await;
        let Some(found) = state.as_mut() else {
            return Err(Denied::Unavailable("the issuer was not found yet".to_owned()));
        };
        if let Some(key) = usable(&found.set, kid, algorithm) {
            return Ok(key);
        }
        if found.looked.elapsed() >= LOOK_AGAIN {
            found.looked = Instant::now();
            let address = found.address.clone();
            match fetch::in_background(move || fetch::keys(&address)).await {
                Ok(set) => found.set = set,
                Err(reason) => tracing::warn!(%reason, "the keys of the issuer cannot be read"),
            }
        }
        let key = usable(&found.set, kid, algorithm);
        key.ok_or(Denied::BadToken("the token is signed with a key that the issuer does not have"))
    }
}

fn usable(set: &JwkSet, kid: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
    let key = match kid {
        Some(kid) => set.find(kid)?,
        None => Some(&set.keys).filter(|keys| keys.len() == 1)?.first()?,
    };
    let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    (signs && is_for(key, algorithm)).then(|| DecodingKey::from_jwk(key).ok()).flatten()
}

/// A key that names an algorithm is for no other (RFC 7517 section 4.4).
fn is_for(key: &Jwk, algorithm: Algorithm) -> bool {
    let named = key.common.key_algorithm.map(|named| named.to_string());
    named.is_none_or(|named| named == format!("{algorithm:?}"))
}
