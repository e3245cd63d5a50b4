//! The embedder behind an endpoint, against small endpoints that answer well, badly, late or not at all.
#![cfg(feature = "embed-http")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tvix_core::{
    Error, Result,
    embed::{Embedder, HttpEmbedder, Patience, Role, Vector},
    settings::{EmbedSettings, Endpoint, KeyVariable, ModelName},
};

const KEY: &str = "sk-geheim-4711";

/// What an endpoint does with a request.
enum Reply {
    /// Status line, further header lines, body.
    Answer(&'static str, &'static str, String),
    /// Hangs up.
    Nothing,
    /// Says nothing for this long.
    Silence(Duration),
}

/// A request as it came.
struct Asked {
    head: String,
    body: Value,
}

/// An endpoint that answers its `n`th request, counted from 0, by `reply(n, request)`.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    fn start(reply: impl Fn(usize, &Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let mut log = log.lock().unwrap();
                let reply = reply(log.len(), &request);
                log.push(request);
                drop(log);
                answer(&mut stream, reply);
            }
        });
        Self { url, asked }
    }

    fn embedder(&self, model: &str) -> HttpEmbedder {
        let (url, model) = (Endpoint::new(&self.url).unwrap(), ModelName::new(model).unwrap());
        let short = Duration::from_millis(1);
        let patience = Patience { pause: short, ..Patience::default() };
        HttpEmbedder::new(&url, &model).with_patience(patience)
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    Some(Asked { head, body: serde_json::from_slice(&body).unwrap() })
}

/// The other side may hang up first, as it does when an answer is too long for it.
fn answer(stream: &mut TcpStream, reply: Reply) {
    match reply {
        Reply::Nothing => {}
        Reply::Silence(time) => thread::sleep(time),
        Reply::Answer(status, header, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{header}\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(body.as_bytes());
        }
    }
}

fn ok(body: &Value) -> Reply {
    Reply::Answer("200 OK", "", body.to_string())
}

