//! What a document must say.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::auth::builtin::RedirectUri;

/// The longest address of a document.
const LONGEST: usize = 1024;

/// A client as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::auth) struct Document {
    /// Its name, or the host without one.
    pub(in crate::auth) name: String,
    /// The host of its id.
    pub(in crate::auth) host: String,
    /// Where it may be sent to.
    pub(in crate::auth) redirect_uris: Vec<RedirectUri>,
}

#[derive(Debug, Deserialize)]
struct Raw {
    client_id: String,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
}

/// Whether a client's id is meant to be the address of a document.
pub(in crate::auth) fn is_address(id: &str) -> bool {
    id.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

/// Checks an id that is an address: with a path, in its usual spelling, without user, password, fragment,
/// and without `.` or `..`.
pub(super) fn check_address(id: &str) -> Result<Url, String> {
    let wrong = "the address must be https with a path, and have no user, password, fragment or dot segments";
    let url = Url::parse(id).map_err(|_| wrong)?;
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let fits = id.len() <= LONGEST
        && url.scheme() == "https"
        && url.host_str().is_some()
        && plain
        && url.path() != "/"
        // The parser resolves dot segments and other spellings; ids are compared as text.
        && url.as_str() == id;
    if fits { Ok(url) } else { Err(wrong.to_owned()) }
}

impl Document {
    /// Reads the document that was found at `address`.
    pub(super) fn read(address: &str, body: &[u8]) -> Result<Self, String> {
        let host = check_address(address)?.host_str().unwrap_or_default().to_owned();
        let value: Value =
            serde_json::from_slice(body).map_err(|_| "it must be one JSON object".to_owned())?;
        if value
            .as_object()
            .is_none_or(|fields| fields.keys().any(|key| key.starts_with("client_secret")))
        {
            return Err("it must be a JSON object without a client_secret".to_owned());
        }
        let raw: Raw = serde_json::from_value(value).map_err(|error| error.to_string())?;
        if raw.client_id != address {
            return Err("client_id must be the address of the document".to_owned());
        }
        if raw.token_endpoint_auth_method.is_some_and(|method| method.starts_with("client_secret"))
        {
            return Err("token_endpoint_auth_method must not need a shared secret".to_owned());
        }
        // One that cannot be used is left out: it can never match a request.
        let uris = raw.redirect_uris.iter().take(50).filter_map(|uri| RedirectUri::parse(uri).ok());
        let redirect_uris: Vec<_> = uris.collect();
        if redirect_uris.is_empty() {
            return Err("redirect_uris must hold at least one that can be used".to_owned());
        }
        let name = raw.client_name.unwrap_or_default();
        let name: String = name.trim().chars().filter(|c| !c.is_control()).take(100).collect();
        let name = if name.is_empty() { host.clone() } else { name };
        Ok(Self { name, host, redirect_uris })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Document, check_address};

    const ID: &str = "https://app.example/client.json";

    fn read(change: impl FnOnce(&mut Value)) -> Result<Document, String> {
        let mut document = json!({
            "client_id": ID, "client_name": "An app", "redirect_uris": ["https://app.example/cb"],
        });
        change(&mut document);
        Document::read(ID, document.to_string().as_bytes())
    }

    #[test]
    fn a_document_speaks_for_its_own_address_only() {
        let document = read(|_| {}).unwrap();
        assert_eq!((document.name.as_str(), document.host.as_str()), ("An app", "app.example"));
        let refused: [fn(&mut Value); 6] = [
            |d| d["client_id"] = json!("https://other.example/client.json"),
            |d| d["client_secret"] = json!("x"),
            |d| d["token_endpoint_auth_method"] = json!("client_secret_post"),
            |d| d["redirect_uris"] = json!([]),
            |d| d["redirect_uris"] = json!(["javascript:alert(1)"]),
            |d| *d = json!([1]),
        ];
        for change in refused {
            assert!(read(change).is_err());
        }
    }

    #[test]
    fn an_address_has_one_spelling() {
        assert!(check_address(ID).is_ok());
        for bad in [
            "http://app.example/c",
            "https://app.example",
            "https://app.example/",
            "https://u@app.example/c",
            "https://app.example/c#f",
            "https://app.example/a/../c",
            "https://APP.example/c",
            "HTTPS://app.example/c",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }
}
