//! The pages of an account: connected apps, access tokens, the password.

use maud::{Markup, html};
use uuid::Uuid;

use super::{complaint, day, in_words, layout, setup::new_password};
use crate::auth::{Scope, secret::Secret, store::Grant, tokens::TokenRow};

/// What stands on all of them.
pub(in crate::auth) struct Frame<'a> {
    pub(in crate::auth) user: &'a str,
    pub(in crate::auth) csrf: &'a str,
    pub(in crate::auth) csrf_logout: &'a str,
}

/// A client that has tokens.
pub(in crate::auth) struct App {
    pub(in crate::auth) id: Uuid,
    pub(in crate::auth) grant: Grant,
}

/// What the page of access tokens shows.
pub(in crate::auth) struct Tokens<'a> {
    pub(in crate::auth) list: &'a [TokenRow],
    /// What a new one can be given.
    pub(in crate::auth) scopes: &'a [Scope],
    /// The one that was just made: shown now and never again.
    pub(in crate::auth) made: Option<&'a Secret>,
    pub(in crate::auth) error: Option<&'a str>,
}

const PLACES: [(&str, &str); 3] = [
    ("/account/apps", "Connected apps"),
    ("/account/tokens", "Access tokens"),
    ("/account/password", "Password"),
];

fn frame(frame: &Frame<'_>, here: &str, content: &Markup) -> Markup {
    let title = PLACES.iter().find(|(path, _)| *path == here).map_or("Account", |(_, title)| title);
    let content = html! {
        nav aria-label="Account" {
            @for (path, title) in PLACES {
                a href=(path) aria-current=[(path == here).then_some("page")] { (title) }
            }
        }
        h1 { (title) }
        (content)
        form.quiet method="post" action="/logout" {
            input type="hidden" name="csrf" value=(frame.csrf_logout);
            input type="hidden" name="next" value=(here);
            p.hint { "Logged in as " strong { (frame.user) } ". " button.link type="submit" { "Log out" } }
        }
    };
    layout(title, true, &content)
}

/// The page of connected apps.
pub(in crate::auth) fn apps(of: &Frame<'_>, apps: &[App]) -> Markup {
    let content = html! {
        @if apps.is_empty() {
            p.empty { "No app is connected. Add this server to an app, and it will ask you here." }
        }
        ul.cards {
            @for app in apps { li { (card(of, app)) } }
        }
    };
    frame(of, "/account/apps", &content)
}

fn card(of: &Frame<'_>, app: &App) -> Markup {
    let grant = &app.grant;
    let field = format!("name-{}", app.id);
    html! {
        h2 { (grant.name) }
        p.meta { "Last used " (day(grant.used)) " · connected " (day(grant.created)) }
        // The id of a client that registered itself is random and tells nobody anything.
        @if grant.client.starts_with("https://") { p.meta.id { (grant.client) } }
        (scope_list(&grant.scopes))
        details {
            summary { "Rename" }
            form method="post" action="/account/apps/rename" {
                (hidden(of, app.id))
                label for=(field) { "Name, which new memories of this app get as their source" }
                input id=(field) name="name" type="text" value=(grant.name) required maxlength="100";
                div.actions { button type="submit" { "Save name" } }
            }
        }
        form method="post" action="/account/apps/revoke" {
            (hidden(of, app.id))
            div.actions {
                button.danger type="submit" aria-label={ "Disconnect " (grant.name) } { "Disconnect" }
            }
        }
    }
}

fn hidden(of: &Frame<'_>, id: Uuid) -> Markup {
    html! {
        input type="hidden" name="csrf" value=(of.csrf);
        input type="hidden" name="id" value=(id);
    }
}

fn scope_list<'a>(scopes: impl IntoIterator<Item = &'a Scope>) -> Markup {
    html! { ul.tags { @for scope in scopes { li { (in_words(*scope).0) } } } }
}

/// The page of access tokens.
pub(in crate::auth) fn tokens(of: &Frame<'_>, page: &Tokens<'_>) -> Markup {
    let content = html! {
        p { "For programs that cannot open a browser: they send the token as " code { "Authorization: Bearer" } "." }
        @if let Some(made) = page.made { (shown_once(made)) }
        (complaint(page.error))
        ul.cards {
            @for token in page.list { li { (token_card(of, token)) } }
        }
        section.card {
            h2 { "New token" }
            (token_form(of, page.scopes))
        }
    };
    frame(of, "/account/tokens", &content)
}

fn shown_once(made: &Secret) -> Markup {
    html! {
        div.made role="status" {
            label for="made" { "Your new token. Copy it now: it is not shown again." }
            input.secret id="made" type="text" readonly value=(made.expose()) autocomplete="off" spellcheck="false";
        }
    }
}

fn token_card(of: &Frame<'_>, token: &TokenRow) -> Markup {
    html! {
        h2 { (token.name) }
        p.meta {
            @match token.used { Some(used) => { "Last used " (day(used)) } None => "Never used" }
            " · ends " (day(token.ends))
        }
        (scope_list(&token.scopes))
        form method="post" action="/account/tokens/revoke" {
            (hidden(of, token.id))
            div.actions {
                button.danger type="submit" aria-label={ "Revoke " (token.name) } { "Revoke" }
            }
        }
    }
}

fn token_form(of: &Frame<'_>, scopes: &[Scope]) -> Markup {
    html! {
        form method="post" action="/account/tokens" {
            input type="hidden" name="csrf" value=(of.csrf);
            label for="name" { "What is it for?" }
            input id="name" name="name" type="text" required maxlength="60" autocomplete="off";
            fieldset {
                legend { "It will be able to" }
                @for scope in scopes {
                    label.check {
                        input type="checkbox" name="scope" value=(scope) checked;
                        span { (in_words(*scope).0) }
                    }
                }
            }
            label for="days" { "Ends after" }
            select id="days" name="days" {
                option value="30" { "30 days" }
                option value="90" selected { "90 days" }
                option value="365" { "1 year" }
            }
            div.actions { button.primary type="submit" { "Create token" } }
        }
    }
}

/// The page of the password.
pub(in crate::auth) fn password(of: &Frame<'_>, error: Option<&str>, done: bool) -> Markup {
    let described = if error.is_some() { "error rule" } else { "rule" };
    let content = html! {
        @if done {
            p.done role="status" { "Your password is changed. Other browsers are logged out; apps stay connected." }
        }
        (complaint(error))
        form.narrow method="post" action="/account/password" {
            input type="hidden" name="csrf" value=(of.csrf);
            // Password managers need to know whose password it is.
            input.off type="text" name="user" value=(of.user) autocomplete="username" readonly tabindex="-1" aria-hidden="true";
            label for="current" { "Current password" }
            input id="current" name="current" type="password" required maxlength="256" autocomplete="current-password";
            (new_password(described))
            div.actions { button.primary type="submit" { "Change password" } }
        }
    };
    frame(of, "/account/password", &content)
}
