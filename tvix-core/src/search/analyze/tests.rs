use super::*;

/// The terms of `field` when `text` is analysed as text, in order of position.
fn terms(field: Field, text: &str) -> Vec<String> {
    let analysis = Analysis::new("", "", text);
    analysis.field(field).iter().map(|occurrence| occurrence.term.to_string()).collect()
}

fn holds(text: &str, stems: &[&str], exact: &[&str]) {
    for (field, wanted) in [(Field::Text, stems), (Field::Exact, exact)] {
        let found = terms(field, text);
        for term in wanted {
            assert!(
                found.iter().any(|t| t == term),
                "{term:?} in {field:?} of {text:?}: {found:?}"
            );
        }
    }
}

#[test]
fn words_are_folded_and_stemmed_and_kept_as_written_where_the_stem_differs() {
    assert_eq!(terms(Field::Text, "All Deployments, red."), ["all", "deploy", "red"]);
    assert_eq!(terms(Field::Exact, "All Deployments, red."), ["deployments"]);
    holds("Café Zürich ВСТРЕЧА ＡＰＩ", &["cafe", "zurich", "встреча", "api"], &[]);
}

#[test]
fn names_of_code_and_versions_are_kept_by_part_and_as_a_whole() {
    holds(
        "release-3.11.2-rc1",
        &["releas", "3", "11", "2", "rc1"],
        &["release-3.11.2-rc1", "3.11.2"],
    );
    holds("v2.4.7", &["v2", "4", "7"], &["v2.4.7", "2.4.7"]);
    holds("foo_bar MAX_RETRY_COUNT", &["foo", "bar", "retri"], &["foo_bar", "max_retry_count"]);
    holds("CLAUDE.md", &["claud", "md"], &["claude.md"]);
    holds("std::vector build:watch", &["std", "vector", "watch"], &["std::vector", "build:watch"]);
    holds("GB/s user@host", &["gb", "s", "user", "host"], &["gb/s", "user@host"]);
    holds("C++, C#.", &["c"], &["c++", "c#"]);
    holds("src/search/analyze.rs", &["search", "rs"], &["src/search/analyze.rs", "analyze.rs"]);
    holds("1,000 euros", &["1", "000"], &["1,000"]);
}

#[test]
fn words_in_camel_case_are_kept_whole_in_their_field_with_their_pieces() {
    assert_eq!(terms(Field::Text, "maxRetryCount"), ["maxretrycount", "max", "retri", "count"]);
    assert_eq!(terms(Field::Text, "HTTPServer"), ["httpserver", "http", "server"]);
    assert_eq!(terms(Field::Text, "GitHub Actions"), ["github", "git", "hub", "action"]);
    let places = Analysis::new("", "", "GitHub Actions");
    assert_eq!(places.field(Field::Text).last().map(|o| o.position), Some(1));
}

#[test]
fn punctuation_of_sentences_makes_no_name() {
    for text in ["the end.", "red, blue", "is it? yes!", "(one) [two]", "wait... what", "a - b"] {
        let exact = terms(Field::Exact, text);
        assert!(
            exact.iter().all(|term| term.chars().all(char::is_alphanumeric)),
            "{text}: {exact:?}"
        );
    }
    assert_eq!(terms(Field::Text, "grandmother's pie"), ["grandmoth", "pie"]);
    holds("don't", &["don", "t"], &["don't"]);
}

#[test]
fn scripts_without_spaces_are_kept_by_pairs_and_single_characters() {
    assert_eq!(terms(Field::Text, "使用Rust编写"), ["使用", "rust", "编写"]);
    assert_eq!(terms(Field::Text, "星期三"), ["星期", "期三"]);
    assert_eq!(terms(Field::Exact, "星期三"), ["星", "期", "三"]);
    assert_eq!(terms(Field::Text, "猫"), ["猫"]);
    holds("来週の打ち合わせ", &["来週", "打ち", "合わ"], &["週"]);
    holds("배포일정을", &["배포", "포일", "일정"], &[]);
    holds("ภาษาไทย", &["ภา", "ไท"], &[]);
    holds("हिन्दी", &["हिन्दी"], &[]);
}

#[test]
fn title_and_headings_share_a_field() {
    let analysis = Analysis::new("Red apples", "Pies > Baking", "text");
    let title: Vec<_> =
        analysis.field(Field::Title).iter().map(|o| (&*o.term, o.position)).collect();
    assert_eq!(title, [("red", 0), ("appl", 1), ("pie", 2), ("bake", 3)]);
}

#[test]
fn long_words_are_cut_alike_in_texts_and_queries() {
    let word = "z".repeat(1000);
    assert_eq!(terms(Field::Text, &word), ["z".repeat(TERM_MAX)]);
    assert!((TextQuery::parse(&word).coverage(&[&word]) - 1.0).abs() < 1e-6);
}

