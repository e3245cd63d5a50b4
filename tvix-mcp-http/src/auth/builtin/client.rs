//! Clients: from the configuration, from a metadata document, or registered by themselves.

use std::collections::HashMap;

use axum::http::{HeaderMap, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use url::form_urlencoded;

use super::{RedirectUri, Server, answer::OAuthError};
use crate::auth::{
    cimd::{self, Documents},
    params::Params,
    secret::Hash,
    settings::Options,
    store::{Failure, Registered},
};

/// How a client is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// By the owner of the server.
    Configured,
    /// By a document at an address of its own; the host is proven.
    Document { host: String },
    /// By itself: nothing about it is proven.
    Registered,
}

/// A client.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) redirect_uris: Vec<RedirectUri>,
    secret: Option<Hash>,
}

impl Client {
    /// Whether it may be sent to `asked`.
    pub(super) fn allows(&self, asked: &RedirectUri) -> bool {
        self.redirect_uris.iter().any(|registered| registered.allows(asked))
    }
}

/// Why a client is not known.
#[derive(Debug)]
pub(super) enum Unknown {
    /// There is none of that id.
    Missing,
    /// Its document cannot be read or is not good; a sentence.
    Document(String),
    /// The store failed.
    Failed(Failure),
}

/// Where clients are looked up.
#[derive(Debug)]
pub(super) struct Clients {
    configured: HashMap<String, Client>,
    documents: Option<Documents>,
}

impl Clients {
    pub(super) fn new(options: &Options, documents: Option<Documents>) -> Self {
        let known = options.clients.iter().map(|known| {
            let redirect_uris =
                known.redirect_uris.iter().filter_map(|uri| RedirectUri::parse(uri).ok()).collect();
            let client = Client {
                id: known.id.clone(),
                name: known.name.clone(),
                origin: Origin::Configured,
                redirect_uris,
                secret: known.secret_sha256.as_deref().and_then(Hash::from_hex),
            };
            (known.id.clone(), client)
        });
        Self { configured: known.collect(), documents }
    }

    /// Whether an address may be a client's id.
    pub(super) fn reads_documents(&self) -> bool {
        self.documents.is_some()
    }

    /// The client with that id.
    pub(super) async fn find(&self, server: &Server, id: &str) -> Result<Client, Unknown> {
        if let Some(client) = self.configured.get(id) {
            return Ok(client.clone());
        }
        if !cimd::is_address(id) {
            let row =
                server.store.get::<Registered>(id.as_bytes()).await.map_err(Unknown::Failed)?;
            return row.map(|row| registered(id, row)).ok_or(Unknown::Missing);
        }
        let Some(documents) = &self.documents else {
            return Err(Unknown::Document("this server reads no metadata documents".to_owned()));
        };
        let document = documents.get(id, server.now()).await.map_err(Unknown::Document)?;
        Ok(Client {
            id: id.to_owned(),
            name: document.name,
            origin: Origin::Document { host: document.host },
            redirect_uris: document.redirect_uris,
            secret: None,
        })
    }
}

fn registered(id: &str, row: Registered) -> Client {
    let uris = row.redirect_uris.iter().filter_map(|uri| RedirectUri::parse(uri).ok());
    Client {
        id: id.to_owned(),
        name: row.name,
        origin: Origin::Registered,
        redirect_uris: uris.collect(),
        secret: row.secret,
    }
}

/// Finds out which client calls the token endpoint (RFC 6749 2.3): by `client_id` alone, or with its
/// secret in the form or in the `Authorization` header.
pub(super) async fn authenticate(
    server: &Server,
    headers: &HeaderMap,
    form: &Params,
) -> Result<String, OAuthError> {
    let refused = |reason: &str| OAuthError::new("invalid_client", reason);
    let basic = basic(headers).map_err(refused)?;
    let (id, secret) = match &basic {
        Some((id, secret)) => (id.as_str(), Some(secret.as_str())),
        None => (form.get("client_id").unwrap_or_default(), form.get("client_secret")),
    };
    if id.is_empty() {
        return Err(refused("client_id: missing; send the id of your client"));
    }
    if form.get("client_id").is_some_and(|other| other != id) {
        return Err(refused("client_id: differs from the one in the Authorization header"));
    }
    // A client with a document has no secret: codes and tokens are bound to its id, and fetching the
    // document again would make every refresh depend on somebody else's web site.
    if cimd::is_address(id) {
        return Ok(id.to_owned());
    }
    let client = match server.clients.find(server, id).await {
        Ok(client) => client,
        Err(Unknown::Failed(failure)) => return Err(failure.into()),
        Err(_) => return Err(refused("client_id: unknown; register again")),
    };
    check_secret(&client, secret).map_err(refused)?;
    Ok(client.id)
}

fn check_secret(client: &Client, sent: Option<&str>) -> Result<(), &'static str> {
    let Some(expected) = &client.secret else { return Ok(()) };
    let sent = Hash::of(&[sent.unwrap_or_default().as_bytes()]);
    sent.equals(expected).then_some(()).ok_or("client_secret: missing or wrong")
}

/// Id and secret of `Authorization: Basic`, each encoded as a form value (RFC 6749 2.3.1).
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, &'static str> {
    let Some(line) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let wrong = "Authorization: send Basic with id and secret, or leave it out";
    let line = line.to_str().map_err(|_| wrong)?;
    let (scheme, value) = line.split_once(' ').ok_or(wrong)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(wrong);
    }
    let pair = STANDARD.decode(value.trim()).ok().and_then(|pair| String::from_utf8(pair).ok());
    let (id, secret) = pair.as_deref().and_then(|pair| pair.split_once(':')).ok_or(wrong)?;
    Ok(Some((decode(id), decode(secret))))
}

fn decode(text: &str) -> String {
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    pairs.next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}
