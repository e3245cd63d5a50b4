//! Documents from a real https server on this machine, with a certificate authority of the tests.
//!
//! Only here can a fetch reach a loopback address: the rule is given to [`Web::with`], which nothing but
//! [`Web::new`] calls outside of tests.

#![allow(clippy::unwrap_used)]

use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tower::ServiceExt as _;
use ureq::tls::Certificate;
use url::form_urlencoded;
use uuid::Uuid;

use super::{
    Documents,
    address::is_public,
    fetch::{Lookup, Web},
};
use crate::auth::{
    Authenticator as _, Builtin, Clock, PublicUrl, Purpose, Secret, Settings, Store,
    store::{Session, User},
};

const CA: &[u8] = include_bytes!("fixtures/ca.der");
const CERTIFICATE: &[u8] = include_bytes!("fixtures/server.der");
const KEY: &[u8] = include_bytes!("fixtures/server-key.der");

/// A web site that answers every request with the same bytes.
struct Site {
    address: SocketAddr,
    hits: Arc<AtomicUsize>,
    answer: Arc<Mutex<Vec<u8>>>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let hits = Arc::new(AtomicUsize::new(0));
        let answer = Arc::new(Mutex::new(Vec::new()));
        let (counted, given) = (Arc::clone(&hits), Arc::clone(&answer));
        let config = Arc::new(tls());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let answer = given.lock().unwrap().clone();
                // What fails here fails at the client as well, which its test looks at.
                let _ = serve(stream, &config, &answer, &counted);
            }
        });
        Self { address, hits, answer }
    }

    fn id(&self) -> String {
        format!("https://client.test:{}/client.json", self.address.port())
    }

    /// Lets it answer with this status line, these headers and this body.
    fn answers(&self, status: &str, headers: &str, body: &str) {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}");
        let whole = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        *self.answer.lock().unwrap() = whole.into_bytes();
    }

    fn describes_itself(&self, headers: &str) {
        let (id, uri) = (self.id(), "https://client.test/callback");
        let body =
            serde_json::json!({"client_id": id, "client_name": "A client", "redirect_uris": [uri]});
        self.answers("200 OK", headers, &body.to_string());
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

fn tls() -> ServerConfig {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY.to_vec()));
    ServerConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CERTIFICATE.to_vec().into()], key)
        .unwrap()
}

/// Answers one request. It counts when it has come whole and before it is answered: a client that refuses
/// the certificate is no visitor, and one that has its answer was counted.
fn serve(
    stream: TcpStream,
    config: &Arc<ServerConfig>,
    answer: &[u8],
    hits: &AtomicUsize,
) -> io::Result<()> {
    let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.extend(byte);
    }
    hits.fetch_add(1, Ordering::SeqCst);
    stream.write_all(answer)?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// Look-ups that give one list of addresses after the other, and the last one for ever.
#[derive(Debug)]
struct Names {
    lists: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Names {
    fn give(lists: &[&[IpAddr]]) -> Arc<Self> {
        let lists = lists.iter().map(|list| list.to_vec()).collect();
        Arc::new(Self { lists, asked: AtomicUsize::new(0) })
    }
}

impl Lookup for Names {
    fn addresses(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.lists.len() - 1);
        Ok(self.lists[turn].iter().map(|ip| SocketAddr::new(*ip, port)).collect())
    }
}

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

fn only_here(address: IpAddr) -> bool {
    address == HERE
}

fn documents(names: Arc<Names>, allowed: fn(IpAddr) -> bool) -> Documents {
    let roots = [Certificate::from_der(CA).to_owned()];
    Documents::with(Box::new(Web::with(&roots, names, allowed)))
}

fn usual() -> Documents {
    documents(Names::give(&[&[HERE]]), only_here)
}

#[tokio::test]
async fn a_document_is_read_by_https_and_kept_as_long_as_it_says() {
    let site = Site::start();
    site.describes_itself("cache-control: public, max-age=600\r\n");
    let documents = usual();
    let document = documents.get(&site.id(), 0).await.unwrap();
    assert_eq!((document.name.as_str(), document.host.as_str()), ("A client", "client.test"));
    documents.get(&site.id(), 599).await.unwrap();
    assert_eq!(site.hits(), 1);
    documents.get(&site.id(), 600).await.unwrap();
    assert_eq!(site.hits(), 2);
}

#[tokio::test]
async fn a_document_holds_five_minutes_at_least_and_a_day_at_most() {
    for (says, holds) in [("no-store", 300), ("max-age=1", 300), ("max-age=999999999", 86_400)] {
        let site = Site::start();
        site.describes_itself(&format!("cache-control: {says}\r\n"));
        let documents = usual();
        for (now, hits) in [(0, 1), (holds - 1, 1), (holds, 2)] {
            documents.get(&site.id(), now).await.unwrap();
            assert_eq!(site.hits(), hits, "{says} at {now}");
        }
    }
}

