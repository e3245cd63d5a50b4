//! Nothing secret is written to disk or to the log.

use std::{
    io,
    sync::{Arc, Mutex},
};

use crate::support::{Browser, NAME, PASSWORD, Server, VERIFIER, authorize, pair};

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn tokens_codes_verifiers_cookies_and_passwords_are_neither_logged_nor_stored_in_clear() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // For all threads: transactions run on others.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let server = Server::new().await;
    let setup = Server::empty("https://new.example.com", tvix_mcp_http::auth::Options::default());
    let link = setup.auth.setup_link().await.unwrap().unwrap();
    let client = server.client().await;
    let mut browser = Browser::logged_in(&server, NAME).await;
    Browser::new(&server).log_in("nobody", "a password that nobody has").await;
    let code = browser.allow(&authorize(&client, &[])).await.params().remove("code").unwrap();
    let (access, refresh) = pair(&server.exchange(&client, &code, VERIFIER).await);
    server.refresh(&client, &refresh).await;
    server.exchange(&client, &code, VERIFIER).await;
    server.call(&access).await;
    let csrf = browser.get("/account/tokens").await.hidden("csrf");
    let form =
        [("csrf", csrf.as_str()), ("name", "script"), ("scope", "memory:read"), ("days", "30")];
    let personal = browser.post("/account/tokens", &form).await.body;
    let personal =
        personal.split("value=\"tvx_pat_").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let cookie = browser.cookie.unwrap().split_once('=').unwrap().1.to_owned();
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("a code was used twice"), "{logged}");
    let mut stored = std::fs::read(server.folder.path().join("auth.redb")).unwrap();
    stored.extend(std::fs::read(setup.folder.path().join("auth.redb")).unwrap());
    let link = link.split_once("token=").unwrap().1;
    for secret in [&*code, &access, &refresh, &personal, &cookie, link, VERIFIER, PASSWORD, &csrf] {
        assert!(!logged.contains(secret), "logged: {secret}");
        assert!(
            !stored.windows(secret.len()).any(|part| part == secret.as_bytes()),
            "stored: {secret}"
        );
    }
    assert!(!logged.contains("a password that nobody has"));
}

#[cfg(unix)]
#[tokio::test]
async fn the_database_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::new().await;
    let mode =
        std::fs::metadata(server.folder.path().join("auth.redb")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
