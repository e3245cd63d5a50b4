//! Tokens of an external issuer, which is a part of this test.
#![cfg(feature = "oidc")]
#![allow(clippy::panic, reason = "what fails shows what came")]

mod support;

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp, jwk::Jwk};
use serde_json::{Value, json};
use support::{Answer, Connection, Process, rpc, tool};

const ALL: &str = "memory:read memory:write wiki:read wiki:write";
/// What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410 section 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// A key that is as secret as this file.
fn key(seed: u8) -> EncodingKey {
    EncodingKey::from_ed_der(&[PKCS8.as_slice(), &[seed; 32]].concat())
}

/// An issuer with one key, `one`.
struct Issuer {
    address: SocketAddr,
    /// How often its keys were asked for.
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mut reader, mut path) = (BufReader::new(stream), String::new());
                reader.read_line(&mut path).expect("a request");
                while reader.read_line(&mut String::new()).expect("headers") > 2 {}
                let body = document(address, &path, &counted).to_string();
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json";
                let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                // Whoever asked may have gone.
                let _ = reader.get_mut().write_all(answer.as_bytes());
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn document(address: SocketAddr, path: &str, asked: &AtomicUsize) -> Value {
    if !path.contains("/keys") {
        let issuer = format!("http://{address}");
        return json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")});
    }
    asked.fetch_add(1, Ordering::Relaxed);
    let mut public = Jwk::from_encoding_key(&key(1), Algorithm::EdDSA).expect("a key");
    public.common.key_id = Some("one".to_owned());
    json!({"keys": [public]})
}

/// A server that lets `alice` in, and her in any case.
fn server(issuer: &Issuer) -> (tempfile::TempDir, Process) {
    let folder = tempfile::tempdir().expect("folder");
    let url = issuer.url();
    let flags = ["--auth-mode", "oidc", "--oidc-issuer", &url, "--oidc-subjects", "alice,carol"];
    let flags = [&flags[..], &["--oidc-audience", "tvix", "--listen", "127.0.0.1:0"]].concat();
    let server = Process::start_with(folder.path(), &flags);
    while Connection::open(server.address).get("/readyz").status == 503 {
        std::thread::yield_now();
    }
    (folder, server)
}

fn claims(issuer: &Issuer) -> Value {
    json!({
        "iss": issuer.url(), "aud": ["tvix", "other"], "sub": "alice", "scope": ALL,
        "exp": get_current_timestamp() + 600, "client_id": "https://claude.ai/oauth/claude-code-client-metadata",
    })
}

fn header() -> Header {
    let mut header = Header::new(Algorithm::EdDSA);
    header.typ = Some("at+jwt".to_owned());
    header.kid = Some("one".to_owned());
    header
}

fn sign(header: &Header, claims: &Value) -> String {
    encode(header, claims, &key(1)).expect("a token")
}

fn good(issuer: &Issuer) -> String {
    sign(&header(), &claims(issuer))
}

fn post(server: &Process, token: &str) -> Answer {
    send(server, token, &rpc("tools/list", &json!({})))
}

fn send(server: &Process, token: &str, message: &Value) -> Answer {
    let authorization = format!("Bearer {token}");
    Connection::open(server.address).with("Authorization", &authorization).post(message)
}

#[test]
fn a_token_of_the_issuer_opens_the_store_of_its_user() {
    let issuer = Issuer::start();
    let (_folder, server) = server(&issuer);
    let carol = sign(&header(), &with(&issuer, "sub", json!("carol")));
    let stored =
        send(&server, &good(&issuer), &tool("add_memory", &json!({"content": "tea at four"})));
    assert_eq!(stored.json()["result"]["structuredContent"]["source"], "Claude Code", "{stored:?}");
    let search = tool("search_memory", &json!({"query": ""}));
    let count = |token: &str| {
        let found = send(&server, token, &search).json();
        found["result"]["structuredContent"]["results"].as_array().map(Vec::len)
    };
    assert_eq!((count(&good(&issuer)), count(&carol)), (Some(1), Some(0)));
    server.kill();
}

/// Good claims, but for one; null takes it away.
fn with(issuer: &Issuer, name: &str, value: Value) -> Value {
    let mut claims = claims(issuer);
    let object = claims.as_object_mut().expect("an object");
    if value.is_null() {
        object.remove(name)
    } else {
        object.insert(name.to_owned(), value)
    };
    claims
}

