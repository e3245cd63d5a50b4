//! From the authorization request to the token.

use std::collections::HashMap;

use axum::http::StatusCode;
use serde_json::json;
use tvix_mcp_http::auth::{KnownClient, Options};

use crate::support::{
    Browser, CALLBACK, ISSUER, NAME, RESOURCE, Server, VERIFIER, authorize, challenge, pair,
};

#[tokio::test]
async fn a_client_gets_from_the_challenge_to_an_answer() {
    let server = Server::new().await;
    let client = server.client().await;
    let reply = Browser::logged_in(&server, NAME).await.allow(&authorize(&client, &[])).await;
    assert!(
        reply.location().starts_with(&format!("{CALLBACK}?code=tvx_ac_")),
        "{}",
        reply.location()
    );
    let reply = server.exchange(&client, &reply.params()["code"], VERIFIER).await;
    assert_eq!(reply.header("cache-control"), "no-store");
    let body = reply.json();
    assert_eq!(
        (body["token_type"].as_str(), body["expires_in"].as_u64()),
        (Some("Bearer"), Some(28_800))
    );
    assert_eq!(body["scope"], "memory:read memory:write wiki:read wiki:write");
    let (access, _) = pair(&reply);
    assert!(access.starts_with("tvx_at_"));
    let answer = server.call_reply(&access).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json()["result"]["client"], "An <b>app</b>");
}

#[tokio::test]
async fn metadata_is_the_same_wherever_clients_look() {
    let server = Server::new().await;
    for path in ["", "/mcp"] {
        let reply = server.get(&format!("/.well-known/oauth-protected-resource{path}")).await;
        let body = reply.json();
        assert_eq!(
            (&body["resource"], &body["authorization_servers"]),
            (&json!(RESOURCE), &json!([ISSUER]))
        );
        assert_eq!(reply.header("access-control-allow-origin"), "*");
    }
    let known = server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(known["issuer"], ISSUER);
    assert_eq!(known["code_challenge_methods_supported"], json!(["S256"]));
    for path in [
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
    ] {
        assert_eq!(server.get(path).await.json(), known, "{path}");
    }
}

#[tokio::test]
async fn code_replay_is_refused_and_revokes_what_the_code_gave() {
    let server = Server::new().await;
    let client = server.client().await;
    let code = server.code(&client).await;
    let (access, refresh) = pair(&server.exchange(&client, &code, VERIFIER).await);
    assert_eq!(server.call(&access).await, StatusCode::OK);
    let replay = server.exchange(&client, &code, VERIFIER).await;
    assert_eq!(
        (replay.status, replay.error().as_str()),
        (StatusCode::BAD_REQUEST, "invalid_grant")
    );
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.refresh(&client, &refresh).await.error(), "invalid_grant");
}

