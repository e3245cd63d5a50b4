//! Cuts long texts into passages.
//!
//! 800 characters with 200 of overlap, on sentence and heading borders, retrieved best among the
//! lengths and ways tried: a whole page dilutes the length norm of BM25, a sentence lacks context.

use std::{iter, ops::Range};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// The greatest length of a chunk, in characters.
pub const CHUNK_MAX: usize = 800;
/// The greatest overlap of a chunk with the one before it, in characters.
pub const OVERLAP_MAX: usize = 200;

/// The greatest length of a text that is embedded as a whole, in characters.
pub const PART_MAX: usize = 500;

/// The least length at which a heading ends a chunk: shorter sections share one.
const SECTION_MIN: usize = 200;
/// The least length at which a sentence ends a chunk.
const PACKED_MIN: usize = 400;

/// A passage of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Bytes of the text, on character borders.
    pub range: Range<usize>,
    /// The Markdown headings that the passage begins under, outermost first, separated by ` > `;
    /// empty when there are none.
    pub headings: String,
}

/// What may be cut before a character, the better the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    None,
    Word,
    Sentence,
    Heading,
}

/// Cuts `text` into passages that cover all of it, in order; one passage when it has at most
/// [`CHUNK_MAX`] characters.
///
/// A passage ends before a heading where it can (ATX and Setext, not in fenced code), else between
/// sentences, else between words. It repeats up to [`OVERLAP_MAX`] characters of the one before it,
/// but never across a heading.
pub fn chunks(text: &str) -> Vec<Chunk> {
    let headings = headings(text);
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let count = offsets.len() - 1;
    let borders = if count > CHUNK_MAX { borders(text, &headings) } else { Vec::new() };
    let mut chunks = Vec::new();
    let mut start = 0;
    loop {
        let end = if count - start <= CHUNK_MAX { count } else { end(&borders, start) };
        let range = offsets[start]..offsets[end];
        chunks.push(Chunk { headings: path(&headings, range.start), range });
        if end == count {
            return chunks;
        }
        start = next_start(&borders, end);
    }
}

/// Cuts a chunk into the parts that are embedded, since the vector of a long text is like that of any
/// other: itself up to [`PART_MAX`] characters, else two parts of about the same length.
pub fn parts(chunk: &str) -> Vec<Range<usize>> {
    let borders = borders(chunk, &[]);
    if borders.len() <= PART_MAX {
        return iter::once(0..chunk.len()).collect();
    }
    let middle = borders.len() / 2;
    let reach = middle / 2..=borders.len() - middle / 2;
    let nearest = |least: Border| {
        let fit =
            reach.clone().filter(|at| borders.get(*at).is_some_and(|border| *border >= least));
        fit.min_by_key(|at| at.abs_diff(middle))
    };
    let cut = nearest(Border::Sentence).or_else(|| nearest(Border::Word)).unwrap_or(middle);
    let cut = chunk.char_indices().nth(cut).map_or(chunk.len(), |(at, _)| at);
    vec![0..cut, cut..chunk.len()]
}

/// Where the chunk that begins at character `start` ends, with more than [`CHUNK_MAX`] left.
fn end(borders: &[Border], start: usize) -> usize {
    let limit = start + CHUNK_MAX;
    let section = (start + SECTION_MIN..=limit).find(|&at| borders[at] == Border::Heading);
    let last = |least: Border| (start + PACKED_MIN..=limit).rfind(|&at| borders[at] >= least);
    section.or_else(|| last(Border::Sentence)).or_else(|| last(Border::Word)).unwrap_or(limit)
}

/// Where the chunk after one that ends at character `end` begins: always behind the start of that.
fn next_start(borders: &[Border], end: usize) -> usize {
    if borders[end] == Border::Heading {
        return end;
    }
    let overlap = end - OVERLAP_MAX..end;
    let heading = overlap.clone().rfind(|&at| borders[at] == Border::Heading);
    let first = |least: Border| overlap.clone().find(|&at| borders[at] >= least);
    heading
        .or_else(|| first(Border::Sentence))
        .or_else(|| first(Border::Word))
        .unwrap_or(overlap.start)
}

/// The border before each character of `text`.
fn borders(text: &str, headings: &[Heading]) -> Vec<Border> {
    let mut borders = Vec::with_capacity(text.len());
    let mut headings = headings.iter().map(|heading| heading.start).peekable();
    let mut before = Before::Word;
    for (at, char) in text.char_indices() {
        let border = before.border(char);
        let heading = headings.next_if(|&start| start <= at).is_some();
        borders.push(if heading { Border::Heading } else { border });
        before = before.then(char);
    }
    borders
}

/// What stands before a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Word,
    /// A sign that ends a sentence when white space follows.
    Stop,
    /// A sign that ends a sentence.
    WideStop,
    /// White space after the end of a sentence.
    Gap,
    Space,
}

impl Before {
    fn border(self, char: char) -> Border {
        match self {
            _ if char.is_whitespace() => Border::None,
            Self::Gap => Border::Sentence,
            Self::WideStop if char.is_alphanumeric() => Border::Sentence,
            Self::Space => Border::Word,
            Self::Word | Self::Stop | Self::WideStop => Border::None,
        }
    }

