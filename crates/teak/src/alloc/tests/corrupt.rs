//! Damaged and hostile free-space maps are refused without a panic.

use super::{End, PinStep, Step, World, world::State, *};
use crate::{
    Error, Result,
    page::{array, header::PageKind},
    types::{Checksum, Extent, PageNumber, TransactionId},
};

/// A free-space map with every element: several bitmaps and segments, nodes, and a log.
fn world() -> World {
    let mut world = World::new(72);
    for index in 0..40 {
        world.step(&Step {
            wants: vec![(60, PlacementPolicy::UpTo)],
            give_back: 0,
            deaths: (0..12).map(|death| (death * 97 + index, 2)).collect(),
            pins: PinStep::PinNewest,
            log_room: 400,
            end: End::Commit,
        });
    }
    let roots = world.newest_state().roots;
    assert!(roots.bitmaps.depth > 1 && roots.deaths.depth > 1);
    world
}

fn load(world: &World, state: &State) -> Result<Space> {
    Space::load(
        &world.disk,
        &state.roots,
        &state.log,
        state.page_count,
        &world.pins()[..].into(),
    )
}

#[test]
fn any_changed_byte_of_a_page_is_found() {
    let mut world = world();
    let state = world.newest_state().clone();
    for page in load(&world, &state).unwrap().classify().own {
        for at in [0, 4, 5, 6, 8, 30, 71] {
            world.disk.pages.get_mut(&page).unwrap()[at] ^= 1;
            let found = load(&world, &state).unwrap_err();
            assert!(matches!(found, Error::Corrupted { page: damaged, .. } if damaged == page));
            world.disk.pages.get_mut(&page).unwrap()[at] ^= 1;
        }
    }
}

/// Bits that contradict other bits, with correct checksums: only consistency checks detect them.
fn reseal_root(world: &mut World, root: &mut ArrayRoot, change: impl FnOnce(&mut [u8])) {
    let page = world.disk.pages.get_mut(&root.page).unwrap();
    change(page);
    root.checksum = Checksum::of(page);
}

#[test]
fn a_page_is_not_pointed_to_twice() {
    let mut world = world();
    let mut state = world.newest_state().clone();
    reseal_root(&mut world, &mut state.roots.deaths, |page| {
        page.copy_within(24..40, 40)
    });
    assert!(load(&world, &state).is_err());
    let mut state = world.newest_state().clone();
    state.roots.bitmaps = state.roots.deaths;
    assert!(load(&world, &state).is_err());
}

#[test]
fn the_map_does_not_list_its_own_pages_as_free() {
    let world = world();
    let mut state = world.newest_state().clone();
    let own = load(&world, &state).unwrap().classify().own[0];
    let (_, last) = log::decode(&state.log).unwrap();
    let death = [(Extent { start: own, len: 1 }, TransactionId(0))];
    log::append(&mut state.log, last, last.next(), &[], death.into_iter());
    let State {
        roots,
        log,
        page_count,
    } = &state;
    let loaded = Space::load(
        &world.disk,
        roots,
        log,
        *page_count,
        &[last.next()][..].into(),
    );
    assert!(loaded.is_err());
}

/// The file is truncated only where all pages are free. A page that the log had allocated past the
/// end was ignored, and the log allocated it again when the file grew.
#[test]
fn pages_beyond_the_end_of_the_file_are_not_in_use() {
    let world = world();
    let state = world.newest_state();
    let (_, last) = log::decode(&state.log).unwrap();
    let end = state.page_count as u32;
    let load_with = |taken: Extent, dead: &[Extent]| {
        let mut log = state.log.clone();
        log::append(&mut log, last, last.next(), &[taken], [].into_iter());
        let (newest, birth) = (last.next().next(), last.next());
        let deaths: Vec<_> = dead.iter().map(|extent| (*extent, birth)).collect();
        log::append(&mut log, birth, newest, &[], deaths.into_iter());
        let pins = &[newest][..];
        Space::load(
            &world.disk,
            &state.roots,
            &log,
            state.page_count,
            &pins.into(),
        )
    };
    let taken = Extent::new(end, 3);
    assert!(load_with(taken, &[]).is_err());
    assert!(load_with(taken, &[Extent::new(end, 1), Extent::new(end + 2, 4)]).is_err());
    assert!(load_with(taken, &[Extent::new(end, 2), Extent::new(end + 2, 4)]).is_ok());
}