#[tokio::test]
async fn of_two_exchanges_at_once_only_one_gets_tokens_and_they_are_revoked() {
    let server = Server::new().await;
    let client = server.client().await;
    let code = server.code(&client).await;
    let both = tokio::join!(
        server.exchange(&client, &code, VERIFIER),
        server.exchange(&client, &code, VERIFIER)
    );
    let good: Vec<_> =
        [both.0, both.1].into_iter().filter(|reply| reply.status == StatusCode::OK).collect();
    assert_eq!(good.len(), 1);
    assert_eq!(server.call(&pair(&good[0]).0).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn wrong_verifier_is_refused_and_spends_the_code() {
    let server = Server::new().await;
    let client = server.client().await;
    let code = server.code(&client).await;
    assert_eq!(server.exchange(&client, &code, &"x".repeat(60)).await.error(), "invalid_grant");
    assert_eq!(server.exchange(&client, &code, VERIFIER).await.error(), "invalid_grant");
}

#[tokio::test]
async fn a_code_is_over_after_a_minute() {
    let server = Server::new().await;
    let client = server.client().await;
    let code = server.code(&client).await;
    server.clock.advance(60);
    assert_eq!(server.exchange(&client, &code, VERIFIER).await.error(), "invalid_grant");
}

#[tokio::test]
async fn a_code_is_for_its_client_and_redirect_only() {
    let server = Server::new().await;
    let (client, other) = (server.client().await, server.client().await);
    let code = server.code(&client).await;
    assert_eq!(server.exchange(&other, &code, VERIFIER).await.error(), "invalid_grant");
    let code = server.code(&client).await;
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", &client),
        ("code", &code),
        ("redirect_uri", "http://127.0.0.1:43117/other"),
        ("code_verifier", VERIFIER),
    ];
    assert_eq!(server.post("/token", &form).await.error(), "invalid_grant");
    let unknown = server.exchange("no-such-client", &code, VERIFIER).await;
    assert_eq!(
        (unknown.status, unknown.error().as_str()),
        (StatusCode::UNAUTHORIZED, "invalid_client")
    );
}

/// What the client is told about a request that is refused.
async fn refused(
    server: &Server,
    client: &str,
    changed: &[(&str, &str)],
) -> HashMap<String, String> {
    let reply = server.get(&authorize(client, changed)).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    assert!(reply.location().starts_with(&format!("{CALLBACK}?error=")), "{}", reply.location());
    reply.params()
}

#[tokio::test]
async fn plain_pkce_and_none_are_refused() {
    let server = Server::new().await;
    let client = server.client().await;
    for changed in [
        &[("code_challenge_method", "plain")][..],
        &[("code_challenge_method", "")],
        &[("code_challenge", ""), ("code_challenge_method", "")],
        &[("code_challenge", "short")],
    ] {
        assert_eq!(
            refused(&server, &client, changed).await["error"],
            "invalid_request",
            "{changed:?}"
        );
    }
}

#[tokio::test]
async fn the_client_is_told_errors_with_state_and_issuer() {
    let server = Server::new().await;
    let client = server.client().await;
    for (changed, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
        (("response_mode", "fragment"), "invalid_request"),
    ] {
        let told = refused(&server, &client, &[changed]).await;
        assert_eq!(told["error"], error);
        assert_eq!((told["state"].as_str(), told["iss"].as_str()), ("a state & more", ISSUER));
    }
}

#[tokio::test]
async fn mix_up_every_answer_names_the_issuer_as_the_metadata_does() {
    let server = Server::new().await;
    let client = server.client().await;
    let metadata = server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
    for decision in ["allow", "deny"] {
        let mut browser = Browser::logged_in(&server, NAME).await;
        let told = browser.decide(&authorize(&client, &[]), decision).await.params();
        assert_eq!(told["iss"], metadata["issuer"].as_str().unwrap(), "{decision}");
        assert_eq!(told["state"], "a state & more");
        assert_eq!(told.contains_key("code"), decision == "allow");
    }
}

#[tokio::test]
async fn redirect_mismatch_and_unknown_clients_get_a_page_and_nothing_is_sent() {
    let server = Server::new().await;
    let client = server.client().await;
    for changed in [
        ("redirect_uri", "http://127.0.0.1:43117/other"),
        ("redirect_uri", "https://evil.example/callback"),
        ("redirect_uri", "http://localhost:43117/callback"),
        ("redirect_uri", "http://127.0.0.1:43117/callback?x=1"),
        ("redirect_uri", "javascript:alert(1)"),
        ("client_id", "no-such-client"),
        ("client_id", ""),
    ] {
        let reply = server.get(&authorize(&client, &[changed])).await;
        assert_eq!((reply.status, reply.location()), (StatusCode::BAD_REQUEST, ""), "{changed:?}");
    }
    let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example%2F", authorize(&client, &[]));
    assert_eq!(server.get(&twice).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_program_may_choose_its_loopback_port() {
    let server = Server::new().await;
    let client = server.client().await;
    let other = "http://127.0.0.1:51999/callback";
    let mut browser = Browser::logged_in(&server, NAME).await;
    let reply = browser.allow(&authorize(&client, &[("redirect_uri", other)])).await;
    assert!(reply.location().starts_with(&format!("{other}?code=")), "{}", reply.location());
}

#[tokio::test]
async fn unknown_scopes_are_dropped_and_known_ones_kept() {
    let server = Server::new().await;
    let client = server.client().await;
    let all = "memory:read memory:write wiki:read wiki:write";
    for (asked, given) in [
        ("memory:read offline_access notes:read", "memory:read"),
        ("offline_access", all),
        ("", all),
        ("wiki:write memory:read", "memory:read wiki:write"),
    ] {
        let mut browser = Browser::logged_in(&server, NAME).await;
        let code = browser.allow(&authorize(&client, &[("scope", asked)])).await.params();
        let reply = server.exchange(&client, &code["code"], VERIFIER).await;
        assert_eq!(reply.json()["scope"], given, "{asked}");
    }
}

#[tokio::test]
async fn audience_of_another_resource_is_refused() {
    let server = Server::new().await;
    let client = server.client().await;
    let (access, refresh) = server.tokens(&client).await;
    // The same folder, served at another address: a token is good where it was asked for only.
    let moved = Server::beside(&server, "https://other.example.com");
    let reply = moved.call_reply(&access).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert!(reply.header("www-authenticate").contains("another resource"));
    assert_eq!(moved.refresh(&client, &refresh).await.error(), "invalid_grant");
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", &client),
        ("refresh_token", &refresh),
        ("resource", "https://other.example/mcp"),
    ];
    assert_eq!(server.post("/token", &form).await.error(), "invalid_grant");
    assert_eq!(server.call(&access).await, StatusCode::OK);
}

#[tokio::test]
async fn a_token_in_the_query_or_in_another_header_is_no_token() {
    let server = Server::new().await;
    let (access, _) = server.tokens(&server.client().await).await;
    let reply = server.get(&format!("/mcp?access_token={access}")).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert!(!reply.header("www-authenticate").contains("error="));
}

#[tokio::test]
async fn a_registered_secret_must_be_right() {
    let server = Server::new().await;
    let reply = server
        .register(json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"}))
        .await
        .json();
    let (id, secret) =
        (reply["client_id"].as_str().unwrap(), reply["client_secret"].as_str().unwrap());
    let code = server.code(id).await;
    let form = |secret: &'static str| {
        [
            ("grant_type", "authorization_code"),
            ("client_id", "X"),
            ("code", "X"),
            ("code_verifier", VERIFIER),
            ("client_secret", secret),
        ]
    };
    for wrong in ["", "wrong"] {
        let mut form = form(wrong);
        (form[1].1, form[2].1) = (id, &code);
        let reply = server.post("/token", &form).await;
        assert_eq!(
            (reply.status, reply.error().as_str()),
            (StatusCode::UNAUTHORIZED, "invalid_client")
        );
    }
    let mut form = form("");
    (form[1].1, form[2].1, form[4].1) = (id, &code, secret);
    assert_eq!(server.post("/token", &form).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_client_of_the_configuration_is_asked_for_once() {
    let redirect = "https://app.example/cb";
    let options = Options {
        clients: vec![KnownClient {
            id: "app".to_owned(),
            name: "The app".to_owned(),
            redirect_uris: vec![redirect.to_owned()],
            secret_sha256: None,
        }],
        ..Options::default()
    };
    let server = Server::with(options).await;
    let asked = authorize("app", &[("redirect_uri", redirect), ("scope", "memory:read")]);
    let mut browser = Browser::logged_in(&server, NAME).await;
    assert!(browser.allow(&asked).await.params().contains_key("code"));
    assert!(browser.get(&asked).await.params().contains_key("code"));
    let more =
        authorize("app", &[("redirect_uri", redirect), ("scope", "memory:read memory:write")]);
    assert_eq!(browser.get(&more).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_client_that_registered_itself_is_asked_for_every_time() {
    let server = Server::new().await;
    let client = server.client().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    browser.allow(&authorize(&client, &[])).await;
    let again = browser.get(&authorize(&client, &[])).await;
    assert_eq!((again.status, again.location()), (StatusCode::OK, ""));
    assert_eq!(challenge("x").len(), 43);
}
