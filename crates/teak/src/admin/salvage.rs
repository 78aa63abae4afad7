//! Salvage: the reading half. What can still be read of a damaged file is handed out record by record, and
//! what is lost is named.
//!
//! Nothing of the file is trusted. A page counts if it has the checksum that is kept where it is pointed to;
//! each page is read once, so that a file that leads in circles comes to an end, and no more is handed
//! out than the file is long. The system is asked for pages before they are looked at, so that a sector
//! that cannot be read is a page that is lost, and no signal. The file is never written to.

mod choose;
mod pages;

use crate::read::{named_list, prefault::Prefault};
use crate::{
    Checksum, Error, Extent, Geometry, KeyRange, PageNumber, Result, TransactionId,
    btree::{
        PageSource, TreeRoot,
        walk::{self, Finding, PageRole, Visitor},
    },
    io::{Access, Create, FILE_MODE, FileSharing, FileStorage, Storage},
    page::{
        comparison::Comparisons,
        value::{StoredValue, ValueKind},
    },
    record::FlushLimits,
};
use crate::{
    read::{
        catalog::{self, CatalogEntry},
        snapshot::Snapshot,
    },
    record::{durability::Durability, record_ref::slot_page},
    write::marks::Marks,
};
use pages::SeenPages;
use std::{path::Path, sync::Arc};

/// Losses that are listed, of all tables together. Further ones are counted.
const LOSSES_MAX: usize = 10_000;

/// Something that could not be saved.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// The page that is damaged.
    pub page: PageNumber,
    /// The keys that it had, as far as that is known; in the catalog these are names of tables, in the list of named snapshots their
    /// names.
    pub keys: Option<KeyRange>,
    /// No more records than this were there. Known in tables that count, and of whole tables.
    pub records_max: Option<u64>,
    /// What is wrong with the page.
    pub detail: String,
}

/// Losses, as many as are listed, and how many there are beyond these.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    pub(crate) listed: Vec<Loss>,
    /// How many may still be listed.
    room: usize,
    pub(crate) more: u64,
}

impl Losses {
    fn add(&mut self, loss: Loss) {
        if self.room == 0 {
            self.more += 1;
            return;
        }
        self.room -= 1;
        self.listed.push(loss);
    }

    /// What was listed since this was called last.
    pub(crate) fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.listed)
    }
}

/// A table of a damaged file.
#[derive(Debug)]
pub(crate) struct FoundTable {
    pub(crate) name: Vec<u8>,
    pub(crate) entry: CatalogEntry,
}

/// What a walk comes to hold.
enum SalvagedItem<'f> {
    Value(&'f [u8]),
    Table(CatalogEntry),
}

/// Whoever is given what a walk comes to hold, with its key.
type TakeItem<'t> = dyn FnMut(&[u8], SalvagedItem<'_>) -> Result<()> + 't;

/// A damaged file, and the state of it that is to be saved.
#[derive(Debug)]
pub(crate) struct DamagedFile {
    state: Snapshot,
    /// Why commits behind that state are passed over, in words.
    pub(crate) passed_over: Vec<String>,
    seen: SeenPages,
    pub(crate) losses: Losses,
}

impl DamagedFile {
    /// Opens the file at `path` and finds the newest state in it that leads to its tables.
    pub(crate) fn open(path: &Path, comparisons: Comparisons) -> Result<Self> {
        let opened = FileStorage::open(
            path,
            Access::ReadOnly,
            Create::Never,
            FileSharing::Exclusive,
            FILE_MODE,
        );
        let damaged_file = opened.and_then(|(storage, _)| {
            let storage: Arc<dyn Storage> = Arc::new(storage);
            Self::of_storage(&storage, path, comparisons)
        });
        damaged_file.map_err(|error| error.at(path))
    }

    /// Finds the newest state in a storage that leads to its tables.
    pub(crate) fn of_storage(
        storage: &Arc<dyn Storage>,
        path: &Path,
        comparisons: Comparisons,
    ) -> Result<Self> {
        let chosen = choose::choose(storage, path)?;
        Ok(Self {
            seen: SeenPages::nothing_of(&chosen.state, storage.len()),
            state: chosen.state.with_comparisons(comparisons),
            passed_over: chosen.passed_over,
            losses: Losses {
                room: LOSSES_MAX,
                ..Losses::default()
            },
        })
    }

    pub(crate) fn transaction(&self) -> TransactionId {
        self.state.transaction()
    }

    pub(crate) fn marks(&self) -> Marks {
        self.state.marks()
    }

    pub(crate) fn page_size(&self) -> usize {
        PageSource::page_size(&self.state)
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.state.geometry()
    }

    /// The durability and the limits that the file says who opens it gets.
    pub(crate) fn defaults(&self) -> (Durability, FlushLimits) {
        self.state.defaults()
    }

    pub(crate) fn page_count(&self) -> u64 {
        self.state.page_count()
    }

    /// The tables that can be found.
    pub(crate) fn tables(&mut self) -> Result<Vec<FoundTable>> {
        let mut tables = Vec::new();
        let catalog = *self.state.catalog();
        self.salvage_tree(&catalog, &mut |_| {}, &mut |name, found| {
            if let SalvagedItem::Table(entry) = found {
                let name = name.to_vec();
                tables.push(FoundTable { name, entry });
            }
            Ok(())
        })?;
        Ok(tables)
    }

