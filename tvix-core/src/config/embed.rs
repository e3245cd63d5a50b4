//! The tables `[search]` and `[embed]`, and the variables that win over them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::named;
use crate::{
    Error, Result,
    settings::{
        Dense, EmbedSettings, Endpoint, FusionKind, KeyVariable, ModelName, SearchSettings,
    },
};

/// `[search]` as it stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SearchKeys {
    fusion: Option<String>,
    dense: Option<f32>,
}

impl SearchKeys {
    /// Checks the keys; an error names the key alone.
    pub(super) fn check(self) -> Result<SearchSettings> {
        let fusion = self.fusion.as_deref().map(FusionKind::named).transpose()?;
        let dense = self.dense.map(Dense::new).transpose()?;
        Ok(SearchSettings { fusion, dense, ..SearchSettings::default() })
    }
}

/// Lets `TVIX_SEARCH_FUSION` and `TVIX_SEARCH_DENSE` win over `settings`.
pub(super) fn overlay_search(
    settings: &mut SearchSettings,
    get: impl Fn(&str) -> Option<String>,
) -> Result<()> {
    if let Some(name) = get("TVIX_SEARCH_FUSION") {
        let fusion = FusionKind::named(&name.trim().to_lowercase());
        settings.fusion = Some(fusion.map_err(|error| named("TVIX_SEARCH_FUSION", error))?);
    }
    if let Some(text) = get("TVIX_SEARCH_DENSE") {
        let wrong = || format!("got {text:?}, send a number from 0.0 to 1.0");
        let share = text.trim().parse().ok().and_then(|share| Dense::new(share).ok());
        settings.dense = Some(share.ok_or_else(|| Error::invalid("TVIX_SEARCH_DENSE", wrong()))?);
    }
    Ok(())
}

/// `[embed]` as it stands.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EmbedKeys {
    kind: Option<String>,
    path: Option<String>,
    url: Option<String>,
    model: Option<String>,
    key_env: Option<String>,
}

impl EmbedKeys {
    /// Checks the keys and that each is one of the kind; an error names the key alone.
    pub(super) fn check(mut self) -> Result<EmbedSettings> {
        let kind = self.kind.take().unwrap_or_else(|| EmbedSettings::default().kind().to_owned());
        let settings = match kind.as_str() {
            "static" => EmbedSettings::Static,
            "none" => EmbedSettings::None,
            "candle" => EmbedSettings::Candle { path: self.path()? },
            "http" => EmbedSettings::Http {
                url: Endpoint::new(&need("url", &kind, self.url.take())?)?,
                model: ModelName::new(&need("model", &kind, self.model.take())?)?,
                key_env: self.key_env.take().as_deref().map(KeyVariable::new).transpose()?,
            },
            _ => {
                let kinds = "send \"static\", \"candle\", \"http\" or \"none\"";
                return Err(Error::invalid("kind", format_args!("got {kind:?}, {kinds}")));
            }
        };
        self.nothing_is_left(&kind)?;
        settings.check_built_in()?;
        Ok(settings)
    }

    /// Absolute, so that it means the same to every process that shares the data folder.
    fn path(&mut self) -> Result<PathBuf> {
        let text = need("path", "candle", self.path.take())?;
        if Path::new(&text).is_absolute() {
            return Ok(text.into());
        }
        Err(Error::invalid("path", format_args!("got {text:?}, send an absolute path")))
    }

    /// A key of another kind is more likely a slip than meant.
    fn nothing_is_left(&self, kind: &str) -> Result<()> {
        let owners = [
            ("path", "candle", &self.path),
            ("url", "http", &self.url),
            ("model", "http", &self.model),
            ("key_env", "http", &self.key_env),
        ];
        match owners.into_iter().find(|(_, _, value)| value.is_some()) {
            None => Ok(()),
            Some((key, owner, _)) => {
                let reason = format!(
                    "belongs to kind {owner:?}, but kind is {kind:?}: leave this key out, or send kind {owner:?}"
                );
                Err(Error::invalid(key, reason))
            }
        }
    }

