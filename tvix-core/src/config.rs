//! `config.toml` and its overlay by environment variables.

mod embed;

use std::{fs, io, path::Path};

use serde::Deserialize;

use crate::{
    Error, Result,
    settings::{SecretPolicy, Settings, StoreKind},
    tools::Toolset,
};

/// Everything that `config.toml` may set. Absent keys have the defaults of `Config::default()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Which tools are offered: the exact list.
    pub toolsets: Vec<Toolset>,
    /// How much is logged: `off`, `error`, `warn`, `info`, `debug` or `trace`.
    pub log: String,
    /// Settings of the store.
    pub settings: Settings,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            toolsets: Toolset::DEFAULT.to_vec(),
            log: "warn".to_owned(),
            settings: Settings::default(),
        }
    }
}

/// The file as it stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConfigFile {
    toolsets: Option<Vec<String>>,
    log: Option<String>,
    secrets: Option<SecretPolicy>,
    reply_budget: Option<usize>,
    wiki_quota: Option<u64>,
    store: Option<String>,
    search: embed::SearchKeys,
    embed: embed::EmbedKeys,
}

/// The least reply budget that still holds one useful hit.
const REPLY_BUDGET_MIN: usize = 2_000;
const REPLY_BUDGET_MAX: usize = 1_000_000;
/// How much may be logged.
pub const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl Config {
    /// Reads `config.toml` in the data folder `folder`. An absent file is the default.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming the file, and key or line, of what is wrong.
    pub fn load(folder: &Path) -> Result<Self> {
        let path = folder.join("config.toml");
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::backend(format!("reading {}", path.display()), error)),
            Ok(text) => Self::parse(&text),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let file: ConfigFile =
            toml::from_str(text).map_err(|error| in_file(error.to_string().trim()))?;
        let mut config = Self::default();
        if let Some(names) = file.toolsets {
            config.toolsets = Toolset::parse_list(&names.join(",")).map_err(in_file)?;
        }
        file.log.map_or(Ok(()), |level| config.set_log(&level)).map_err(in_file)?;
        let settings = &mut config.settings;
        settings.secrets = file.secrets.unwrap_or_default();
        settings.wiki_quota = file.wiki_quota;
        settings.reply_budget = file.reply_budget.unwrap_or(Settings::REPLY_BUDGET);
        check_budget(settings.reply_budget).map_err(in_file)?;
        settings.store = file.store.as_deref().map(store).transpose().map_err(in_file)?;
        let in_table = |table: &'static str| move |error| in_file(format!("{table}.{error}"));
        settings.search = file.search.check().map_err(in_table("search"))?;
        settings.embed = file.embed.check().map_err(in_table("embed"))?;
        Ok(config)
    }

    /// Lets environment variables win over the file: `lookup` returns the value of a variable.
    /// Known: `TVIX_TOOLSETS`, `TVIX_LOG`, `TVIX_SECRETS`, `TVIX_REPLY_BUDGET`, `TVIX_WIKI_QUOTA`,
    /// `TVIX_SEARCH_FUSION`, `TVIX_SEARCH_DENSE`, `TVIX_EMBED_KIND`, `TVIX_EMBED_PATH`, `TVIX_EMBED_URL`,
    /// `TVIX_EMBED_MODEL`, `TVIX_EMBED_KEY_ENV`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming the variable.
    pub fn overlay(mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let get = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        if let Some(list) = get("TVIX_TOOLSETS") {
            self.toolsets =
                Toolset::parse_list(&list).map_err(|error| named("TVIX_TOOLSETS", error))?;
        }
        if let Some(level) = get("TVIX_LOG") {
            self.set_log(&level).map_err(|error| named("TVIX_LOG", error))?;
        }
        if let Some(policy) = get("TVIX_SECRETS") {
            self.settings.secrets = serde_json::from_value(policy.trim().to_lowercase().into())
                .map_err(|_| {
                    Error::invalid(
                        "TVIX_SECRETS",
                        format_args!("got {policy:?}, send refuse, redact or allow"),
                    )
                })?;
        }
        if let Some(budget) = get("TVIX_REPLY_BUDGET") {
            self.settings.reply_budget = number("TVIX_REPLY_BUDGET", &budget)?;
            check_budget(self.settings.reply_budget)?;
        }
        if let Some(quota) = get("TVIX_WIKI_QUOTA") {
            self.settings.wiki_quota = Some(number("TVIX_WIKI_QUOTA", &quota)?);
        }
        embed::overlay_search(&mut self.settings.search, get)?;
        embed::overlay_embed(&mut self.settings.embed, get)?;
        Ok(self)
    }

    /// Sets how much is logged.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `log` and the levels there are.
    pub fn set_log(&mut self, level: &str) -> Result<()> {
        if !LOG_LEVELS.contains(&level) {
            let reason = format!("got {level:?}, send one of {}", LOG_LEVELS.join(", "));
            return Err(Error::invalid("log", reason));
        }
        level.clone_into(&mut self.log);
        Ok(())
    }
}

