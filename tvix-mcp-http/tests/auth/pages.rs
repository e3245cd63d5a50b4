//! What browsers are shown, and what others try through them.

use axum::http::StatusCode;
use tvix_mcp_http::auth::Options;

use crate::support::{Browser, NAME, PASSWORD, Server, authorize, form_request};

#[tokio::test]
async fn csrf_on_consent_is_refused() {
    let server = Server::new().await;
    let client = server.client().await;
    let asked = authorize(&client, &[]);
    let query = asked.split_once('?').unwrap().1;
    let mut victim = Browser::logged_in(&server, NAME).await;
    let mut attacker = Browser::logged_in(&server, NAME).await;
    let foreign = attacker.get(&asked).await.hidden("csrf");
    let own_of_another =
        victim.get(&authorize(&client, &[("state", "other")])).await.hidden("csrf");
    let logout = victim.get(&asked).await.body.split("/logout").nth(1).unwrap().to_owned();
    let logout = logout.split("value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    for csrf in ["", "x", &foreign, &own_of_another, &logout] {
        let form = [("csrf", csrf), ("request", query), ("decision", "allow")];
        let reply = victim.post("/authorize", &form).await;
        assert_eq!((reply.status, reply.location()), (StatusCode::FORBIDDEN, ""), "{csrf}");
    }
}

#[tokio::test]
async fn a_form_that_the_browser_says_came_from_elsewhere_is_refused() {
    let server = Server::new().await;
    let client = server.client().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let page = browser.get(&authorize(&client, &[])).await;
    let (csrf, request) = (page.hidden("csrf"), page.hidden("request"));
    let form = [("csrf", csrf.as_str()), ("request", &request), ("decision", "allow")];
    let cookie = browser.cookie.clone().unwrap();
    for (site, status) in [
        ("cross-site", StatusCode::FORBIDDEN),
        ("same-site", StatusCode::FORBIDDEN),
        ("same-origin", StatusCode::SEE_OTHER),
    ] {
        let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", site)];
        let reply = server.send(form_request("/authorize", &form, &headers)).await;
        assert_eq!(reply.status, status, "{site}");
    }
}

#[tokio::test]
async fn clickjacking_headers_are_on_every_page() {
    let server = Server::new().await;
    let client = server.client().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let mut pages = vec![server.get("/login").await, server.get("/authorize").await];
    pages.push(server.get("/setup?token=x").await);
    let consent = authorize(&client, &[]);
    for path in ["/account/apps", "/account/tokens", "/account/password", consent.as_str()] {
        pages.push(browser.get(path).await);
    }
    pages.push(browser.post("/authorize", &[]).await);
    for page in pages {
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"));
        // Browsers apply it to the redirect to the client as well.
        assert!(!policy.contains("form-action"), "{policy}");
        assert_eq!(page.header("x-frame-options"), "DENY");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert_eq!(page.header("cache-control"), "no-store");
        assert!(!page.body.contains("<script") && !page.body.contains(" style="));
    }
}

#[tokio::test]
async fn consent_names_who_asks_and_where_the_answer_goes_escaped() {
    let server = Server::new().await;
    let client = server.client().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    let page = browser.get(&authorize(&client, &[("scope", "memory:read")])).await.body;
    assert!(page.contains("An &lt;b&gt;app&lt;/b&gt;") && !page.contains("<b>app"), "{page}");
    for text in
        ["127.0.0.1:43117", "a program on your computer", "Read your memories", "not checked"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("Add memories"), "{page}");
}

#[tokio::test]
async fn open_redirect_the_login_leads_to_our_own_pages_only() {
    let server = Server::new().await;
    for next in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/account/apps//evil.example",
        "/authorize\r\nLocation: https://evil.example/",
        "javascript:alert(1)",
        "/logout",
    ] {
        let mut browser = Browser::new(&server);
        let csrf = browser.get("/login").await.hidden("csrf");
        let form =
            [("csrf", csrf.as_str()), ("name", NAME), ("password", PASSWORD), ("next", next)];
        let reply = browser.post("/login", &form).await;
        assert_eq!(
            (reply.status, reply.location()),
            (StatusCode::SEE_OTHER, "/account/apps"),
            "{next}"
        );
    }
}

