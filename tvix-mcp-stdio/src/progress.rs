//! How far a long command is, on stderr.

use std::{io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// Without a terminal, a line is printed for every so many records.
const LINE_EVERY: u64 = 10_000;

/// Counts records: a bar on a terminal, else a plain line now and then.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    what: &'static str,
    done: u64,
}

impl Progress {
    /// Begins to count `what`.
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar.with_message(what)
        });
        Self { bar, what, done: 0 }
    }

    /// Says how many there are in all.
    pub(crate) fn total(&mut self, total: u64) {
        if let Some(bar) = self.bar.as_ref().filter(|bar| bar.length() != Some(total)) {
            let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {eta}");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.set_length(total);
        }
    }

    /// Counts `number` more.
    pub(crate) fn add(&mut self, number: usize) {
        let before = self.done / LINE_EVERY;
        self.done += number as u64;
        match &self.bar {
            Some(bar) => bar.set_position(self.done),
            None if self.done / LINE_EVERY > before => {
                output::hint(&format!("{}: {}", self.what, self.done));
            }
            None => {}
        }
    }

    /// Prints a line beside the bar.
    pub(crate) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::hint(text)),
            None => output::hint(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