/// The store of this name, if there is one and this build has it.
fn store(name: &str) -> Result<StoreKind> {
    match StoreKind::named(name) {
        Some(kind) if kind.is_built_in() => Ok(kind),
        Some(kind) => Err(Error::invalid(
            "store",
            format_args!(
                "this build has no {kind:?}: use one with the feature `{kind}`",
                kind = kind.as_str()
            ),
        )),
        None => {
            Err(Error::invalid("store", format_args!("got {name:?}, send \"redb\" or \"sled\"")))
        }
    }
}

fn check_budget(budget: usize) -> Result<()> {
    if (REPLY_BUDGET_MIN..=REPLY_BUDGET_MAX).contains(&budget) {
        return Ok(());
    }
    let range = format!("{REPLY_BUDGET_MIN}-{REPLY_BUDGET_MAX}");
    Err(Error::invalid("reply_budget", format_args!("got {budget}, send {range} characters")))
}

/// The same fault, under the name by which the value came.
fn named(name: &str, error: Error) -> Error {
    match error {
        Error::InvalidInput { reason, .. } => Error::invalid(name, reason),
        other => other,
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T> {
    text.trim()
        .parse()
        .map_err(|_| Error::invalid(name, format_args!("got {text:?}, send a whole number")))
}

fn in_file(reason: impl std::fmt::Display) -> Error {
    Error::invalid("config.toml", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(Config::parse("").ok(), Some(Config::default()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("toolsets = [\"memroy\"]", "memroy"),
            ("log = \"loud\"", "loud"),
            ("secrets = \"keep\"", "keep"),
            ("reply_budget = 10", "reply_budget"),
            ("wiki_quota = -1", "-1"),
            ("store = \"floppy\"", "floppy"),
            ("colour = \"red\"", "colour"),
            ("log = ", "line 1"),
        ] {
            let error = Config::parse(text).expect_err(text).to_string();
            assert!(error.starts_with("config.toml: ") && error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn a_store_is_chosen_by_name_if_this_build_has_it() {
        let redb = Config::parse("store = \"redb\"").expect("built in");
        assert_eq!(redb.settings.store, Some(StoreKind::Redb));
        match Config::parse("store = \"sled\"") {
            Ok(config) => assert_eq!(config.settings.store, Some(StoreKind::Sled)),
            Err(error) => assert!(error.to_string().contains("feature `sled`"), "{error}"),
        }
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let file = Config::parse("wiki_quota = 3\nsecrets = \"allow\"").expect("config");
        let environment = |name: &str| match name {
            "TVIX_WIKI_QUOTA" => Some("7".to_owned()),
            "TVIX_TOOLSETS" => Some("wiki".to_owned()),
            _ => None,
        };
        let config = file.overlay(environment).expect("config");
        assert_eq!(config.settings.wiki_quota, Some(7));
        assert_eq!(config.settings.secrets, SecretPolicy::Allow);
        assert_eq!(config.toolsets, [Toolset::Wiki]);
    }
}
