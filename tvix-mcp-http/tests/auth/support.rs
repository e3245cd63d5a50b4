//! A server without a network: the router of the authenticator beside a resource that asks for a token.

use std::{collections::HashMap, io::Cursor, net::IpAddr, sync::Arc};

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Extension, Request},
    http::{HeaderMap, HeaderName, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tower::ServiceExt as _;
use tvix_mcp_http::ClientAddress;
use tvix_mcp_http::auth::{
    Authenticator, Builtin, Clock, Console, Denied, Identity, Options, PublicUrl, Settings, Store,
    UserCommand,
};
use url::form_urlencoded;

pub(crate) const ISSUER: &str = "https://tvix.example.com";
pub(crate) const RESOURCE: &str = "https://tvix.example.com/mcp";
pub(crate) const CALLBACK: &str = "http://127.0.0.1:43117/callback";
pub(crate) const NAME: &str = "ana";
pub(crate) const PASSWORD: &str = "correct horse battery";
pub(crate) const VERIFIER: &str = "a-verifier-of-more-than-forty-three-characters-0123456789";

/// A server on a folder of its own, with a clock that stands still.
pub(crate) struct Server {
    pub(crate) auth: Builtin,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) folder: Arc<TempDir>,
    router: Router,
}

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    pub(crate) fn header(&self, name: impl Into<String>) -> &str {
        let name: HeaderName = name.into().parse().unwrap();
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub(crate) fn location(&self) -> &str {
        self.header("location")
    }

    /// The parameters that a redirect carries.
    pub(crate) fn params(&self) -> HashMap<String, String> {
        let query = self.location().split_once('?').map(|(_, query)| query).unwrap_or_default();
        form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }

    /// The value of a hidden field, unescaped.
    pub(crate) fn hidden(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let after =
            self.body.split(&start).nth(1).unwrap_or_else(|| panic!("no {name}: {}", self.body));
        after.split('"').next().unwrap().replace("&amp;", "&")
    }

    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

impl Server {
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    /// A server with these options and the user `ana`.
    pub(crate) async fn with(options: Options) -> Self {
        let server = Self::empty(ISSUER, options);
        server.add_user(NAME).await;
        server
    }

    /// A server without users.
    pub(crate) fn empty(issuer: &str, options: Options) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::on(folder, Clock::at(1_800_000_000), issuer, options)
    }

    /// Another server on the folder of `other`.
    pub(crate) fn beside(other: &Self, issuer: &str) -> Self {
        Self::on(Arc::clone(&other.folder), other.clock.clone(), issuer, Options::default())
    }

    fn on(folder: Arc<TempDir>, clock: Clock, issuer: &str, options: Options) -> Self {
        let store = Store::open(folder.path()).unwrap();
        let mut settings = Settings::new(PublicUrl::parse(issuer).unwrap());
        (settings.options, settings.clock) = (options, clock.clone());
        let auth = Builtin::new(settings, store.clone()).unwrap();
        let router = auth.router().merge(resource(Arc::new(auth.clone())));
        Self { auth, clock, store, folder, router }
    }

    pub(crate) async fn add_user(&self, name: &str) {
        let add = UserCommand::Add { name: name.to_owned(), password_stdin: true };
        self.run(add, PASSWORD).await.unwrap();
    }

    /// Runs a command with a line of input, and gives what it printed.
    pub(crate) async fn run(&self, command: UserCommand, line: &str) -> Result<String, String> {
        let mut input = Cursor::new(format!("{line}\n"));
        let mut output = Vec::new();
        let mut console = Console {
            store: self.store.clone(),
            clock: self.clock.clone(),
            input: &mut input,
            output: &mut output,
        };
        command.run(&mut console).await.map_err(|error| error.to_string())?;
        Ok(String::from_utf8(output).unwrap())
    }

    pub(crate) async fn send(&self, request: Request) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        Reply { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Sends a form without cookies, as clients do.
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        self.send(form_request(path, form, &[])).await
    }

    pub(crate) async fn register(&self, metadata: Value) -> Reply {
        let request = Request::post("/register").header(header::CONTENT_TYPE, "application/json");
        self.send(request.body(Body::from(metadata.to_string())).unwrap()).await
    }

    /// The id of a new public client with the redirect URI [`CALLBACK`].
    pub(crate) async fn client(&self) -> String {
        let reply = self
            .register(json!({"client_name": "An <b>app</b>", "redirect_uris": [CALLBACK]}))
            .await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.body);
        reply.json()["client_id"].as_str().unwrap().to_owned()
    }

    /// Logs `ana` in, lets her allow the client, and gives the code.
    pub(crate) async fn code(&self, client: &str) -> String {
        let mut browser = Browser::logged_in(self, NAME).await;
        let reply = browser.allow(&authorize(client, &[])).await;
        reply
            .params()
            .remove("code")
            .unwrap_or_else(|| panic!("no code: {} {}", reply.location(), reply.body))
    }

    pub(crate) async fn exchange(&self, client: &str, code: &str, verifier: &str) -> Reply {
        self.post(
            "/token",
            &[
                ("grant_type", "authorization_code"),
                ("client_id", client),
                ("code", code),
                ("redirect_uri", CALLBACK),
                ("code_verifier", verifier),
                ("resource", RESOURCE),
            ],
        )
        .await
    }

    /// Access and refresh token of a new login.
    pub(crate) async fn tokens(&self, client: &str) -> (String, String) {
        let code = self.code(client).await;
        pair(&self.exchange(client, &code, VERIFIER).await)
    }

    pub(crate) async fn refresh(&self, client: &str, token: &str) -> Reply {
        let form =
            [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)];
        self.post("/token", &form).await
    }

    /// The status that the resource answers to a token.
    pub(crate) async fn call(&self, token: &str) -> StatusCode {
        self.call_reply(token).await.status
    }

    pub(crate) async fn call_reply(&self, token: &str) -> Reply {
        let request =
            Request::post("/mcp").header(header::AUTHORIZATION, format!("Bearer {token}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }
}

/// Access and refresh token of an answer of the token endpoint.
pub(crate) fn pair(reply: &Reply) -> (String, String) {
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    let body = reply.json();
    let text = |key: &str| body[key].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// A good authorization request, with some parameters changed; an empty one is left out.
pub(crate) fn authorize(client: &str, changed: &[(&str, &str)]) -> String {
    let challenge = challenge(VERIFIER);
    let mut params = vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("state", "a state & more"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", RESOURCE),
    ];
    params.retain(|(key, _)| !changed.iter().any(|(other, _)| other == key));
    params.extend(changed.iter().filter(|(_, value)| !value.is_empty()));
    format!(
        "/authorize?{}",
        form_urlencoded::Serializer::new(String::new()).extend_pairs(params).finish()
    )
}

pub(crate) fn form_request(path: &str, form: &[(&str, &str)], headers: &[(&str, &str)]) -> Request {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let mut request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .extension(ClientAddress(IpAddr::from([192, 0, 2, 7])));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body)).unwrap()
}

/// A browser: it keeps its cookie.
pub(crate) struct Browser<'a> {
    server: &'a Server,
    pub(crate) cookie: Option<String>,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        Self { server, cookie: None }
    }

    pub(crate) async fn logged_in(server: &'a Server, name: &str) -> Self {
        let mut browser = Self::new(server);
        let reply = browser.log_in(name, PASSWORD).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
        browser
    }

    pub(crate) async fn log_in(&mut self, name: &str, password: &str) -> Reply {
        let csrf = self.get("/login").await.hidden("csrf");
        self.post("/login", &[("csrf", &csrf), ("name", name), ("password", password)]).await
    }

    /// Opens the consent page and presses Allow.
    pub(crate) async fn allow(&mut self, address: &str) -> Reply {
        self.decide(address, "allow").await
    }

    pub(crate) async fn decide(&mut self, address: &str, decision: &str) -> Reply {
        let page = self.get(address).await;
        let (csrf, request) = (page.hidden("csrf"), page.hidden("request"));
        self.post("/authorize", &[("csrf", &csrf), ("request", &request), ("decision", decision)])
            .await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        let mut request = Request::builder().method(Method::GET).uri(path);
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        let reply = self.server.send(request.body(Body::empty()).unwrap()).await;
        self.keep(reply)
    }

    pub(crate) async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Reply {
        let cookie = self.cookie.clone().unwrap_or_default();
        let reply = self.server.send(form_request(path, form, &[("cookie", &cookie)])).await;
        self.keep(reply)
    }

    fn keep(&mut self, reply: Reply) -> Reply {
        let set = reply.header("set-cookie").split(';').next().unwrap_or_default();
        if !set.is_empty() {
            self.cookie = Some(set.to_owned());
        }
        reply
    }
}

