//! Callers known by tokens of an external issuer: `OpenID` Connect or any server of RFC 8414 that issues
//! JWTs (RFC 9068).
//!
//! The issuer's metadata is read at the start, its keys when a token names one that is not known. A token
//! is good for what its scopes say; whose store it opens follows from issuer and subject.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    Json, Router,
    http::{HeaderMap, header},
    routing::get,
};
use serde_json::{Value, json};
use tower_http::cors::CorsLayer;

use tvix_core::tools::Toolset;

use super::{Authenticator, Denied, Identity, Scope};
use crate::{scopes, settings};

mod claims;
mod fetch;
mod keys;

use claims::Rules;
use keys::Keys;

/// Where clients read which issuer to ask (RFC 9728 section 3.1), for the endpoint and for its origin.
const DOCUMENTS: [&str; 2] =
    ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"];
/// How long to wait before the issuer is asked again: from the first to the longest.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(1)];

/// Callers known by tokens of an issuer.
pub(crate) struct Oidc {
    rules: Rules,
    keys: Keys,
    metadata_url: String,
    document: Value,
    found: AtomicBool,
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oidc").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Oidc {
    /// Callers of the server at `origin`, with the scopes of `toolsets`. Begins to ask the issuer, in a task
    /// of its own; until it answers, nobody is let in.
    pub(crate) fn start(
        settings: &settings::Oidc,
        origin: &str,
        toolsets: &[Toolset],
    ) -> Arc<Self> {
        let resource = format!("{origin}/mcp");
        let issuer = settings.issuer.as_ref().map_or("", |issuer| &issuer.0);
        let keys = Keys::new(issuer.to_owned());
        let rules = Rules::new(settings, &resource);
        let offered = scopes::offered(toolsets);
        let scopes: Vec<&str> = offered.iter().map(|scope| rules.name_of(*scope)).collect();
        let document = json!({
            "resource": resource,
            "authorization_servers": [issuer],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Tvix",
        });
        let metadata_url = format!("{origin}{}", DOCUMENTS[0]);
        let oidc =
            Arc::new(Self { rules, keys, metadata_url, document, found: AtomicBool::new(false) });
        tokio::spawn(discover(Arc::clone(&oidc)));
        oidc
    }
}

async fn discover(oidc: Arc<Oidc>) {
    let [mut pause, longest] = PAUSES;
    while let Err(reason) = oidc.keys.discover().await {
        tracing::warn!(%reason, seconds = pause.as_secs(), "the issuer cannot be asked yet; trying again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
    oidc.found.store(true, Ordering::Relaxed);
    tracing::info!("the issuer was found");
}

#[async_trait]
impl Authenticator for Oidc {
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Denied> {
        let value = headers.get(header::AUTHORIZATION).ok_or(Denied::NoToken)?;
        let (scheme, token) =
            value.to_str().ok().and_then(|value| value.split_once(' ')).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Denied::BadToken("send the token as Authorization: Bearer"));
        }
        let token = token.trim();
        let head = Rules::head(token)?;
        let key = self.keys.find(head.kid.as_deref(), head.alg).await?;
        self.rules.check(token, head.alg, &key)
    }

    fn router(&self) -> Router {
        let answer = |document: Value| move || std::future::ready(Json(document));
        let routes = DOCUMENTS.iter().fold(Router::new(), |router, path| {
            router.route(path, get(answer(self.document.clone())))
        });
        routes.layer(CorsLayer::new().allow_origin(tower_http::cors::Any))
    }

    fn resource_metadata(&self) -> Option<&str> {
        Some(&self.metadata_url)
    }

    fn is_ready(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    fn scope_name(&self, scope: Scope) -> &str {
        self.rules.name_of(scope)
    }
}
