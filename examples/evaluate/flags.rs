//! The command line.

use std::{collections::VecDeque, fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::Result;

/// How the program is called.
pub(crate) const USAGE: &str = "\
evaluate DATA_FOLDER [--sets NAME,NAME] [--mode default|keyword|vector|hybrid|all]
         [--fusion convex|rrf] [--dense 0..1] [--no-context] [--no-rerank] [--candle FOLDER]
         [--in-memory] [--save FILE.json] [--against FILE.json] [--markdown FILE.md]

DATA_FOLDER holds a folder for each set: corpus.jsonl, queries.jsonl and qrels.tsv.
--mode all     runs keyword, vector and hybrid over each store and compares hybrid with the better leg
--no-…         leaves one part of the search out, to see what it is worth
--candle       embeds with the transformer in FOLDER; needs --features embed-candle
--in-memory    stores in memory and not in a data folder
--save         writes every query's values; --against compares with what was saved, query by query
--markdown     writes the report to a file as well";

/// Which parts of the search answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// What a user gets who sets nothing.
    Default,
    /// Words only.
    Keyword,
    /// Meaning only.
    Vector,
    /// Both.
    Hybrid,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Keyword => "keyword",
            Self::Vector => "vector",
            Self::Hybrid => "hybrid",
        })
    }
}

/// How the search is to differ from its default.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Changes {
    /// `convex` or `rrf`.
    pub(crate) fusion: Option<String>,
    /// The share of meaning, 0 to 1.
    pub(crate) dense: Option<f32>,
    /// Leaves out the neighbours of a memory.
    pub(crate) no_context: bool,
    /// Leaves out the second look at the best.
    pub(crate) no_rerank: bool,
    /// The folder of the model to embed with, instead of the built-in one.
    pub(crate) candle: Option<PathBuf>,
}

/// What the command line says.
#[derive(Debug, PartialEq)]
pub(crate) struct Flags {
    /// Where the sets are.
    pub(crate) data: PathBuf,
    /// The sets to run; empty: all.
    pub(crate) sets: Vec<String>,
    /// The modes to run, one after the other.
    pub(crate) modes: Vec<Mode>,
    /// How the search differs from its default.
    pub(crate) changes: Changes,
    /// Whether to store in memory.
    pub(crate) in_memory: bool,
    /// Where to save the run.
    pub(crate) save: Option<PathBuf>,
    /// The run to compare with.
    pub(crate) against: Option<PathBuf>,
    /// Where to write the report.
    pub(crate) markdown: Option<PathBuf>,
}

impl Flags {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut rest: VecDeque<String> = arguments.into_iter().collect();
        let mut flags = Self::of(PathBuf::new());
        while let Some(argument) = rest.pop_front() {
            match argument.strip_prefix("--") {
                Some(name) => flags.set(name, &mut rest)?,
                None if flags.data.as_os_str().is_empty() => flags.data = argument.into(),
                None => return Err(format!("DATA_FOLDER: got a second one, {argument:?}").into()),
            }
        }
        if flags.data.as_os_str().is_empty() {
            return Err("DATA_FOLDER: got none, send the folder of the sets".into());
        }
        if flags.in_memory && flags.modes.len() > 1 {
            return Err(
                "--in-memory: got several modes, send one: each opens the store anew".into()
            );
        }
        Ok(flags)
    }

    fn of(data: PathBuf) -> Self {
        Self {
            data,
            sets: Vec::new(),
            modes: vec![Mode::Default],
            changes: Changes::default(),
            in_memory: false,
            save: None,
            against: None,
            markdown: None,
        }
    }

    fn set(&mut self, name: &str, rest: &mut VecDeque<String>) -> Result<()> {
        let mut value = || {
            let value = rest.pop_front().filter(|value| !value.starts_with("--"));
            value.ok_or_else(|| format!("--{name}: got no value"))
        };
        match name {
            "sets" => self.sets = value()?.split(',').map(|set| set.trim().to_owned()).collect(),
            "mode" => self.modes = modes(&value()?)?,
            "fusion" => self.changes.fusion = Some(fusion(value()?)?),
            "dense" => self.changes.dense = Some(dense(&value()?)?),
            "no-context" => self.changes.no_context = true,
            "no-rerank" => self.changes.no_rerank = true,
            "candle" => self.changes.candle = Some(value()?.into()),
            "in-memory" => self.in_memory = true,
            "save" => self.save = Some(value()?.into()),
            "against" => self.against = Some(value()?.into()),
            "markdown" => self.markdown = Some(value()?.into()),
            _ => return Err(format!("--{name}: there is no such flag\n\n{USAGE}").into()),
        }
        Ok(())
    }
}

fn modes(value: &str) -> Result<Vec<Mode>> {
    match value {
        "default" => Ok(vec![Mode::Default]),
        "keyword" => Ok(vec![Mode::Keyword]),
        "vector" => Ok(vec![Mode::Vector]),
        "hybrid" => Ok(vec![Mode::Hybrid]),
        "all" => Ok(vec![Mode::Keyword, Mode::Vector, Mode::Hybrid]),
        _ => {
            let wanted = "default, keyword, vector, hybrid or all";
            Err(format!("--mode: got {value:?}, send {wanted}").into())
        }
    }
}

fn fusion(value: String) -> Result<String> {
    match value.as_str() {
        "convex" | "rrf" => Ok(value),
        _ => Err(format!("--fusion: got {value:?}, send convex or rrf").into()),
    }
}

fn dense(value: &str) -> Result<f32> {
    let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("--dense: got {value:?}, send a number from 0 to 1").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Flags> {
        Flags::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_are_read_in_any_order() {
        let flags = parse("--sets a,b data --mode all --dense 0.3 --no-rerank --save run.json");
        let mut wanted = Flags::of("data".into());
        wanted.sets = vec!["a".to_owned(), "b".to_owned()];
        wanted.modes = vec![Mode::Keyword, Mode::Vector, Mode::Hybrid];
        wanted.changes.dense = Some(0.3);
        wanted.changes.no_rerank = true;
        wanted.save = Some("run.json".into());
        assert_eq!(flags.ok(), Some(wanted));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, part) in [
            ("", "DATA_FOLDER: got none"),
            ("one two", "got a second one, \"two\""),
            ("data --mode fast", "--mode: got \"fast\", send default"),
            ("data --dense 3", "--dense: got \"3\""),
            ("data --fusion", "--fusion: got no value"),
            ("data --save --in-memory", "--save: got no value"),
            ("data --fast", "--fast: there is no such flag"),
            ("data --in-memory --mode all", "--in-memory: got several modes"),
        ] {
            let error = parse(line).expect_err(line).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
