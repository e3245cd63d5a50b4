//! Logs go to stderr, plain: stdout carries nothing but protocol messages.

use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Logs what Tvix does up to `level`. Of the libraries below it only errors are let through: at
/// lower levels they write out whole messages, and with them what the user stored.
pub(crate) fn start(level: &str) {
    let level: LevelFilter = level.parse().unwrap_or(LevelFilter::WARN);
    let targets = Targets::new()
        .with_default(level.min(LevelFilter::ERROR))
        .with_target("tvix_core", level)
        .with_target("tvix_mcp_stdio", level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time();
    // A second start in one process keeps the first.
    let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
}
