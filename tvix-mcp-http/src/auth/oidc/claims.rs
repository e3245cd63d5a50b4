//! What a token must say.

use std::collections::{BTreeMap, BTreeSet};

use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tvix_core::types::Source;
use uuid::Uuid;

use super::super::{Denied, Identity, Scope};
use crate::{settings, values::ScopeName};

/// Signatures that are believed. Never one with a shared secret: whoever knows the public key could make
/// it.
const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];
/// How far clocks may differ, in seconds.
const LEEWAY: u64 = 60;
/// What the header may call a token. Others, such as logout tokens, are not for this.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];

/// The rules for tokens of one issuer.
#[derive(Debug)]
pub(super) struct Rules {
    issuer: String,
    audience: String,
    subject_claim: String,
    subjects: Vec<String>,
    auto_provision: bool,
    /// What the issuer calls our scopes, where it has other names.
    scopes: BTreeMap<ScopeName, String>,
}

impl Rules {
    pub(super) fn new(settings: &settings::Oidc, resource: &str) -> Self {
        let set = settings.clone();
        Self {
            issuer: set.issuer.map(|issuer| issuer.0).unwrap_or_default(),
            audience: set.audience.unwrap_or_else(|| resource.to_owned()),
            subject_claim: set.subject_claim.unwrap_or_else(|| "sub".to_owned()),
            subjects: set.subjects.unwrap_or_default(),
            auto_provision: set.auto_provision.unwrap_or_default(),
            scopes: set.scopes.unwrap_or_default(),
        }
    }

    /// What the issuer calls `scope`.
    pub(super) fn name_of(&self, scope: Scope) -> &str {
        self.scopes.get(&ScopeName(scope)).map_or(scope.as_str(), String::as_str)
    }

    /// The header of a token: what it says of itself, to be believed only as far as it fits our lists.
    pub(super) fn head(token: &str) -> Result<Header, Denied> {
        let head = decode_header(token).map_err(|_| Denied::BadToken("the token is not a JWT"))?;
        if !ALGORITHMS.contains(&head.alg) {
            return Err(Denied::BadToken(
                "the token is signed with an algorithm that is not accepted",
            ));
        }
        let kind = head.typ.as_deref().unwrap_or_default();
        if !TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
            return Err(Denied::BadToken("the token is not an access token"));
        }
        Ok(head)
    }

    /// Who shows `token`, which must be signed by `key`.
    pub(super) fn check(
        &self,
        token: &str,
        algorithm: Algorithm,
        key: &DecodingKey,
    ) -> Result<Identity, Denied> {
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let checked = decode::<Map<String, Value>>(token, key, &validation);
        let claims = checked.map_err(|error| Denied::BadToken(reason(&error)))?.claims;
        // `OpenID` Connect Core section 2: only an ID token carries it, and that is for the client.
        if claims.contains_key("nonce") {
            return Err(Denied::BadToken("the token is an ID token; send the access token"));
        }
        let scopes = self.scopes(&claims)?;
        let subject = claims.get(&self.subject_claim).and_then(Value::as_str);
        let subject = subject.ok_or(Denied::BadToken("the token does not say whose it is"))?;
        if !self.auto_provision && !self.subjects.iter().any(|known| known == subject) {
            tracing::info!(subject, "a subject that is not in auth.oidc.subjects");
            return Err(Denied::BadToken("the user is not admitted to this server"));
        }
        let client = ["client_id", "azp"].iter().find_map(|claim| claims.get(*claim)?.as_str());
        let client = client.unwrap_or_default();
        Ok(Identity {
            user: identifier(&[&self.issuer, subject]),
            scopes,
            client: client_name(client),
            session: identifier(&[&self.issuer, subject, client]),
        })
    }

    /// What the token allows, by any of the claims that issuers use.
    fn scopes(&self, claims: &Map<String, Value>) -> Result<BTreeSet<Scope>, Denied> {
        let listed = ["scope", "scp", "roles"].iter().find_map(|claim| claims.get(*claim));
        let listed = listed.ok_or(Denied::BadToken("the token names no scope"))?;
        let names: Vec<&str> = match listed {
            Value::String(list) => list.split(' ').collect(),
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        Ok(Scope::ALL.into_iter().filter(|scope| names.contains(&self.name_of(*scope))).collect())
    }
}

fn reason(error: &jsonwebtoken::errors::Error) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    match error.kind() {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidIssuer => "the token is of another issuer",
        ErrorKind::InvalidAudience => "the token is meant for another server",
        ErrorKind::InvalidSignature => "the token's signature is wrong",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks exp, iss or aud",
        _ => "the token cannot be read",
    }
}

/// A UUID that is the same for the same texts, and for no others.
fn identifier(texts: &[&str]) -> Uuid {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// The name of a client, as far as its identifier tells: one that is an address (CIMD) names a program or
/// at least a host; of others only those that we know are names.
fn client_name(id: &str) -> Option<String> {
    let known = |name: &str| Source::known_client(name).map(|source| source.as_str().to_owned());
    let Some(address) = id.strip_prefix("https://") else { return known(id) };
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    path.rsplit('/').find_map(known).or_else(|| known(host)).or_else(|| Some(host.to_owned()))
}