    fn of(settings: &EmbedSettings) -> Self {
        let mut keys = Self { kind: Some(settings.kind().to_owned()), ..Self::default() };
        match settings {
            EmbedSettings::Static | EmbedSettings::None => {}
            EmbedSettings::Candle { path } => keys.path = path.to_str().map(str::to_owned),
            EmbedSettings::Http { url, model, key_env } => {
                keys.url = Some(url.as_str().to_owned());
                keys.model = Some(model.as_str().to_owned());
                keys.key_env = key_env.as_ref().map(|name| name.as_str().to_owned());
            }
        }
        keys
    }

    /// These keys, and those of `settings` where there are none here; all of these alone if they name
    /// another kind.
    fn over(self, settings: &EmbedSettings) -> Self {
        if self.kind.as_deref().is_some_and(|kind| kind != settings.kind()) {
            return self;
        }
        let below = Self::of(settings);
        Self {
            kind: below.kind,
            path: self.path.or(below.path),
            url: self.url.or(below.url),
            model: self.model.or(below.model),
            key_env: self.key_env.or(below.key_env),
        }
    }
}

fn need(key: &str, kind: &str, value: Option<String>) -> Result<String> {
    let missing = || Error::invalid(key, format_args!("is missing; kind {kind:?} needs it"));
    value.filter(|text| !text.trim().is_empty()).ok_or_else(missing)
}

