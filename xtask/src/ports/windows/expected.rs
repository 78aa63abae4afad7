//! Tests that fail under wine, or that are not run there, and why.

use super::tests_under_wine::{ExpectedFailures, KnownTests};
use crate::ports::engine::SkippedTests;

const DELETED: &str = "a mapped file that is deleted keeps its name until it is closed";
const TRUNCATED: &str = "the test truncates a mapped file, which the system refuses";
const ORDERS: &str = "the other process of the test has these orders on Unix only";
/// The system's error for that.
const MAPPED: &str = "code: 1224";

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
        ExpectedFailures {
            reason: DELETED,
            message: "assertion failed: !path.exists()",
            names: &["io::lock_file::tests::an_abandoned_lock_file_is_reinitialized"],
        },
        ExpectedFailures {
            reason: "`..` is resolved before the directory is looked for",
            message: "FileStorage::create(&nameless",
            names: &["io::file::creation::tests::a_file_must_or_must_not_exist"],
        },
        ExpectedFailures {
            reason: TRUNCATED,
            message: MAPPED,
            names: &[
                "transaction_tests::sharing_tests::another_process_may_have_truncated_pages_of_an_aborted_transaction",
            ],
        },
        ExpectedFailures {
            reason: "the documented texts have error codes of Unix",
            message: "Input/output error (os error 5); the disk has failed",
            names: &["error::document_tests::every_error_is_documented_with_its_text"],
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
        ExpectedFailures {
            reason: TRUNCATED,
            message: MAPPED,
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
        ExpectedFailures {
            reason: DELETED,
            message: "assertion failed: names_in(&path).is_empty()",
            names: &[
                "deleting::a_process_may_delete_a_database_it_uses",
                "deleting::users_of_a_deleted_database_continue",
            ],
        },
        ExpectedFailures {
            reason: DELETED,
            message: "assertion failed: database.snapshots().unwrap().is_empty()",
            names: &[
                "deleting::a_lock_file_that_is_used_is_not_used_by_another_database",
                "deleting::another_database_gets_the_name_while_the_deleted_one_is_open",
            ],
        },
        ExpectedFailures {
            reason: DELETED,
            message: "the file is removed",
            names: &[
                "names::a_commit_into_a_file_without_its_name_can_be_refused",
                "names::a_commit_into_a_file_without_its_name_is_reported_once",
            ],
        },
        ExpectedFailures {
            reason: DELETED,
            message: "Err(Error::NameLost { .. })",
            names: &["names::a_file_that_gets_its_name_back_is_writable_again"],
        },
        ExpectedFailures {
            reason: ORDERS,
            message: "there is no order \"unlock\"",
            names: &["locks::a_process_declared_dead_writes_no_more"],
        },
        ExpectedFailures {
            reason: ORDERS,
            message: "there is no order \"open-and-close-files\"",
            names: &["locks::opening_and_closing_the_lock_file_keeps_snapshots"],
        },
        ExpectedFailures {
            reason: "a file that is open is not replaced",
            message: "code: 5, kind: PermissionDenied",
            names: &["processes::a_replaced_file_is_not_shared"],
        },
        ExpectedFailures {
            reason: "the lock file is as long as its mapping",
            message: "1441792",
            names: &["limits::a_lock_file_grows_with_its_readers"],
        },
        ExpectedFailures {
            reason: "wine lists files that are being deleted",
            message: "left: [\".teak-new-",
            names: &["ephemeral::there_is_no_file_in_any_directory"],
        },
        ExpectedFailures {
            reason: "wine forgets the volume of a file whose directory was renamed",
            message: "has closed the descriptor of the file",
            names: &["locks::a_renamed_directory_keeps_no_lock_file_and_is_the_same_database"],
        },
        ExpectedFailures {
            reason: "the longest name has fewer letters below wine",
            message: "code: 2, kind: NotFound",
            names: &["locks::a_database_may_have_the_longest_name"],
        },
    ],
};
