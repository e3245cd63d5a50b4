//! The login page.

use maud::{Markup, html};

use super::{complaint, layout};

/// What the page shows.
pub(in crate::auth) struct Form<'a> {
    /// Where the login leads.
    pub(in crate::auth) next: &'a str,
    pub(in crate::auth) csrf: &'a str,
    /// The name that was typed before.
    pub(in crate::auth) name: &'a str,
    pub(in crate::auth) error: Option<&'a str>,
}

pub(in crate::auth) fn page(form: &Form<'_>) -> Markup {
    let failed = form.error.is_some();
    let content = html! {
        h1 { "Log in" }
        @if form.next.starts_with("/authorize?") {
            p.lead { "An app wants to connect to your memory. Log in to see which one, and to decide." }
        }
        (complaint(form.error))
        form method="post" action="/login" {
            input type="hidden" name="csrf" value=(form.csrf);
            input type="hidden" name="next" value=(form.next);
            label for="name" { "Name" }
            input id="name" name="name" type="text" value=(form.name) required maxlength="64"
                autocomplete="username" autocapitalize="none" spellcheck="false"
                autofocus[!failed] aria-describedby=[failed.then_some("error")];
            label for="password" { "Password" }
            input id="password" name="password" type="password" required maxlength="256"
                autocomplete="current-password" autofocus[failed]
                aria-invalid=[failed.then_some("true")] aria-describedby=[failed.then_some("error")];
            div.actions { button.primary type="submit" { "Log in" } }
        }
        p.hint {
            "Forgotten? Whoever runs this server can set a new password: "
            code { "tvix-mcp-http user passwd NAME" }
        }
    };
    layout("Log in", false, &content)
}