#[test]
fn a_token_that_is_not_for_us_is_refused() {
    let issuer = Issuer::start();
    let (_folder, server) = server(&issuer);
    let now = get_current_timestamp();
    for (name, value, why) in [
        ("iss", json!("http://127.0.0.1:1"), "issuer"),
        ("iss", json!(format!("{}/", issuer.url())), "issuer"),
        ("iss", Value::Null, "lacks"),
        ("aud", json!("other"), "another server"),
        ("aud", Value::Null, "lacks"),
        ("exp", json!(now - 120), "expired"),
        ("exp", Value::Null, "lacks"),
        ("nbf", json!(now + 120), "not valid yet"),
        ("nonce", json!("n"), "ID token"),
        ("scope", Value::Null, "no scope"),
        ("sub", Value::Null, "whose"),
        ("sub", json!("mallory"), "not admitted"),
    ] {
        let answer = post(&server, &sign(&header(), &with(&issuer, name, value)));
        assert_eq!(answer.status, 401, "{name}: {answer:?}");
        assert!(answer.header("www-authenticate").contains("invalid_token"), "{answer:?}");
        assert!(answer.body.contains(why), "{name}: {answer:?}");
    }
    server.kill();
}

#[test]
fn a_signature_that_is_not_the_issuers_is_refused() {
    let issuer = Issuer::start();
    let (_folder, server) = server(&issuer);
    let claims = claims(&issuer);
    let mut shared = header();
    shared.alg = Algorithm::HS256;
    let public = Jwk::from_encoding_key(&key(1), Algorithm::EdDSA).expect("a key");
    let secret = json!(public)["x"].as_str().expect("the public key").to_owned();
    let secret = EncodingKey::from_base64_secret(&format!(
        "{}=",
        secret.replace('-', "+").replace('_', "/")
    ));
    let mut untyped = header();
    untyped.typ = None;
    let mut logout = header();
    logout.typ = Some("logout+jwt".to_owned());
    let mut unknown = header();
    unknown.kid = Some("two".to_owned());
    let good = sign(&header(), &claims);
    let (rest, _) = good.rsplit_once('.').expect("three parts");
    let (_, payload) = rest.split_once('.').expect("two parts");
    let unsigned = format!("eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.{payload}.");
    for (what, token) in [
        ("another key", encode(&header(), &claims, &key(2)).expect("a token")),
        ("a shared secret", encode(&shared, &claims, &secret.expect("a secret")).expect("a token")),
        ("no type", sign(&untyped, &claims)),
        ("another type", sign(&logout, &claims)),
        ("an unknown key", sign(&unknown, &claims)),
        ("no signature", unsigned),
        ("half a token", rest.to_owned()),
        ("nonsense", "nonsense".to_owned()),
    ] {
        let answer = post(&server, &token);
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
    }
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1, "unknown keys do not make us ask at once");
    server.kill();
}

#[test]
fn what_a_token_allows_is_in_its_scopes() {
    let issuer = Issuer::start();
    let (_folder, server) = server(&issuer);
    for claim in ["scope", "scp", "roles"] {
        let mut claims = with(&issuer, "scope", Value::Null);
        claims[claim] =
            if claim == "scope" { json!("memory:read") } else { json!(["memory:read"]) };
        let token = sign(&header(), &claims);
        let read = send(&server, &token, &tool("search_memory", &json!({"query": ""})));
        let write = send(&server, &token, &tool("add_memory", &json!({"content": "x"})));
        assert_eq!((read.status, write.status), (200, 403), "{claim}");
    }
    server.kill();
}

#[test]
fn clients_are_told_which_issuer_to_ask() {
    let issuer = Issuer::start();
    let (_folder, server) = server(&issuer);
    let answer = Connection::open(server.address).get("/mcp");
    let document = format!("http://{}/.well-known/oauth-protected-resource/mcp", server.address);
    assert!(answer.header("www-authenticate").contains(&document), "{answer:?}");
    for path in
        ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
    {
        let found = Connection::open(server.address).get(path).json();
        assert_eq!(found["authorization_servers"], json!([issuer.url()]));
        assert_eq!(found["resource"], format!("http://{}/mcp", server.address));
    }
    server.kill();
}
