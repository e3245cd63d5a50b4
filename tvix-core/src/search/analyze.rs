//! Text to terms, queries to weighted terms and phrases.
//!
//! No engine is named here: every backend indexes the terms of [`Analysis`] and answers the terms of
//! [`TextQuery`], so all of them find and rank alike.
//!
//! * Case, accents, width and composition are folded ([`fold`]).
//! * English words are stemmed (Snowball); the form as written is kept beside the stem, in
//!   [`Field::Exact`], where the two differ.
//! * Names of code and versions (`max_retry_count`, `v2.4.7`, `std::vector`, `C++`, `maxRetries`)
//!   are found by their parts and as a whole.
//! * Scripts written without spaces between words (Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar) are
//!   indexed as overlapping pairs of characters, and each character alone.

mod fold;
mod query;
mod script;
mod term_set;
mod token;

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

pub use fold::fold;
pub use query::{Phrase, QueryTerm, TextQuery};
pub use term_set::TermSet;

use token::{Token, Word};

/// The longest term kept, in characters; the rest of a longer word is cut, in texts and queries
/// alike.
pub const TERM_MAX: usize = 64;

/// So far behind the text stand its title and its date, out of reach of its phrases.
const GAP: u32 = 100;

/// The parts of an index that a term can stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Stems of the title and of the headings above the passage.
    Title,
    /// Stems of the text, then of title and headings once more.
    Text,
    /// Forms of both that [`Field::Text`] does not hold: words as written, names as a whole, single
    /// characters of scripts without spaces.
    Exact,
}

impl Field {
    /// Every field, in the order of [`Field::index`].
    pub const ALL: [Self; 3] = [Self::Title, Self::Text, Self::Exact];

    /// The fields in which a phrase can stand: one of a single term also in [`Field::Exact`].
    pub(crate) fn of_phrase(phrase: &Phrase) -> &'static [Self] {
        match phrase.terms[..] {
            [_] => &Self::ALL,
            _ => &[Self::Title, Self::Text],
        }
    }

    /// Position in tables with one row a field.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A term at a place in a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The term, at most [`TERM_MAX`] characters.
    pub term: Box<str>,
    /// Its place among the words of the field; several terms may share one. Never falls from one
    /// occurrence to the next. Always 0 in [`Field::Exact`], which has no order.
    pub position: u32,
}

/// The terms of one passage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    fields: [Vec<Occurrence>; 3],
}

impl Analysis {
    /// Analyses a passage. `headings` are the headings it stands under and count as title.
    pub fn new(title: &str, headings: &str, text: &str) -> Self {
        let mut analysis = Self::default();
        let free = analysis.add(Field::Title, title, 0);
        analysis.add(Field::Title, headings, free);
        let free = analysis.add(Field::Text, text, 0);
        analysis.repeat_title(free.saturating_add(GAP));
        analysis
    }

    /// Adds the terms of the title to the text, from position `start` on: a word that stands in both
    /// says more than either, and a text may well leave out what its title has said.
    fn repeat_title(&mut self, start: u32) {
        let title = self.field(Field::Title).to_vec().into_iter();
        let moved = title.map(|Occurrence { term, position }| Occurrence {
            term,
            position: position.saturating_add(start),
        });
        self.fields[Field::Text.index()].extend(moved);
    }

    /// Adds the words of a date to the text.
    #[must_use]
    pub fn dated(mut self, words: &str) -> Self {
        let last = self.field(Field::Text).last().map_or(0, |last| last.position);
        self.add(Field::Text, words, last.saturating_add(GAP));
        self
    }

    /// The terms of `field`, in order of position. Their number is the length of the field for BM25.
    pub fn field(&self, field: Field) -> &[Occurrence] {
        &self.fields[field.index()]
    }

    /// Adds the terms of `text` from position `start` on; returns the first free position.
    fn add(&mut self, field: Field, text: &str, start: u32) -> u32 {
        let mut next = start;
        for token in token::tokens(&fold::normalise(text)) {
            each_term(&token, &mut |form, offset, term| {
                let (field, position) = match form {
                    Form::Exact => (Field::Exact, 0),
                    Form::Stem | Form::Part => (field, next.saturating_add(offset)),
                };
                self.fields[field.index()].push(Occurrence { term: term.into(), position });
            });
            next = next.saturating_add(token.width());
        }
        next
    }
}

/// What a term of a token is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// What stands for the word in its field.
    Stem,
    /// A piece of a word in camel case, beside it.
    Part,
    /// Goes to [`Field::Exact`].
    Exact,
}

/// Calls `emit` with every term of `token` and its offset from the token's position.
fn each_term(token: &Token<'_>, emit: &mut dyn FnMut(Form, u32, &str)) {
    match token {
        Token::Run(run) => {
            for (offset, gram) in grams(run).enumerate() {
                emit(Form::Stem, offset as u32, gram);
            }
            for (offset, (at, char)) in run.char_indices().enumerate() {
                emit(Form::Exact, offset as u32, &run[at..at + char.len_utf8()]);
            }
        }
        Token::Word(word) => {
            for (offset, part) in word.parts.iter().enumerate() {
                each_form(part, &mut |form, term| emit(form, offset as u32, term));
            }
            word.wholes.iter().for_each(|whole| emit(Form::Exact, 0, whole));
        }
    }
}

/// The stem of `part`, the pieces of its camel case, and itself where its stem differs.
fn each_form(part: &str, emit: &mut dyn FnMut(Form, &str)) {
    let word = term(part);
    let stem = stem(&word);
    emit(Form::Stem, &stem);
    if *stem != *word {
        emit(Form::Exact, &word);
    }
    for piece in token::camel_pieces(part) {
        let piece = term(piece);
        emit(Form::Part, &self::stem(&piece));
    }
}

/// `word` in lower case and no longer than a term may be.
fn term(word: &str) -> String {
    word.chars().flat_map(char::to_lowercase).take(TERM_MAX).collect()
}

/// The English stem of a word of ASCII letters; any other word is its own.
fn stem(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Stemmer::new(Algorithm::English).stem(word)
    } else {
        Cow::Borrowed(word)
    }
}

/// Overlapping pairs of the characters of `run`; a single character is its own.
fn grams(run: &str) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().map(|(at, char)| at + char.len_utf8());
    let second = usize::from(run.chars().nth(1).is_some());
    run.char_indices().map(|(at, _)| at).zip(ends.skip(second)).map(|(from, to)| &run[from..to])
}

/// Words that shape a question and are no evidence of what it is about: Lucene's list of English stop
/// words and 30 more, sorted. Only queries are freed of them.
const FUNCTION_WORDS: [&str; 63] = [
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "did", "do",
    "does", "for", "from", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in",
    "into", "is", "it", "my", "no", "not", "of", "on", "or", "our", "she", "such", "that", "the",
    "their", "then", "there", "these", "they", "this", "to", "us", "was", "we", "were", "what",
    "when", "where", "which", "who", "why", "will", "with", "you", "your",
];

impl Word<'_> {
    /// Whether this is one of [`FUNCTION_WORDS`]; a sign that belongs to it makes it a name.
    fn is_function(&self) -> bool {
        let [part] = self.parts[..] else { return false };
        let named = self.wholes.iter().any(|whole| whole.ends_with(token::SUFFIXES));
        !named && FUNCTION_WORDS.contains(&term(part).as_str())
    }
}

#[cfg(test)]
mod tests;
