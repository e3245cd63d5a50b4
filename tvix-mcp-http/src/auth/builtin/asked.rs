//! What a client asks at the authorization endpoint, checked (RFC 6749 4.1.1, RFC 7636, RFC 8707).

use std::collections::BTreeSet;

use axum::{http::StatusCode, response::Response};

use super::{
    RedirectUri, Server, answer,
    client::{Client, Unknown},
};
use crate::auth::{
    Scope, pages,
    params::{Params, with_params},
};

/// The longest query, in bytes.
const LONGEST: usize = 8 << 10;

/// A request that may be put to the user.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) redirect: RedirectUri,
    pub(super) state: Option<String>,
    pub(super) challenge: String,
    pub(super) scopes: BTreeSet<Scope>,
}

/// Why a request is refused, and who is told.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Client or redirect is not known to be good: a page for the person, and nothing is sent anywhere.
    Page { title: &'static str, text: String },
    /// The client is told.
    Client { to: Box<Back>, error: &'static str, description: &'static str },
    /// Nothing can be said now.
    Failed(answer::PageError),
}

/// Where an answer goes.
#[derive(Debug, Clone)]
pub(super) struct Back {
    redirect: RedirectUri,
    state: Option<String>,
}

impl Back {
    /// The address with an answer: its parameters, then `state` as it came and `iss` (RFC 9207), so that a
    /// client that talks to several servers knows who answered.
    fn address(&self, server: &Server, params: &[(&str, &str)]) -> String {
        let mut params = params.to_vec();
        if let Some(state) = &self.state {
            params.push(("state", state));
        }
        params.push(("iss", server.settings.public_url.as_str()));
        with_params(self.redirect.as_str(), &params)
    }

    /// Sends an authorization code.
    pub(super) fn code(&self, server: &Server, code: &str) -> Response {
        answer::see_other(&self.address(server, &[("code", code)]))
    }

    /// Sends an error.
    pub(super) fn error(&self, server: &Server, error: &str, description: &str) -> Response {
        let params = [("error", error), ("error_description", description)];
        answer::see_other(&self.address(server, &params))
    }
}

impl Refusal {
    pub(super) fn into_response(self, server: &Server) -> Response {
        use axum::response::IntoResponse as _;
        match self {
            Self::Page { title, text } => {
                tracing::info!(reason = %text, "an authorization request was refused");
                answer::page(StatusCode::BAD_REQUEST, pages::problem(title, &text))
            }
            Self::Client { to, error, description } => {
                tracing::info!(error, reason = description, "an authorization request was refused");
                to.error(server, error, description)
            }
            Self::Failed(error) => error.into_response(),
        }
    }
}

/// Parameters that must not come twice; `resource` may.
const SINGLE: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "response_mode",
];

impl Asked {
    /// Reads and checks a query.
    pub(super) async fn read(server: &Server, query: &str) -> Result<Self, Refusal> {
        if query.len() > LONGEST {
            return Err(page("Request too long", "The app sent more than 8 KiB.".to_owned()));
        }
        let params = Params::parse(query);
        let client = client(server, &params).await?;
        let redirect = redirect(&client, &params)?;
        let state = params.get("state").map(str::to_owned);
        let to = Back { redirect: redirect.clone(), state: state.clone() };
        let told = |(error, description)| Refusal::Client { to: Box::new(to), error, description };
        let challenge = check(server, &params).map_err(told)?;
        Ok(Self { client, redirect, state, challenge, scopes: scopes(server, &params) })
    }

    /// Where the answer goes.
    pub(super) fn back(&self) -> Back {
        Back { redirect: self.redirect.clone(), state: self.state.clone() }
    }
}

fn page(title: &'static str, text: String) -> Refusal {
    Refusal::Page { title, text }
}

async fn client(server: &Server, params: &Params) -> Result<Client, Refusal> {
    if params.repeated(&["client_id", "redirect_uri"]).is_some() {
        let text = "The app sent client_id or redirect_uri twice.";
        return Err(page("Unclear request", text.to_owned()));
    }
    let Some(id) = params.get("client_id") else {
        let text = "The app did not say which it is: client_id is missing.";
        return Err(page("Unknown app", text.to_owned()));
    };
    server.clients.find(server, id).await.map_err(|unknown| match unknown {
        Unknown::Missing => page(
            "Unknown app",
            "This server does not know the app (client_id). Remove the connection in the app and add it \
             again, so that it registers anew."
                .to_owned(),
        ),
        Unknown::Document(reason) => {
            page("Unknown app", format!("The app's metadata document cannot be used: {reason}."))
        }
        Unknown::Failed(failure) => Refusal::Failed(failure.into()),
    })
}

fn redirect(client: &Client, params: &Params) -> Result<RedirectUri, Refusal> {
    let title = "Bad redirect address";
    let Some(text) = params.get("redirect_uri") else {
        return match client.redirect_uris.as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(page(
                title,
                "The app did not say where to go back to: redirect_uri is missing.".into(),
            )),
        };
    };
    let asked = RedirectUri::parse(text)
        .map_err(|reason| page(title, format!("redirect_uri: {reason}.")))?;
    if !client.allows(&asked) {
        let text = "The app wants to send you to an address (redirect_uri) that it did not register. That \
                    may be an attempt to steal your login, so nothing was sent there.";
        return Err(page(title, text.to_owned()));
    }
    Ok(asked)
}

type Told = (&'static str, &'static str);

/// Checks what the client is told about, and gives the challenge.
fn check(server: &Server, params: &Params) -> Result<String, Told> {
    if params.repeated(&SINGLE).is_some() {
        return Err(("invalid_request", "a parameter came twice"));
    }
    match params.get("response_type") {
        Some("code") => {}
        None => return Err(("invalid_request", "response_type: missing; send code")),
        Some(_) => return Err(("unsupported_response_type", "response_type: send code")),
    }
    if params.get("response_mode").is_some_and(|mode| mode != "query") {
        return Err(("invalid_request", "response_mode: send query or leave it out"));
    }
    if !params.all("resource").all(|resource| server.is_resource(resource)) {
        return Err((
            "invalid_target",
            "resource: this server issues tokens for its own MCP address only",
        ));
    }
    challenge(params)
}

fn challenge(params: &Params) -> Result<String, Told> {
    let challenge = params.get("code_challenge");
    let challenge =
        challenge.ok_or(("invalid_request", "code_challenge: missing; PKCE is required"))?;
    if params.get("code_challenge_method") != Some("S256") {
        return Err(("invalid_request", "code_challenge_method: send S256"));
    }
    let fits = challenge.len() == 43
        && challenge
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    fits.then(|| challenge.to_owned())
        .ok_or(("invalid_request", "code_challenge: send 43 characters of base64url"))
}

/// The scopes asked for that exist here; all if none is left, since clients ask by their own lists.
fn scopes(server: &Server, params: &Params) -> BTreeSet<Scope> {
    let on = &server.settings.scopes;
    let asked = params.get("scope").unwrap_or_default().split(' ').filter_map(Scope::parse);
    let asked: BTreeSet<_> = asked.filter(|scope| on.contains(scope)).collect();
    if asked.is_empty() { on.iter().copied().collect() } else { asked }
}