/// Lets the variables `TVIX_EMBED_…` win over `settings`.
pub(super) fn overlay_embed(
    settings: &mut EmbedSettings,
    get: impl Fn(&str) -> Option<String>,
) -> Result<()> {
    let variable = |key: &str| format!("TVIX_EMBED_{}", key.to_uppercase());
    let value = |key: &str| get(&variable(key)).map(|text| text.trim().to_owned());
    let given = EmbedKeys {
        kind: value("kind").map(|kind| kind.to_lowercase()),
        path: value("path"),
        url: value("url"),
        model: value("model"),
        key_env: value("key_env"),
    };
    if given == EmbedKeys::default() {
        return Ok(());
    }
    let checked = given.over(settings).check();
    *settings = checked.map_err(|error| match error {
        Error::InvalidInput { field, reason } => Error::invalid(variable(&field), reason),
        other => other,
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{
        config::Config,
        settings::{EmbedSettings, FusionKind},
    };

    fn error(text: &str) -> String {
        Config::parse(text).expect_err(text).to_string()
    }

    /// The settings of `file` under `variables`, or the error's text.
    fn embed(file: &str, variables: &[(&str, &str)]) -> Result<EmbedSettings, String> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let config = Config::parse(file).and_then(|config| config.overlay(lookup));
        config.map(|config| config.settings.embed).map_err(|error| error.to_string())
    }

    /// With a feature the settings, without it an error that names it.
    fn if_built_in(found: Result<EmbedSettings, String>, kind: &str, built_in: bool) {
        match found {
            Ok(settings) => assert!(built_in && settings.kind() == kind, "{settings:?}"),
            Err(error) => {
                assert!(!built_in && error.contains(&format!("feature `embed-{kind}`")), "{error}");
            }
        }
    }

    #[test]
    fn search_is_set_by_file_and_environment() {
        let config = Config::parse("[search]\nfusion = \"rrf\"\ndense = 1").expect("config");
        let search = config.settings.search;
        assert_eq!(search.fusion, Some(FusionKind::Rrf));
        assert_eq!(search.dense.map(crate::settings::Dense::get), Some(1.0));
        let lookup = |name: &str| (name == "TVIX_SEARCH_FUSION").then(|| "Convex".to_owned());
        let search = config.clone().overlay(lookup).expect("config").settings.search;
        assert_eq!(search.fusion, Some(FusionKind::Convex));
        let lookup = |name: &str| (name == "TVIX_SEARCH_DENSE").then(|| "much".to_owned());
        let error = config.overlay(lookup).expect_err("no number").to_string();
        assert_eq!(error, "TVIX_SEARCH_DENSE: got \"much\", send a number from 0.0 to 1.0");
    }

    #[test]
    fn what_is_wrong_in_a_table_is_named_with_its_key() {
        for (text, named) in [
            ("[search]\nfusion = \"sum\"", "search.fusion: got \"sum\""),
            ("[search]\ndense = 1.5", "search.dense: got 1.5"),
            ("[search]\ndense = nan", "search.dense: got NaN"),
            ("[search]\ncolour = 1", "colour"),
            ("[embed]\nkind = \"onnx\"", "embed.kind: got \"onnx\""),
            ("[embed]\nkind = \"candle\"", "embed.path: is missing"),
            ("[embed]\nkind = \"candle\"\npath = \"models/m\"", "embed.path: got \"models/m\""),
            ("[embed]\nkind = \"http\"\nmodel = \"m\"", "embed.url: is missing"),
            ("[embed]\nkind = \"http\"\nurl = \"http://h/v1\"", "embed.model: is missing"),
            (
                "[embed]\nkind = \"http\"\nmodel = \"m\"\nurl = \"h\"",
                "embed.url: this is no address",
            ),
            ("[embed]\nurl = \"http://h/v1\"", "embed.url: belongs to kind \"http\""),
            ("[embed]\ncolour = 1", "colour"),
        ] {
            let error = error(text);
            assert!(error.starts_with("config.toml: ") && error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn a_kind_that_is_not_built_in_names_its_feature() {
        let root = if cfg!(windows) { "C:/m" } else { "/m" };
        let candle = format!("[embed]\nkind = \"candle\"\npath = \"{root}\"");
        if_built_in(embed(&candle, &[]), "candle", cfg!(feature = "embed-candle"));
        let http = "[embed]\nkind = \"http\"\nurl = \"http://h/v1\"\nmodel = \"m\"";
        if_built_in(embed(http, &[]), "http", cfg!(feature = "embed-http"));
    }

    #[test]
    fn variables_win_key_by_key_and_another_kind_starts_afresh() {
        let none = "[embed]\nkind = \"none\"";
        assert_eq!(embed(none, &[]), Ok(EmbedSettings::None));
        assert_eq!(embed(none, &[("TVIX_EMBED_KIND", "Static")]), Ok(EmbedSettings::Static));
        assert_eq!(embed("", &[("TVIX_EMBED_KIND", "none")]), Ok(EmbedSettings::None));
        let error = embed(none, &[("TVIX_EMBED_KIND", "candle")]).expect_err("no path");
        assert_eq!(error, "TVIX_EMBED_PATH: is missing; kind \"candle\" needs it");
        let error = embed(none, &[("TVIX_EMBED_MODEL", "m")]).expect_err("no model in none");
        assert!(error.starts_with("TVIX_EMBED_MODEL: belongs to kind \"http\""), "{error}");
    }

    #[cfg(feature = "embed-http")]
    #[test]
    fn a_variable_replaces_one_key_of_the_file() {
        let file = "[embed]\nkind = \"http\"\nurl = \"http://h/v1\"\nmodel = \"m\"";
        let found = embed(file, &[("TVIX_EMBED_MODEL", "n"), ("TVIX_EMBED_KEY_ENV", "KEY")]);
        let Ok(EmbedSettings::Http { url, model, key_env }) = found else { panic!("{found:?}") };
        assert_eq!((url.as_str(), model.as_str()), ("http://h/v1/embeddings", "n"));
        assert_eq!(key_env.as_ref().map(crate::settings::KeyVariable::as_str), Some("KEY"));
        assert_eq!(embed(file, &[("TVIX_EMBED_KIND", "none")]), Ok(EmbedSettings::None));
    }
}
