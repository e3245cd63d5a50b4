//! The first user, made with the one-time link that the first start prints.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::get,
};

use super::{
    Server,
    answer::{self, PageError},
    browser::Browser,
    forms::form,
};
use crate::auth::{
    pages::{self, setup},
    params::Params,
    passwords::Password,
    secret::{Purpose, Secret},
    store::{Rows as _, Setup, User, UserName, users::Added},
};

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/setup", get(show).post(make))
}

async fn show(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let params = Params::parse(&query.unwrap_or_default());
    let Some(link) = good(&server, &params).await? else { return Ok(over()) };
    let browser = Browser::read(&server, &headers).await?;
    Ok(browser.remember(&server, again(&browser, &link, "", None)))
}

async fn make(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    let form = form(&headers, &body).unwrap_or_default();
    let browser = Browser::read(&server, &headers).await?;
    browser.check(&headers, &form, "setup")?;
    // The link is looked at before a hash is computed: only who has it can make the server work.
    let Some(link) = good(&server, &form).await? else { return Ok(over()) };
    let (name, password) = match read(&form) {
        Ok(read) => read,
        Err(reason) => {
            return Ok(again(&browser, &link, form.get("name").unwrap_or_default(), Some(reason)));
        }
    };
    let user = User {
        name: name.as_str().to_owned(),
        password: server.passwords.hash(password).await?,
        disabled: false,
        created: server.now(),
    };
    match server.store.add_user(name, user, Some(*link.hash().bytes())).await? {
        Added::New(id) => {
            tracing::info!(user = %id, "the first user was made");
            let response = answer::see_other("/account/apps");
            Ok(browser.log_in(&server, id, response).await?)
        }
        Added::Taken | Added::NotAllowed => Ok(over()),
    }
}

/// The secret of the link, if it is good and there is no user yet.
async fn good(server: &Server, params: &Params) -> Result<Option<Secret>, PageError> {
    let sent = params.get("token").and_then(|token| Secret::read(Purpose::Setup, token));
    let Some(secret) = sent else { return Ok(None) };
    let (key, now) = (secret.hash(), server.now());
    let known = server.store.read(move |rows| rows.get::<Setup>(key.bytes())).await?;
    Ok(known.filter(|link| link.ends > now).map(|_| secret))
}

fn read(form: &Params) -> Result<(UserName, Password), &'static str> {
    let name = UserName::parse(form.get("name").unwrap_or_default())?;
    let password = form.get("password").unwrap_or_default();
    if Some(password) != form.get("repeated") {
        return Err("password: the two differ");
    }
    Ok((name, Password::new(password)?))
}

fn again(browser: &Browser, link: &Secret, name: &str, error: Option<&str>) -> Response {
    let csrf = browser.token("setup");
    let page = setup::page(&setup::Form { token: link.expose(), csrf: &csrf, name, error });
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    answer::page(status, page)
}

fn over() -> Response {
    let text = "It was used, is older than a day, or there is a user already. To add users, run \
                tvix-mcp-http user add on the server.";
    answer::page(StatusCode::NOT_FOUND, pages::problem("This link is no longer good", text))
}
