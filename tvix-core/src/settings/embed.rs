//! Which model turns texts into vectors.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, secrets, settings::SecretPolicy};

/// The longest name of a model, in characters.
const MODEL_NAME_MAX: usize = 200;

/// Which model turns texts into vectors, with exactly what that kind of model needs.
/// [`embed::open`](crate::embed::open) makes an embedder of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmbedSettings {
    /// The model inside this crate: no download, microseconds a text.
    #[default]
    Static,
    /// No model: search is by word alone.
    None,
    /// A transformer in a local folder. Needs the feature `embed-candle`.
    Candle {
        /// The folder with `config.json`, `tokenizer.json` and `model.safetensors`; absolute.
        path: PathBuf,
    },
    /// A model behind an OpenAI-compatible endpoint. Needs the feature `embed-http`.
    Http {
        /// Where it listens.
        url: Endpoint,
        /// The model's name there.
        model: ModelName,
        /// The environment variable that holds the key, if the endpoint asks for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_env: Option<KeyVariable>,
    },
}

impl EmbedSettings {
    /// Its kind, as named in `config.toml`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::None => "none",
            Self::Candle { .. } => "candle",
            Self::Http { .. } => "http",
        }
    }

    /// Checks that this build has such an embedder.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `kind` and the feature that is missing.
    pub fn check_built_in(&self) -> Result<()> {
        let (feature, built_in) = match self {
            Self::Static | Self::None => return Ok(()),
            Self::Candle { .. } => ("embed-candle", cfg!(feature = "embed-candle")),
            Self::Http { .. } => ("embed-http", cfg!(feature = "embed-http")),
        };
        if built_in {
            return Ok(());
        }
        let kind = self.kind();
        let reason = format!("this build has no {kind:?}: use one with the feature `{feature}`");
        Err(Error::invalid("kind", reason))
    }
}

/// A type whose values are texts that passed a check: made by `new`, read by `as_str`.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks `text`.
            ///
            /// # Errors
            /// [`Error::InvalidInput`] naming the key, what came and what to send.
            pub fn new(text: &str) -> Result<Self> {
                $check(text.trim()).map(Self)
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(checked: $name) -> Self {
                checked.0
            }
        }
    };
}

checked_text! {
    /// Where an OpenAI-compatible endpoint takes texts: an `http` or `https` address that ends in
    /// `/embeddings`. That ending is added to a base such as `http://localhost:11434/v1`.
    Endpoint, endpoint
}

checked_text! {
    /// The name of a model at its endpoint: 1 to 200 characters, none of them a control character.
    ModelName, model_name
}

checked_text! {
    /// The *name* of the environment variable that holds a key, never the key: upper-case letters,
    /// digits and `_`, so that a key put here by mistake is refused and shown nowhere.
    KeyVariable, key_variable
}

fn endpoint(text: &str) -> Result<String> {
    let wrong = |reason: &str| Err(Error::invalid("url", reason));
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("this is no address; send one such as \"http://localhost:11434/v1\"");
    };
    let scheme = scheme.to_ascii_lowercase();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // What may hold a password or a key is not repeated.
    if host.contains('@') {
        return wrong("holds a user or password; leave them out and name a variable in key_env");
    }
    if rest.contains(['?', '#']) {
        return wrong("holds a query or fragment; send the address without it");
    }
    if !["http", "https"].contains(&scheme.as_str()) {
        return wrong(&format!("got {text:?}, send an address with http:// or https://"));
    }
    if host.is_empty() || host.starts_with(':') || !text.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return wrong(&format!("got {text:?}, send \"{scheme}://HOST:PORT/v1\""));
    }
    let rest = rest.trim_end_matches('/');
    let ending = if rest.ends_with("/embeddings") { "" } else { "/embeddings" };
    Ok(format!("{scheme}://{rest}{ending}"))
}

fn model_name(text: &str) -> Result<String> {
    let length = text.chars().count();
    if length == 0 || length > MODEL_NAME_MAX || text.chars().any(char::is_control) {
        let reason = format!(
            "got {length} characters, send the model's name at the endpoint: 1-{MODEL_NAME_MAX} characters"
        );
        return Err(Error::invalid("model", reason));
    }
    Ok(text.to_owned())
}

/// Repeats nothing of `text`, which may be the key itself.
fn key_variable(text: &str) -> Result<String> {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(plain);
    if is_name && secrets::screen("key_env", text, SecretPolicy::Refuse, &mut Vec::new()).is_ok() {
        return Ok(text.to_owned());
    }
    let reason = "send the name of an environment variable, such as \"OPENAI_API_KEY\" (upper-case letters, \
                  digits and _), never the key itself";
    Err(Error::invalid("key_env", reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_and_a_full_address_are_one_endpoint() {
        for text in [
            "http://localhost:11434/v1",
            "HTTP://localhost:11434/v1/",
            " http://localhost:11434/v1/embeddings ",
            "http://localhost:11434/v1/embeddings/",
        ] {
            let url = Endpoint::new(text).expect(text);
            assert_eq!(url.as_str(), "http://localhost:11434/v1/embeddings");
        }
    }

    #[test]
    fn addresses_that_are_none_or_hold_secrets_are_refused() {
        for (text, named) in [
            ("localhost:11434", "no address"),
            ("ftp://host/v1", "ftp://host/v1"),
            ("https:///v1", "HOST"),
            ("https://a host/v1", "a host"),
            ("https://me:geheim@host/v1", "key_env"),
            ("https://host/v1?key=geheim", "query"),
        ] {
            let error = Endpoint::new(text).expect_err(text).to_string();
            assert!(error.starts_with("url: ") && error.contains(named), "{text}: {error}");
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn a_key_in_place_of_its_name_is_refused_and_not_repeated() {
        for key in ["sk-geheim", "hf_Geheim", "AKIAGEHEIM4KQ9LM2XW7", "", "1KEY", "MY KEY"] {
            let error = KeyVariable::new(key).expect_err(key).to_string();
            assert!(error.starts_with("key_env: send the name"), "{error}");
            assert!(!error.to_lowercase().contains("geheim"), "{error}");
        }
        assert!(KeyVariable::new("OPENAI_API_KEY").is_ok());
    }

    #[test]
    fn settings_survive_another_process() {
        let http = EmbedSettings::Http {
            url: Endpoint::new("https://host/v1").expect("address"),
            model: ModelName::new("m").expect("name"),
            key_env: None,
        };
        for settings in [EmbedSettings::Static, EmbedSettings::Candle { path: "/m".into() }, http] {
            let json = serde_json::to_value(&settings).expect("JSON");
            assert_eq!(json["kind"], settings.kind());
            assert_eq!(serde_json::from_value::<EmbedSettings>(json).ok(), Some(settings));
        }
    }
}
