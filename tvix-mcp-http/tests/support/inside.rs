//! A server in the test's own process, for callers that the test makes up.

use std::{
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
};

use async_trait::async_trait;
use axum::{
    Router,
    http::{HeaderMap, header},
};
use tokio::sync::oneshot;
use tvix_mcp_http::{
    Args, Config,
    auth::{Authenticator, Denied, Identity, Scope},
};
use uuid::Uuid;

/// Believes every token of the form that [`bearer`] makes.
#[derive(Debug)]
pub struct TestAuth;

/// The header that makes a request one of the user with this number, in this client, with these scopes.
pub fn bearer(user: u128, client: &str, scopes: &str) -> String {
    format!("Bearer {user}/{client}/{scopes}")
}

fn identity(token: &str) -> Option<Identity> {
    let mut parts = token.split('/');
    let user = Uuid::from_u128(parts.next()?.parse().ok()?);
    let client = Some(parts.next()?.to_owned()).filter(|name| !name.is_empty());
    let scopes = parts.next()?.split(' ').filter_map(Scope::parse).collect();
    Some(Identity { user, scopes, client, session: user })
}

#[async_trait]
impl Authenticator for TestAuth {
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Denied> {
        let token = headers.get(header::AUTHORIZATION).ok_or(Denied::NoToken)?;
        let token = token.to_str().ok().and_then(|token| token.strip_prefix("Bearer "));
        token.and_then(identity).ok_or(Denied::BadToken("the token is not known"))
    }

    fn router(&self) -> Router {
        Router::new()
    }

    fn resource_metadata(&self) -> Option<&str> {
        Some("http://localhost/.well-known/oauth-protected-resource/mcp")
    }
}

/// A running server.
pub struct Inside {
    pub address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Inside {
    /// Starts a server in `folder` with the flags `flags`.
    pub fn start(folder: &Path, flags: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let data = folder.to_str().expect("a plain path");
        let args = ["tvix-mcp-http", "--data", data].into_iter().chain(flags.iter().copied());
        let config: Config =
            <Args as clap::Parser>::parse_from(args).config().expect("good settings");
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            let end = async { drop(ended.await) };
            let served = tvix_mcp_http::serve(config, Arc::new(TestAuth), listener, end);
            runtime.expect("a runtime").block_on(served).expect("served");
        });
        Self { address, end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}
