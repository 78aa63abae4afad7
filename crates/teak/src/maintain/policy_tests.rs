//! The answers of the policy for files of a few sizes.

use super::*;

const PAGE: u64 = 4096;
const MIB_PAGES: u64 = (1 << 20) / PAGE;

/// A file of 10,000 pages with 1,000 in use and `peak` recently in use.
fn policy(geometry: Geometry, peak: u64) -> ShrinkPolicy {
    ShrinkPolicy {
        geometry,
        page_size: PAGE,
        page_count: 10_000,
        used: 1000,
        ready: 9000,
        recent_peak: peak,
    }
    .checked()
}

fn threshold(shrink_threshold_bytes: u64) -> Geometry {
    Geometry {
        shrink_threshold_bytes,
        ..Geometry::default()
    }
}

fn lower_limit(lower_limit_bytes: u64) -> Geometry {
    Geometry {
        lower_limit_bytes,
        ..Geometry::default()
    }
}

#[test]
fn holes_respect_the_limits_of_the_geometry() {
    let goal = |geometry| policy(geometry, 1000).holes();
    let kept = |kept, least| Some(PunchGoal { kept, least });
    assert_eq!(goal(threshold(u64::MAX)), None);
    assert_eq!(goal(threshold(2 * PAGE)), kept(2 + 62, 2));
    assert_eq!(goal(lower_limit(5000 * PAGE)), kept(4000, MIB_PAGES));
}

#[test]
fn nothing_shrinks_below_the_recent_use() {
    let policy = policy(Geometry::default(), 9900);
    assert_eq!(policy.cut(5000), None);
    assert!(policy.tail().boundary > 9900);
    assert!(policy.tail().begins_above > 9900);
    assert!(policy.holes().unwrap().kept > 8900);
}

#[test]
fn a_free_end_is_truncated_except_for_half_of_the_threshold() {
    let user = policy(threshold(1000 * PAGE), 10_000);
    assert_eq!(user.cut(999), None);
    assert_eq!(
        user.cut(4000),
        Some(6500),
        "the user's threshold has priority over the peak"
    );
    assert_eq!(policy(threshold(u64::MAX), 1000).cut(9000), None);
}

#[test]
fn compaction_and_a_clean_close_truncate_the_whole_free_end() {
    assert_eq!(policy(Geometry::default(), 9900).cut_all(4000), Some(6000));
    assert_eq!(policy(Geometry::default(), 9900).cut_all(0), None);
    let part_of_a_page = policy(lower_limit(8000 * PAGE + 1), 1000);
    assert_eq!(part_of_a_page.cut_all(4000), Some(8001));
    assert_eq!(policy(lower_limit(20_000 * PAGE), 1000).cut_all(4000), None);
}

#[test]
fn pages_move_when_free_pages_are_a_third_of_used_pages() {
    let goal = policy(Geometry::default(), 1000).tail();
    assert_eq!(goal.begins_above, 1333 + FREE_MIN);
    assert_eq!(goal.boundary, 1062 + FREE_MIN / 4);
    let limited = policy(lower_limit(6000 * PAGE), 1000).tail();
    assert_eq!(limited.begins_above, 6000);
    assert_eq!(
        policy(threshold(u64::MAX), 1000).tail().boundary,
        1062 + u64::MAX / PAGE / 4
    );
}

#[test]
fn a_commit_moves_a_share_of_its_writes_and_more_of_a_file_that_is_mostly_free() {
    let policy = policy(Geometry::default(), 1000);
    assert_eq!(policy.tail_work(1000, 25, 0, 1).pages_left, 250);
    assert_eq!(
        policy.tail_work(1, 25, 0, 1).pages_left,
        MOVED_MIN * MOVED_TIMES
    );
}

#[test]
fn a_merge_does_the_work_of_its_commits() {
    let policy = policy(Geometry::default(), 1000);
    let work = |commits| policy.tail_work(1, 25, 0, commits);
    let one = work(1);
    assert_eq!(work(5).pages_left, 5 * one.pages_left);
    assert_eq!(work(5).visits_left, 5 * one.visits_left);
    assert_eq!(work(5000).pages_left, COMMITS_MAX * one.pages_left);
    let limits = DropLimits::default();
    let budget = |commits| policy.release_budget(1, &limits, false, commits);
    assert_eq!(budget(3), 3 * budget(1));
    assert_eq!(budget(5000), limits.later_max);
}

#[test]
fn only_a_long_part_after_the_boundary_becomes_a_hole() {
    let goal = PunchGoal {
        kept: 100,
        least: 10,
    };
    let free = Extent::new(50, 30);
    assert_eq!(goal.candidate(free, 0), Some(free));
    assert_eq!(goal.candidate(free, 70), Some(Extent::new(70, 10)));
    assert_eq!(goal.candidate(free, 71), None);
    assert_eq!(goal.candidate(free, 1000), None);
}

#[test]
fn punching_has_a_margin_at_both_ends() {
    let goal = PunchGoal {
        kept: 100,
        least: 10,
    };
    assert!(!goal.begins(201) && goal.begins(202));
    assert!(goal.goes_on(111) && !goal.goes_on(110));
    assert_eq!(goal.at_once(150, PAGE), 50);
    assert_eq!(goal.at_once(1 << 20, PAGE), PUNCHED_MAX / PAGE);
    assert_eq!(goal.at_once(50, PAGE), 0);
}

#[test]
fn dropped_trees_are_released_with_the_pages_taken_and_within_the_free_ones() {
    let limits = DropLimits::default();
    let plenty = policy(Geometry::default(), 1000);
    let budget = |taken, has_grown| plenty.release_budget(taken, &limits, has_grown, 1);
    assert_eq!(budget(0, false), limits.later_min);
    assert_eq!(budget(100, false), 100 * limits.later_share);
    assert_eq!(budget(1000, false), 1000);
    assert_eq!(budget(0, true), limits.later_min * limits.wanted);
    let scarce = ShrinkPolicy { ready: 7, ..plenty };
    assert_eq!(
        scarce.release_budget(1000, &limits, false, 1),
        DEATHS_OF_A_PAGE
    );
    let none = ShrinkPolicy { ready: 6, ..plenty };
    assert_eq!(none.release_budget(1000, &limits, false, 1), 0);
}

#[test]
fn a_compacting_commit_spares_some_pages_or_half_of_them() {
    let room = |ready| {
        ShrinkPolicy {
            ready,
            ..policy(Geometry::default(), 1000)
        }
        .room_to_move()
    };
    assert_eq!((room(9000), room(100), room(1), room(0)), (8936, 50, 1, 0));
}
