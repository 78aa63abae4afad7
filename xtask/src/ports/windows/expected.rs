//! Tests that fail under wine, or that are not run there, and why.

use super::tests_under_wine::KnownTests;
use crate::ports::engine::SkippedTests;

/// Among the unit tests.
pub(super) const UNIT: &KnownTests = &KnownTests {
    skipped: &[SkippedTests {
        reason: "takes minutes",
        names: &[
            "testing::tests::hostile_files_give_errors",
            "testing::tests::hostile_pages_and_records_give_errors",
            "testing::tests::hostile_tables_of_several_values_give_errors",
        ],
    }],
    failing: &[
        SkippedTests {
            reason: "a mapped file that is deleted keeps its name until it is closed",
            names: &["io::lock_file::tests::an_abandoned_lock_file_is_reinitialized"],
        },
        SkippedTests {
            reason: "`..` is resolved before the directory is looked for",
            names: &["io::file::creation::tests::a_file_must_or_must_not_exist"],
        },
        SkippedTests {
            reason: "wine does not list a temporary name that begins with a dot",
            names: &["io::file::creation::tests::the_real_name_replaces_a_temporary_one"],
        },
    ],
};

/// Among the tests of whole databases.
pub(super) const INTEGRATION: &KnownTests = &KnownTests {
    skipped: &[SkippedTests {
        reason: "takes minutes",
        names: &["space::lazy_commits_do_not_move_pages_they_need_again"],
    }],
    failing: &[
        SkippedTests {
            reason: "a file does not become shorter while it is mapped",
            names: &[
                "compacting::a_file_at_its_size_limit_is_unchanged",
                "compacting::a_value_at_the_end_moves_although_free_pages_are_scattered",
                "compacting::a_value_moves_down_into_overlapping_pages",
                "compacting::closing_moves_a_value_that_is_larger_than_a_commit_of_others",
                "compacting::gaps_between_many_values_are_closed",
                "compacting::nested_trees_and_large_values_become_dense_together",
                "compacting::obstacles_are_reported",
                "compacting::small_commits_move_a_value_from_the_end",
                "compacting::the_requested_length_is_reached_by_closing_gaps",
                "compacting::values_of_all_lengths_with_records_between_them_become_dense",
                "elsewhere::an_unfinished_file_is_refused_and_unchanged",
                "multi::the_file_of_a_table_that_shrank_is_cut",
                "space::a_threshold_may_be_set",
                "space::closing_makes_a_stretched_file_shorter",
                "space::closing_truncates_pages_of_the_last_durable_commit",
                "space::compacting_makes_the_file_as_short_as_it_can_be",
                "space::compacting_reports_a_reader_that_keeps_all_pages",
                "space::limits_and_steps_are_stored_and_enforced",
                "space::many_tables_and_their_catalog_move_too",
                "space::pages_of_dropped_names_do_not_hold_the_end_of_the_file",
                "space::the_file_shrinks_while_it_is_used",
                "space::the_rest_of_a_large_database_moves_to_the_front",
                "space::thin_leaves_are_rewritten",
                "space::thousands_of_tables_move_without_handles",
            ],
        },
        SkippedTests {
            reason: "the test truncates a mapped file, which the system refuses",
            names: &[
                "differences::damage_is_found_where_states_differ_and_reported_with_its_table",
                "differences::shared_pages_of_states_are_not_read",
                "limits::a_truncated_lock_file_is_an_error",
                "multi_regressions::an_unreadable_set_is_an_error",
                "multi_regressions::steps_to_unreadable_records_are_errors",
                "multi_regressions::unreadable_packed_values_are_an_error",
                "verification::truncating_an_open_file_gives_errors",
            ],
        },
        SkippedTests {
            reason: "a mapped file that is deleted keeps its name until it is closed",
            names: &[
                "deleting::a_lock_file_that_is_used_is_not_used_by_another_database",
                "deleting::a_process_may_delete_a_database_it_uses",
                "deleting::another_database_gets_the_name_while_the_deleted_one_is_open",
                "deleting::users_of_a_deleted_database_continue",
                "names::a_commit_into_a_file_without_its_name_can_be_refused",
                "names::a_commit_into_a_file_without_its_name_is_reported_once",
                "names::a_file_that_gets_its_name_back_is_writable_again",
            ],
        },
        SkippedTests {
            reason: "the other process of the test has these orders on Unix only",
            names: &[
                "locks::a_process_declared_dead_writes_no_more",
                "locks::opening_and_closing_the_lock_file_keeps_snapshots",
            ],
        },
        SkippedTests {
            reason: "a file that is open is not replaced",
            names: &["processes::a_replaced_file_is_not_shared"],
        },
        SkippedTests {
            reason: "the lock file is as long as its mapping",
            names: &["limits::a_lock_file_grows_with_its_readers"],
        },
        SkippedTests {
            reason: "wine lists files that are being deleted",
            names: &["ephemeral::there_is_no_file_in_any_directory"],
        },
        SkippedTests {
            reason: "wine forgets the volume of a file whose directory was renamed",
            names: &["locks::a_renamed_directory_keeps_no_lock_file_and_is_the_same_database"],
        },
        SkippedTests {
            reason: "the longest name has fewer letters below wine",
            names: &["locks::a_database_may_have_the_longest_name"],
        },
    ],
};
