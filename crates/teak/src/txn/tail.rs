//! Emptying the end of the file a few pages with each commit, so that it can be cut off.
//!
//! It begins when much more of the file is free than in use, and ends when what is left fits into a
//! little more than it needs. What is copied is a share of what the commit writes anyway. What old
//! readers see at the end of the file cannot be moved; when a round through all tables finds nothing else,
//! the next one waits.

use super::{
    catalog,
    engine::{Durability, Engine},
    write::WriteTransaction,
};
use crate::{
    Result, TransactionId,
    tree::{insert::Tree, lower::Lowering},
};
use std::{ops::ControlFlow, sync::Arc};

/// Small commits move so many pages at least.
const MOVED_MIN: u64 = 8;
/// Inner pages, or leaves of tables with large values, that one commit looks at.
const LOOKED_AT: u64 = 64;
/// Free pages that are nothing to speak of, where the geometry does not say what is.
const FREE_MIN: u64 = 256;
/// After a round that moved nothing so many commits pass before the next.
const REST: u64 = 64;
/// Between two attempts to move pages of the space map so many commits pass.
const MAP_APART: u64 = 16;

/// How far the walk through all tables is.
#[derive(Clone, Default, Debug)]
pub(super) struct Tail {
    is_emptying: bool,
    place: Place,
    moved_in_round: u64,
    /// Nothing is done before this commit.
    rests_until: TransactionId,
}

#[derive(Clone, Default, Debug)]
enum Place {
    #[default]
    Begin,
    /// In a table, from a key on.
    Table { name: Vec<u8>, key: Vec<u8> },
    /// Behind all tables, in the catalog.
    Catalog,
}

/// The pages that are to be left to the end, if there is much to be gained.
fn boundary(page_count: u64, free: u64, least: u64, is_emptying: bool) -> Option<u64> {
    let used = page_count - free;
    let enough = used + used / 8 + least / 4;
    let begin = (used + used / 2).saturating_add(least);
    (page_count > if is_emptying { enough } else { begin }).then_some(enough)
}

/// Pages that one commit of [`Engine::compact`] moves.
const COMPACTED_AT_ONCE: u64 = 4096;
/// Commits of [`Engine::compact`] that move nothing, so that what was moved before is free, and two records say so.
const SETTLING: usize = 4;

/// How far [`Database::compact`](crate::Database::compact) is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CompactProgress {
    /// Pages that were moved so far.
    pub moved_pages: u64,
    /// How long the file is now.
    pub file_bytes: u64,
}

impl Engine {
    /// Moves pages from the end of the file to free ones before it, until none is left or `progress` says that it is
    /// enough, and cuts the end off.
    pub(crate) fn compact(
        self: &Arc<Self>,
        progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactProgress> {
        let mut done = CompactProgress::default();
        let mut settling = 0;
        while settling < SETTLING {
            let mut txn = WriteTransaction::begin(self)?;
            txn.pages.durability = Durability::Durable;
            txn.is_compacting = true;
            if done == CompactProgress::default() {
                txn.pages.writer.tail = Tail::default();
            }
            let moved = match settling {
                0 => txn.compact_some()?,
                _ => 0,
            };
            txn.commit()?;
            done.moved_pages += moved;
            done.file_bytes = self.file_bytes();
            if moved == 0 || progress(done).is_break() {
                settling += 1;
            }
        }
        // Begins, and so cuts.
        WriteTransaction::begin(self)?.abort();
        done.file_bytes = self.file_bytes();
        Ok(done)
    }
}

impl WriteTransaction {
    /// Moves as much of the end of the file as one commit should.
    fn compact_some(&mut self) -> Result<u64> {
        let space = &mut self.pages.writer.space;
        let used = space.page_count() - space.free_count();
        // The pages on the way to those that are moved are copied, too.
        let boundary = used + used / 64 + 16;
        if space.page_count() <= boundary {
            return Ok(0);
        }
        space.leave_tail(boundary);
        let mut work = Lowering {
            boundary,
            pages_left: COMPACTED_AT_ONCE,
            looks_left: u64::MAX,
            moved: 0,
        };
        self.pages.place_low(true);
        let walked = self.lower(&mut work);
        self.pages.place_low(false);
        walked.map(|()| work.moved)
    }

