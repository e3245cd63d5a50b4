//! Users, their account pages, personal access tokens, the first start.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use tvix_mcp_http::auth::{
    Authenticator, Denied, NewToken, NoAuth, Options, PersonalTokens, Scope, UserCommand,
    WithPersonalTokens,
};
use uuid::Uuid;

use crate::support::{Browser, NAME, PASSWORD, Server, authorize};

fn bearer(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    headers
}

async fn new_token(server: &Server, scopes: &[Scope], days: u64) -> String {
    let user = server.store.users().await.unwrap()[0].id;
    let tokens = PersonalTokens::new(server.store.clone(), server.clock.clone());
    let new = NewToken {
        user,
        name: "script".to_owned(),
        scopes: scopes.iter().copied().collect(),
        days,
    };
    tokens.create(new).await.unwrap().expose().to_owned()
}

#[tokio::test]
async fn personal_tokens_have_scopes_and_an_end() {
    let server = Server::new().await;
    let token = new_token(&server, &[Scope::MemoryRead], 1).await;
    assert!(token.starts_with("tvx_pat_"));
    let identity = server.auth.authenticate(&bearer(&token)).await.unwrap();
    assert_eq!(identity.scopes.into_iter().collect::<Vec<_>>(), [Scope::MemoryRead]);
    assert_eq!(identity.client.as_deref(), Some("script"));
    server.clock.advance(86_400);
    let denied = server.auth.authenticate(&bearer(&token)).await.unwrap_err();
    assert_eq!(denied, Denied::BadToken("the personal access token has expired"));
}

#[tokio::test]
async fn personal_tokens_work_beside_another_way_and_never_instead_of_a_bad_one() {
    let server = Server::new().await;
    let tokens = PersonalTokens::new(server.store.clone(), server.clock.clone());
    let auth: Arc<dyn Authenticator> =
        Arc::new(WithPersonalTokens::new(Arc::new(NoAuth), tokens.clone()));
    let new = NewToken {
        user: Uuid::nil(),
        name: "script".to_owned(),
        scopes: [Scope::WikiRead].into(),
        days: 30,
    };
    let token = tokens.create(new).await.unwrap();
    let identity = auth.authenticate(&bearer(token.expose())).await.unwrap();
    assert_eq!(identity.scopes.len(), 1);
    assert_eq!(auth.authenticate(&HeaderMap::new()).await.unwrap().scopes.len(), 4);
    let unknown = format!("tvx_pat_{}", "A".repeat(43));
    assert!(matches!(auth.authenticate(&bearer(&unknown)).await, Err(Denied::BadToken(_))));
}

