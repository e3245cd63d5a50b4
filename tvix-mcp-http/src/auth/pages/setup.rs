//! The page of the first start.

use maud::{Markup, html};

use super::{complaint, layout};

/// What the page shows.
pub(in crate::auth) struct Form<'a> {
    /// The secret of the link.
    pub(in crate::auth) token: &'a str,
    pub(in crate::auth) csrf: &'a str,
    pub(in crate::auth) name: &'a str,
    pub(in crate::auth) error: Option<&'a str>,
}

pub(in crate::auth) fn page(form: &Form<'_>) -> Markup {
    let described = if form.error.is_some() { "error rule" } else { "rule" };
    let content = html! {
        h1 { "Welcome" }
        p.lead { "Choose the name and password of the first user. The link that brought you here works once." }
        (complaint(form.error))
        form method="post" action="/setup" {
            input type="hidden" name="csrf" value=(form.csrf);
            input type="hidden" name="token" value=(form.token);
            label for="name" { "Name" }
            input id="name" name="name" type="text" value=(form.name) required maxlength="64"
                autocomplete="username" autocapitalize="none" spellcheck="false" autofocus;
            (new_password(described))
            div.actions { button.primary type="submit" { "Create user" } }
        }
    };
    layout("Welcome", false, &content)
}

/// The two fields for a new password.
pub(super) fn new_password(described: &str) -> Markup {
    html! {
        label for="password" { "New password" }
        input id="password" name="password" type="password" required minlength="12" maxlength="256"
            autocomplete="new-password" aria-describedby=(described);
        p.rule id="rule" { "At least 12 characters. A few random words are easy to keep." }
        label for="repeated" { "The same again" }
        input id="repeated" name="repeated" type="password" required minlength="12" maxlength="256"
            autocomplete="new-password";
    }
}
