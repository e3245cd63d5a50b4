//! Rotation of refresh tokens, the grace, and revocation.

use axum::http::StatusCode;
use tvix_mcp_http::auth::Options;

use crate::support::{Server, pair};

const GRACE: u64 = 600;

#[tokio::test]
async fn a_refresh_rotates_and_keeps_the_scopes() {
    let server = Server::new().await;
    let client = server.client().await;
    let (access, refresh) = server.tokens(&client).await;
    let reply = server.refresh(&client, &refresh).await;
    assert_eq!(reply.json()["scope"], "memory:read memory:write wiki:read wiki:write");
    let (newer, rotated) = pair(&reply);
    assert!(newer != access && rotated != refresh);
    assert_eq!([server.call(&access).await, server.call(&newer).await], [StatusCode::OK; 2]);
}

#[tokio::test]
async fn a_narrower_scope_is_for_the_access_token_only() {
    let server = Server::new().await;
    let client = server.client().await;
    let (_, refresh) = server.tokens(&client).await;
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", &client),
        ("refresh_token", &refresh),
        ("scope", "memory:read"),
    ];
    let reply = server.post("/token", &form).await;
    assert_eq!(reply.json()["scope"], "memory:read");
    let (access, refresh) = pair(&reply);
    let scopes = server.call_reply(&access).await.json()["result"]["scopes"].clone();
    assert_eq!(scopes, serde_json::json!(["memory:read"]));
    let whole = server.refresh(&client, &refresh).await.json()["scope"].clone();
    assert_eq!(whole, "memory:read memory:write wiki:read wiki:write");
}

#[tokio::test]
async fn refresh_reuse_inside_the_grace_gives_tokens_and_harms_nobody() {
    let server = Server::new().await;
    let client = server.client().await;
    let (_, refresh) = server.tokens(&client).await;
    let (winner, next) = pair(&server.refresh(&client, &refresh).await);
    server.clock.advance(GRACE);
    let (loser, _) = pair(&server.refresh(&client, &refresh).await);
    assert_eq!([server.call(&winner).await, server.call(&loser).await], [StatusCode::OK; 2]);
    pair(&server.refresh(&client, &next).await);
}

#[tokio::test]
async fn refresh_reuse_after_the_grace_revokes_the_family() {
    let server = Server::new().await;
    let client = server.client().await;
    let (_, refresh) = server.tokens(&client).await;
    let (access, next) = pair(&server.refresh(&client, &refresh).await);
    server.clock.advance(GRACE + 1);
    assert_eq!(server.refresh(&client, &refresh).await.error(), "invalid_grant");
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.refresh(&client, &next).await.error(), "invalid_grant");
}

#[tokio::test]
async fn without_a_grace_the_first_reuse_revokes() {
    let server = Server::with(Options { refresh_grace_seconds: 0, ..Options::default() }).await;
    let client = server.client().await;
    let (_, refresh) = server.tokens(&client).await;
    let (access, _) = pair(&server.refresh(&client, &refresh).await);
    assert_eq!(server.refresh(&client, &refresh).await.error(), "invalid_grant");
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn one_token_cannot_make_rows_without_end() {
    let server = Server::new().await;
    let client = server.client().await;
    let (_, refresh) = server.tokens(&client).await;
    let mut good = 0;
    while server.refresh(&client, &refresh).await.status == StatusCode::OK {
        good += 1;
        assert!(good < 100, "no end");
    }
    assert_eq!(good, 33);
}

#[tokio::test]
async fn a_refresh_token_is_for_its_client() {
    let server = Server::new().await;
    let (client, other) = (server.client().await, server.client().await);
    let (_, refresh) = server.tokens(&client).await;
    assert_eq!(server.refresh(&other, &refresh).await.error(), "invalid_grant");
    pair(&server.refresh(&client, &refresh).await);
}

#[tokio::test]
async fn tokens_end_by_themselves_and_their_rows_go() {
    let server = Server::new().await;
    let client = server.client().await;
    let (access, refresh) = server.tokens(&client).await;
    server.clock.advance(8 * 3600);
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
    let (_, newer) = pair(&server.refresh(&client, &refresh).await);
    server.clock.advance(60 * 86_400);
    assert_eq!(server.refresh(&client, &newer).await.error(), "invalid_grant");
    // Grant, two access, two refresh tokens, the code, the session and the client, unused for 30 days.
    assert_eq!(server.auth.sweep().await.unwrap(), 8);
    assert_eq!(server.auth.sweep().await.unwrap(), 0);
    assert_eq!(server.refresh(&client, &newer).await.error(), "invalid_client");
}

#[tokio::test]
async fn revocation_ends_a_login_and_says_nothing_about_other_tokens() {
    let server = Server::new().await;
    let (client, other) = (server.client().await, server.client().await);
    let (access, refresh) = server.tokens(&client).await;
    for (id, token) in [(&client, "nope"), (&other, &*refresh), (&other, &*access)] {
        let reply = server.post("/revoke", &[("token", token), ("client_id", id)]).await;
        assert_eq!(reply.status, StatusCode::OK);
    }
    assert_eq!(server.call(&access).await, StatusCode::OK);
    server.post("/revoke", &[("token", &access), ("client_id", &client)]).await;
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
    let (access, refresh) = pair(&server.refresh(&client, &refresh).await);
    server.post("/revoke", &[("token", &refresh), ("client_id", &client)]).await;
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.refresh(&client, &refresh).await.error(), "invalid_grant");
}