    fn then(self, char: char) -> Self {
        match char {
            '\n' => Self::Gap,
            '.' | '!' | '?' | '…' => Self::Stop,
            '。' | '！' | '？' | '．' => Self::WideStop,
            // Closing marks belong to the sentence before them.
            '"' | '\'' | ')' | ']' | '”' | '’' | '»' if self == Self::Stop => Self::Stop,
            '」' | '』' | '）' | '”' if self == Self::WideStop => Self::WideStop,
            char if !char.is_whitespace() => Self::Word,
            _ if matches!(self, Self::Stop | Self::WideStop | Self::Gap) => Self::Gap,
            _ => Self::Space,
        }
    }
}

/// A heading of a Markdown text.
struct Heading {
    start: usize,
    level: usize,
    text: String,
}

/// The headings of `text`, in order.
fn headings(text: &str) -> Vec<Heading> {
    let possible = text.contains('#') || text.contains("\n=") || text.contains("\n-");
    if !possible {
        return Vec::new();
    }
    let mut headings: Vec<Heading> = Vec::new();
    let mut inside = false;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                inside = true;
                let (start, level) = (range.start, level as usize);
                headings.push(Heading { start, level, text: String::new() });
            }
            Event::End(TagEnd::Heading(_)) => inside = false,
            Event::Text(part) | Event::Code(part) if inside => {
                if let Some(heading) = headings.last_mut() {
                    heading.text.push_str(&part);
                }
            }
            _ => {}
        }
    }
    headings
}

/// The headings that stand above byte `at`, outermost first.
fn path(headings: &[Heading], at: usize) -> String {
    let above = headings.partition_point(|heading| heading.start <= at);
    let mut path = Vec::new();
    let mut level = usize::MAX;
    for heading in headings[..above].iter().rev() {
        if heading.level < level {
            level = heading.level;
            path.push(heading.text.trim());
        }
    }
    path.reverse();
    path.join(" > ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        chunks(text).into_iter().map(|chunk| &text[chunk.range]).collect()
    }

    /// The chunks cover all of `text`, overlap by no more than they may, and each moves on.
    fn check(text: &str) {
        let chunks = chunks(text);
        let mut covered = 0;
        let mut start = None;
        for Chunk { range, .. } in chunks {
            assert!(range.start <= covered && range.end >= covered, "{range:?} after {covered}");
            assert!(text[range.clone()].chars().count() <= CHUNK_MAX);
            assert!(text[range.start..covered].chars().count() <= OVERLAP_MAX);
            assert!(start.is_none_or(|start| start < range.start));
            (covered, start) = (range.end, Some(range.start));
        }
        assert_eq!(covered, text.len());
    }

    #[test]
    fn a_short_text_is_one_chunk() {
        for text in ["", "one. two.", &"ü".repeat(800)] {
            assert_eq!(texts(text), [text]);
        }
    }

    #[test]
    fn chunks_end_and_begin_between_sentences() {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(60);
        check(&text);
        for chunk in texts(&text) {
            assert!(chunk.starts_with("The") && chunk.ends_with(". "), "{chunk:?}");
        }
        let chinese = "项目会议改到星期三下午举行。".repeat(200);
        check(&chinese);
        assert!(
            texts(&chinese).iter().all(|chunk| chunk.starts_with('项') && chunk.ends_with('。'))
        );
    }

    #[test]
    fn a_long_chunk_is_embedded_in_two_parts_of_whole_sentences() {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(17);
        let [first, second] = &parts(&text)[..] else { panic!("two parts") };
        assert_eq!((first.start, first.end, second.end), (0, second.start, text.len()));
        assert!(text[second.clone()].starts_with("The") && first.len().abs_diff(second.len()) < 50);
        assert_eq!(parts("short").first(), Some(&(0..5)));
        assert_eq!(parts(&"猫".repeat(700)), [0..1050, 1050..2100]);
    }

    #[test]
    fn a_heading_begins_a_chunk_without_overlap() {
        let body = "Some words of the section that say something. ".repeat(12);
        let text = format!("# Book\n\n{body}\n\n## One\n\n{body}\n\nTwo\n---\n\n{body}");
        check(&text);
        let headings: Vec<_> = chunks(&text).into_iter().map(|chunk| chunk.headings).collect();
        assert_eq!(headings, ["Book", "Book > One", "Book > Two"]);
        assert!(texts(&text)[1].starts_with("## One"));
    }

    #[test]
    fn what_is_fenced_is_no_heading() {
        let text = format!("```\n# not a heading\n```\n{}", "word ".repeat(400));
        assert!(chunks(&text).iter().all(|chunk| chunk.headings.is_empty()));
    }

    #[test]
    fn text_without_any_border_is_cut_between_characters() {
        check(&"x".repeat(10_000));
        check(&"猫".repeat(10_000));
    }

    #[test]
    fn a_long_text_is_cut_in_milliseconds() {
        let text = "Some words, and a sentence. Another one!\n\n## A heading\n\n".repeat(1800);
        let start = std::time::Instant::now();
        check(&text);
        // Far above what it takes, for builds without optimisation on busy machines.
        assert!(start.elapsed().as_millis() < 2000, "{:?}", start.elapsed());
    }

    proptest::proptest! {
        #[test]
        fn chunks_cover_any_text(parts in proptest::collection::vec(("\\PC{0,120}|[#=\n.。 a-]{0,60}", 1..12_usize), 0..12)) {
            let text: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
            check(&text);
        }
    }
}