    /// Moves some pages from the end of the file, if that is worth it.
    pub(super) fn empty_tail(&mut self) {
        if self.is_compacting {
            return;
        }
        let percent = u64::from(self.engine.policies.move_percent);
        let budget = (self.pages.taken_count() * percent / 100).max(MOVED_MIN);
        if percent == 0 || self.is_broken {
            return;
        }
        let space = &self.pages.writer.space;
        let tail = &self.pages.writer.tail;
        let least = match self.geometry.shrink_threshold_bytes / self.engine.page_size as u64 {
            0 => FREE_MIN,
            threshold => threshold,
        };
        let (page_count, free) = (space.page_count(), space.free_count());
        let boundary = boundary(page_count, free, least, tail.is_emptying);
        let id = self.id();
        let tail = &mut self.pages.writer.tail;
        tail.is_emptying = boundary.is_some();
        let Some(boundary) = boundary.filter(|_| id >= tail.rests_until) else {
            return;
        };
        let mut work = Lowering {
            boundary,
            pages_left: budget,
            looks_left: LOOKED_AT,
            moved: 0,
        };
        if id.0.is_multiple_of(MAP_APART) {
            self.pages.writer.space.leave_tail(boundary);
        }
        self.pages.place_low(true);
        let walked = self.lower(&mut work);
        self.pages.place_low(false);
        let tail = &mut self.pages.writer.tail;
        tail.moved_in_round += work.moved;
        if walked.is_err() {
            // What is wrong will be told to whoever wants it.
            tail.rests_until = TransactionId(id.0 + REST);
            tail.place = Place::Begin;
        }
    }

    /// Goes on with the walk through all tables, as far as the work allows.
    fn lower(&mut self, work: &mut Lowering) -> Result<()> {
        while work.pages_left > 0 && work.looks_left > 0 {
            let place = std::mem::take(&mut self.pages.writer.tail.place);
            let next = match place {
                Place::Begin => self.table_from(&[], true)?,
                Place::Table { name, key } => match self.lower_table(&name, &key, work)? {
                    Some(key) => Some(Place::Table { name, key }),
                    None => self.table_from(&name, false)?,
                },
                Place::Catalog => {
                    let mut tree = Tree::new(&mut self.pages, &mut self.catalog);
                    tree.lower(&[], work)?;
                    self.end_round(work);
                    return Ok(());
                }
            };
            work.looks_left = work.looks_left.saturating_sub(1);
            self.pages.writer.tail.place = next.unwrap_or(Place::Catalog);
        }
        Ok(())
    }

    fn end_round(&mut self, work: &Lowering) {
        let rested = TransactionId(self.id().0 + REST);
        let tail = &mut self.pages.writer.tail;
        if tail.moved_in_round + work.moved == 0 {
            tail.rests_until = rested;
        }
        tail.moved_in_round = 0;
    }

    /// The first table behind a name, or from it on.
    fn table_from(&self, name: &[u8], is_included: bool) -> Result<Option<Place>> {
        let found = catalog::table_from(&self.pages, &self.catalog, name, is_included)?;
        Ok(found.map(|name| Place::Table {
            name,
            key: Vec::new(),
        }))
    }

    fn lower_table(
        &mut self,
        name: &[u8],
        key: &[u8],
        work: &mut Lowering,
    ) -> Result<Option<Vec<u8>>> {
        let handle = self.engine.handle(name);
        let lowered = self.change(handle, name, |tree| tree.lower(key, work));
        // A tree whose pages were moved in part is as good as before.
        self.is_broken = false;
        lowered
    }
}
