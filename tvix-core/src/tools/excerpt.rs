//! Cuts a long body down to the part that matters.

use std::ops::Range;

/// What a text costs inside of JSON: its characters, with those that JSON escapes counted in full.
pub(super) fn cost(text: &str) -> usize {
    text.chars().map(char_cost).sum()
}

fn char_cost(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        _ => 1,
    }
}

/// The part of `text` around the bytes `passage` that costs at most `budget`: whole paragraphs where
/// they fit, else the beginning of the passage.
pub(super) fn excerpt(text: &str, passage: &Range<usize>, budget: usize) -> Range<usize> {
    if cost(text) <= budget {
        return 0..text.len();
    }
    let paragraphs = paragraphs(text);
    let first = paragraphs.partition_point(|paragraph| paragraph.end <= passage.start);
    let Some(start) = paragraphs.get(first) else { return head(text, 0, budget) };
    if cost(&text[start.clone()]) > budget {
        return head(text, floor(text, passage.start.max(start.start)), budget);
    }
    grow(text, &paragraphs, first, budget)
}

/// Adds paragraphs after and before the one at `first`, in turn, while they fit.
fn grow(text: &str, paragraphs: &[Range<usize>], first: usize, budget: usize) -> Range<usize> {
    let mut spent = cost(&text[paragraphs[first].clone()]);
    let (mut from, mut to) = (first, first);
    let (mut open_after, mut open_before) = (true, true);
    while open_after || open_before {
        open_after = open_after && {
            let next = paragraphs.get(to + 1).map(|next| cost(&text[paragraphs[to].end..next.end]));
            take(next, &mut spent, budget).then(|| to += 1).is_some()
        };
        open_before = open_before && {
            let before = from
                .checked_sub(1)
                .map(|at| cost(&text[paragraphs[at].start..paragraphs[from].start]));
            take(before, &mut spent, budget).then(|| from -= 1).is_some()
        };
    }
    paragraphs[from].start..paragraphs[to].end
}

fn take(price: Option<usize>, spent: &mut usize, budget: usize) -> bool {
    let fits = price.is_some_and(|price| *spent + price <= budget);
    if fits {
        *spent += price.unwrap_or_default();
    }
    fits
}

/// Paragraphs of `text`, without the blank lines between them.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    let mut open = false;
    for line in text.split_inclusive('\n') {
        let content = at..at + line.trim_end().len();
        if content.is_empty() || line.trim().is_empty() {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.end = content.end;
        } else {
            found.push(content);
            open = true;
        }
        at += line.len();
    }
    found
}

/// What follows `start`, up to `budget`, ending with a whole word where there is one.
fn head(text: &str, start: usize, budget: usize) -> Range<usize> {
    let mut spent = 0;
    let rest = &text[start..];
    let end = rest.char_indices().find(|(_, c)| {
        spent += char_cost(*c);
        spent > budget
    });
    let end = end.map_or(rest.len(), |(at, _)| at);
    let word =
        rest[..end].rfind(char::is_whitespace).filter(|at| end < rest.len() && *at > end / 2);
    start..start + word.unwrap_or(end)
}

/// The nearest character border at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_whole() {
        assert_eq!(excerpt("a\n\nb", &(0..0), 10), 0..4);
    }

    #[test]
    fn whole_paragraphs_around_the_passage_are_kept() {
        let text = "one one\n\ntwo two\n\nthree three\n\nfour four";
        let at = text.find("three").expect("there");
        assert_eq!(&text[excerpt(text, &(at..at + 5), 15)], "three three");
        assert_eq!(&text[excerpt(text, &(at..at + 5), 24)], "three three\n\nfour four");
        assert_eq!(&text[excerpt(text, &(at..at + 5), 36)], "two two\n\nthree three\n\nfour four");
    }

    #[test]
    fn a_paragraph_that_does_not_fit_is_cut_from_the_passage_on() {
        let text = "word ".repeat(100);
        assert_eq!(&text[excerpt(&text, &(250..300), 12)], "word word");
    }

    proptest! {
        #[test]
        fn an_excerpt_is_in_bounds_and_within_budget(text in "(\\PC|\n){0,200}", a in 0_usize..300, b in 0_usize..300, budget in 0_usize..120) {
            let range = excerpt(&text, &(a.min(b)..a.max(b)), budget);
            let part = text.get(range);
            prop_assert!(part.is_some_and(|part| cost(part) <= budget));
        }
    }
}