/// Entries of a future transaction were accepted: the difference between its id and that of the
/// next commit overflowed, and a group after the last one of the log could not be appended.
#[test]
fn nothing_belongs_to_a_future_transaction() {
    let mut world = world();
    let mut state = world.newest_state().clone();
    let own = load(&world, &state).unwrap().classify().own;
    let kind = |world: &World, page: PageNumber| world.disk.pages[&page][4];
    let segment = own
        .iter()
        .copied()
        .find(|page| kind(&world, *page) == PageKind::Deaths as u8)
        .unwrap();
    let births = own.iter().map(|page| (*page, 8));
    for (page, at) in births.chain([(segment, 24 + 16)]) {
        let intact = world.disk.pages[&page].clone();
        world.disk.pages.get_mut(&page).unwrap()[at..at + 8].fill(0xff);
        for root in [&mut state.roots.bitmaps, &mut state.roots.deaths] {
            root.checksum = recompute_checksum(&mut world, root.page, root.depth);
        }
        assert!(load(&world, &state).is_err(), "{page:?}, byte {at}");
        world.disk.pages.insert(page, intact);
    }
    let mut state = world.newest_state().clone();
    for root in [&mut state.roots.bitmaps, &mut state.roots.deaths] {
        root.checksum = recompute_checksum(&mut world, root.page, root.depth);
    }
    load(&world, &state).unwrap();
    let (_, last) = log::decode(&state.log).unwrap();
    let latest = TransactionId(u64::MAX);
    log::append(&mut state.log, last, latest, &[], [].into_iter());
    assert!(load(&world, &state).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_input_makes_it_panic(
        changes in prop::collection::vec((any::<usize>(), 0..72usize, any::<u8>()), 0..4),
        log in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        root in prop::option::of((0..4u8, any::<u32>())),
        page_count in prop::option::of(any::<u64>()),
    ) {
        let mut world = world();
        let mut state = world.newest_state().clone();
        let own = load(&world, &state).unwrap().classify().own;
        for (page, at, value) in changes {
            world.disk.pages.get_mut(&own[page % own.len()]).unwrap()[at] = value;
        }
        // Checksums are corrected from the leaves up, so that the code after their check is
        // reached.
        for root in [&mut state.roots.bitmaps, &mut state.roots.deaths] {
            root.checksum = recompute_checksum(&mut world, root.page, root.depth);
        }
        for (at, value) in log {
            let len = state.log.len();
            state.log[at % len] = value;
        }
        match root {
            Some((0, value)) => state.roots.bitmaps.page = PageNumber(value),
            Some((1, value)) => state.roots.bitmaps.count = value,
            Some((2, value)) => state.roots.deaths.count = value,
            Some((_, value)) => state.roots.deaths.depth = value as u8,
            None => {}
        }
        state.page_count = page_count.map_or(state.page_count, |count| count % 20_000);
        let _ = load(&world, &state);
    }
}

fn recompute_checksum(world: &mut World, page: PageNumber, depth: u8) -> Checksum {
    let Some(bytes) = world.disk.pages.get(&page) else {
        return Checksum(0);
    };
    let mut bytes = bytes.clone();
    if depth > 0 {
        let children: Vec<_> = array::pointers(&bytes)
            .map(|pointer| pointer.page)
            .collect();
        for (index, child) in children.into_iter().enumerate() {
            let checksum = recompute_checksum(world, child, depth - 1);
            bytes[32 + 16 * index..40 + 16 * index].copy_from_slice(&checksum.0.to_le_bytes());
        }
        world.disk.pages.insert(page, bytes.clone());
    }
    Checksum::of(&bytes)
}
