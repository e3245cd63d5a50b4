//! Cuts a long body down to the part that matters.

use std::ops::Range;

/// Less than this is no more than a piece of a word.
const WORTH_FILLING: usize = 20;

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

/// The part of `text` around the bytes `passage` that costs at most `budget`: the paragraph of the
/// passage and whole paragraphs around it where they fit, else text from the passage on; then as much of
/// what follows, or else of what goes before, as is still to be had for the budget.
pub(super) fn excerpt(text: &str, passage: &Range<usize>, budget: usize) -> Range<usize> {
    if cost(text) <= budget {
        return 0..text.len();
    }
    let paragraphs = paragraphs(text);
    let first = paragraphs.partition_point(|paragraph| paragraph.end <= passage.start);
    let Some(start) = paragraphs.get(first) else { return head(text, 0, budget) };
    let kept = if cost(&text[start.clone()]) > budget {
        head(text, floor(text, passage.start.max(start.start)), budget)
    } else {
        grow(text, &paragraphs, first, budget)
    };
    fill(text, kept, budget)
}

/// Spends what is left of `budget` on the text after `kept`, and at the end of the text on that before.
fn fill(text: &str, kept: Range<usize>, budget: usize) -> Range<usize> {
    let left = budget.saturating_sub(cost(&text[kept.clone()]));
    if left < WORTH_FILLING {
        return kept;
    }
    let after = head(text, kept.end, left).end;
    let left = left.saturating_sub(cost(&text[kept.end..after]));
    let before = if after == text.len() { tail(text, kept.start, left) } else { kept.start };
    before..after
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

/// Where text of at most `budget` that ends at `end` begins, with a whole word where there is one.
fn tail(text: &str, end: usize, budget: usize) -> usize {
    let mut spent = 0;
    let affordable = text[..end].char_indices().rev().take_while(|(_, c)| {
        spent += char_cost(*c);
        spent <= budget
    });
    let start = affordable.last().map_or(end, |(at, _)| at);
    let word = text[start..end]
        .find(char::is_whitespace)
        .filter(|at| start > 0 && *at < (end - start) / 2);
    start + word.unwrap_or(0)
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
        assert_eq!(&text[excerpt(text, &(at..at + 5), 11)], "three three");
        assert_eq!(&text[excerpt(text, &(at..at + 5), 24)], "three three\n\nfour four");
        assert_eq!(&text[excerpt(text, &(at..at + 5), 36)], "two two\n\nthree three\n\nfour four");
    }

    #[test]
    fn the_budget_is_spent_whatever_the_paragraphs_are() {
        let long = "- an item of the list\n".repeat(1_000);
        let end = "the end of the text ".repeat(100);
        for (text, passage) in [
            (format!("# Giraffe\n\n{long}"), 0..9),
            (format!("# Giraffe\n\n{end}\n\nlast"), 2_010..2_014),
            (long.replace('\n', " "), 40..50),
        ] {
            for budget in [100, 300, 1_500] {
                let kept = cost(&text[excerpt(&text, &passage, budget)]);
                assert!((budget * 9 / 10..=budget).contains(&kept), "{kept} of {budget}");
            }
        }
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
