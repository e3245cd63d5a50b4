use crate::{
    conformance::samples::{
        NOTHING, at, delete, done, from_source, key, list, list_all, memory, put, put_all, scan,
        scoped, time, write,
    },
    storage::{Document, DocumentStore, Filter, Page, Scope, ScopeFilter},
    types::{EventTime, SourceKey, TimeRange, TimeZone},
};

fn timed(number: u64, time: EventTime) -> Document {
    Document { time, ..memory(number) }
}

fn only(key: &str) -> Filter {
    Filter { scope: ScopeFilter::Only(key.to_owned()), ..Filter::default() }
}

fn between(from: Option<&str>, to: Option<&str>, zone: &str) -> Filter {
    let zone = done(TimeZone::named(zone), zone);
    Filter { time: done(TimeRange::parse(from, to, &zone), "a range of time"), ..Filter::default() }
}

/// Whatever order they were stored in.
pub async fn a_scan_lists_the_latest_first(store: &dyn DocumentStore) {
    assert_eq!(list_all(store).await, NOTHING);
    put_all(store, [3, 1, 70_000, 2].map(memory)).await;
    assert_eq!(list_all(store).await, [70_000, 3, 2, 1]);
}

/// Equal times leave the order to the ids.
pub async fn ties_are_listed_by_id_greatest_first(store: &dyn DocumentStore) {
    put_all(store, [2, 300, 1].map(|number| timed(number, at(5)))).await;
    assert_eq!(list_all(store).await, [300, 2, 1]);
}

/// A bare day stands among moments.
pub async fn a_day_is_listed_at_its_first_moment_in_utc(store: &dyn DocumentStore) {
    let times = ["2031-03-09T23:59:59.999Z", "2031-03-10", "2031-03-10T00:00:00.001Z"];
    put_all(store, (1..).zip(times).map(|(number, text)| timed(number, time(text)))).await;
    assert_eq!(list_all(store).await, [3, 2, 1]);
}

