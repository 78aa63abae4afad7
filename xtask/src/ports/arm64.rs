//! Linux on ARM64, emulated process by process: a static program and the engine's tests.

use super::{
    end::{PortEnd, require},
    engine::{EngineTests, SkippedTests},
    main_job, targets,
};
use crate::{Result, campaign::scratch};
use std::process::Command;

pub(super) const TARGET: &str = "aarch64-unknown-linux-musl";
const EMULATOR: &str = "qemu-aarch64-static";
/// With less address space a mapping has fewer pages, for each of which the emulator has an entry.
const RUNNER: &[&str] = &[EMULATOR, "-R", "0x400000000"];
/// A runner for tests of bus errors. With `-R`, the emulator passes the address of the host to the
/// handler, which then repairs another page, again and again. Without it, addresses are those of
/// the host; but the entries are as many as all databases need together, so few tests can run.
const SAME_ADDRESSES: &[&str] = &[
    "sh",
    "-c",
    "ulimit -v 16777216 && exec \"$0\" \"$@\"",
    EMULATOR,
];
/// The tests of bus errors.
const FAULTS: &[&str] = &[
    "an_unreadable_set_is_an_error",
    "faults::",
    "steps_to_unreadable_records_are_errors",
    "truncating_an_open_file_gives_errors",
    "unreadable_packed_values_are_an_error",
];

pub(super) fn run(is_short: bool) -> Result<PortEnd> {
    require!(targets::missing(TARGET));
    require!(targets::missing_program(EMULATOR));
    let program = targets::program(TARGET)?;
    let scratch = scratch::directory(None)?;
    main_job::run(scratch.path(), "", || {
        let mut command = Command::new(EMULATOR);
        command
            .args(&RUNNER[1..])
            .arg(&program)
            .current_dir(scratch.path());
        command
    })?;
    if is_short {
        return Ok(PortEnd::Passed("main job".to_owned()));
    }
    let [unit, integration] = targets::engine_tests(targets::cargo("test", TARGET))?;
    let most = EngineTests {
        step: "arm64",
        programs: vec![("unit", unit), ("integration", integration.clone())],
        runner: RUNNER,
        filters: &[],
        skipped: SKIPPED,
    };
    let faults = EngineTests {
        step: "arm64-faults",
        programs: vec![("integration", integration)],
        runner: SAME_ADDRESSES,
        filters: FAULTS,
        skipped: &[],
    };
    let (most, faults) = (most.run(), faults.run());
    Ok(PortEnd::Passed(format!(
        "{}; bus errors: {}",
        most?, faults?
    )))
}

/// Tests that the emulator cannot run, or not in a reasonable time.
const SKIPPED: &[SkippedTests] = &[
    SkippedTests {
        reason: "starts its own program again, which the kernel cannot run",
        names: &[
            "a_child_that_drops_inherited_handles_still_counts_as_alive",
            "a_child_that_outlives_its_parent_excludes_no_process",
            "a_closed_database_keeps_the_snapshots_of_its_readers",
            "a_database_on_a_read_only_mount_is_readable",
            "a_failed_write_of_one_process_is_known_to_all",
            "a_killed_process_is_followed_by_another",
            "a_lock_file_that_is_not_removed_serves_the_next_process",
            "a_process_declared_dead_writes_no_more",
            "a_process_killed_after_a_checkpoint_leaves_its_state",
            "a_process_sees_the_file_grow",
            "a_process_with_closed_descriptors_writes_to_no_other_file",
            "a_reader_of_another_process",
            "a_reader_sees_writes_to_a_file_that_an_overlay_copies_up",
            "a_replaced_file_is_not_shared",
            "another_process_answers",
            "beginning_on_a_reader_is_refused_after_a_commit_of_another_process",
            "blocks_are_those_of_whole_pages_of_the_system",
            "checkpoints_are_visible_to_another_process_that_cannot_write_in_between",
            "commits_of_one_process_are_visible_to_the_other",
            "deleting_meets_opening",
            "events_report_a_dead_writer",
            "exclusive_access_excludes_others",
            "lazy_commits_that_a_process_closes_unflushed_are_found_by_the_next_one",
            "limits::",
            "limits_set_by_another_process_hold_for_all",
            "no_process_writes_while_another_reads_without_a_lock_file",
            "one_of_two_simultaneous_closes_is_clean",
            "one_process_flushes_for_the_other",
            "opening_and_closing_the_lock_file_keeps",
            "other_processes_that_use_it_are_waited_for",
            "reader_table",
            "reading_without_a_lock_file_during_writes_requires_an_option",
            "signals_of_others",
            "sixty_four_thousand_readers_of_sixty_four_processes",
            "the_next_writer_follows_a_dead_one",
            "users_of_a_deleted_database_continue",
            "waiting_for_a_commit_ends_with_one_of_another_process",
        ],
    },
    SkippedTests {
        reason: "the emulator has no `pwritev2`, and no `MADV_POPULATE_READ`",
        names: &["io::file::ahead::", "populating_reports_unreadable_pages"],
    },
    SkippedTests {
        reason: "the emulator does not lock pages",
        names: &["locked_pages_stay_until_they_are_unlocked"],
    },
    SkippedTests {
        reason: "the emulator reports another address; run apart",
        names: FAULTS,
    },
    SkippedTests {
        reason: "maps more than the address space that the emulator is given",
        names: &[
            "it_can_be_written_to_and_closed",
            "pages_on_both_sides_of_4_gib_and_4_tib_are_written_and_read",
            "the_map_has_the_requested_contents",
        ],
    },
    SkippedTests {
        reason: "takes an hour; the code has nothing that depends on the processor",
        names: &["testing::tests::hostile_"],
    },
];
