//! What a person types, as weighted terms and phrases.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::{Analysis, Field, Form, TermSet, each_form, each_term, fold, token};
use token::{Token, Word};

/// The most distinct words of a query that count.
const WORDS_MAX: usize = 96;
/// The most phrases of a query that must be found; further ones are words.
const PHRASES_MAX: usize = 8;

/// What a term of the title is worth beside the text, where it stands as well.
const TITLE: f32 = 0.5;
/// The word as it was typed, beside its stem.
const EXACT: f32 = 0.4;
/// A name as a whole. It is rarer than its parts, which score as well.
const WHOLE: f32 = 2.0;
/// A piece of a word in camel case, beside the word.
const PIECE: f32 = 0.4;
/// How much of a name is found when its parts are, but not the name.
const PARTS_FOUND: f32 = 0.75;
/// The same for a name of one word and signs: `C` is not much of `C++`.
const PART_FOUND: f32 = 0.5;
/// The same for a name of numbers: the 2 and the 4 of `2.4.8` stand in many texts.
const NUMBERS_FOUND: f32 = 0.2;

/// An analysed query. Cheap to clone.
///
/// Any text is a valid query; nothing in it is an operator. `"Quoted text"` (straight or curly marks,
/// outside of words, in pairs; any other mark is plain text) is a phrase: it must be found when the
/// query holds nothing else, and adds to the score when it does, as the title of a book in a question;
/// its words score like all others. Function words (`what`, `the`, …) do not count unless they are quoted or nothing else
/// is left, and one that is repeated counts as often. The first 96 distinct words that count are kept, where a pair of characters of a script
/// without spaces is a word; of the phrases the first 8.
#[derive(Debug, Clone, Default)]
pub struct TextQuery(Arc<Parsed>);

#[derive(Debug, Default)]
struct Parsed {
    terms: Vec<QueryTerm>,
    phrases: Vec<Phrase>,
    /// Whether words count that stand outside of the phrases.
    has_free_words: bool,
    words: Vec<Wanted>,
}

/// A term and what it is worth: the score of a passage is the sum of `weight` times BM25 over the
/// terms it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The field in which it counts.
    pub field: Field,
    /// The term.
    pub term: String,
    /// Greater than 0.
    pub weight: f32,
}

/// Terms that must stand at these distances in [`Field::Text`] or in [`Field::Title`] of one
/// passage. A phrase of one term is also found in [`Field::Exact`].
///
/// Where [`TextQuery::requires_phrases`], a document is found only if it holds each phrase of the query,
/// though not in the same passage; and only passages with at least one of them score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// Positions, the first of them 0, and terms; at least one.
    pub terms: Vec<(u32, String)>,
}

/// A word of the query, as [`TextQuery::coverage`] looks for it.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    /// Any of these terms is the word.
    forms: Vec<String>,
    /// The words of a name.
    parts: Vec<Wanted>,
}

impl TextQuery {
    /// Analyses `text`.
    pub fn parse(text: &str) -> Self {
        let text = fold::normalise(text);
        let mut builder = Builder::default();
        let spans = spans(&text);
        for keep_function_words in [false, true] {
            for (quoted, span) in &spans {
                builder.add(span, *quoted, *quoted || keep_function_words);
            }
            if !builder.words.is_empty() {
                break;
            }
        }
        Self(Arc::new(builder.finish()))
    }

    /// Whether it holds no term: such a query finds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.terms.is_empty()
    }

    /// The terms, each once a field.
    pub fn terms(&self) -> &[QueryTerm] {
        &self.0.terms
    }

    /// What was quoted.
    pub fn phrases(&self) -> &[Phrase] {
        &self.0.phrases
    }

    /// Whether the phrases must be found: nothing but phrases counts.
    pub fn requires_phrases(&self) -> bool {
        !self.0.phrases.is_empty() && !self.0.has_free_words
    }

    /// [`TextQuery::coverage`] of a passage that holds the terms `found`.
    pub fn coverage_of(&self, found: TermSet) -> f32 {
        let terms = self.0.terms.iter().enumerate();
        let found = terms.filter(|(place, _)| found.contains(*place));
        mean(&self.0.words, &found.map(|(_, term)| term.term.as_str()).collect())
    }

    /// The share of the query's words that stand in `passages`, from 0 to 1: by stem, as written, or
    /// for a name as a whole; a name found by its parts alone counts for three quarters, or
    /// half when it has only one. An empty query has no word to find and gives 0.
    pub fn coverage(&self, passages: &[&str]) -> f32 {
        let analyses: Vec<_> = passages.iter().map(|text| Analysis::new("", "", text)).collect();
        let found: HashSet<&str> = analyses
            .iter()
            .flat_map(|analysis| Field::ALL.map(|field| analysis.field(field)))
            .flatten()
            .map(|occurrence| &*occurrence.term)
            .collect();
        mean(&self.0.words, &found)
    }
}