#[test]
fn the_list_of_function_words_is_sorted_and_free_of_repeats() {
    assert!(FUNCTION_WORDS.is_sorted_by(|a, b| a < b));
}

/// The stems that `query` looks for in the text.
fn wanted(query: &str) -> Vec<String> {
    let query = TextQuery::parse(query);
    let terms = query.terms().iter().filter(|term| term.field == Field::Text);
    terms.map(|term| term.term.clone()).collect()
}

#[test]
fn any_text_is_a_query() {
    for (text, stems) in [
        ("priority: high", vec!["high", "prioriti"]),
        ("failed \"EPIPE", vec!["epip", "fail"]),
        ("arch* AND (", vec!["arch"]),
        ("title:*", vec!["titl"]),
        ("5\" pipe and 6\" pipe", vec!["5", "6", "pipe"]),
        ("a:b:c", vec!["a", "b", "c"]),
    ] {
        assert_eq!(wanted(text), stems, "{text}");
        assert_eq!(TextQuery::parse(text).phrases(), [], "{text}");
    }
    for text in ["", " ", "-", "!?", "\"\"", "…", "'); --", "((("] {
        assert!(TextQuery::parse(text).is_empty(), "{text}");
    }
}

#[test]
fn function_words_count_when_quoted_or_alone() {
    assert_eq!(wanted("what is the invoice"), ["invoic"]);
    assert_eq!(wanted("NOT on Friday"), ["friday"]);
    assert_eq!(wanted("to be or not"), ["be", "not", "or", "to"]);
    assert_eq!(wanted("\"to be\" Hamlet"), ["be", "hamlet", "to"]);
}

#[test]
fn quoted_words_are_phrases_at_their_distances() {
    let phrase = |text: &str| TextQuery::parse(text).phrases().to_vec();
    let terms = |terms: &[(u32, &str)]| {
        let terms = terms.iter().map(|(at, term)| (*at, (*term).to_owned())).collect();
        vec![Phrase { terms }]
    };
    assert_eq!(phrase("\"red apples\" pie"), terms(&[(0, "red"), (1, "appl")]));
    assert_eq!(phrase("“red apples”"), terms(&[(0, "red"), (1, "appl")]));
    assert_eq!(phrase("\"foo_bar baz\""), terms(&[(0, "foo"), (1, "bar"), (2, "baz")]));
    assert_eq!(phrase("\"项目会议\""), terms(&[(0, "项目"), (1, "目会"), (2, "会议")]));
    assert_eq!(phrase("\"用Kotlin重写\""), terms(&[(0, "kotlin"), (1, "重写")]));
    assert_eq!(phrase("\"猫\""), terms(&[(0, "猫")]));
    assert_eq!(phrase("a \"b c\" d \"e").len(), 1);
}

#[test]
fn a_query_holds_96_words() {
    let words: Vec<_> = (0..100).map(|number| format!("word{number}")).collect();
    assert_eq!(wanted(&words.join(" ")).len(), 96);
}

#[test]
fn coverage_is_the_share_of_words_found() {
    for (query, text, share) in [
        ("what is the invoice", "all invoices", 1.0),
        ("invoice printer", "an invoice", 0.5),
        ("release-3.11.2-rc1", "notes of release-3.11.2-rc1", 1.0),
        ("max_retry_count", "retry", 0.25),
        ("max retry_max retry", "max retry", 0.875),
        ("C++", "C is a language", 0.5),
        ("C++", "C++ is a language", 1.0),
        ("GitHub", "on github", 1.0),
        ("星期三", "星期四", 0.5),
        ("猫", "三只猫在", 1.0),
        ("Café", "cafe", 1.0),
        ("apple", "pear", 0.0),
        ("", "pear", 0.0),
    ] {
        let found = TextQuery::parse(query).coverage(&["", text]);
        assert!((found - share).abs() < 1e-6, "{query:?} in {text:?}: {found}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_analysis_or_parsing_panic(text in "\\PC*", signs in "[a-zA-Z0-9\"“”'._/:+#,@ 猫が่-]*") {
        for text in [&text, &signs] {
            let analysis = Analysis::new(text, text, text);
            for field in Field::ALL {
                let all = analysis.field(field);
                assert!(all.is_sorted_by_key(|occurrence| occurrence.position));
                assert!(all.iter().all(|o| (1..=TERM_MAX).contains(&o.term.chars().count())));
                assert!(all.iter().all(|o| !o.term.contains(char::is_whitespace)));
            }
            let query = TextQuery::parse(text);
            let share = query.coverage(&[text]);
            assert!(query.is_empty() || share > 0.0, "{text:?} finds itself: {share}");
            assert!((0.0..=1.0).contains(&share));
        }
    }
}
