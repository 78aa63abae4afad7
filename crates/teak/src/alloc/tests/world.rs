//! A database without content: the pages that each transaction uses, and the states that may see
//! them.

use super::{End, PinStep, Step, *};
use crate::{
    Error, Result,
    types::{Extent, PageNumber, TransactionId},
};
use std::{collections::HashMap, sync::Arc};

/// A disk: the last data written to each page.
pub(super) struct Disk {
    pub(super) page_size: usize,
    pub(super) pages: HashMap<PageNumber, Vec<u8>>,
}

impl SpacePages for Disk {
    fn page_size(&self) -> usize {
        self.page_size
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        let missing = || Error::corrupted(number, "a test", "never written");
        self.pages
            .get(&number)
            .map(Vec::as_slice)
            .ok_or_else(missing)
    }
}

/// The fields that a record would hold.
#[derive(Clone)]
pub(super) struct State {
    pub(super) roots: SpaceRoots,
    pub(super) log: Vec<u8>,
    pub(super) page_count: u64,
}

pub(super) struct World {
    pub(super) space: Space,
    pub(super) disk: Disk,
    /// Births of pages in use.
    live: BTreeMap<u32, u64>,
    /// Births of pages of the free-space map.
    own: BTreeMap<u32, u64>,
    /// Every life that ended: the birth and death of each page.
    past: HashMap<u32, Vec<(u64, u64)>>,
    newest: TransactionId,
    held: BTreeSet<TransactionId>,
    permanent: Arc<[TransactionId]>,
    pub(super) states: BTreeMap<TransactionId, State>,
}

impl World {
    pub(super) fn new(page_size: usize) -> Self {
        Self {
            space: Space::new(page_size, FIRST_PAGE),
            disk: Disk {
                page_size,
                pages: HashMap::new(),
            },
            live: BTreeMap::new(),
            own: BTreeMap::new(),
            past: HashMap::new(),
            newest: TransactionId(0),
            held: BTreeSet::new(),
            permanent: Arc::default(),
            states: BTreeMap::new(),
        }
    }

    pub(super) fn pins(&self) -> Vec<TransactionId> {
        let mut pins = self.held.clone();
        pins.insert(self.newest);
        pins.into_iter().collect()
    }

    /// The current pins. The permanent ones are one slice that stays equal as long as they do.
    fn split_pins(&mut self) -> Pins {
        if !self.held.iter().eq(self.permanent.iter()) {
            self.permanent = self.held.iter().copied().collect();
        }
        Pins::new(Arc::clone(&self.permanent), vec![self.newest])
    }

    pub(super) fn newest_state(&self) -> &State {
        &self.states[&self.newest]
    }

    pub(super) fn step(&mut self, step: &Step) {
        match step.pins {
            PinStep::Keep => {}
            PinStep::PinNewest => drop(self.held.insert(self.newest)),
            PinStep::Unpin(index) => {
                let pin = self
                    .held
                    .iter()
                    .nth(index % self.held.len().max(1))
                    .copied();
                pin.map(|pin| self.held.remove(&pin));
            }
            PinStep::UnpinAll => self.held.clear(),
        }
        let pins = self.split_pins();
        self.space.reclaim(&pins);
        let taken = self.take(step);
        if step.end == End::Abort {
            taken
                .iter()
                .for_each(|extent| self.space.give_back(*extent));
        } else {
            if step.end == End::CommitLeavingTail {
                self.space.leave_tail(self.space.page_count() / 2);
            }
            self.commit(taken, step);
        }
        self.check_partition();
        if step.end != End::Abort {
            self.check_load(step.end == End::CommitAndReload);
        }
    }

    fn take(&mut self, step: &Step) -> Vec<Extent> {
        let mut taken = Vec::new();
        for &(want, policy) in &step.wants {
            let extent = self.space.allocate(want, policy).unwrap_or_else(|| {
                self.space
                    .grow(self.space.page_count() + u64::from(want) + 3);
                self.space
                    .allocate(want, policy)
                    .expect("there is room now")
            });
            self.check_unseen(extent);
            let back = step.give_back.min(extent.len - 1);
            let kept = Extent {
                len: extent.len - back,
                ..extent
            };
            if back > 0 {
                self.space.give_back(Extent::new(kept.end() as u32, back));
            }
            taken.push(kept);
        }
        taken.sort_unstable();
        taken
    }

    fn check_unseen(&self, extent: Extent) {
        for page in extent.pages() {
            assert!(page.0 >= FIRST_PAGE && u64::from(page.0) < self.space.page_count());
            assert!(!self.live.contains_key(&page.0), "{page} is in use");
            assert!(
                !self.own.contains_key(&page.0),
                "{page} is part of the space map"
            );
            for (birth, died) in self.past.get(&page.0).into_iter().flatten() {
                let sees = |pin: &TransactionId| *birth <= pin.0 && pin.0 < *died;
                assert!(!self.pins().iter().any(sees), "{page} is still visible");
            }
        }
    }