#[tokio::test]
async fn ssrf_a_name_that_leads_to_a_private_address_is_not_connected_to() {
    let site = Site::start();
    site.describes_itself("");
    for addresses in
        [&[HERE][..], &["10.0.0.1".parse().unwrap()], &["::ffff:127.0.0.1".parse().unwrap()]]
    {
        let refused = documents(Names::give(&[addresses]), is_public).get(&site.id(), 0).await;
        assert_eq!(refused.unwrap_err(), "its host is not known or not a public one");
    }
    assert_eq!(site.hits(), 0);
}

#[tokio::test]
async fn ssrf_one_private_address_among_others_is_enough_to_refuse() {
    let site = Site::start();
    site.describes_itself("");
    let names = Names::give(&[&[HERE, ELSEWHERE]]);
    documents(names, only_here).get(&site.id(), 0).await.unwrap_err();
    assert_eq!(site.hits(), 0);
}

/// The name changes its address right after the check. The connection goes to what was checked.
#[tokio::test]
async fn ssrf_rebinding_the_name_is_looked_up_once() {
    let site = Site::start();
    site.describes_itself("");
    let names = Names::give(&[&[HERE], &[ELSEWHERE]]);
    documents(Arc::clone(&names), only_here).get(&site.id(), 0).await.unwrap();
    assert_eq!((names.asked.load(Ordering::SeqCst), site.hits()), (1, 1));
}

#[tokio::test]
async fn ssrf_a_redirect_is_not_followed() {
    let (site, other) = (Site::start(), Site::start());
    other.describes_itself("");
    site.answers("302 Found", &format!("location: {}\r\n", other.id()), "");
    let refused = usual().get(&site.id(), 0).await.unwrap_err();
    assert_eq!(refused, "its server answered 302, where 200 is due");
    assert_eq!((site.hits(), other.hits()), (1, 0));
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_refused() {
    let site = Site::start();
    site.describes_itself("");
    let web = Web::with(&[], Names::give(&[&[HERE]]), only_here);
    Documents::with(Box::new(web)).get(&site.id(), 0).await.unwrap_err();
    let roots = [Certificate::from_der(CA).to_owned()];
    let web = Web::with(&roots, Names::give(&[&[HERE]]), only_here);
    let other_name = site.id().replace("client.test", "other.test");
    Documents::with(Box::new(web)).get(&other_name, 0).await.unwrap_err();
    assert_eq!(site.hits(), 0);
}

#[tokio::test]
async fn a_document_has_at_most_64_kib() {
    let site = Site::start();
    site.answers("200 OK", "", &format!("{{\"x\": \"{}\"}}", "x".repeat(64 << 10)));
    let refused = usual().get(&site.id(), 0).await.unwrap_err();
    assert_eq!(refused, "it could not be read, or has more than 64 KiB");
}

#[tokio::test]
async fn a_failure_is_remembered_for_a_minute() {
    let site = Site::start();
    site.answers("404 Not Found", "", "{}");
    let documents = usual();
    documents.get(&site.id(), 0).await.unwrap_err();
    site.describes_itself("");
    documents.get(&site.id(), 59).await.unwrap_err();
    documents.get(&site.id(), 60).await.unwrap();
    assert_eq!(site.hits(), 2);
}

/// The consent page of a client that is described at `site`.
async fn consent(site: &Site) -> String {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let mut settings = Settings::new(PublicUrl::parse("https://tvix.example.com").unwrap());
    settings.clock = Clock::at(1000);
    let builtin = Builtin::with_documents(settings, store.clone(), Some(usual())).unwrap();
    let (user, cookie) = (Uuid::now_v7(), Secret::new(Purpose::Session).unwrap());
    let row = User { name: "ana".to_owned(), password: String::new(), disabled: false, created: 0 };
    store.put(user.as_bytes(), row).await.unwrap();
    store.put(cookie.hash().bytes(), Session { user, ends: 2000 }).await.unwrap();
    let challenge = "x".repeat(43);
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("response_type", "code")
        .append_pair("client_id", &site.id())
        .append_pair("redirect_uri", "https://client.test/callback")
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .finish();
    let request = Request::get(format!("/authorize?{query}"))
        .header(header::COOKIE, format!("__Host-tvix={}", cookie.expose()))
        .body(Body::empty())
        .unwrap();
    let response = builtin.router().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    String::from_utf8(to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn consent_names_the_proven_host_of_a_described_client() {
    let site = Site::start();
    site.describes_itself("");
    let page = consent(&site).await;
    assert!(page.contains("A client") && page.contains("client.test</strong> (checked)"), "{page}");
}
