//! The contract of [`DocumentStore`](crate::storage::DocumentStore), a sentence a function.
//!
//! Each takes an empty store that nobody else uses, and panics when the store breaks the sentence.

use super::DocumentCheck;

mod batches;
mod facets;
mod log;
mod records;
mod requests;
mod scans;

macro_rules! sentences {
    ($($topic:ident: $($name:ident,)+;)+) => {
        $(pub use $topic::{$($name),+};)+

        /// Every sentence.
        pub const ALL: &[DocumentCheck] = &[$($(
            DocumentCheck { name: stringify!($name), run: |store| Box::pin($name(store)) },
        )+)+];
    };
}

sentences! {
    records:
        a_document_comes_back_as_it_went_in,
        text_of_any_script_comes_back_as_it_went_in,
        a_get_answers_in_the_order_of_its_keys,
        a_put_replaces_the_whole_document,
        a_deleted_document_is_gone,
        deleting_an_absent_key_is_no_error,
        kinds_do_not_mix,
        find_follows_puts_replacements_and_deletions,
        find_lists_the_lowest_id_first,
        the_first_document_names_the_scope,
        a_scope_without_documents_forgets_its_name,
        a_scope_keeps_its_name_when_its_only_document_is_replaced,
    ;
    scans:
        a_scan_lists_the_latest_first,
        ties_are_listed_by_id_greatest_first,
        a_day_is_listed_at_its_first_moment_in_utc,
        times_before_1970_are_listed_last,
        a_replaced_document_moves_to_its_new_time,
        pages_add_up_to_the_list,
        a_page_past_the_end_is_empty,
        a_filter_by_scope_compares_keys,
        a_filter_for_no_scope_finds_documents_without_one,
        a_filter_by_sources_takes_any_of_them,
        a_filter_by_time_includes_both_ends,
        a_filter_by_time_means_whole_days_in_its_zone,
        all_conditions_of_a_filter_must_hold,
        pages_count_what_the_filter_lets_pass,
    ;
    facets:
        facets_count_live_documents,
        facets_list_the_last_changed_first,
        a_deletion_is_a_change_of_its_facets,
        a_document_that_moves_changes_both_scopes,
        a_facet_without_documents_disappears,
        documents_without_a_scope_are_not_counted_among_scopes,
        facets_of_kinds_do_not_mix,
    ;
    log:
        every_write_gets_a_greater_seq,
        the_store_sets_the_seq_of_a_document,
        the_log_holds_one_change_per_live_document,
        the_log_holds_one_change_per_deleted_key,
        a_deleted_key_that_is_put_again_is_one_live_change,
        changes_come_oldest_first_after_a_seq_up_to_a_limit,
        concurrent_writers_all_land_with_seqs_of_their_own,
    ;
    batches:
        operations_are_applied_in_order,
        an_empty_batch_is_applied,
        a_twin_refuses_a_put,
        a_document_is_not_its_own_twin,
        twins_are_looked_for_in_one_kind,
        a_twin_in_the_same_batch_refuses_a_put,
        a_twin_deleted_in_the_same_batch_does_not,
        a_changed_document_refuses,
        a_change_in_the_same_batch_is_seen,
        a_full_kind_refuses,
        the_count_follows_the_operations_of_a_batch,
        deletions_have_conditions_too,
        all_conditions_of_an_operation_must_hold,
        a_refused_batch_leaves_nothing,
        of_concurrent_twins_one_lands,
    ;
    requests:
        a_receipt_is_kept_with_the_write,
        a_repeated_request_is_answered_and_not_applied,
        a_refused_request_is_not_remembered,
        a_request_is_forgotten_after_its_lifetime,
        a_request_sent_many_times_at_once_lands_once,
    ;
}
