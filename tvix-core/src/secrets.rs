//! Keeps credentials and spans marked private out of the store.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use crate::{
    Error, Result,
    search::{Notice, notice},
    settings::SecretPolicy,
};

/// A sort of credential and the shape that gives it away.
struct Shape {
    kind: &'static str,
    pattern: Regex,
}

/// Shapes with a known prefix, from the vendors' documentation. Texts that only speak about keys
/// must pass, so every shape asks for a long run of key characters with a digit in it.
const SHAPES: &[(&str, &str)] = &[
    (
        "private key",
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    ("API key", r"\b(?:sk|rk|pk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{20,}[A-Za-z0-9_-]*"),
    ("AWS access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    ("GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_.-]{20,}"),
    ("Slack token", r"\bxox[abeprs]-[A-Za-z0-9-]{20,}|\bxapp-[A-Za-z0-9-]{20,}"),
    ("Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("PyPI token", r"\bpypi-[A-Za-z0-9_-]{40,}"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{40,}"),
    ("crates.io token", r"\bcio[A-Za-z0-9]{32}\b"),
    ("Tvix token", r"\btvx_(?:at|rt|pat)_[A-Za-z0-9_-]{20,}"),
    ("JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    (
        "Authorization value",
        r#"(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{16,}"#,
    ),
];

static COMPILED: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let compiled = SHAPES
        .iter()
        .map(|(kind, pattern)| Regex::new(pattern).map(|pattern| Shape { kind, pattern }));
    compiled.filter_map(Result::ok).collect()
});

/// Credentials in `text`: their kind and the bytes they cover.
fn find(text: &str) -> impl Iterator<Item = (&'static str, std::ops::Range<usize>)> {
    COMPILED.iter().flat_map(move |shape| {
        let hits =
            shape.pattern.find_iter(text).filter(|hit| looks_random(shape.kind, hit.as_str()));
        hits.map(|hit| (shape.kind, hit.range()))
    })
}

/// A digit tells a key from hyphenated words such as `sk-learn-is-a-popular-library`.
fn looks_random(kind: &str, hit: &str) -> bool {
    kind == "private key" || hit.bytes().any(|byte| byte.is_ascii_digit())
}

/// Applies `policy` to `text`, the value of the argument `field`.
///
/// # Errors
/// [`Error::InvalidInput`] under [`SecretPolicy::Refuse`], naming the kind of secret, never the
/// secret.
pub(crate) fn screen<'a>(
    field: &str,
    text: &'a str,
    policy: SecretPolicy,
    notices: &mut Vec<Notice>,
) -> Result<Cow<'a, str>> {
    if policy == SecretPolicy::Allow {
        return Ok(Cow::Borrowed(text));
    }
    let mut found: Vec<_> = find(text).collect();
    let Some(&(kind, _)) = found.first() else { return Ok(Cow::Borrowed(text)) };
    if policy == SecretPolicy::Refuse {
        let article = if kind.starts_with(['A', 'a']) { "an" } else { "a" };
        let advice = "nothing was stored; leave the secret out and send the rest";
        return Err(Error::invalid(field, format_args!("holds {article} {kind}; {advice}")));
    }
    found.sort_by_key(|(_, range)| range.start);
    notice::add(notices, Notice::Redacted { kind: kind.to_owned() });
    Ok(Cow::Owned(redact(text, &found)))
}

fn redact(text: &str, found: &[(&str, std::ops::Range<usize>)]) -> String {
    let (mut clean, mut kept_to) = (String::with_capacity(text.len()), 0);
    for (kind, range) in found.iter().filter(|(_, range)| !range.is_empty()) {
        if range.start >= kept_to {
            clean.push_str(&text[kept_to..range.start]);
            clean.extend(["[redacted:", kind, "]"]);
        }
        kept_to = kept_to.max(range.end);
    }
    clean.push_str(&text[kept_to..]);
    clean
}

