//! The model inside of the crate: a vector for each piece of a word, and a text is their sum.
//!
//! How it was made, from which texts, and how well it does stands in `models/README.md`. It needs no
//! runtime and takes microseconds a text; it knows English.

mod rows;
mod wordpiece;

use std::sync::LazyLock;

use async_trait::async_trait;

use self::{
    rows::Rows,
    wordpiece::{Piece, Vocabulary},
};
use super::{Embedder, Hints, Model, Role, Vector};
use crate::{Error, Result};

/// The weights, decoded at first use.
static BUILT_IN: LazyLock<Result<Weights>> =
    LazyLock::new(|| Weights::parse(include_bytes!("../../../models/tvix-static-256.tvs")));

/// The built-in model. Cheap to make and to clone.
#[derive(Debug, Clone)]
pub struct BuiltIn {
    model: Model,
}

#[derive(Debug)]
struct Weights {
    vocabulary: Vocabulary,
    rows: Rows,
}

impl Default for BuiltIn {
    fn default() -> Self {
        Self { model: Model { name: "tvix-static-256 v1".to_owned(), dimension: 256 } }
    }
}

impl BuiltIn {
    /// The vector of `text`, of length 1; all zero when no piece of it is known.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) when the weights in this build are damaged.
    pub fn vector(&self, text: &str) -> Result<Vector> {
        self.vector_of(&self.read(text)?)
    }

    /// Cuts `text` into pieces, for [`BuiltIn::vector_of`] and [`LateInteraction::score`].
    ///
    /// # Errors
    /// As [`BuiltIn::vector`].
    pub fn read(&self, text: &str) -> Result<Pieces> {
        let (mut pieces, mut knows_a_word) = (Vec::with_capacity(text.len() / 4), false);
        weights()?.vocabulary.words(text, &mut |word, characters| {
            knows_a_word |= is_word(word, characters);
            pieces.extend_from_slice(word);
        });
        Ok(Pieces { pieces, says_something: knows_a_word && is_read(text) })
    }

    /// [`BuiltIn::vector`] of a text that was read.
    ///
    /// # Errors
    /// As [`BuiltIn::vector`].
    pub fn vector_of(&self, text: &Pieces) -> Result<Vector> {
        let rows = &weights()?.rows;
        let mut sum = vec![0.0; rows.dimension()];
        if text.says_something {
            text.pieces.iter().for_each(|piece| rows.add(*piece, &mut sum));
        }
        super::normalise(&mut sum);
        Ok(sum)
    }

    /// The query, ready for [`LateInteraction::score`].
    ///
    /// # Errors
    /// As [`BuiltIn::vector`].
    pub fn late_interaction(&self, query: &str) -> Result<LateInteraction> {
        let weights = weights()?;
        let pieces = self.read(query)?.distinct();
        let pieces = pieces.into_iter().map(|piece| (piece, weights.rows.norm(piece))).collect();
        Ok(LateInteraction { weights, pieces })
    }
}

/// A text as the pieces of words that the model knows, in order.
#[derive(Debug, Clone)]
pub struct Pieces {
    pieces: Vec<Piece>,
    /// Whether the pieces mean anything: there is a word among them, in a script that the model reads.
    says_something: bool,
}

impl Pieces {
    /// Each piece once, in the order of their numbers.
    fn distinct(mut self) -> Vec<Piece> {
        self.pieces.sort_unstable();
        self.pieces.dedup();
        self.pieces
    }
}

/// A query that is compared with texts piece by piece.
///
/// Khattab & Zaharia, "`ColBERT`" (2020), with the static rows in place of contextual ones.
#[derive(Debug, Clone)]
pub struct LateInteraction {
    weights: &'static Weights,
    /// Distinct pieces with the length of their rows, which is how much they tell.
    pieces: Vec<(Piece, f32)>,
}

impl LateInteraction {
    /// How well `text` covers the query, from -1 to 1: for each piece of the query the greatest
    /// cosine with any piece of the text, averaged by how much the piece tells.
    pub fn score(&self, text: &Pieces) -> f32 {
        let rows = &self.weights.rows;
        let of_text = text.clone().distinct();
        let nearest = |piece: Piece| match of_text.binary_search(&piece) {
            Ok(_) => 1.0,
            Err(_) => of_text.iter().map(|other| rows.cosine(piece, *other)).fold(-1.0, f32::max),
        };
        let total: f32 = self.pieces.iter().map(|(_, weight)| weight).sum();
        let sum: f32 = self.pieces.iter().map(|(piece, weight)| weight * nearest(*piece)).sum();
        if of_text.is_empty() || total == 0.0 { 0.0 } else { sum / total }
    }
}

/// Whether a word of so many `characters` is one to the model. One that falls into single letters is a
/// key or a typing error: beside words its letters tell it from others, alone they mean nothing.
fn is_word(pieces: &[Piece], characters: usize) -> bool {
    pieces.len() == 1 || characters >= 2 * pieces.len()
}

