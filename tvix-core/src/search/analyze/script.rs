//! Which characters belong to words, and which scripts write without spaces.

use unicode_normalization::char::is_combining_mark;

/// How the words of a script are told apart. A run of text holds characters of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// By spaces and signs.
    Spaced,
    /// Not at all: Han and Kana, which mix within words.
    Han,
    /// By spaces, but with particles glued to the nouns.
    Hangul,
    /// Not at all: Thai, Lao, Myanmar, Khmer.
    SouthEastAsian,
    /// Each sign is a word.
    Pictograph,
}

/// The class of a character of a word that follows one of class `before`; `None` when it is no
/// letter, digit or mark on one.
pub(super) fn class(char: char, before: Option<Class>) -> Option<Class> {
    if char.is_ascii() {
        return char.is_ascii_alphanumeric().then_some(Class::Spaced);
    }
    if is_combining_mark(char) {
        return before;
    }
    if char.is_alphanumeric() {
        return Some(of_letter(char));
    }
    is_pictograph(char).then_some(Class::Pictograph)
}

/// Emoji and other pictures and symbols, which stand for words.
fn is_pictograph(char: char) -> bool {
    matches!(u32::from(char), 0x2190..=0x2bff | 0x1f000..=0x1faff)
}

fn of_letter(char: char) -> Class {
    match u32::from(char) {
        0xe00..=0xeff | 0x1000..=0x109f | 0x1780..=0x17ff | 0xa9e0..=0xa9ff | 0xaa60..=0xaa7f => {
            Class::SouthEastAsian
        }
        0x1100..=0x11ff | 0x3130..=0x318f | 0xa960..=0xa97f | 0xac00..=0xd7ff => Class::Hangul,
        0x2e80..=0x312f
        | 0x31a0..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0x1aff0..=0x1b16f
        | 0x20000..=0x3ffff => Class::Han,
        _ => Class::Spaced,
    }
}
