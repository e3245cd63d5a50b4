//! Clients that register themselves, and those that are described at an address.

use axum::http::StatusCode;
use serde_json::json;
use tvix_mcp_http::auth::Options;

use crate::support::{CALLBACK, Server, authorize};

#[tokio::test]
async fn registration_echoes_and_gives_a_secret_only_if_asked() {
    let server = Server::new().await;
    let reply = server
        .register(json!({
            "client_name": "App", "redirect_uris": [CALLBACK], "application_type": "native",
            "client_uri": "https://app.example", "client_secret": "mine", "client_id": "mine",
        }))
        .await;
    assert_eq!((reply.status, reply.header("cache-control")), (StatusCode::CREATED, "no-store"));
    let body = reply.json();
    assert_eq!(body["redirect_uris"], json!([CALLBACK]));
    assert_eq!(body["client_uri"], "https://app.example");
    assert_eq!(body["token_endpoint_auth_method"], "none");
    assert!(body["client_secret"].is_null() && body["client_id"] != "mine", "{body}");
    let body = server
        .register(json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_basic"}))
        .await
        .json();
    assert!(body["client_secret"].as_str().unwrap().starts_with("tvx_cs_"), "{body}");
}

#[tokio::test]
async fn registration_takes_what_real_clients_send() {
    let server = Server::new().await;
    for uris in [
        json!(["https://claude.ai/api/mcp/auth_callback"]),
        json!(["http://127.0.0.1:33418", "https://vscode.dev/redirect"]),
        json!([
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "https://www.cursor.com/agents/mcp/oauth/callback",
            "http://localhost:8787/callback"
        ]),
    ] {
        let reply = server.register(json!({"redirect_uris": uris, "scope": "x"})).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.body);
    }
}

#[tokio::test]
async fn registration_refuses_what_is_dangerous_or_makes_no_sense() {
    let server = Server::new().await;
    for (metadata, error) in [
        (json!({"redirect_uris": ["http://evil.example/cb"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["javascript:alert(1)"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["https://ok.example/cb#x"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": [CALLBACK], "application_type": "web"}), "invalid_redirect_uri"),
        (json!({}), "invalid_redirect_uri"),
        (json!([]), "invalid_client_metadata"),
        (json!({"redirect_uris": "x"}), "invalid_client_metadata"),
        (
            json!({"redirect_uris": [CALLBACK], "grant_types": ["implicit"]}),
            "invalid_client_metadata",
        ),
        (
            json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "x"}),
            "invalid_client_metadata",
        ),
    ] {
        let reply = server.register(metadata.clone()).await;
        assert_eq!(
            (reply.status, reply.error().as_str()),
            (StatusCode::BAD_REQUEST, error),
            "{metadata}"
        );
    }
}

#[tokio::test]
async fn registration_floods_are_slowed_down() {
    let server = Server::new().await;
    let mut accepted = 0;
    let refused = loop {
        let reply = server.register(json!({"redirect_uris": [CALLBACK]})).await;
        if reply.status != StatusCode::CREATED {
            break reply;
        }
        accepted += 1;
        assert!(accepted < 100, "no end");
    };
    assert_eq!(accepted, 30);
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    server.clock.advance(wait);
    assert_eq!(
        server.register(json!({"redirect_uris": [CALLBACK]})).await.status,
        StatusCode::CREATED
    );
}

#[tokio::test]
async fn an_unused_client_is_forgotten_after_thirty_days_and_a_used_one_is_not() {
    let server = Server::new().await;
    let (unused, used) = (server.client().await, server.client().await);
    server.tokens(&used).await;
    server.clock.advance(31 * 86_400);
    server.auth.sweep().await.unwrap();
    assert_eq!(server.get(&authorize(&unused, &[])).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(server.get(&authorize(&used, &[])).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn registration_can_be_switched_off() {
    let server = Server::with(Options { registration: false, ..Options::default() }).await;
    let reply = server.register(json!({"redirect_uris": [CALLBACK]})).await;
    assert_eq!(reply.error(), "invalid_client_metadata");
    let metadata = server.get("/.well-known/oauth-authorization-server").await.json();
    assert!(metadata.get("registration_endpoint").is_none());
}

/// Ids that are addresses of this machine and its neighbourhood: each is refused, and the page does not
/// tell whether something is there.
#[tokio::test]
async fn ssrf_through_client_metadata_is_refused() {
    let server = Server::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut pages = Vec::new();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "224.0.0.1",
    ] {
        let id = format!("https://{host}:{port}/client.json");
        let reply = server.get(&authorize(&id, &[])).await;
        assert_eq!((reply.status, reply.location()), (StatusCode::BAD_REQUEST, ""), "{id}");
        pages.push(reply.body);
    }
    assert!(pages.iter().all(|page| page == &pages[0]), "{pages:?}");
    let nobody_came = listener.accept().unwrap_err().kind();
    assert_eq!(nobody_came, std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn an_id_with_another_spelling_of_its_address_is_refused() {
    let server = Server::new().await;
    for id in [
        "https://app.example",
        "https://app.example/",
        "https://user@app.example/c",
        "https://app.example/c#x",
        "https://app.example/a/../c",
        "HTTPS://app.example/c",
        "https://app.example:443/c",
        "http://app.example/c",
    ] {
        assert_eq!(server.get(&authorize(id, &[])).await.status, StatusCode::BAD_REQUEST, "{id}");
    }
}