#[tokio::test]
async fn a_token_of_the_page_is_shown_once_and_ends_when_revoked() {
    let server = Server::new().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let csrf = browser.get("/account/tokens").await.hidden("csrf");
    let form =
        [("csrf", csrf.as_str()), ("name", "script"), ("scope", "wiki:read"), ("days", "30")];
    let page = browser.post("/account/tokens", &form).await.body;
    let token = page.split("value=\"tvx_pat_").nth(1).unwrap().split('"').next().unwrap();
    let token = format!("tvx_pat_{token}");
    assert_eq!(server.call(&token).await, StatusCode::OK);
    let list = browser.get("/account/tokens").await;
    assert!(list.body.contains("script") && !list.body.contains(&token));
    let id = list.hidden("id");
    browser.post("/account/tokens/revoke", &[("csrf", &csrf), ("id", &id)]).await;
    assert_eq!(server.call(&token).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_needs_a_name_a_scope_and_an_end() {
    let server = Server::new().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let csrf = browser.get("/account/tokens").await.hidden("csrf");
    for (name, scope, days) in [
        ("", "wiki:read", "30"),
        ("a", "x", "30"),
        ("a", "wiki:read", "0"),
        ("a", "wiki:read", "x"),
    ] {
        let form = [("csrf", csrf.as_str()), ("name", name), ("scope", scope), ("days", days)];
        let reply = browser.post("/account/tokens", &form).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{name} {scope} {days}");
    }
}

#[tokio::test]
async fn a_disconnected_app_is_out_at_once() {
    let server = Server::new().await;
    let client = server.client().await;
    let (access, refresh) = server.tokens(&client).await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let page = browser.get("/account/apps").await;
    assert!(page.body.contains("An &lt;b&gt;app"), "{}", page.body);
    let form = [("csrf", page.hidden("csrf")), ("id", page.hidden("id"))];
    let form: Vec<_> = form.iter().map(|(key, value)| (*key, value.as_str())).collect();
    browser.post("/account/apps/revoke", &form).await;
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.refresh(&client, &refresh).await.error(), "invalid_grant");
}

#[tokio::test]
async fn nobody_can_disconnect_or_rename_the_app_of_another() {
    let server = Server::new().await;
    let client = server.client().await;
    let (access, _) = server.tokens(&client).await;
    let id = Browser::logged_in(&server, NAME).await.get("/account/apps").await.hidden("id");
    server.add_user("ben").await;
    let mut other = Browser::logged_in(&server, "ben").await;
    let csrf = other.get("/account/tokens").await.hidden("csrf");
    other.post("/account/apps/revoke", &[("csrf", &csrf), ("id", &id)]).await;
    other.post("/account/apps/rename", &[("csrf", &csrf), ("id", &id), ("name", "mine")]).await;
    let reply = server.call_reply(&access).await;
    assert_eq!(reply.json()["result"]["client"], "An <b>app</b>");
}

#[tokio::test]
async fn a_renamed_app_is_called_so_in_memories() {
    let server = Server::new().await;
    let client = server.client().await;
    let (access, _) = server.tokens(&client).await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let page = browser.get("/account/apps").await;
    let (csrf, id) = (page.hidden("csrf"), page.hidden("id"));
    browser.post("/account/apps/rename", &[("csrf", &csrf), ("id", &id), ("name", "Laptop")]).await;
    assert_eq!(server.call_reply(&access).await.json()["result"]["client"], "Laptop");
}

#[tokio::test]
async fn a_disabled_user_is_out_everywhere_at_once() {
    let server = Server::new().await;
    let client = server.client().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let (access, refresh) = server.tokens(&client).await;
    let code = server.code(&client).await;
    let personal = new_token(&server, &Scope::ALL, 30).await;
    server.run(UserCommand::Disable { name: "ANA".to_owned() }, "").await.unwrap();
    for token in [&access, &personal] {
        assert_eq!(server.call(token).await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(server.refresh(&client, &refresh).await.error(), "invalid_grant");
    let reply = server.exchange(&client, &code, crate::support::VERIFIER).await;
    assert_eq!(reply.error(), "invalid_grant");
    assert_eq!(browser.get("/account/apps").await.status, StatusCode::SEE_OTHER);
    assert_eq!(
        browser.get(&authorize(&client, &[])).await.location().split('?').next(),
        Some("/login")
    );
    let login = Browser::new(&server).log_in(NAME, PASSWORD).await;
    assert_eq!(login.status, StatusCode::UNAUTHORIZED);
    assert!(server.run(UserCommand::List, "").await.unwrap().contains("disabled"));
    server.run(UserCommand::Enable { name: NAME.to_owned() }, "").await.unwrap();
    assert_eq!(server.call(&access).await, StatusCode::UNAUTHORIZED);
    Browser::logged_in(&server, NAME).await;
}

#[tokio::test]
async fn commands_say_what_is_wrong() {
    let server = Server::new().await;
    let add = |name: &str| UserCommand::Add { name: name.to_owned(), password_stdin: true };
    let taken = server.run(add("Ana"), PASSWORD).await.unwrap_err();
    assert_eq!(taken, "name: there is a user Ana already");
    let short = server.run(add("ben"), "short").await.unwrap_err();
    assert_eq!(short, "password: send 12-256 characters");
    let bad = server.run(add("a b"), PASSWORD).await.unwrap_err();
    assert_eq!(bad, "\"a b\": name: send 1-64 letters, digits and the signs . _ - @");
    let nobody = server.run(UserCommand::Disable { name: "ben".to_owned() }, "").await.unwrap_err();
    assert!(nobody.starts_with("name: there is no user ben"), "{nobody}");
}

#[tokio::test]
async fn a_new_password_is_printed_once_and_ends_logins() {
    let server = Server::new().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let passwd = UserCommand::Passwd { name: NAME.to_owned(), password_stdin: false };
    let printed = server.run(passwd, "").await.unwrap();
    let password = printed.trim().rsplit(' ').next().unwrap();
    assert_eq!(password.len(), 20, "{printed}");
    assert_eq!(browser.get("/account/apps").await.status, StatusCode::SEE_OTHER);
    assert_eq!(browser.log_in(NAME, PASSWORD).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(browser.log_in(NAME, password).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_password_is_changed_by_whoever_knows_the_old_one() {
    let server = Server::new().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let mut other = Browser::logged_in(&server, NAME).await;
    let csrf = browser.get("/account/password").await.hidden("csrf");
    let new = "another long password";
    for (current, password, repeated, status) in [
        ("wrong", new, new, StatusCode::BAD_REQUEST),
        (PASSWORD, new, "different from it", StatusCode::BAD_REQUEST),
        (PASSWORD, "short", "short", StatusCode::BAD_REQUEST),
        (PASSWORD, new, new, StatusCode::OK),
    ] {
        let form = [
            ("csrf", csrf.as_str()),
            ("current", current),
            ("password", password),
            ("repeated", repeated),
        ];
        assert_eq!(browser.post("/account/password", &form).await.status, status, "{password}");
    }
    assert_eq!(browser.get("/account/apps").await.status, StatusCode::OK);
    assert_eq!(other.get("/account/apps").await.status, StatusCode::SEE_OTHER);
    assert_eq!(other.log_in(NAME, new).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn the_link_of_the_first_start_makes_one_user_and_no_more() {
    let server = Server::empty(crate::support::ISSUER, Options::default());
    let link = server.auth.setup_link().await.unwrap().unwrap();
    let second = server.auth.setup_link().await.unwrap().unwrap();
    let path = |link: &str| link.strip_prefix(crate::support::ISSUER).unwrap().to_owned();
    let mut browser = Browser::new(&server);
    let page = browser.get(&path(&link)).await;
    let (csrf, token) = (page.hidden("csrf"), page.hidden("token"));
    let form = |name, password| {
        [
            ("csrf", csrf.clone()),
            ("token", token.clone()),
            ("name", name),
            ("password", password),
            ("repeated", PASSWORD.to_owned()),
        ]
    };
    for (name, password, status) in [
        ("", PASSWORD, StatusCode::BAD_REQUEST),
        (NAME, "another password", StatusCode::BAD_REQUEST),
        (NAME, PASSWORD, StatusCode::SEE_OTHER),
    ] {
        let form = form(name.to_owned(), password.to_owned());
        let form: Vec<_> = form.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert_eq!(browser.post("/setup", &form).await.status, status, "{name}");
    }
    assert_eq!(browser.get("/account/apps").await.status, StatusCode::OK);
    for link in [&link, &second] {
        assert_eq!(Browser::new(&server).get(&path(link)).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(server.auth.setup_link().await.unwrap(), None);
}

#[tokio::test]
async fn the_link_of_the_first_start_is_good_for_a_day() {
    let server = Server::empty(crate::support::ISSUER, Options::default());
    let link = server.auth.setup_link().await.unwrap().unwrap();
    server.clock.advance(86_400);
    let path = link.strip_prefix(crate::support::ISSUER).unwrap();
    assert_eq!(server.get(path).await.status, StatusCode::NOT_FOUND);
}