fn mean(words: &[Wanted], found: &HashSet<&str>) -> f32 {
    let sum: f32 = words.iter().map(|word| word.share(found)).sum();
    if words.is_empty() { 0.0 } else { sum / words.len() as f32 }
}

impl Wanted {
    fn share(&self, found: &HashSet<&str>) -> f32 {
        if self.forms.iter().any(|form| found.contains(form.as_str())) {
            1.0
        } else {
            let worth = match self.parts.len() {
                _ if self.is_of_numbers() => NUMBERS_FOUND,
                1 => PART_FOUND,
                _ => PARTS_FOUND,
            };
            worth * mean(&self.parts, found)
        }
    }
}

impl Wanted {
    /// Whether this is a name whose parts are numbers, but for a leading `v` as in `v2.4.7`.
    fn is_of_numbers(&self) -> bool {
        let is_number = |part: &Wanted| {
            part.forms.iter().all(|form| {
                form.strip_prefix('v').unwrap_or(form).bytes().all(|b| b.is_ascii_digit())
            })
        };
        !self.parts.is_empty() && self.parts.iter().all(is_number)
    }
}

/// Cuts `text` at its quotation marks; true marks what is quoted.
fn spans(text: &str) -> Vec<(bool, &str)> {
    let mut spans = Vec::new();
    let mut plain = 0;
    let mut at = 0;
    while let Some((open, mark)) = next_mark(text, at) {
        at = open + mark.len_utf8();
        if !opens(text, open) {
            continue;
        }
        let Some(close) = closing(text, at, mark) else {
            // No mark of this kind closes anything from here on; the rest may use the other kind.
            continue;
        };
        spans.push((false, &text[plain..open]));
        spans.push((true, &text[at..close]));
        at = close + text[close..].chars().next().map_or(0, char::len_utf8);
        plain = at;
    }
    spans.push((false, &text[plain..]));
    spans
}

fn next_mark(text: &str, from: usize) -> Option<(usize, char)> {
    let found = text[from..].char_indices().find(|(_, c)| matches!(c, '"' | '“' | '„'));
    found.map(|(at, mark)| (from + at, mark))
}

/// Whether a mark at `at` can open a phrase: one inside or behind a word, as in `5" pipe`, cannot.
fn opens(text: &str, at: usize) -> bool {
    !text[..at].ends_with(char::is_alphanumeric)
}

/// Where the phrase that began at `from` with `mark` ends.
fn closing(text: &str, from: usize, mark: char) -> Option<usize> {
    let closes = |char: char| match mark {
        '"' => char == '"',
        '„' => matches!(char, '“' | '”'),
        _ => char == '”',
    };
    text[from..].find(closes).map(|at| from + at)
}

#[derive(Default)]
struct Builder {
    terms: BTreeMap<(Field, String), f32>,
    /// The terms of the word at hand; a term that it gives twice counts once.
    of_word: BTreeMap<(Field, String), f32>,
    phrases: Vec<Phrase>,
    has_free_words: bool,
    words: Vec<Wanted>,
    seen: HashSet<String>,
}

impl Builder {
    fn add(&mut self, text: &str, phrase: bool, function_words: bool) {
        let before = self.terms.len();
        for token in token::tokens(text) {
            match &token {
                Token::Word(word) if word.is_function() && !function_words => {}
                Token::Word(word) => self.add_name(word),
                Token::Run(_) => self.add_run(&token),
            }
        }
        self.has_free_words |= !phrase && self.terms.len() > before;
        if phrase && self.phrases.len() < PHRASES_MAX {
            self.phrases.extend(Phrase::of(text));
        }
    }

