//! Logs go to stderr: a line a request, and what goes wrong.

use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{config::Config, settings::LogFormat};

/// Logs what Tvix does up to the level that is set. Of the libraries below it only errors are let
/// through: at lower levels they write out whole messages, and with them what users stored.
pub(crate) fn start(config: &Config) {
    let level: LevelFilter = config.log.parse().unwrap_or(LevelFilter::INFO);
    let targets = Targets::new()
        .with_default(level.min(LevelFilter::ERROR))
        .with_target("tvix_core", level)
        .with_target("tvix_mcp_http", level);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let lines = match config.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    // A second start in one process keeps the first.
    let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
}
