//! Normalised text to tokens: words with their compounds, and runs of scripts without spaces.

use super::{
    TERM_MAX,
    script::{Class, class},
};

/// Signs that belong to the name before them, as in `C++` and `C#`.
pub(super) const SUFFIXES: [char; 2] = ['+', '#'];

/// Signs that join words into one name, the loosest first: a name is also found by what lies
/// between its looser signs, such as `3.11.2` in `release-3.11.2-rc1`.
const JOINERS: [&[char]; 4] =
    [&['/', '\\', ':', '@', '=', '&', '~', '+', '#'], &['-'], &['.', ','], &['_', '\'']];

/// The most signs that join two words, as in `std::vector`.
const JOINER_MAX: usize = 2;

/// The most whole forms kept of one name.
const WHOLES_MAX: usize = 32;

/// A piece of text that is analysed by itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word, or words joined by signs into one name.
    Word(Word<'a>),
    /// Characters of a script without spaces.
    Run(&'a str),
}

/// A word, or words joined by signs into one name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// The words, as written; at least one.
    pub(super) parts: Vec<&'a str>,
    /// In lower case: the name as a whole and what lies between its looser signs. Empty for a word.
    pub(super) wholes: Vec<String>,
}

impl Token<'_> {
    /// How many positions this takes.
    pub(super) fn width(&self) -> u32 {
        match self {
            Self::Word(word) => word.parts.len() as u32,
            Self::Run(run) => run.chars().count() as u32,
        }
    }
}

/// The tokens of `text`, in order. `text` is normalised.
pub(super) fn tokens(text: &str) -> Tokens<'_> {
    Tokens { text, at: 0 }
}

/// Iterator over the tokens of a text.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.find(|char| class(char, None).is_some())?;
        let (end, class) = atom(self.text, start)?;
        self.at = end;
        if class != Class::Spaced {
            return Some(Token::Run(&self.text[start..end]));
        }
        let mut parts = vec![&self.text[start..end]];
        while let Some((from, to)) = joined(self.text, self.at) {
            parts.push(&self.text[from..to]);
            self.at = to;
        }
        self.at = suffix_end(self.text, self.at);
        Some(Token::Word(word(parts, &self.text[start..self.at])))
    }
}

/// End and class of the letters of one class that begin at `start`.
fn atom(text: &str, start: usize) -> Option<(usize, Class)> {
    let mut chars = text[start..].char_indices();
    let first = class(chars.next()?.1, None)?;
    let end = chars.find(|(_, char)| class(*char, Some(first)) != Some(first));
    Some((end.map_or(text.len(), |(at, _)| start + at), first))
}

/// The next word of a name, when nothing but joining signs stands between it and `end`.
fn joined(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = &text[end..];
    let signs = rest.find(|char| !JOINERS.iter().any(|level| level.contains(&char)))?;
    if signs == 0 || signs > JOINER_MAX {
        return None;
    }
    let start = end + signs;
    let (to, class) = atom(text, start)?;
    let comma_is_punctuation = rest[..signs].contains(',')
        && !(ends_in_digit(&text[..end]) && text[start..].starts_with(|c: char| c.is_numeric()));
    (class == Class::Spaced && !comma_is_punctuation).then_some((start, to))
}

fn ends_in_digit(text: &str) -> bool {
    text.ends_with(|char: char| char.is_numeric())
}

/// `end`, moved behind one or two signs of a name that no word follows.
fn suffix_end(text: &str, end: usize) -> usize {
    let rest = &text[end..];
    let bare = rest.trim_start_matches(SUFFIXES);
    let signs = rest.len() - bare.len();
    let alone = !bare.starts_with(|char| class(char, None).is_some());
    if (1..=2).contains(&signs) && alone { end + signs } else { end }
}

fn word<'a>(mut parts: Vec<&'a str>, name: &str) -> Word<'a> {
    // The `s` of `grandmother's` would be a word of its own, and everywhere.
    if parts.len() > 1 && name.ends_with("'s") {
        parts.pop();
    }
    let mut wholes = Vec::new();
    let bare = name.strip_suffix("'s").unwrap_or(name);
    if bare.len() > parts[0].len() {
        add_wholes(bare, 0, &mut wholes);
    }
    Word { parts, wholes }
}

/// Adds `name` and what lies between its signs from `level` on, where that is no single word.
fn add_wholes(name: &str, level: usize, wholes: &mut Vec<String>) {
    let single = !name.contains(|char| JOINERS.iter().any(|level| level.contains(&char)));
    if single || wholes.len() >= WHOLES_MAX {
        return;
    }
    push_whole(name, wholes);
    if let Some(number) = name.strip_prefix(['v', 'V']).filter(|n| n.starts_with(is_digit)) {
        push_whole(number, wholes);
    }
    let Some(next) = (level..JOINERS.len()).find(|&level| name.contains(JOINERS[level])) else {
        return;
    };
    for piece in name.split(JOINERS[next]).filter(|piece| piece.len() < name.len()) {
        add_wholes(piece, next + 1, wholes);
    }
}

fn push_whole(name: &str, wholes: &mut Vec<String>) {
    let whole = super::term(name);
    if !wholes.contains(&whole) {
        wholes.push(whole);
    }
}

fn is_digit(char: char) -> bool {
    char.is_ascii_digit()
}

/// The pieces of a word in camel case, two letters and longer; none for any other word.
pub(super) fn camel_pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut borders = Vec::new();
    let mut chars = word.char_indices().peekable();
    let mut before = None;
    while let Some((at, char)) = chars.next() {
        let after = chars.peek().map(|(_, char)| *char);
        if before.is_some_and(|before| is_camel_border(before, char, after)) {
            borders.push(at);
        }
        before = Some(char);
    }
    let ends = (!borders.is_empty()).then_some(word.len());
    let starts = std::iter::once(0).chain(borders.clone());
    starts
        .zip(borders.into_iter().chain(ends))
        .map(|(from, to)| &word[from..to])
        .filter(|piece| piece.chars().nth(1).is_some())
        .take(TERM_MAX)
}

/// Whether a piece of camel case begins at `char`: `maxR`, `2Se`, `HTTPSe`.
fn is_camel_border(before: char, char: char, after: Option<char>) -> bool {
    char.is_uppercase() && (!before.is_uppercase() || after.is_some_and(char::is_lowercase))
}
