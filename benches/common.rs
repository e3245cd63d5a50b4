//! What the benchmarks (and `examples/evaluate`) share: texts, and what is printed before any figure.
#![allow(dead_code, reason = "each program uses its part")]
#![allow(clippy::print_stdout, reason = "a benchmark says what it measures")]

use std::{fs, process::Command};

/// Words in the vocabulary.
const WORDS: usize = 600;
const SYLLABLES: [&str; 24] = [
    "ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "du", "fa", "ge", "hi", "jo", "ku", "la",
    "me", "ni", "po", "ru", "sa", "te", "wi", "zo",
];

/// Makes the same texts on every machine and in every run.
pub(crate) struct Texts {
    state: u64,
    vocabulary: Vec<String>,
    /// Sums of 1, 1/2, 1/3 …: the word of rank r is drawn r times as rarely as the first.
    weights: Vec<f64>,
}

impl Texts {
    /// What the texts are, for the head of a report.
    pub(crate) const DESCRIPTION: &'static str =
        "15-44 made-up words a text, out of 600 by Zipf's law, and a number that makes it unique";

    pub(crate) fn new() -> Self {
        let vocabulary = (0..WORDS).map(word).collect();
        let mut sum = 0.0;
        let weights = (1..=WORDS).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self { state: 0x9e37_79b9_7f4a_7c15, vocabulary, weights: weights.collect() }
    }

    pub(crate) fn memory(&mut self, number: usize) -> String {
        let length = 15 + self.below(30);
        let ranks: Vec<usize> = (0..length).map(|_| self.drawn()).collect();
        let words: Vec<&str> = ranks.iter().map(|rank| self.vocabulary[*rank].as_str()).collect();
        format!("{} n{number}", words.join(" "))
    }

    /// Three words of middling rank: neither in nearly every text nor in hardly any.
    pub(crate) fn query(&mut self) -> String {
        let ranks = [(); 3].map(|()| 20 + self.below(180));
        ranks.map(|rank| self.vocabulary[rank].as_str()).join(" ")
    }

    /// The rank of a word, by its weight.
    fn drawn(&mut self) -> usize {
        let whole = self.weights[WORDS - 1];
        let point = self.below(1 << 30) as f64 / f64::from(1 << 30) * whole;
        self.weights.partition_point(|sum| *sum <= point).min(WORDS - 1)
    }

    /// Xorshift: enough for texts, and the same everywhere.
    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % bound as u64) as usize
    }
}

/// The word of a rank: its digits to the base of the syllables, at least two.
fn word(rank: usize) -> String {
    let base = SYLLABLES.len();
    [rank % base, rank / base % base, rank / base / base].map(|digit| SYLLABLES[digit]).concat()
}

/// Says on which machine, of which commit and on what data the figures that follow were measured.
pub(crate) fn announce(benchmark: &str) {
    println!("benchmark: {benchmark}");
    println!("machine:   {}", processor());
    println!("commit:    {}", commit());
    println!("data:      {}", Texts::DESCRIPTION);
}

/// The machine: processor, cores, system.
pub(crate) fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}

/// The commit that is checked out, and whether there is more than it.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain"]).is_some_and(|files| !files.is_empty());
    let commit = git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    format!("{commit}{}", if changed { ", with changes that are not committed" } else { "" })
}