    /// The names of named snapshots that can be found. In the losses of their list names are the keys.
    pub(crate) fn snapshots(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        let before = self.losses.listed.len();
        match self.state.named_list() {
            Ok(list) => self.salvage_tree(&list, &mut |_| {}, &mut |key, _| {
                names.extend(named_list::name_in(key).map(<[u8]>::to_vec));
                Ok(())
            })?,
            Err(error) => self.losses.add(Loss {
                page: slot_page(self.state.record().slot),
                keys: None,
                records_max: None,
                detail: error.to_string(),
            }),
        }
        let name = |key: Option<Vec<u8>>| named_list::name_in(&key?).map(<[u8]>::to_vec);
        for loss in &mut self.losses.listed[before..] {
            loss.keys = loss.keys.take().map(|keys| KeyRange {
                low: name(keys.low),
                high: name(keys.high),
            });
        }
        Ok(names)
    }

    /// Hands out the records of a table that can be read, in the order of keys. An error of `take` ends it.
    /// `progress` is told how many pages were entered.
    pub(crate) fn records(
        &mut self,
        root: &TreeRoot,
        progress: &mut dyn FnMut(u64),
        mut take: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.salvage_tree(root, progress, &mut |key, found| match found {
            SalvagedItem::Value(value) => take(key, value),
            SalvagedItem::Table(_) => Ok(()),
        })
    }

    fn salvage_tree(
        &mut self,
        root: &TreeRoot,
        progress: &mut dyn FnMut(u64),
        take: &mut TakeItem<'_>,
    ) -> Result<()> {
        let pages = Prefault(&self.state);
        let mut sink = SalvageSink {
            pages: &pages,
            seen: &mut self.seen,
            losses: &mut self.losses,
            progress,
            take,
            failure: None,
        };
        walk::walk(&pages, root, self.state.transaction(), &mut sink);
        sink.failure.map_or(Ok(()), Err)
    }
}

/// Takes records from a walk, and notes what is lost.
struct SalvageSink<'h, 's, 't> {
    pages: &'h Prefault<'s>,
    seen: &'h mut SeenPages,
    losses: &'h mut Losses,
    progress: &'h mut dyn FnMut(u64),
    take: &'h mut TakeItem<'t>,
    /// The first error of `take`, which ends the walk.
    failure: Option<Error>,
}

impl SalvageSink<'_, '_, '_> {
    fn lose_record(&mut self, page: PageNumber, key: &[u8], detail: &str) {
        self.losses.add(Loss {
            page,
            keys: Some(KeyRange::single(key)),
            records_max: Some(1),
            detail: detail.to_owned(),
        });
    }

    fn large_value(&mut self, leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        let extent = match value.as_extent() {
            Ok(Some(extent)) => extent,
            Ok(None) => return,
            Err(damage) => return self.lose_record(leaf, key, damage.0),
        };
        let pages = extent.pages(PageSource::page_size(self.pages));
        let Some(pages) = pages.ok().filter(|pages| self.seen.is_in_file(*pages)) else {
            return self.lose_record(extent.start, key, "its large value reaches behind the file");
        };
        if !self.seen.insert(pages) {
            let detail = "its large value has pages that are used already";
            return self.lose_record(extent.start, key, detail);
        }
        match self.pages.value(&extent) {
            Ok(bytes) if Checksum::of(bytes) == extent.checksum => {
                self.give(key, SalvagedItem::Value(bytes))
            }
            Ok(_) => self.lose_record(
                extent.start,
                key,
                "its large value does not have its checksum",
            ),
            Err(_) => self.lose_record(extent.start, key, "its large value cannot be read"),
        }
    }

    fn give(&mut self, key: &[u8], found: SalvagedItem<'_>) {
        if self.failure.is_none() {
            self.failure = (self.take)(key, found).err();
        }
    }
}

impl Visitor for SalvageSink<'_, '_, '_> {
    fn enter(&mut self, extent: Extent, role: PageRole) -> bool {
        // Large values are looked at together with their keys.
        if self.failure.is_some() || role == PageRole::Value {
            return false;
        }
        if !self.seen.is_in_file(extent) {
            // The walk cannot read it, and says which keys it had.
            return true;
        }
        let is_new = self.seen.insert(extent);
        if !is_new {
            self.losses.add(Loss {
                page: extent.start,
                keys: None,
                records_max: None,
                detail: "it is used twice".to_owned(),
            });
        }
        (self.progress)(self.seen.count());
        is_new
    }

    fn finding(&mut self, finding: Finding) {
        let Finding {
            page,
            detail,
            low,
            high,
            records_max,
        } = finding;
        let low = (!low.is_empty()).then_some(low);
        self.losses.add(Loss {
            page,
            keys: Some(KeyRange { low, high }),
            records_max,
            detail: detail.to_owned(),
        });
    }

    fn record(&mut self, leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        match value.kind {
            ValueKind::Inline => self.give(key, SalvagedItem::Value(value.bytes)),
            ValueKind::Extent => self.large_value(leaf, key, value),
            ValueKind::Tree => match catalog::decode(leaf, value, &self.pages.0.comparisons) {
                Ok(entry) => self.give(key, SalvagedItem::Table(entry)),
                Err(error) => self.lose_record(leaf, key, &error.to_string()),
            },
            ValueKind::Set => {}
        }
    }
}
