//! Salvage, the reading half: the readable records of a damaged file are passed on one by one, and
//! losses are listed.
//!
//! Nothing in the file is trusted. A page counts if it matches the checksum stored with the
//! reference to it. Each page is read once, so that cycles in a file end, and no more is passed on
//! than the length of the file. Pages are prefaulted before they are read, so that an unreadable
//! sector is a lost page and not a signal. The file is never written to.

mod choose;
mod pages;

use crate::read::{prefault::Prefault, state_key::StateKey};
use crate::{
    Checksum, Error, Extent, Geometry, KeyRange, PageNumber, Result, TableTypes, TransactionId,
    btree::{
        PageSource, TreeRoot,
        walk::{self, Finding, PageRole, Visitor},
    },
    io::{Access, Create, FILE_MODE, FileSharing, FileStorage, Mapping, Storage},
    page::{
        comparison::Comparisons,
        value::{StoredValue, ValueKind},
    },
    record::FlushLimits,
    types::TypeNames,
};
use crate::{
    instance::policies::CodecSettings,
    open::codecs,
    read::catalog::{self, CatalogEntry},
    record::{durability::Durability, record_ref::slot_page},
    write::marks::Marks,
};
use choose::StateToSave;
use pages::SeenPages;
use std::{ops::ControlFlow, path::Path, sync::Arc};

/// The most losses that are listed, for all tables together. Further ones are counted.
const LOSSES_MAX: usize = 10_000;

/// A part of the data that could not be saved.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// The damaged page.
    pub page: PageNumber,
    /// The known bounds of its keys. In the catalog these are names of tables, in
    /// the list of named snapshots their names.
    pub keys: Option<KeyRange>,
    /// The most records that were lost. Known in tables that keep counts, and for whole tables.
    pub records_max: Option<u64>,
    /// Description of the damage.
    pub detail: String,
}

/// The listed losses, and the number of further ones.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    pub(crate) listed: Vec<Loss>,
    /// Number of losses that may still be listed.
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

    /// Takes the losses that were listed since the last call.
    pub(crate) fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.listed)
    }
}

/// A table of a damaged file.
#[derive(Debug)]
pub(crate) struct FoundTable {
    pub(crate) name: Vec<u8>,
    pub(crate) entry: CatalogEntry,
    pub(crate) types: TableTypes,
}

/// An item that a walk finds.
enum SalvagedItem<'f> {
    Value(&'f [u8]),
    Table(CatalogEntry, TypeNames<'f>),
}

/// The callback for an item that a walk finds, with its key.
type TakeItem<'t> = dyn FnMut(&[u8], SalvagedItem<'_>) -> Result<()> + 't;

/// The callback for the number of pages entered.
type PagesProgress<'p> = dyn FnMut(u64) -> ControlFlow<()> + 'p;

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A damaged file, and the state of it that is saved.
#[derive(Debug)]
pub(crate) struct DamagedFile {
    state: StateToSave,
    /// Reasons why newer commits are skipped.
    pub(crate) passed_over: Vec<String>,
    seen: SeenPages,
    pub(crate) losses: Losses,
}

impl DamagedFile {
    /// Opens the file at `path`, and finds the newest state in it that leads to its tables.
    pub(crate) fn open(
        path: &Path,
        comparisons: Comparisons,
        settings: &CodecSettings,
    ) -> Result<Self> {
        let opened = FileStorage::open(
            path,
            Access::ReadOnly,
            Create::Never,
            FileSharing::Exclusive,
            FILE_MODE,
        );
        let damaged_file = opened.and_then(|(storage, _)| {
            let storage = codecs::decoded(Arc::new(storage), path, settings)?;
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
        self.state.record().page_size as usize
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.state.mapping
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.state.geometry()
    }

    /// The default durability and flush limits stored in the file.
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
        self.salvage_tree(&catalog, &mut go_on, &mut |name, found| {
            if let SalvagedItem::Table(entry, types) = found {
                let (name, types) = (name.to_vec(), types.into());
                tables.push(FoundTable { name, entry, types });
            }
            Ok(())
        })?;
        Ok(tables)
    }

    /// The named snapshots and prepared transactions that can be found. In the losses of their
    /// list, the keys are names.
    pub(crate) fn states(&mut self) -> Result<Vec<StateKey>> {
        let mut names = Vec::new();
        let before = self.losses.listed.len();
        match self.state.named_list() {
            Ok(list) => self.salvage_tree(&list, &mut go_on, &mut |key, _| {
                names.extend(StateKey::of(key));
                Ok(())
            })?,
            Err(error) => self.losses.add(Loss {
                page: slot_page(self.state.record().slot),
                keys: None,
                records_max: None,
                detail: error.to_string(),
            }),
        }
        let name = |key: Option<Vec<u8>>| Some(StateKey::of(&key?)?.name().to_vec());
        for loss in &mut self.losses.listed[before..] {
            loss.keys = loss.keys.take().map(|keys| KeyRange {
                low: name(keys.low),
                high: name(keys.high),
            });
        }
        Ok(names)
    }

    /// Passes the readable records of a table on, in the order of keys. An error of `take` ends it.
    /// `progress` receives the number of pages entered, and may end it too.
    pub(crate) fn records(
        &mut self,
        root: &TreeRoot,
        progress: &mut PagesProgress<'_>,
        mut take: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.salvage_tree(root, progress, &mut |key, found| match found {
            SalvagedItem::Value(value) => take(key, value),
            SalvagedItem::Table(..) => Ok(()),
        })
    }

    fn salvage_tree(
        &mut self,
        root: &TreeRoot,
        progress: &mut PagesProgress<'_>,
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

/// The visitor that collects records and notes losses.
struct SalvageSink<'h, 's, 't> {
    pages: &'h Prefault<'s>,
    seen: &'h mut SeenPages,
    losses: &'h mut Losses,
    progress: &'h mut PagesProgress<'t>,
    take: &'h mut TakeItem<'t>,
    /// The first error of `take`, or that `progress` ended the walk.
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
            return self.lose_record(extent.start, key, "its large value ends beyond the file");
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
        // Large values are read together with their keys.
        if self.failure.is_some() || role == PageRole::Value {
            return false;
        }
        if !self.seen.is_in_file(extent) {
            // The walk cannot read it, and reports which keys it had.
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
        if (self.progress)(self.seen.count()).is_break() {
            self.failure = Some(Error::cancelled("salvaging a database"));
            return false;
        }
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
                Ok(entry) => {
                    self.give(key, SalvagedItem::Table(entry, catalog::types_in(value)));
                }
                Err(error) => self.lose_record(leaf, key, &error.to_string()),
            },
            ValueKind::Set => {}
        }
    }
}
