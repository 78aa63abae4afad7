//! Plans of a compaction, step by step.

use super::*;

/// A round has ended, and its pages are free.
fn facts() -> CompactionFacts {
    CompactionFacts {
        goal: 0,
        is_reached: false,
        used: 640,
        is_emptying: false,
        is_empty_commit_useful: false,
        first_gap: Some(100),
        is_pinned: false,
        is_tail_only: false,
        is_limited: false,
        pages_at_once: 50,
    }
}

/// A planner whose round through the tail has ended.
fn after_the_tail() -> CompactionPlanner {
    let mut planner = CompactionPlanner::new();
    planner.begin();
    planner
}

#[test]
fn the_tail_is_moved_first_and_may_exceed_the_pages_in_use() {
    let mut planner = after_the_tail();
    let mut emptying = CompactionFacts {
        is_emptying: true,
        ..facts()
    };
    let plan = |boundary| CompactionPlan::Continue {
        boundary,
        map_boundary: boundary,
    };
    assert_eq!(planner.plan(&emptying), plan(640 + 10 + 16));
    emptying.goal = 1000;
    assert_eq!(planner.plan(&emptying), plan(1000));
}

#[test]
fn a_round_begins_when_the_pages_of_the_last_one_are_free() {
    let mut planner = after_the_tail();
    let unsettled = CompactionFacts {
        is_empty_commit_useful: true,
        ..facts()
    };
    assert_eq!(planner.plan(&unsettled), CompactionPlan::Wait);
    assert!(!planner.is_done());
    assert_eq!(
        planner.plan(&facts()),
        CompactionPlan::Lower { boundary: 100 }
    );
}

#[test]
fn values_are_lifted_after_a_poor_round_each_time_further_on() {
    let mut planner = after_the_tail();
    planner.plan(&facts());
    planner.note(CompactionOutcome::Moved(MOVED_PAGES_MIN));
    assert_eq!(planner.plan(&facts()), CompactionPlan::Lift(100..150));
    planner.note(CompactionOutcome::Moved(1));
    assert_eq!(
        planner.plan(&facts()),
        CompactionPlan::Lower { boundary: 100 }
    );
    planner.note(CompactionOutcome::Moved(0));
    assert_eq!(planner.plan(&facts()), CompactionPlan::Wait);
    assert!(planner.is_done(), "the gap is the same");
}

#[test]
fn nothing_is_lifted_under_a_limit_or_a_reader() {
    for (is_limited, is_pinned) in [(true, false), (false, true)] {
        let mut planner = after_the_tail();
        planner.plan(&facts());
        let facts = CompactionFacts {
            is_limited,
            is_pinned,
            ..facts()
        };
        assert_eq!(planner.plan(&facts), CompactionPlan::Wait);
        assert!(planner.is_done());
        assert_eq!(planner.is_limited(), is_limited);
    }
}

#[test]
fn lifted_values_come_down_even_if_a_reader_has_begun() {
    let mut planner = after_the_tail();
    planner.plan(&facts());
    assert_eq!(planner.plan(&facts()), CompactionPlan::Lift(100..150));
    planner.note(CompactionOutcome::Moved(20));
    let pinned = CompactionFacts {
        is_pinned: true,
        ..facts()
    };
    assert_eq!(
        planner.plan(&pinned),
        CompactionPlan::Lower { boundary: 100 }
    );
}

#[test]
fn a_compaction_ends_that_has_reached_its_goal_or_has_only_the_tail_to_move() {
    for (is_reached, is_tail_only) in [(true, false), (false, true)] {
        let mut planner = after_the_tail();
        let facts = CompactionFacts {
            is_reached,
            is_tail_only,
            ..facts()
        };
        assert_eq!(planner.plan(&facts), CompactionPlan::Wait);
        assert!(planner.is_done() && !planner.is_limited());
    }
}

#[test]
fn a_compaction_ends_if_its_commits_find_no_room() {
    let mut planner = after_the_tail();
    for _ in 0..FREEING_COMMITS {
        assert!(!planner.is_done());
        planner.note(CompactionOutcome::NoRoom);
    }
    assert!(planner.is_done());
}

#[test]
fn commits_become_smaller_without_room_and_grow_again() {
    let mut planner = after_the_tail();
    assert_eq!(planner.within(4000), 4000);
    planner.note_full(4000);
    assert_eq!(planner.within(4000), 1000);
    planner.note(CompactionOutcome::Moved(1000));
    assert_eq!(planner.within(4000), 2000);
}