/// Whether `text` is in a script that the model reads: most of its letters are Latin. Of others it
/// knows single letters, which mean nothing.
fn is_read(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (latin, other) = letters.fold((0_usize, 0_usize), |(latin, other), c| match c {
        '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{ff21}'..='\u{ff5a}' => (latin + 1, other),
        _ => (latin, other + 1),
    });
    latin > other
}

fn weights() -> Result<&'static Weights> {
    BUILT_IN.as_ref().map_err(|error| Error::corrupt("the built-in model", error))
}

impl Weights {
    /// Reads `TVS1 | rows u32 | dimension u32 | length u32 | vocabulary | scales f32 | rows i8`, all
    /// little-endian; the vocabulary has one piece a line.
    fn parse(bytes: &'static [u8]) -> Result<Self> {
        Self::read(bytes).ok_or_else(|| Error::corrupt("the built-in model", "it is cut off"))
    }

    fn read(bytes: &'static [u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(b"TVS1")?;
        let (count, bytes) = number(bytes)?;
        let (dimension, bytes) = number(bytes)?;
        let (length, bytes) = number(bytes)?;
        let (vocabulary, bytes) = bytes.split_at_checked(length)?;
        let (scales, rows) = bytes.split_at_checked(count.checked_mul(4)?)?;
        let vocabulary = Vocabulary::of_lines(std::str::from_utf8(vocabulary).ok()?);
        Some(Self { vocabulary, rows: Rows::new(dimension, scales, rows)? })
    }
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number) as usize, rest))
}

#[async_trait]
impl Embedder for BuiltIn {
    fn model(&self) -> &Model {
        &self.model
    }

    fn hints(&self) -> Hints {
        Hints { instant: true, dense: 0.3, unrelated: 0.15 }
    }

    async fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vector>> {
        texts.iter().map(|text| self.vector(text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text with its pieces and the first numbers of its vector, as another reader of the same
    /// weights gave them.
    #[derive(serde::Deserialize)]
    struct Golden {
        text: String,
        pieces: Vec<String>,
        vector: Vec<f32>,
    }

    fn golden() -> Vec<Golden> {
        let text = include_str!("../../../models/golden.json");
        serde_json::from_str(text).expect("golden vectors")
    }

    #[test]
    fn texts_are_cut_and_embedded_as_by_the_reference() {
        let weights = weights().expect("weights");
        let lines: Vec<&str> = {
            let bytes = include_bytes!("../../../models/tvix-static-256.tvs");
            let (length, rest) = number(&bytes[12..]).expect("a length");
            std::str::from_utf8(&rest[..length]).expect("a vocabulary").split('\n').collect()
        };
        for Golden { text, pieces, vector } in golden() {
            let mut cut = Vec::new();
            let mut ours = vec![0.0; weights.rows.dimension()];
            weights.vocabulary.words(&text, &mut |word, _| {
                for piece in word {
                    cut.push(lines[*piece as usize]);
                    weights.rows.add(*piece, &mut ours);
                }
            });
            assert_eq!(cut, pieces, "{text:?}");
            crate::embed::normalise(&mut ours);
            for (one, other) in ours.iter().zip(&vector) {
                assert!((one - other).abs() < 1e-4, "{text:?}: {one} against {other}");
            }
        }
    }

    #[test]
    fn the_same_in_other_words_is_nearer_than_something_else() {
        let model = BuiltIn::default();
        let cosine = |one: &str, other: &str| -> f32 {
            let vectors = [one, other].map(|text| model.vector(text).expect("a vector"));
            vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum()
        };
        let cat = "The cat sits outside";
        assert!(cosine(cat, "A feline is sitting outdoors") > 0.5);
        assert!(cosine(cat, "The stock market fell on Monday") < 0.2);
    }

    #[test]
    fn what_the_model_cannot_read_has_no_vector() {
        for text in
            ["", "qwvz", "wcfwaaaq", "2.4.7", "?!", "会议改到星期三", "Встреча в 12:30", "שלום"]
        {
            let vector = BuiltIn::default().vector(text).expect("a vector");
            assert!(vector.iter().all(|number| *number == 0.0), "{text}");
        }
    }

    #[test]
    fn weights_that_are_cut_off_are_refused() {
        let bytes: &'static [u8] = include_bytes!("../../../models/tvix-static-256.tvs");
        for end in [0, 3, 10, 40, 100_000, bytes.len() - 1] {
            assert!(Weights::parse(&bytes[..end]).is_err(), "{end}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_vector_of_length_one_or_zero(text in "\\PC{0,80}") {
            let vector = BuiltIn::default().vector(&text).expect("a vector");
            let length: f32 = vector.iter().map(|x| x * x).sum();
            assert!(length == 0.0 || (length - 1.0).abs() < 1e-4, "{length}");
        }
    }
}
