//! Pages for people: plain HTML without script, readable by any browser, in light and dark, on a phone.
//!
//! `maud` escapes whatever is put into a page, so a client's name can be no markup.

use std::sync::OnceLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Scope, secret::Hash};

pub(super) mod account;
pub(super) mod consent;
pub(super) mod login;
pub(super) mod setup;

const STYLE: &str = include_str!("style.css");

/// What the pages may do: show text in our own style, and nothing else.
///
/// There is no `form-action`: browsers apply it to the redirects that follow a form as well, and the last
/// one leads to the client, which can be any address and even a scheme of its own.
pub(super) fn content_security_policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let hash = STANDARD.encode(Hash::of(&[STYLE.as_bytes()]).bytes());
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; frame-ancestors 'none'; base-uri 'none'"
        )
    })
}

/// The frame of every page.
fn layout(title: &str, wide: bool, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) " · Tvix" }
                style { (PreEscaped(STYLE)) }
            }
            body class=[wide.then_some("wide")] {
                main {
                    p.brand { span.mark aria-hidden="true" {} "Tvix" }
                    (content)
                }
            }
        }
    }
}

/// A message in place of what was wanted.
pub(super) fn problem(title: &str, text: &str) -> Markup {
    let content = html! {
        h1 { (title) }
        p { (text) }
    };
    layout(title, false, &content)
}

/// The line above a form that says what was wrong with it.
fn complaint(error: Option<&str>) -> Markup {
    html! {
        @if let Some(error) = error {
            p.error role="alert" id="error" { (error) }
        }
    }
}

/// What a scope allows, in words, and what it does not.
fn in_words(scope: Scope) -> (&'static str, &'static str) {
    match scope {
        Scope::MemoryRead => ("Read your memories", "search and list what was remembered"),
        Scope::MemoryWrite => ("Add memories", "remember new things; it cannot change or delete"),
        Scope::WikiRead => ("Read your wiki", "search and open your documents"),
        Scope::WikiWrite => ("Change your wiki", "add, move and delete documents"),
    }
}

/// A day, with its full time for whoever asks.
fn day(seconds: u64) -> Markup {
    let time = i64::try_from(seconds).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    html! {
        @if let Some(time) = time {
            time datetime=(time.to_string()) { (time.strftime("%-d %B %Y").to_string()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{content_security_policy, problem};

    #[test]
    fn what_is_shown_is_escaped_and_the_policy_has_no_form_action() {
        let page = problem("<b>", "a & \"b\" <script>").into_string();
        assert!(page.contains("&lt;script&gt;") && !page.contains("<b>"), "{page}");
        let policy = content_security_policy();
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("form-action"),
            "{policy}"
        );
    }
}