/// Takes secrets and private spans out of the texts of `fields`, the argument `metadata`, at any depth.
/// A secret in a key is refused under every policy but [`SecretPolicy::Allow`].
pub(crate) fn screen_fields(
    fields: &mut Map<String, Value>,
    policy: SecretPolicy,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let refuse = if policy == SecretPolicy::Allow { policy } else { SecretPolicy::Refuse };
    for (key, value) in fields {
        screen("metadata", key, refuse, notices)?;
        screen_value(value, policy, notices)?;
    }
    Ok(())
}

fn screen_value(value: &mut Value, policy: SecretPolicy, notices: &mut Vec<Notice>) -> Result<()> {
    match value {
        Value::String(text) => {
            let visible = without_private("metadata", text, notices)?;
            let clean = screen("metadata", &visible, policy, notices)?;
            if *clean != **text {
                *text = clean.into_owned();
            }
            Ok(())
        }
        Value::Array(items) => {
            items.iter_mut().try_for_each(|item| screen_value(item, policy, notices))
        }
        Value::Object(fields) => screen_fields(fields, policy, notices),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Tags as people write them: in any case, with spaces or attributes.
static TAG: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?is)<\s*(?P<close>/?)\s*private(?:\s[^<>]*)?>").ok());

/// `text`, the value of the argument `field`, without its `<private>…</private>` spans, which may be
/// nested. A closing tag without an opening one is plain text.
///
/// # Errors
/// [`Error::InvalidInput`] when a span is never closed: to keep what follows could give away what was
/// meant to be private, to drop it could lose what was not.
pub(crate) fn without_private<'a>(
    field: &str,
    text: &'a str,
    notices: &mut Vec<Notice>,
) -> Result<Cow<'a, str>> {
    let tags: Vec<_> = TAG.iter().flat_map(|tag| tag.captures_iter(text)).collect();
    let (mut kept, mut kept_to, mut depth) = (String::new(), 0, 0_usize);
    for tag in &tags {
        let (Some(range), closes) = (tag.get(0).map(|tag| tag.range()), !tag["close"].is_empty())
        else {
            continue;
        };
        match (closes, depth) {
            (false, 0) => kept.push_str(&text[kept_to..range.start]),
            (true, 1) => kept_to = range.end,
            _ => {}
        }
        depth = if closes { depth.saturating_sub(1) } else { depth + 1 };
    }
    if depth > 0 {
        let reason = "holds <private> without </private>; close it or leave the tag out";
        return Err(Error::invalid(field, reason));
    }
    if kept_to == 0 {
        return Ok(Cow::Borrowed(text));
    }
    kept.push_str(&text[kept_to..]);
    notice::add(notices, Notice::PrivateRemoved);
    Ok(Cow::Owned(kept))
}

