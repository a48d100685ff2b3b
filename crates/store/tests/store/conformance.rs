//! Behavior that all backends share: each case runs on a file, in memory and on PostgreSQL.

mod sessions;
mod records;
mod runs;
mod log;
mod leases;
mod entries;
mod ends;
mod whole;
mod snapshots;
mod lists;
mod removal;
mod limits;
mod races;
mod wakes;
mod sweeping;
mod transfer;

use std::{future::Future, pin::Pin, sync::Arc};

use foxwedge_store::{PostgresStore, SqliteStore};
use tokio::runtime::Builder;

use crate::{postgres_fixture, temporary::Temporary};

/// Makes a test of every case for every backend.
macro_rules! suite {
    ($($module:ident { $($case:ident)* })*) => {
        mod file {
            $($(#[test] fn $case() { super::in_file(super::$module::$case); })*)*
        }
        mod memory {
            $($(#[test] fn $case() { super::in_memory(super::$module::$case); })*)*
        }
        mod postgres {
            $($(#[test] fn $case() { super::on_postgres(super::$module::$case); })*)*
        }
    };
}

suite! {
    sessions {
        a_session_is_created_once
        a_missing_session_is_none
        a_session_keeps_all_its_fields
    }
    records {
        records_get_ordinals_in_order
        existing_records_are_skipped
        a_record_with_other_content_is_a_conflict
        a_record_needs_its_parent
        a_refused_record_leaves_nothing_behind
        records_are_read_page_by_page
        records_form_a_tree
        a_record_is_stored_byte_for_byte
    }
    runs {
        a_run_begins_with_its_start
        a_run_needs_its_session
        epochs_go_up_by_one
        the_same_run_again_is_found
        the_same_key_again_is_the_same_run
        the_same_key_in_another_session_is_another_run
        a_run_id_of_another_session_is_a_conflict
        a_run_id_with_another_key_is_a_conflict
        two_runs_of_a_session_may_be_open
        a_missing_run_is_none
        a_start_that_knows_its_time_keeps_it
    }
    log {
        events_are_read_as_they_were_appended
        events_are_read_page_by_page
        repeated_events_are_skipped
        new_events_after_repeated_ones_are_appended
        repeated_events_without_a_time_are_skipped
        events_with_other_content_are_a_conflict
        a_refused_append_leaves_nothing_behind
        a_gap_is_refused
        events_of_another_run_are_refused
        events_of_another_epoch_are_refused
        events_without_a_sequence_number_are_refused
        an_event_without_an_epoch_gets_it
        an_end_is_not_appended
        an_append_of_nothing_changes_nothing
        a_missing_run_has_no_log
        unknown_events_keep_their_place
        a_payload_of_a_megabyte_is_kept
        hostile_text_is_kept
        a_hundred_thousand_events_are_read_back
        links_differ_and_depend_on_all_before
    }
    leases {
        a_stale_lease_is_refused
        an_expired_lease_writes_until_the_run_is_taken_over
        a_held_run_is_not_taken
        an_ended_run_is_not_taken
        fences_go_up
        a_renewed_run_is_not_abandoned
        abandoned_runs_are_listed_oldest_first
        the_earliest_lease_is_known
        a_forged_owner_is_refused
        a_very_long_lease_holds
        a_held_run_is_handed_over
    }
    entries {
        an_entry_is_kept_with_the_one_it_links_to
        an_expired_entry_is_none
        one_node_holds_an_entry_at_a_time
        an_entry_of_a_node_that_is_gone_is_taken
        a_held_entry_is_found_by_its_link
        writes_of_a_node_that_lost_its_entry_are_refused
        eight_nodes_take_an_entry_once
        one_of_eight_nodes_replaces_what_all_have_read
    }
    ends {
        an_end_is_recorded_with_its_events_and_records
        an_end_has_the_time_of_its_event
        the_first_end_stands
        a_stale_holder_does_not_end_a_run
        an_operator_ends_a_run_without_a_lease
        an_ended_run_accepts_no_events
        an_end_has_to_be_the_last_event
        an_end_after_a_gap_is_refused
        an_end_without_events_is_recorded
        an_end_whose_records_do_not_fit_is_not_recorded
        every_outcome_is_read_back
        a_repeated_end_is_recorded_once
    }
    whole {
        a_whole_run_equals_a_run_stored_step_by_step
        a_repeated_whole_run_is_stored_once
        stored_runs_are_found_among_many_new_ones
        a_whole_run_follows_earlier_runs
        many_whole_runs_are_stored_at_once
        a_refused_whole_run_leaves_nothing_behind
        eight_tasks_store_one_whole_run_once
        a_watcher_is_woken_by_a_whole_run
    }
    snapshots {
        a_snapshot_is_kept_and_replaced
        an_expired_snapshot_is_none
        a_snapshot_is_dropped
        a_snapshot_needs_its_session
        snapshots_of_two_sessions_are_apart
    }
    lists {
        sessions_are_listed_the_newest_first
        sessions_are_listed_by_owner
        sessions_are_listed_by_whether_a_run_is_open
        runs_are_listed_the_newest_first
        runs_are_listed_by_session_owner_and_state
        a_page_after_an_unknown_id_is_refused
        a_page_of_nothing_is_empty
    }
    removal {
        a_session_is_deleted_with_everything_in_it
        a_session_with_an_open_run_is_not_deleted
        a_run_is_deleted_with_its_events
        an_open_run_is_not_deleted
        an_epoch_is_not_used_again_after_its_run_is_deleted
        old_sessions_are_pruned
        expired_snapshots_are_pruned
        pruning_stops_at_its_limit
    }
    limits {
        hostile_ids_are_refused_everywhere
        invalid_json_is_refused
        names_that_cannot_be_stored_are_refused
        one_more_event_than_allowed_is_refused
        an_event_may_be_as_large_as_allowed_and_not_larger
        a_snapshot_may_be_as_large_as_allowed_and_not_larger
        an_append_may_be_as_large_as_allowed_and_not_larger
        a_record_may_be_as_large_as_allowed_and_not_larger
    }
    races {
        eight_starts_with_one_key_make_one_run
        eight_starts_make_eight_epochs
        eight_ends_make_one
        eight_takers_get_one_lease
        eight_appends_of_one_sequence_number_store_one
        eight_sweepers_close_a_run_once
        a_stop_and_a_writer_agree_on_the_log
        eight_writers_of_records_get_ordinals_without_a_gap
    }
    wakes {
        a_watcher_is_woken_by_an_append
        a_watcher_is_woken_by_start_and_end
        a_refused_append_wakes_no_watcher
        a_slow_watcher_gets_the_highest_sequence_number
        a_reader_that_follows_wakes_misses_no_event
        two_watchers_are_both_woken
    }
    sweeping {
        an_abandoned_run_is_closed_as_interrupted
        a_swept_run_closes_open_calls
        a_swept_run_leaves_its_messages
        a_swept_run_does_not_leave_a_message_twice
        a_run_with_a_valid_lease_is_not_swept
        a_run_whose_log_has_an_end_is_closed_with_it
        a_run_with_a_stop_request_is_closed_as_stopped
        a_sweep_stops_at_its_limit
        an_operator_stops_a_run
        a_log_of_another_program_is_closed
    }
    transfer {
        an_export_is_imported_unchanged
        an_import_twice_changes_nothing
        only_named_sessions_are_exported
        a_missing_session_is_not_exported
        an_imported_open_run_is_swept
        a_file_cut_anywhere_is_valid_up_to_the_cut
        a_bit_flipped_anywhere_is_found
        other_content_is_listed_and_left_alone
        an_open_run_is_not_changed_by_an_import
        hostile_files_are_refused
        a_file_without_a_line_is_valid_up_to_there
        pretty_json_survives
    }
}

fn in_file<F: Future<Output = ()>>(case: impl FnOnce(Arc<SqliteStore>) -> F) {
    let folder = Temporary::folder();
    run(Box::pin(async {
        let store = SqliteStore::open(folder.path("store.db")).await.expect("a store");
        case(Arc::new(store)).await;
    }));
}

fn in_memory<F: Future<Output = ()>>(case: impl FnOnce(Arc<SqliteStore>) -> F) {
    run(Box::pin(async {
        let store = SqliteStore::memory().await.expect("a store");
        case(Arc::new(store)).await;
    }));
}

fn on_postgres<F: Future<Output = ()>>(case: impl FnOnce(Arc<PostgresStore>) -> F) {
    let Some(url) = postgres_fixture::fresh() else { return };
    run(Box::pin(async {
        let store = PostgresStore::open(&url).await.expect("a store");
        case(Arc::new(store)).await;
    }));
}

/// Runs a case. Behind a pointer, so that the runtime is not compiled for each of them.
fn run(case: Pin<Box<dyn Future<Output = ()> + '_>>) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(case);
}