/// Times may be negative.
pub async fn times_before_1970_are_listed_last(store: &dyn DocumentStore) {
    let times = ["1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "-000044-03-15", "1492-10-12"];
    put_all(store, (1..).zip(times).map(|(number, text)| timed(number, time(text)))).await;
    assert_eq!(list_all(store).await, [2, 1, 4, 3]);
}

/// It is listed once.
pub async fn a_replaced_document_moves_to_its_new_time(store: &dyn DocumentStore) {
    put_all(store, [memory(1), memory(2), memory(3), timed(1, at(9)), timed(3, at(0))]).await;
    assert_eq!(list_all(store).await, [1, 2, 3]);
}

/// Cut at any place.
pub async fn pages_add_up_to_the_list(store: &dyn DocumentStore) {
    put_all(store, (1..=7).map(memory)).await;
    for limit in 1..=8 {
        let mut listed = Vec::new();
        for offset in (0..7).step_by(limit) {
            listed.extend(scan(store, &Filter::default(), Page { offset, limit }).await);
        }
        assert_eq!(listed, [7, 6, 5, 4, 3, 2, 1], "in pages of {limit}");
    }
}

/// However far past, and however large the page.
pub async fn a_page_past_the_end_is_empty(store: &dyn DocumentStore) {
    put_all(store, (1..=3).map(memory)).await;
    for (offset, limit) in [(3, 10), (usize::MAX, usize::MAX), (0, 0), (2, 0)] {
        let page = Page { offset, limit };
        assert_eq!(scan(store, &Filter::default(), page).await, NOTHING, "{page:?}");
    }
    let rest = Page { offset: 1, limit: usize::MAX };
    assert_eq!(scan(store, &Filter::default(), rest).await, [2, 1]);
}

/// Byte for byte; names do not matter.
pub async fn a_filter_by_scope_compares_keys(store: &dyn DocumentStore) {
    let documents = [scoped(1, "a", "B"), scoped(2, "b", "a"), scoped(3, "A", "a"), memory(4)];
    put_all(store, documents).await;
    put_all(store, [scoped(5, "a", "other"), scoped(6, "ab", "a"), scoped(7, "", "empty")]).await;
    assert_eq!(list(store, &only("a")).await, [5, 1]);
    assert_eq!(list(store, &only("")).await, [7]);
    assert_eq!(list(store, &only("nowhere")).await, NOTHING);
    write(store, vec![put(scoped(1, "b", "b")), delete(key(5))]).await;
    assert_eq!(list(store, &only("a")).await, NOTHING);
}

/// And no others.
pub async fn a_filter_for_no_scope_finds_documents_without_one(store: &dyn DocumentStore) {
    put_all(store, [memory(1), scoped(2, "a", "a"), scoped(3, "", ""), memory(4)]).await;
    let filter = Filter { scope: ScopeFilter::Unscoped, ..Filter::default() };
    assert_eq!(list(store, &filter).await, [4, 1]);
}

/// Spelled in any way; none means all.
pub async fn a_filter_by_sources_takes_any_of_them(store: &dyn DocumentStore) {
    let sources = ["Claude Code", "cursor", "my-agent", "My Agent"];
    put_all(store, (1..).zip(sources).map(|(number, name)| from_source(number, name))).await;
    let by = |names: &[&str]| Filter {
        sources: names.iter().map(|name| SourceKey::of(name)).collect(),
        ..Filter::default()
    };
    assert_eq!(list(store, &by(&[])).await, [4, 3, 2, 1]);
    assert_eq!(list(store, &by(&["MY_AGENT"])).await, [4, 3]);
    assert_eq!(list(store, &by(&["claude-code", "Cursor", "nobody"])).await, [2, 1]);
    assert_eq!(list(store, &by(&["nobody"])).await, NOTHING);
}

/// Open ends too.
pub async fn a_filter_by_time_includes_both_ends(store: &dyn DocumentStore) {
    let times = ["2031-01-01T00:00:00Z", "2031-01-01T00:00:00.001Z", "2031-01-02T00:00:00Z"];
    put_all(store, (1..).zip(times).map(|(number, text)| timed(number, time(text)))).await;
    let all = [(Some(times[0]), Some(times[2])), (None, Some(times[2])), (Some(times[0]), None)];
    for (from, to) in all {
        assert_eq!(list(store, &between(from, to, "UTC")).await, [3, 2, 1], "{from:?} to {to:?}");
    }
    assert_eq!(list(store, &between(Some(times[1]), Some(times[1]), "UTC")).await, [2]);
    assert_eq!(list(store, &between(Some(times[1]), None, "UTC")).await, [3, 2]);
    assert_eq!(list(store, &between(None, Some(times[1]), "UTC")).await, [2, 1]);
}

/// A bare day passes when any moment of it lies inside, wherever its place in the list is.
pub async fn a_filter_by_time_means_whole_days_in_its_zone(store: &dyn DocumentStore) {
    let times = ["2031-04-14", "2031-04-15", "2031-04-16", "2031-04-15T23:30:00Z"];
    put_all(store, (1..).zip(times).map(|(number, text)| timed(number, time(text)))).await;
    let day = Some("2031-04-15");
    assert_eq!(list(store, &between(day, day, "UTC")).await, [4, 2]);
    assert_eq!(list(store, &between(day, day, "America/Los_Angeles")).await, [4, 2]);
    assert_eq!(list(store, &between(day, day, "Asia/Kolkata")).await, [2]);
    let night = between(Some("2031-04-15T23:30:00Z"), Some("2031-04-15T23:40:00Z"), "Asia/Kolkata");
    assert_eq!(list(store, &night).await, [3, 4], "in Kolkata that is the 16th");
}

/// Scope, source and time at once.
pub async fn all_conditions_of_a_filter_must_hold(store: &dyn DocumentStore) {
    let document = |number, scope: &str, source, millis| Document {
        scope: Some(Scope { key: scope.into(), name: scope.into() }),
        time: at(millis),
        ..from_source(number, source)
    };
    let documents = [
        document(1, "a", "Cursor", 1_000),
        document(2, "b", "Cursor", 1_000),
        document(3, "a", "Codex", 1_000),
        document(4, "a", "Cursor", 5_000),
        Document { scope: None, ..document(5, "", "Cursor", 1_000) },
    ];
    put_all(store, documents).await;
    let filter = Filter {
        sources: vec![SourceKey::of("cursor")],
        time: between(None, Some("1970-01-01T00:00:02Z"), "UTC").time,
        ..only("a")
    };
    assert_eq!(list(store, &filter).await, [1]);
    let unscoped = Filter { scope: ScopeFilter::Unscoped, ..filter };
    assert_eq!(list(store, &unscoped).await, [5]);
}

/// Not what it holds back.
pub async fn pages_count_what_the_filter_lets_pass(store: &dyn DocumentStore) {
    let scope = |number| if number % 3 == 0 { "a" } else { "b" };
    put_all(store, (1..=12).map(|number| scoped(number, scope(number), scope(number)))).await;
    assert_eq!(scan(store, &only("a"), Page { offset: 1, limit: 2 }).await, [9, 6]);
    assert_eq!(scan(store, &only("a"), Page { offset: 3, limit: 2 }).await, [3]);
}