/// Checks the name of a project, which is shown in lists and descriptions of tools: it may hold neither
/// a credential, in any case since slugs are lower case, nor a private span.
///
/// # Errors
/// [`Error::InvalidInput`] naming `project`.
pub(crate) fn screen_project(name: &str, policy: SecretPolicy) -> Result<()> {
    if without_private("project", name, &mut Vec::new())? != name {
        return Err(Error::invalid("project", "holds a private span; name the project without it"));
    }
    let forms = [name.to_owned(), name.to_uppercase()];
    let found = forms.iter().any(|form| find(form).next().is_some());
    if found && policy != SecretPolicy::Allow {
        return Err(Error::invalid(
            "project",
            "holds a credential; nothing was stored; choose another name",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "Zt4Kq9Lm2Xw7Pc5Rv8Ny3Hb6Jd1Fg0SaEuToIiWk4Qz9Mx2";

    fn refused(text: &str) -> Option<String> {
        screen("content", text, SecretPolicy::Refuse, &mut Vec::new()).err().map(|e| e.to_string())
    }

    #[test]
    fn every_shape_compiles() {
        assert_eq!(COMPILED.len(), SHAPES.len());
    }

    #[test]
    fn credentials_are_refused_by_kind_and_never_repeated() {
        let lower = RUN.to_lowercase();
        let secrets = [
            format!("sk-{RUN}"),
            format!("sk-proj-{RUN}"),
            format!("sk_live_{RUN}"),
            format!("AKIA{}", &RUN.to_uppercase()[..16]),
            format!("ghp_{}", &RUN[..36]),
            format!("github_pat_{RUN}"),
            format!("glpat-{}", &RUN[..20]),
            format!("xoxb-{RUN}"),
            format!("AIza{}", &RUN[..35]),
            format!("npm_{}", &RUN[..36]),
            format!("hf_{}", &RUN[..34]),
            format!("Authorization: Bearer {RUN}"),
            format!("\"authorization\": \"Basic {lower}==\""),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{RUN}\n-----END RSA PRIVATE KEY-----"),
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{RUN}"),
            format!("eyJ{}.eyJ{}.{}", &RUN[..20], &RUN[..20], &RUN[..20]),
        ];
        for secret in secrets {
            let error = refused(&format!("keep this: {secret} please")).unwrap_or_default();
            assert!(error.starts_with("content: holds a"), "{secret}: {error}");
            assert!(!error.contains(&RUN[..12]) && !error.contains(&lower[..12]), "{error}");
        }
    }

    #[test]
    fn texts_that_speak_about_keys_pass() {
        for text in [
            "Rotate the API key each quarter",
            "sk-learn is a typo for scikit-learn",
            "sk-learn-1.4-is-a-very-popular-machine-learning-library-of-2024",
            "The Authorization header must be present: Authorization: Bearer <token>",
            "AKIA is the prefix of such ids",
            "The private key lives in the hardware token",
            "task-2026-11-30-write-the-quarterly-report",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
    }

    #[test]
    fn redaction_keeps_the_rest() {
        let mut notices = Vec::new();
        let text = format!("first sk-{RUN} then ghp_{} end", &RUN[..36]);
        let clean = screen("content", &text, SecretPolicy::Redact, &mut notices).expect("redacted");
        assert_eq!(clean, "first [redacted:API key] then [redacted:GitHub token] end");
        assert_eq!(notices.len(), 1);
    }

    #[test]
    fn private_spans_are_removed_whole() {
        for (text, kept) in [
            ("a <private>b</private> c", Some("a  c")),
            ("a <PRIVATE>b</Private>", Some("a ")),
            ("a < private\n>b</private >c", Some("a c")),
            ("a <private class='x'>b</private>", Some("a ")),
            ("a <private>b <private>c</private> d</private> e", Some("a  e")),
            ("a </private> b", Some("a </private> b")),
            ("a <privateer>b", Some("a <privateer>b")),
            ("é<private>ü</private>ß<private>x</private>", Some("éß")),
            ("a <private>never closed", None),
        ] {
            let found = without_private("content", text, &mut Vec::new()).ok();
            assert_eq!(found.as_deref(), kept, "{text}");
        }
    }

    #[test]
    fn projects_and_metadata_hide_nothing_either() {
        let key = "AKIAZT4KQ9LM2XW7PC5R";
        for name in [key, "akiazt4kq9lm2xw7pc5r", "a <private>b</private>"] {
            assert!(screen_project(name, SecretPolicy::Redact).is_err(), "{name}");
        }
        assert!(screen_project("acme-rewrite", SecretPolicy::Refuse).is_ok());
        let screened = |json: Value, policy| {
            let mut fields = json.as_object().cloned().unwrap_or_default();
            screen_fields(&mut fields, policy, &mut Vec::new()).map(|()| Value::Object(fields))
        };
        for policy in [SecretPolicy::Refuse, SecretPolicy::Redact] {
            assert!(screened(serde_json::json!({"a": {key: 1}}), policy).is_err());
        }
        let shown =
            screened(serde_json::json!({"a": ["x <private>y</private>"]}), SecretPolicy::Refuse);
        assert_eq!(shown.ok(), Some(serde_json::json!({"a": ["x "]})));
    }
}