/// A resource in place of the MCP endpoint: it tells who calls, or challenges.
pub(crate) fn resource(auth: Arc<dyn Authenticator>) -> Router {
    Router::new().route("/mcp", any(answer)).layer(Extension(auth))
}

async fn answer(
    Extension(auth): Extension<Arc<dyn Authenticator>>,
    headers: HeaderMap,
) -> Response {
    match auth.authenticate(&headers).await {
        Ok(identity) => Json(described(&identity)).into_response(),
        Err(denied) => challenge_response(auth.as_ref(), &denied),
    }
}

fn described(identity: &Identity) -> Value {
    let scopes: Vec<_> = identity.scopes.iter().map(|scope| scope.as_str()).collect();
    json!({
        "jsonrpc": "2.0", "id": 1,
        "result": {"user": identity.user, "client": identity.client, "scopes": scopes},
    })
}

fn challenge_response(auth: &dyn Authenticator, denied: &Denied) -> Response {
    let metadata = auth.resource_metadata().unwrap_or_default();
    let error = match denied {
        Denied::NoToken => String::new(),
        Denied::BadToken(reason) => {
            format!(", error=\"invalid_token\", error_description=\"{reason}\"")
        }
        Denied::Unavailable(_) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
    };
    let challenge = format!("Bearer resource_metadata=\"{metadata}\"{error}");
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)], Json(json!({})))
        .into_response()
}
