//! `WordPiece`, as uncased BERT models cut text.
//!
//! Devlin et al., "BERT" (2019); the rules are those of the reference implementation's
//! `BasicTokenizer` and `WordpieceTokenizer`: control characters are dropped, letters are lowered and
//! freed of their accents, Han characters and punctuation stand alone, and each word is cut greedily
//! into the longest pieces of the vocabulary. Words that cannot be cut that way are skipped.

use std::{collections::HashMap, sync::LazyLock};

use regex::Regex;
use rustc_hash::FxBuildHasher;
use unicode_normalization::UnicodeNormalization;

/// Number of a piece: its row in the model.
pub(super) type Piece = u32;
type Table = HashMap<&'static str, Piece, FxBuildHasher>;

/// Words longer than this, in characters, are skipped.
const WORD_MAX: usize = 100;
/// What marks a piece that continues a word.
const CONTINUES: &str = "##";

/// A vocabulary, ready for lookup.
#[derive(Debug)]
pub(super) struct Vocabulary {
    initial: Table,
    continuing: Table,
    /// The longest piece in bytes.
    longest: usize,
}

impl Vocabulary {
    /// The vocabulary with one piece a line; the number of a piece is that of its line.
    pub(super) fn of_lines(lines: &'static str) -> Self {
        let mut vocabulary =
            Self { initial: Table::default(), continuing: Table::default(), longest: 0 };
        for (piece, number) in lines.split('\n').zip(0..) {
            let (table, piece) = match piece.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => (&mut vocabulary.continuing, rest),
                _ => (&mut vocabulary.initial, piece),
            };
            vocabulary.longest = vocabulary.longest.max(piece.len());
            table.insert(piece, number);
        }
        vocabulary
    }

    /// Calls `emit` with the pieces of each word of `text` that can be cut, and how many characters it
    /// has.
    pub(super) fn words(&self, text: &str, emit: &mut dyn FnMut(&[Piece], usize)) {
        let (mut word, mut pieces) = (String::with_capacity(32), Vec::with_capacity(8));
        let mut end = |word: &mut String| {
            if self.cut(word, &mut pieces) {
                emit(&pieces, word.chars().count());
            }
            word.clear();
        };
        for c in text.chars() {
            match class(c) {
                Class::Dropped => {}
                Class::Space => end(&mut word),
                Class::Letter => fold_into(c, &mut word),
                Class::Alone => {
                    end(&mut word);
                    fold_into(c, &mut word);
                    end(&mut word);
                }
            }
        }
        end(&mut word);
    }

    /// Cuts `word` into `pieces`; `false` for one that cannot be cut.
    fn cut(&self, word: &str, pieces: &mut Vec<Piece>) -> bool {
        pieces.clear();
        let is_long = word.len() > WORD_MAX && word.chars().nth(WORD_MAX).is_some();
        if word.is_empty() || is_long {
            return false;
        }
        let mut at = 0;
        while at < word.len() {
            let Some((piece, length)) = self.longest_at(word, at) else { return false };
            pieces.push(piece);
            at += length;
        }
        true
    }

    /// The longest piece that `word` has at byte `at`, and its length in bytes.
    fn longest_at(&self, word: &str, at: usize) -> Option<(Piece, usize)> {
        let table = if at == 0 { &self.initial } else { &self.continuing };
        let mut end = word.len().min(at + self.longest);
        while end > at {
            // `get` is `None` inside of a character.
            if let Some(piece) = word.get(at..end).and_then(|part| table.get(part)) {
                return Some((*piece, end - at));
            }
            end -= 1;
        }
        None
    }
}

enum Class {
    Dropped,
    Space,
    Letter,
    Alone,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Letter,
        ' ' | '\n' | '\t' | '\r' => Class::Space,
        _ if c.is_ascii_punctuation() => Class::Alone,
        '\0' | '\u{fffd}' => Class::Dropped,
        _ if c.is_whitespace() => Class::Space,
        _ if c.is_control() || matches(&FORMAT, c) => Class::Dropped,
        _ if !c.is_ascii() && (is_han(c) || matches(&PUNCTUATION, c)) => Class::Alone,
        _ => Class::Letter,
    }
}

/// Adds `c` in lower case and without its accents.
fn fold_into(c: char, word: &mut String) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    for lower in c.nfd().filter(|part| !matches(&ACCENT, *part)).flat_map(char::to_lowercase) {
        word.push(lower);
    }
}

fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0xF900..=0xFAFF | 0x20000..=0x2CEAF
        | 0x2F800..=0x2FA1F)
}

static PUNCTUATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{P}$").ok());
static ACCENT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Mn}$").ok());
static FORMAT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{Cf}\p{Co}]$").ok());

fn matches(class: &LazyLock<Option<Regex>>, c: char) -> bool {
    let mut bytes = [0; 4];
    class.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut bytes)))
}