#[tokio::test]
async fn tampered_cookies_are_nobody() {
    let server = Server::new().await;
    let browser = Browser::logged_in(&server, NAME).await;
    let cookie = browser.cookie.clone().unwrap();
    let last = if cookie.ends_with('A') { 'B' } else { 'A' };
    let mut changed = cookie.clone();
    changed.pop();
    changed.push(last);
    let random = format!("__Host-tvix=tvx_se_{}", "A".repeat(43));
    let other_name = cookie.replace("__Host-tvix", "tvix");
    for bad in [changed.as_str(), &random, &other_name, "__Host-tvix=", "__Host-tvix=é", ";;=;"] {
        let mut thief = Browser::new(&server);
        thief.cookie = Some(bad.to_owned());
        let reply = thief.get("/account/apps").await;
        assert_eq!(reply.location(), "/login?next=%2Faccount%2Fapps", "{bad}");
    }
}

#[tokio::test]
async fn a_login_gives_a_new_cookie_and_a_logout_ends_it() {
    let server = Server::new().await;
    let mut browser = Browser::new(&server);
    let first = browser.get("/login").await;
    let planted = browser.cookie.clone().unwrap();
    let set = first.header("set-cookie").to_owned();
    for part in ["__Host-tvix=tvx_se_", "; Path=/", "; HttpOnly", "; SameSite=Lax", "; Secure"] {
        assert!(set.contains(part), "{set}");
    }
    browser.log_in(NAME, PASSWORD).await;
    let logged_in = browser.cookie.clone().unwrap();
    assert_ne!(logged_in, planted);
    browser.cookie = Some(planted);
    assert_eq!(browser.get("/account/apps").await.status, StatusCode::SEE_OTHER);
    browser.cookie = Some(logged_in.clone());
    let page = browser.get("/account/apps").await;
    let csrf = page.body.split("/logout").nth(1).unwrap().split("value=\"").nth(1).unwrap();
    let csrf = csrf.split('"').next().unwrap().to_owned();
    browser.post("/logout", &[("csrf", &csrf)]).await;
    browser.cookie = Some(logged_in);
    assert_eq!(browser.get("/account/apps").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn on_plain_http_the_cookie_has_a_name_that_browsers_take() {
    let server = Server::empty("http://127.0.0.1:10013", Options::default());
    let set = server.get("/login").await.header("set-cookie").to_owned();
    assert!(set.starts_with("tvix=tvx_se_") && !set.contains("Secure"), "{set}");
}

#[tokio::test]
async fn unknown_users_cost_the_same_work_and_get_the_same_answer() {
    let server = Server::new().await;
    let mut answers = Vec::new();
    for name in [NAME, "nobody", "a name that cannot be"] {
        let before = server.auth.hashes_computed();
        let reply = Browser::new(&server).log_in(name, "a wrong password").await;
        assert_eq!(server.auth.hashes_computed(), before + 1, "{name}");
        let shown = reply.body.replace(&reply.hidden("csrf"), "").replace(name, "");
        answers.push((reply.status, shown));
    }
    assert_eq!(answers[0].0, StatusCode::UNAUTHORIZED);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[tokio::test]
async fn guessing_a_password_has_to_wait_longer_each_time() {
    let server = Server::new().await;
    let mut waits = Vec::new();
    for _ in 0..9 {
        let before = server.auth.hashes_computed();
        let reply = Browser::new(&server).log_in(NAME, "a wrong password").await;
        if reply.status == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(server.auth.hashes_computed(), before);
            let wait: u64 = reply.header("retry-after").parse().unwrap();
            waits.push(wait);
            server.clock.advance(wait);
        }
    }
    assert_eq!(waits, [1, 2]);
    let right = Browser::new(&server).log_in(NAME, PASSWORD).await;
    assert_eq!(right.status, StatusCode::TOO_MANY_REQUESTS);
    server.clock.advance(60);
    assert_eq!(Browser::new(&server).log_in(NAME, PASSWORD).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_long_or_odd_request_gets_an_answer_that_is_no_fault_of_the_server() {
    let server = Server::new().await;
    let client = server.client().await;
    let long = "x".repeat(9000);
    let requests = [
        authorize(&client, &[("state", &long)]),
        "/authorize?%".to_owned(),
        "/authorize?client_id=%00%ff&redirect_uri=%F0%9F%92%A9".to_owned(),
        authorize(&client, &[("scope", "%%% \u{0}")]),
        "/login?next=%ff%00".to_owned(),
    ];
    for request in requests {
        let status = server.get(&request).await.status;
        assert!(!status.is_server_error(), "{request}: {status}");
    }
    for (path, body) in
        [("/token", "grant_type=%ff"), ("/revoke", "=&&="), ("/login", "csrf"), ("/authorize", "")]
    {
        let status = server.post(path, &[(body, body)]).await.status;
        assert!(status.is_client_error(), "{path}: {status}");
    }
}
