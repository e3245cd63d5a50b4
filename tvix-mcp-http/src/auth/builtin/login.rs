//! Logging in and out.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{Extension, RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::{get, post},
};
use uuid::Uuid;

use super::{Server, answer, answer::PageError, browser::Browser, forms::form};
use crate::ClientAddress;
use crate::auth::{
    limits::address_key,
    pages::login,
    params::{Params, with_params},
    store::{User, UserName, users},
};

/// Where a login without a destination leads.
const HOME: &str = "/account/apps";

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/login", get(show).post(enter)).route("/logout", post(leave))
}

/// The address of the login page that leads on to `next`.
pub(super) fn address(next: &str) -> String {
    with_params("/login", &[("next", next)])
}

/// The destination, if it is one of our own pages. Anything else would make the login an open redirect.
fn destination(params: &Params) -> &str {
    let next = params.get("next").unwrap_or(HOME);
    let own = next.starts_with("/authorize?")
        || ["/account/apps", "/account/tokens", "/account/password"].contains(&next);
    if own && next.bytes().all(|byte| byte.is_ascii_graphic()) { next } else { HOME }
}

async fn show(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let browser = Browser::read(&server, &headers).await?;
    let params = Params::parse(&query.unwrap_or_default());
    let next = destination(&params);
    if browser.person.is_some() {
        return Ok(answer::see_other(next));
    }
    let page =
        login::page(&login::Form { next, csrf: &browser.token("login"), name: "", error: None });
    Ok(browser.remember(&server, answer::page(StatusCode::OK, page)))
}

async fn enter(
    State(server): State<Arc<Server>>,
    peer: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    let form = form(&headers, &body).unwrap_or_default();
    let browser = Browser::read(&server, &headers).await?;
    browser.check(&headers, &form, "login")?;
    let address = address_key(peer.map(|Extension(ClientAddress(address))| address));
    let name = form.get("name").unwrap_or_default();
    match check(&server, name, form.get("password").unwrap_or_default(), &address).await? {
        Some(user) => {
            tracing::info!(%user, "a user logged in");
            let response = answer::see_other(destination(&form));
            Ok(browser.log_in(&server, user, response).await?)
        }
        None => Ok(again(&browser, &form, name)),
    }
}

fn again(browser: &Browser, form: &Params, name: &str) -> Response {
    let error = Some("Name or password is wrong.");
    let csrf = browser.token("login");
    let page = login::page(&login::Form { next: destination(form), csrf: &csrf, name, error });
    answer::page(StatusCode::UNAUTHORIZED, page)
}

/// The user with that name and password. A name that is nobody's and a user who is shut out cost the
/// same work and give the same answer.
async fn check(
    server: &Server,
    name: &str,
    password: &str,
    address: &str,
) -> Result<Option<Uuid>, PageError> {
    let now = server.now();
    let account = name.trim().chars().take(64).collect::<String>().to_lowercase();
    let wait = |result: Result<(), u64>, what: &'static str| {
        result.map_err(|seconds| {
            tracing::info!(address, what, seconds, "a login has to wait");
            PageError::TooOften(seconds)
        })
    };
    wait(server.address_delays.begin(address, now), "address")?;
    wait(server.account_delays.begin(&account, now), "account")?;
    let found = find(server, name).await?;
    let hash = found.as_ref().map(|(_, user)| user.password.clone());
    let fits = server.passwords.verify(password, hash).await?;
    let good = found.filter(|(_, user)| fits && !user.disabled).map(|(id, _)| id);
    if good.is_some() {
        server.address_delays.forgive(address);
        server.account_delays.forgive(&account);
    } else {
        tracing::info!(address, "a login failed");
    }
    Ok(good)
}

async fn find(server: &Server, name: &str) -> Result<Option<(Uuid, User)>, PageError> {
    let Ok(name) = UserName::parse(name) else { return Ok(None) };
    Ok(server.store.read(move |rows| users::by_name(rows, &name)).await?)
}

async fn leave(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    let form = form(&headers, &body).unwrap_or_default();
    let browser = Browser::read(&server, &headers).await?;
    browser.check(&headers, &form, "logout")?;
    let response = answer::see_other(&address(destination(&form)));
    Ok(browser.log_out(&server, response).await?)
}
