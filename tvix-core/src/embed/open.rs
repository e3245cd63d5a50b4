//! From settings to an embedder.

use std::sync::Arc;

use super::Embedder;
use crate::{Result, settings::EmbedSettings};

/// The embedder that `settings` ask for; `None` when they ask for none.
///
/// Neither calls an endpoint nor loads a large file: both happen at the first text. A key is read from
/// the environment here, by the name in the settings, and nowhere else.
///
/// # Errors
/// [`Error::InvalidInput`](crate::Error::InvalidInput) when this build has no such embedder, a folder
/// holds no model that it can run, or the variable with the key is not set. Search by word works without
/// an embedder, so a caller may go on.
pub fn open(settings: &EmbedSettings) -> Result<Option<Arc<dyn Embedder>>> {
    settings.check_built_in()?;
    match settings {
        EmbedSettings::Static => Ok(Some(Arc::new(super::BuiltIn::default()))),
        #[cfg(feature = "embed-candle")]
        EmbedSettings::Candle { path } => {
            Ok(Some(Arc::new(super::candle::CandleEmbedder::open(path)?)))
        }
        #[cfg(feature = "embed-http")]
        EmbedSettings::Http { url, model, key_env } => {
            let embedder = super::http::HttpEmbedder::new(url, model);
            Ok(Some(Arc::new(match key_env {
                None => embedder,
                Some(variable) => with_key(embedder, variable.as_str())?,
            })))
        }
        // Kinds that this build has not were refused above.
        _ => Ok(None),
    }
}

#[cfg(feature = "embed-http")]
fn with_key(embedder: super::HttpEmbedder, variable: &str) -> Result<super::HttpEmbedder> {
    let key = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
    let Some(key) = key else {
        let reason =
            format!("the environment variable {variable} is not set; it must hold the key");
        return Err(crate::Error::invalid("embed.key_env", reason));
    };
    embedder.with_key(key.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_is_the_default_and_none_is_none() {
        assert!(open(&EmbedSettings::default()).expect("opened").is_some());
        assert!(open(&EmbedSettings::None).expect("opened").is_none());
    }

    #[cfg(not(feature = "embed-candle"))]
    #[test]
    fn what_is_not_built_in_is_refused() {
        let settings = EmbedSettings::Candle { path: "/models/minilm".into() };
        let error = open(&settings).expect_err("not built in").to_string();
        assert!(error.contains("feature `embed-candle`"), "{error}");
    }
}