    fn deaths(&mut self, step: &Step, transaction: u64) -> Vec<(Extent, TransactionId)> {
        let mut deaths = Vec::new();
        for &(index, len) in &step.deaths {
            let start = self.live.iter().nth(index % self.live.len().max(1));
            let Some((&start, &birth)) = start else { break };
            let mut extent = Extent::new(start, 0);
            while extent.len < len && self.live.get(&(start + extent.len)) == Some(&birth) {
                self.live.remove(&(start + extent.len));
                self.past
                    .entry(start + extent.len)
                    .or_default()
                    .push((birth, transaction));
                extent.len += 1;
            }
            deaths.push((extent, TransactionId(birth)));
        }
        deaths.sort_unstable();
        deaths
    }

    pub(super) fn commit(&mut self, taken: Vec<Extent>, step: &Step) {
        let transaction = self.newest.next();
        let deaths = self.deaths(step, transaction.0);
        let pages = taken.iter().flat_map(|extent| extent.pages());
        self.live.extend(pages.map(|page| (page.0, transaction.0)));
        let change = SpaceChange {
            transaction,
            taken: &taken,
            deaths: &deaths,
            revived: &[],
            log_room: step.log_room,
            page_limit: u64::MAX,
        };
        let committed = self.space.commit(change).expect("there is room");
        assert!(committed.log.len() <= step.log_room);
        self.note_fold(&committed, transaction);
        self.newest = transaction;
        if step.end == End::CommitAndShrink {
            self.space
                .shrink(self.space.page_count() - self.space.trailing_free());
        }
        let SpaceCommit { roots, log, .. } = committed;
        let state = State {
            roots,
            log,
            page_count: self.space.page_count(),
        };
        self.states.insert(transaction, state);
        let pins = self.pins();
        self.states.retain(|id, _| pins.contains(id));
    }

    fn note_fold(&mut self, committed: &SpaceCommit, transaction: TransactionId) {
        committed
            .checkpoint_taken
            .iter()
            .for_each(|extent| self.check_unseen(*extent));
        let expected = committed
            .checkpoint_taken
            .iter()
            .flat_map(|extent| extent.pages());
        assert!(expected.eq(committed.checkpoint_pages.iter().map(|(page, _)| *page)));
        self.disk
            .pages
            .extend(committed.checkpoint_pages.iter().cloned());
        let own: BTreeSet<u32> = self
            .space
            .classify()
            .own
            .iter()
            .map(|page| page.0)
            .collect();
        let past = &mut self.past;
        self.own.retain(|page, birth| {
            if !own.contains(page) {
                past.entry(*page).or_default().push((*birth, transaction.0));
            }
            own.contains(page)
        });
        let new = committed
            .checkpoint_pages
            .iter()
            .map(|(page, _)| (page.0, transaction.0));
        self.own.extend(new);
        assert!(
            own.iter().eq(self.own.keys()),
            "all pages of the map are known"
        );
    }

    /// Each page has exactly one state.
    fn check_partition(&self) {
        let census = self.space.classify();
        let free = census.free.iter().flat_map(|extent| extent.pages());
        let pending = census.pending.iter().flat_map(|death| death.extent.pages());
        let mut pages: Vec<u32> = free.chain(pending).chain(census.own).map(|p| p.0).collect();
        pages.extend(self.live.keys());
        pages.extend(0..FIRST_PAGE);
        pages.sort_unstable();
        assert!(pages.iter().copied().eq(0..self.space.page_count() as u32));
        let pending = census
            .pending
            .iter()
            .map(|death| u64::from(death.extent.len))
            .sum::<u64>();
        assert_eq!(self.space.pending_count(), pending);
    }

    /// The loaded map equals the one in memory, and all pinned pages can be read.
    fn check_load(&mut self, go_on_with_it: bool) {
        let pins = self.pins();
        for (pin, state) in &self.states {
            let State {
                roots,
                log,
                page_count,
            } = state;
            let loaded = Space::load(&self.disk, roots, log, *page_count, &[*pin][..].into());
            loaded.unwrap_or_else(|error| panic!("{pin}: {error}"));
        }
        let State {
            roots,
            log,
            page_count,
        } = self.newest_state();
        let loaded = Space::load(&self.disk, roots, log, *page_count, &pins[..].into()).unwrap();
        let split = self.split_pins();
        self.space.reclaim(&split);
        if !self.space.pending.has_backlog() && !loaded.pending.has_backlog() {
            assert_eq!(summary(&loaded), summary(&self.space));
            self.check_all_seen(&pins);
        }
        if go_on_with_it {
            self.space = loaded;
        }
    }
}

impl World {
    /// Every pending page is visible to a pin.
    fn check_all_seen(&self, pins: &[TransactionId]) {
        for death in self.space.classify().pending {
            let sees = |pin: &TransactionId| death.birth <= *pin && *pin < death.died;
            assert!(pins.iter().any(sees), "{death:?} is visible to no pin");
        }
    }
}

type Lives = BTreeMap<PageNumber, (TransactionId, TransactionId)>;

fn summary(space: &Space) -> (Vec<Extent>, Lives, Vec<PageNumber>) {
    let census = space.classify();
    let pages = |death: &Death| {
        let life = (death.birth, death.died);
        death
            .extent
            .pages()
            .map(move |page| (page, life))
            .collect::<Vec<_>>()
    };
    (
        census.free,
        census.pending.iter().flat_map(pages).collect(),
        census.own,
    )
}
