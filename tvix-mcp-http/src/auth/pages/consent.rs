//! The consent page: who asks, where the answer goes, what it would allow.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::{in_words, layout};
use crate::auth::{Scope, builtin::RedirectUri};

/// What the page asks.
pub(in crate::auth) struct Question<'a> {
    /// How the client calls itself.
    pub(in crate::auth) client: &'a str,
    /// The host of its metadata document, which is proven.
    pub(in crate::auth) proven_host: Option<&'a str>,
    /// Whether the owner of the server registered it.
    pub(in crate::auth) configured: bool,
    pub(in crate::auth) redirect: &'a RedirectUri,
    pub(in crate::auth) scopes: &'a BTreeSet<Scope>,
    pub(in crate::auth) user: &'a str,
    /// The query of the authorization request, as it came.
    pub(in crate::auth) request: &'a str,
    pub(in crate::auth) csrf: &'a str,
    pub(in crate::auth) csrf_logout: &'a str,
}

pub(in crate::auth) fn page(question: &Question<'_>) -> Markup {
    let title = format!("Connect {}?", question.client);
    let content = html! {
        h1 { "Connect " span.client { (question.client) } "?" }
        p.lead { "It asks to use the memory of " strong { (question.user) } "." }
        dl.facts {
            div { dt { "Who it is" } dd { (known_as(question)) } }
            div {
                dt { "Answer goes to" }
                dd { strong { (question.redirect.shown()) } span { (destination(question.redirect)) } }
            }
        }
        (warning(question))
        h2 { "It will be able to" }
        ul.scopes {
            @for scope in question.scopes {
                @let (what, more) = in_words(*scope);
                li { strong { (what) } span { (more) } }
            }
        }
        form method="post" action="/authorize" {
            input type="hidden" name="csrf" value=(question.csrf);
            input type="hidden" name="request" value=(question.request);
            div.actions.pair {
                button type="submit" name="decision" value="deny" { "Deny" }
                button.primary type="submit" name="decision" value="allow" { "Allow" }
            }
        }
        (other_account(question))
    };
    layout(&title, false, &content)
}

fn known_as(question: &Question<'_>) -> Markup {
    html! {
        @match (question.proven_host, question.configured) {
            (Some(host), _) => { strong { (host) } " (checked)" }
            (None, true) => "registered by the owner of this server",
            (None, false) => "not checked: it registered itself under this name",
        }
    }
}

fn destination(redirect: &RedirectUri) -> &'static str {
    match (redirect.is_loopback(), redirect.is_web()) {
        (true, _) => "a program on your computer",
        (_, true) => "a web site",
        _ => "a program on your device that opens such links",
    }
}

/// What a person should think about before saying yes.
fn warning(question: &Question<'_>) -> Markup {
    let text = match (question.redirect.is_loopback(), question.redirect.is_web()) {
        (true, _) => {
            "The answer goes to a program on your computer. Allow only if you have just started \
             connecting an app there."
        }
        (_, false) => {
            "The answer goes to whichever program on this device opens such links. Allow only if you have \
             just started connecting an app there."
        }
        _ if question.proven_host.is_none() && !question.configured => {
            "Anyone can choose this name. Look at the address that the answer goes to, and allow only if \
             you have just started connecting this app."
        }
        _ => return html! {},
    };
    html! { p.warning { (text) } }
}

fn other_account(question: &Question<'_>) -> Markup {
    let next = format!("/authorize?{}", question.request);
    html! {
        form.quiet method="post" action="/logout" {
            input type="hidden" name="csrf" value=(question.csrf_logout);
            input type="hidden" name="next" value=(next);
            p.hint {
                "You can take this back at any time under " a href="/account/apps" { "connected apps" } ". "
                button.link type="submit" { "Use another account" }
            }
        }
    }
}