    /// Whether the word known by `key` counts: it was seen before, or there is room for it. Also
    /// whether it is new.
    fn admit(&mut self, key: &str) -> Option<bool> {
        if self.seen.contains(key) {
            return Some(false);
        }
        (self.seen.len() < WORDS_MAX).then(|| self.seen.insert(key.to_owned()))
    }

    fn add_run(&mut self, token: &Token<'_>) {
        let single = token.width() == 1;
        each_term(token, &mut |form, _, gram| {
            if form != Form::Stem {
                return;
            }
            let Some(is_new) = self.admit(gram) else { return };
            self.weigh(Field::Text, gram, 1.0);
            self.weigh(Field::Title, gram, TITLE);
            if single {
                self.weigh(Field::Exact, gram, 1.0);
            }
            if is_new {
                self.words.push(Wanted { forms: vec![gram.to_owned()], parts: Vec::new() });
            }
            self.end_word();
        });
    }

    fn add_name(&mut self, word: &Word<'_>) {
        let Some((whole, inner)) = word.wholes.split_first() else {
            let Some(part) = word.parts.first() else { return };
            if let Some(is_new) = self.admit(&super::term(part)) {
                let wanted = self.add_word(part);
                self.words.extend(Some(wanted).filter(|_| is_new));
                self.end_word();
            }
            return;
        };
        let Some(is_new) = self.admit(whole) else { return };
        self.weigh(Field::Exact, whole, WHOLE);
        for inner in inner {
            self.weigh(Field::Exact, inner, EXACT);
        }
        let mut parts = Vec::new();
        for part in &word.parts {
            if self.admit(&super::term(part)).is_some() {
                parts.push(self.add_word(part));
            }
        }
        if is_new {
            self.words.push(Wanted { forms: vec![whole.clone()], parts });
        }
        self.end_word();
    }

    fn add_word(&mut self, part: &str) -> Wanted {
        let mut forms = Vec::new();
        let mut pieces = Vec::new();
        each_form(part, &mut |form, term| match form {
            Form::Stem => {
                self.weigh(Field::Text, term, 1.0);
                self.weigh(Field::Title, term, TITLE);
                forms.push(term.to_owned());
            }
            Form::Exact => {
                self.weigh(Field::Exact, term, EXACT);
                forms.push(term.to_owned());
            }
            Form::Part => {
                self.weigh(Field::Text, term, PIECE);
                self.weigh(Field::Title, term, PIECE * TITLE);
                pieces.push(Wanted { forms: vec![term.to_owned()], parts: Vec::new() });
            }
        });
        Wanted { forms, parts: pieces }
    }

    fn weigh(&mut self, field: Field, term: &str, weight: f32) {
        let known = self.of_word.entry((field, term.to_owned())).or_default();
        *known = known.max(weight);
    }

    /// Adds what the word at hand gave to what is there: a word said twice counts twice.
    fn end_word(&mut self) {
        for (term, weight) in std::mem::take(&mut self.of_word) {
            *self.terms.entry(term).or_default() += weight;
        }
    }

    fn finish(self) -> Parsed {
        let terms = self.terms.into_iter();
        Parsed {
            terms: terms.map(|((field, term), weight)| QueryTerm { field, term, weight }).collect(),
            phrases: self.phrases,
            has_free_words: self.has_free_words,
            words: self.words,
        }
    }
}

impl Phrase {
    /// The phrase `text`; `None` when it holds no word.
    ///
    /// A lone character between words of another script may be the end of a longer run in the text,
    /// where it has no term of its own: it takes its place but is not looked for.
    fn of(text: &str) -> Option<Self> {
        let mut terms = Vec::new();
        let mut lone = None;
        let mut at = 0;
        for token in token::tokens(text) {
            let is_lone = matches!(token, Token::Run(_)) && token.width() == 1;
            each_term(&token, &mut |form, offset, term| {
                if form == Form::Stem && is_lone {
                    lone = Some((at, term.to_owned()));
                } else if form == Form::Stem && terms.len() < WORDS_MAX {
                    terms.push((at + offset, term.to_owned()));
                }
            });
            at += token.width();
        }
        if terms.is_empty() {
            terms.extend(lone);
        }
        let first = terms.first()?.0;
        for (at, _) in &mut terms {
            *at -= first;
        }
        Some(Self { terms })
    }
}
