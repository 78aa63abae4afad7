//! The free-space map against a model of page use by transaction. Pages are so small that
//! checkpoints, segments and deep arrays occur frequently.

use super::{checkpoint::LOG_ROOM_MIN, *};
use crate::types::{Extent, TransactionId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

mod corrupt;
mod world;

use world::World;

#[derive(Clone, Debug)]
struct Step {
    /// The number of pages to allocate, and the mode.
    wants: Vec<(u32, PlacementPolicy)>,
    /// Returned pages of each extent.
    give_back: u32,
    /// The live page that dies, and the number of pages after it with the same birth.
    deaths: Vec<(usize, u32)>,
    pins: PinStep,
    log_room: usize,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum PinStep {
    Keep,
    PinNewest,
    Unpin(usize),
    UnpinAll,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    Commit,
    CommitAndReload,
    CommitAndShrink,
    CommitLeavingTail,
    Abort,
}

fn step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![
        Just(PlacementPolicy::Contiguous),
        Just(PlacementPolicy::UpTo),
        Just(PlacementPolicy::Fragmented)
    ];
    let want = prop_oneof![8 => 1..9u32, 1 => 1..200u32];
    let pins = prop_oneof![
        4 => Just(PinStep::Keep),
        3 => Just(PinStep::PinNewest),
        3 => any::<usize>().prop_map(PinStep::Unpin),
        1 => Just(PinStep::UnpinAll),
    ];
    let end = prop_oneof![
        8 => Just(End::Commit),
        2 => Just(End::CommitAndReload),
        2 => Just(End::CommitAndShrink),
        2 => Just(End::CommitLeavingTail),
        1 => Just(End::Abort),
    ];
    (
        prop::collection::vec((want, policy), 0..8),
        0..3u32,
        prop::collection::vec((any::<usize>(), prop_oneof![1..3u32, 1..40u32]), 0..20),
        pins,
        prop_oneof![Just(LOG_ROOM_MIN), Just(400), Just(1500)],
        end,
    )
        .prop_map(|(wants, give_back, deaths, pins, log_room, end)| Step {
            wants,
            give_back,
            deaths,
            pins,
            log_room,
            end,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_page_is_lost_or_allocated_while_it_is_visible(
        page_size in prop_oneof![Just(72), Just(120), Just(4096)],
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut world = World::new(page_size);
        for step in &steps {
            world.step(step);
        }
    }
}

fn change<'a>(
    id: u64,
    taken: &'a [Extent],
    deaths: &'a [(Extent, TransactionId)],
) -> SpaceChange<'a> {
    let transaction = TransactionId(id);
    SpaceChange {
        transaction,
        taken,
        deaths,
        revived: &[],
        log_room: 3000,
        page_limit: u64::MAX,
    }
}

fn extents(starts: impl Iterator<Item = u32>) -> Vec<Extent> {
    starts.map(|start| Extent::new(start, 1)).collect()
}

#[test]
fn an_old_reader_keeps_only_the_pages_it_can_see() {
    let mut space = Space::new(4096, FIRST_PAGE);
    space.grow(100);
    let first = space.allocate(10, PlacementPolicy::Contiguous).unwrap();
    space.commit(change(1, &[first], &[])).unwrap();
    let reader = TransactionId(1);
    let mut young = None;
    for id in 2..50 {
        space.reclaim(&[reader, TransactionId(id - 1)][..].into());
        let taken = space.allocate(1, PlacementPolicy::UpTo).unwrap();
        let deaths: Vec<_> = young
            .map(|extent| (extent, TransactionId(id - 1)))
            .into_iter()
            .collect();
        space.commit(change(id, &[taken], &deaths)).unwrap();
        young = Some(taken);
    }
    assert_eq!(
        young.map(|extent| extent.start.0 < 18),
        Some(true),
        "young pages were reused"
    );
    space
        .commit(change(50, &[], &[(first, TransactionId(1))]))
        .unwrap();
    space.reclaim(&[reader, TransactionId(50)][..].into());
    assert_eq!(space.pending_count(), 10);
    space.reclaim(&[TransactionId(50)][..].into());
    assert_eq!(space.pending_count(), 0);
}

/// A file that grew far in a single step has no bitmaps for most of it, and nodes above that gap.
#[test]
fn absent_bitmaps_are_free() {
    let mut world = World::new(72);
    world.space.grow(20_000);
    let first = world
        .space
        .allocate(15_000, PlacementPolicy::Contiguous)
        .unwrap();
    let kept = Extent::new(14_000, 5);
    world
        .space
        .give_back(Extent::new(first.start.0, kept.start.0 - first.start.0));
    world
        .space
        .give_back(Extent::new(14_005, first.end() as u32 - 14_005));
    let mut step = Step {
        wants: vec![],
        give_back: 0,
        deaths: vec![],
        pins: PinStep::Keep,
        log_room: LOG_ROOM_MIN,
        end: End::CommitAndReload,
    };
    world.commit(vec![kept], &step);
    step.wants = vec![(1, PlacementPolicy::Fragmented); 5];
    step.deaths = vec![(3, 1); 2];
    (0..20).for_each(|_| world.step(&step));
    assert_eq!(world.newest_state().roots.bitmaps.count, 14_000 / 384 + 1);
}

/// Pages died at the end of the file and became free again, and the end was truncated before a
/// checkpoint had updated their bitmap. Loading the map skipped the entries past the end, and so
/// forgot that the bitmap was outdated. When the file grew again, its pages counted as in use.
#[test]
fn a_truncated_file_is_read_checkpointed_and_grown_again() {
    let mut world = World::new(72);
    let mut step = Step {
        wants: vec![(700, PlacementPolicy::Contiguous)],
        give_back: 0,
        deaths: vec![],
        pins: PinStep::Keep,
        log_room: LOG_ROOM_MIN,
        end: End::CommitAndReload,
    };
    world.step(&step);
    (step.wants, step.deaths) = (vec![], vec![(0, 100)]);
    world.step(&step);
    (step.wants, step.deaths) = (vec![(1, PlacementPolicy::Fragmented); 3], vec![(2, 1); 3]);
    (0..20).for_each(|_| world.step(&step));
    assert_eq!(world.newest_state().roots.bitmaps.count, 2);
    let end = world.space.page_count();
    (step.wants, step.deaths) = (vec![], vec![(450, 1000)]);
    world.step(&step);
    (step.deaths, step.end) = (vec![], End::CommitAndShrink);
    world.step(&step);
    assert!(world.space.page_count() < end);
    step.end = End::CommitAndReload;
    world.step(&step);
    (step.wants, step.deaths) = (vec![(1, PlacementPolicy::Fragmented); 2], vec![(1, 1); 2]);
    (0..20).for_each(|_| world.step(&step));
    step.wants = vec![(300, PlacementPolicy::Contiguous)];
    world.step(&step);
}

/// A long-lived reader ends and 100,000 pages become reusable. That takes several transactions,
/// each of them bounded, and nothing is lost on the way.
#[test]
fn a_large_bucket_is_emptied_bit_by_bit() {
    let count = 100_000;
    let mut space = Space::new(4096, FIRST_PAGE);
    space.grow(2 * count + 1000);
    let all = Extent::new(FIRST_PAGE, 2 * count as u32);
    assert_eq!(
        space.allocate(all.len, PlacementPolicy::Contiguous),
        Some(all)
    );
    let mut id = 1;
    let mut commit = |space: &mut Space, taken: &[Extent], deaths: &[(Extent, TransactionId)]| {
        let transaction = TransactionId(id);
        id += 1;
        (
            transaction,
            space.commit(change(transaction.0, taken, deaths)).unwrap(),
        )
    };
    commit(&mut space, &[all], &[]);
    let scattered = extents((0..count as u32).map(|index| FIRST_PAGE + 2 * index));
    for part in scattered.chunks(1000) {
        let deaths: Vec<_> = part
            .iter()
            .map(|extent| (*extent, TransactionId(1)))
            .collect();
        let (newest, _) = commit(&mut space, &[], &deaths);
        space.reclaim(&[TransactionId(1), newest][..].into());
    }
    assert!(space.pending.segments.len() >= count as usize / 170);
    assert!(space.pending_count() >= count);
    let mut commits = 0;
    while space.pending.has_backlog() || commits == 0 {
        let before = space.free_count();
        let (newest, committed) = commit(&mut space, &[], &[]);
        space.reclaim(&[newest][..].into());
        assert!(space.free_count() - before < 25_000, "bounded");
        assert!(committed.checkpoint_pages.len() < 150, "bounded");
        commits += 1;
    }
    assert_eq!(space.pending_count(), 0);
    assert!(commits < 8, "{commits}");
}

#[test]
fn a_checkpoint_without_room_changes_nothing() {
    let mut space = Space::new(72, FIRST_PAGE);
    space.grow(204);
    let all = space.allocate(200, PlacementPolicy::Contiguous).unwrap();
    let taken = [all];
    space.commit(change(1, &taken, &[])).unwrap();
    let deaths: Vec<_> = extents((4..204).step_by(2))
        .into_iter()
        .map(|extent| (extent, TransactionId(1)))
        .collect();
    let state = |space: &Space| format!("{:?} {:?}", space.classify(), space.log);
    let before = state(&space);
    let limited = SpaceChange {
        revived: &[],
        log_room: 300,
        page_limit: 204,
        ..change(2, &[], &deaths)
    };
    let full = space.commit(limited).unwrap_err();
    assert!(matches!(full, crate::Error::Full { limit_bytes } if limit_bytes == 204 * 72));
    assert_eq!(state(&space), before);
    let narrow = space
        .commit(SpaceChange {
            revived: &[],
            log_room: 10,
            ..limited
        })
        .unwrap_err();
    assert!(matches!(narrow, crate::Error::InvalidArgument(_)));
    assert_eq!(state(&space), before);
    space.commit(change(2, &[], &deaths)).unwrap();
}

/// A damaged tree may refer to a page twice, or to a free one; releasing it freed the page twice.
#[test]
fn a_page_does_not_die_twice() {
    let mut space = Space::new(72, FIRST_PAGE);
    space.grow(100);
    let taken = space.allocate(10, PlacementPolicy::Contiguous).unwrap();
    space.commit(change(1, &[taken], &[])).unwrap();
    space.reclaim(&[TransactionId(1)][..].into());
    let page = (Extent::new(taken.start.0, 1), TransactionId(1));
    let free = (Extent::new(taken.start.0 + 10, 1), TransactionId(1));
    let record = (Extent::new(0, 1), TransactionId(1));
    let beyond_end = (Extent::new(100, 1), TransactionId(1));
    let before = space.free_count();
    for deaths in [&[page, page][..], &[free], &[record], &[beyond_end]] {
        let error = space.commit(change(2, &[], deaths)).unwrap_err();
        assert!(
            matches!(error, crate::Error::Corrupted { .. }),
            "{deaths:?}"
        );
    }
    assert_eq!(space.free_count(), before);
    space.commit(change(2, &[], &[page])).unwrap();
}