/// A vector for each text, last text first, whose direction tells the text's length.
fn good(asked: &Asked) -> Reply {
    let texts = asked.body["input"].as_array().unwrap();
    let data = texts.iter().enumerate().map(|(index, text)| {
        json!({"object": "embedding", "index": index, "embedding": [text.as_str().unwrap().len(), 1]})
    });
    let data: Vec<Value> = data.rev().collect();
    ok(&json!({"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 1}}))
}

async fn embed(embedder: &HttpEmbedder, texts: &[&str]) -> Result<Vec<Vector>> {
    embedder.embed(texts, Role::Passage).await
}

/// The error of an endpoint that gives `body` to a request for `texts` texts.
async fn fault(body: &str, texts: usize) -> String {
    let body = body.to_owned();
    let server = Server::start(move |_, _| Reply::Answer("200 OK", "", body.clone()));
    let embedder = server.embedder("m").with_key(KEY).unwrap();
    let error = embed(&embedder, &vec!["a"; texts]).await.unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{error:?}");
    assert_eq!(server.count(), 1, "such an answer would come again: {error}");
    assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn vectors_come_in_order_and_of_length_one() {
    let server = Server::start(|_, asked| good(asked));
    let embedder = server.embedder("m");
    assert_eq!((embedder.model().name.as_str(), embedder.model().dimension), ("http/m", 0));
    let vectors = embed(&embedder, &["aaa", "", "aaaaaaa"]).await.unwrap();
    let steep: Vec<f32> = vectors.iter().map(|vector| vector[0] / vector[1]).collect();
    for (found, wanted) in steep.iter().zip([3.0, 0.0, 7.0]) {
        assert!((found - wanted).abs() < 1e-4, "{steep:?}");
    }
    for vector in vectors {
        assert!((vector.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
    }
    assert_eq!(embedder.model().dimension, 2);
    let asked = server.asked.lock().unwrap();
    assert_eq!(asked[0].body["model"], "m");
    assert_eq!(asked[0].body["encoding_format"], "float");
    assert!(asked[0].head.starts_with("POST /v1/embeddings HTTP/1.1"), "{}", asked[0].head);
    assert!(!asked[0].head.to_lowercase().contains("authorization"));
}

#[tokio::test]
async fn many_texts_go_in_batches_and_none_asks_nobody() {
    let server = Server::start(|_, asked| good(asked));
    let embedder = server.embedder("m");
    assert_eq!(embed(&embedder, &[]).await.unwrap(), Vec::<Vector>::new());
    assert_eq!(server.count(), 0);
    let texts: Vec<String> = (0..150).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embed(&embedder, &texts).await.unwrap();
    assert_eq!(vectors.len(), 150);
    assert!((vectors[149][0] / vectors[149][1] - 149.0).abs() < 0.1);
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn queries_and_passages_have_the_prefixes_of_the_model() {
    let server = Server::start(|_, asked| good(asked));
    let embedder = server.embedder("multilingual-e5-small");
    embedder.embed(&["rye"], Role::Query).await.unwrap();
    embedder.embed(&["rye"], Role::Passage).await.unwrap();
    let asked = server.asked.lock().unwrap();
    assert_eq!(asked[0].body["input"], json!(["query: rye"]));
    assert_eq!(asked[1].body["input"], json!(["passage: rye"]));
}

#[tokio::test]
async fn what_is_overloaded_is_asked_again() {
    let busy = |n, asked: &Asked| match n {
        0 => Reply::Answer("429 Too Many Requests", "retry-after: 0\r\n", String::new()),
        1 => Reply::Nothing,
        _ => good(asked),
    };
    let server = Server::start(busy);
    assert_eq!(embed(&server.embedder("m"), &["a"]).await.unwrap().len(), 1);
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn after_three_attempts_it_is_an_error_with_the_endpoints_words() {
    let body = json!({"error": {"message": format!("out of memory, {KEY}")}}).to_string();
    let broken = move |_, _: &Asked| Reply::Answer("500 Internal Server Error", "", body.clone());
    let server = Server::start(broken);
    let error = embed(&server.embedder("m").with_key(KEY).unwrap(), &["a"]).await.unwrap_err();
    assert!(
        error.to_string().contains("500 Internal Server Error: out of memory, [key]"),
        "{error}"
    );
    assert!(error.to_string().contains(&server.url), "{error}");
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_wait_longer_than_a_call_is_not_waited_for() {
    let busy = |_, _: &Asked| {
        Reply::Answer("503 Service Unavailable", "retry-after: 3600\r\n", String::new())
    };
    let server = Server::start(busy);
    assert!(embed(&server.embedder("m"), &["a"]).await.is_err());
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn what_is_refused_is_not_asked_again_and_the_key_is_shown_nowhere() {
    for (status, told) in [
        ("400 Bad Request", "no such model"),
        ("404 Not Found", "no such model"),
        ("401 Unauthorized", "check the key"),
        ("301 Moved Permanently", "redirects are not followed"),
    ] {
        let body = json!({"error": format!("no such model, {KEY}")}).to_string();
        let elsewhere = "location: http://127.0.0.1:9/v1/embeddings\r\n";
        let refuse = move |_, _: &Asked| Reply::Answer(status, elsewhere, body.clone());
        let server = Server::start(refuse);
        let embedder = server.embedder("m").with_key(KEY).unwrap();
        let error = embed(&embedder, &["a"]).await.unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        let shown = format!("{error} {error:?} {embedder:?}");
        assert!(!shown.contains("geheim"), "{shown}");
        let asked = server.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert!(asked[0].head.contains(&format!("Bearer {KEY}")), "{}", asked[0].head);
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_an_error() {
    let one = r#"{"index":0,"embedding":[1,0]}"#;
    for (body, texts, told) in [
        ("<html>hello</html>".to_owned(), 1, "not JSON"),
        (String::new(), 1, "not JSON"),
        (format!(r#"{{"data":[{one}]}}"#), 2, "2 texts with 1 vectors"),
        (r#"{"data":[{"index":0,"embedding":[NaN,1]}]}"#.to_owned(), 1, "not JSON"),
        (r#"{"data":[{"index":0,"embedding":[1e39,1]}]}"#.to_owned(), 1, "out of range"),
        (r#"{"data":[{"index":0,"embedding":[0.0,0.0]}]}"#.to_owned(), 1, "zero"),
        (format!(r#"{{"data":[{one},{{"index":1,"embedding":[1]}}]}}"#), 2, "dimensions"),
        (format!(r#"{{"error":"{KEY} is wrong"}}"#), 1, "[key] is wrong"),
    ] {
        let error = fault(&body, texts).await;
        assert!(error.contains(told), "{body}: {error}");
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let error = fault(&" ".repeat(33 << 20), 1).await;
    assert!(error.contains("more than 33554432 bytes"), "{error}");
}

#[tokio::test]
async fn another_dimension_than_before_is_an_error_and_the_model_stays() {
    let grow = |n, _: &Asked| ok(&json!({"data": [{"index": 0, "embedding": vec![1; n + 1]}]}));
    let server = Server::start(grow);
    let embedder = server.embedder("m");
    embed(&embedder, &["a"]).await.unwrap();
    let error = embed(&embedder, &["a"]).await.unwrap_err().to_string();
    assert!(error.contains("dimension 1 and now have 2"), "{error}");
    assert_eq!(embedder.model().dimension, 1);
}

#[tokio::test]
async fn a_slow_endpoint_is_given_up_without_another_attempt() {
    let server = Server::start(|_, _| Reply::Silence(Duration::from_secs(5)));
    let short = Patience { answer: Duration::from_millis(200), ..Patience::default() };
    let error = embed(&server.embedder("m").with_patience(short), &["a"]).await.unwrap_err();
    assert!(error.to_string().contains("did not answer in time"), "{error}");
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn an_endpoint_that_is_down_is_an_error_and_later_an_embedder() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let settings = EmbedSettings::Http {
        url: Endpoint::new(&url).unwrap(),
        model: ModelName::new("m").unwrap(),
        key_env: None,
    };
    let embedder = tvix_core::embed::open(&settings).unwrap().unwrap();
    let server = Server { url: url.clone(), asked: Arc::default() };
    let error = embed(&server.embedder("m"), &["a"]).await.unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{error:?}");
    assert_eq!(embedder.model().dimension, 0, "nothing was asked at opening");
    assert!(!embedder.hints().instant);
}

#[tokio::test]
async fn a_key_that_is_not_there_is_named_by_its_variable() {
    let settings = EmbedSettings::Http {
        url: Endpoint::new("https://example.org/v1").unwrap(),
        model: ModelName::new("m").unwrap(),
        key_env: Some(KeyVariable::new("TVIX_TEST_NO_SUCH_KEY").unwrap()),
    };
    let error = tvix_core::embed::open(&settings).unwrap_err().to_string();
    assert!(error.contains("variable TVIX_TEST_NO_SUCH_KEY is not set"), "{error}");
    let http = HttpEmbedder::new(
        &Endpoint::new("https://example.org/v1").unwrap(),
        &ModelName::new("m").unwrap(),
    );
    let error = http.with_key("geheim\r\nx: y").unwrap_err().to_string();
    assert!(!error.contains("geheim"), "{error}");
}
