//! The process of one engine, which executes orders until there are no more.

use super::{
    keys::{KeyKind, Keys},
    message::{DatabaseSize, EngineAnswer, EngineCommand, PartResult, Setup, TaskPart},
    model::DatabaseModel,
    tasks,
    work::{CompareWorkload, DatabaseContent, Task},
};
use crate::{
    bench::settle,
    children,
    data::Digest,
    engines::{
        Durability, KeyOrder,
        rivals::{Rival, Use},
        store::{CacheBudget, Connection, Read, ScanDirection, Store, size_of_files},
    },
    process::give_memory_back,
};
use anyhow::{Context, Result, bail, ensure};
use std::{fs, path::Path};

/// A large value.
const LARGE_LEN: usize = 1 << 20;
/// The memory that the process holds in addition to the models: itself, and records made in
/// advance.
const HELD_BYTES: u64 = 24 << 20;

/// Serves orders from standard input until it ends.
pub(crate) fn run_process(rival: Rival) -> Result<()> {
    children::end_with_parent()?;
    rival.lend(Serve)
}

struct Serve;

impl Use for Serve {
    fn with<S: Store>(
        self,
        open: impl Fn(&Path, Durability, CacheBudget) -> Result<S>,
    ) -> Result<()> {
        let Some(EngineCommand::Setup(setup)) = children::next_order()? else {
            bail!("the first order has to be the setup");
        };
        let mut engine = ComparedEngine::new(setup, open)?;
        children::answer(&engine.ready())?;
        while let Some(order) = children::next_order()? {
            let answer = engine.serve(&order);
            let failed = |error| EngineAnswer::Failed(format!("{error:#}"));
            children::answer(&answer.unwrap_or_else(failed))?;
        }
        engine.close()
    }
}

/// The engine, its database, and the expected contents.
struct ComparedEngine<S, O> {
    setup: Setup,
    open: O,
    store: Option<S>,
    durability: Durability,
    content: DatabaseContent,
    /// Whether all records have been read since the database was opened.
    is_warm: bool,
    /// The order of keys for this content.
    keys: KeyOrder,
    records: DatabaseModel,
    large: DatabaseModel,
    coins: Option<tasks::Coins>,
}

impl<S: Store, O: Fn(&Path, Durability, CacheBudget) -> Result<S>> ComparedEngine<S, O> {
    fn new(setup: Setup, open: O) -> Result<Self> {
        let keys = Keys::new(setup.keys, setup.records, &setup.paths)?;
        let of_large = Keys::new(KeyKind::Random16, 0, &setup.paths)?;
        Ok(Self {
            records: DatabaseModel::new(keys, setup.value_len),
            large: DatabaseModel::new(of_large, LARGE_LEN),
            coins: None,
            setup,
            open,
            store: None,
            durability: Durability::Lazy,
            content: DatabaseContent::Nothing,
            is_warm: false,
            keys: KeyOrder::Bytes,
        })
    }

    fn serve(&mut self, order: &EngineCommand) -> Result<EngineAnswer> {
        match order {
            EngineCommand::Setup(_) => bail!("a run is about one thing"),
            EngineCommand::Prepare(task) => self.prepare(*task).map(|()| self.ready()),
            EngineCommand::Work(part) => self
                .work(*part)
                .map(|done| EngineAnswer::Done(Box::new(done))),
            EngineCommand::Measure => self.measure().map(EngineAnswer::Size),
        }
    }

    fn ready(&self) -> EngineAnswer {
        let models = self.records.held_bytes() + self.large.held_bytes();
        // Changes are in memory three times while they are written.
        let flush_bytes = 3 * self.setup.coin_flush_bytes;
        let coins = self.coins.as_ref();
        let coins = coins.map_or(0, |coins| coins.held_bytes() + flush_bytes);
        EngineAnswer::Ready {
            held_bytes: models + coins + HELD_BYTES,
        }
    }

    /// Prepares the database for `task`.
    fn prepare(&mut self, task: Task) -> Result<()> {
        let (wanted, durability) = (task.work.content(), task.work.durability());
        if wanted == DatabaseContent::Nothing || wanted != self.content {
            self.keys = match self.setup.keys {
                KeyKind::NativeIntegers if task.work.has_chosen_keys() => KeyOrder::Integers,
                _ => KeyOrder::Bytes,
            };
            self.recreate(Durability::Lazy)?;
            match wanted {
                DatabaseContent::Nothing => {}
                DatabaseContent::Records => drop(self.load_records()?),
                DatabaseContent::Large => drop(self.put_large(tasks::LARGE_VALUES)?),
                DatabaseContent::Coins => self.load_coins()?,
            }
        }
        let durability = durability.unwrap_or(self.durability);
        // If memory is limited, an engine may still hold more from an earlier workload than it is
        // allowed now.
        if durability != self.durability || self.setup.is_cold {
            self.reopen(durability)?;
        }
        if !self.is_warm && !self.setup.is_cold && wanted != DatabaseContent::Nothing {
            let mut digest = Digest::default();
            let mut connection = self.store()?.connect()?;
            let mut transaction = connection.read()?;
            transaction.scan(ScanDirection::Forwards, u64::MAX, |key, value| {
                digest.add_record(key, value);
            })?;
            drop(transaction);
            drop(connection);
            self.is_warm = true;
        }
        settle(&self.setup.directory)
    }

    fn work(&mut self, part: TaskPart) -> Result<PartResult> {
        let directory = self.setup.directory.clone();
        match part.task.work {
            CompareWorkload::LoadRandom => return self.load_records(),
            CompareWorkload::LargePut => return self.put_large(part.operations),
            _ => {}
        }
        let store = self.store.as_ref().context("no database is open")?;
        let model = &mut self.records;
        match part.task.work {
            CompareWorkload::LoadSorted => {
                model.load(self.setup.records);
                tasks::load_sorted(store, model, &directory)
            }
            CompareWorkload::LoadBulk => {
                model.load(self.setup.records);
                tasks::load_bulk(store, model, &directory)
            }
            CompareWorkload::LargeGet => tasks::lookup(store, &self.large, part, &directory),
            CompareWorkload::Scan | CompareWorkload::ScanBack => {
                tasks::scan(store, model, part, &directory)
            }
            CompareWorkload::Range10 | CompareWorkload::Range100 => {
                tasks::range(store, model, part, &directory)
            }
            CompareWorkload::UpdateLazy
            | CompareWorkload::UpdateBatches
            | CompareWorkload::UpdateDurable => tasks::update(store, model, part, &directory),
            CompareWorkload::CrudDurable
            | CompareWorkload::CrudLazy
            | CompareWorkload::CrudAsync => tasks::crud(store, model, part, &directory),
            CompareWorkload::Commits => tasks::commits(store, model, part, &directory),
            CompareWorkload::Mixed => tasks::mixed(store, model, part, &directory),
            CompareWorkload::Delete => tasks::delete(store, model, part, &directory),
            CompareWorkload::Coins => {
                let coins = self.coins.as_mut().context("there are no coins")?;
                let flush_bytes = self.setup.coin_flush_bytes;
                tasks::replay(store, coins, part, flush_bytes, &directory)
            }
            _ => tasks::lookup(store, model, part, &directory),
        }
    }

    fn load_records(&mut self) -> Result<PartResult> {
        self.records.load(self.setup.records);
        let directory = self.setup.directory.clone();
        let done = tasks::load_random(self.store()?, &self.records, &directory)?;
        self.content = DatabaseContent::Records;
        Ok(done)
    }

    fn put_large(&mut self, count: u64) -> Result<PartResult> {
        self.large.load(count);
        let directory = self.setup.directory.clone();
        let done = tasks::put_each(self.store()?, &self.large, &directory)?;
        self.content = DatabaseContent::Large;
        Ok(done)
    }

    fn load_coins(&mut self) -> Result<()> {
        let mut coins = tasks::Coins::new(self.setup.coins);
        coins.load(self.store()?)?;
        self.coins = Some(coins);
        self.content = DatabaseContent::Coins;
        Ok(())
    }

    /// The size of the closed database, after all its records have been read.
    fn measure(&mut self) -> Result<DatabaseSize> {
        let of_model = |model: &DatabaseModel| (model.digest(), model.data_bytes());
        let (expected, data_bytes) = match (self.content, &self.coins) {
            (DatabaseContent::Large, _) => of_model(&self.large),
            (DatabaseContent::Coins, Some(coins)) => (coins.flushed, coins.flushed_bytes),
            _ => of_model(&self.records),
        };
        let mut found = Digest::default();
        let mut connection = self.store()?.connect()?;
        connection
            .read()?
            .scan(ScanDirection::Forwards, u64::MAX, |key, value| {
                found.add_record(key, value);
            })?;
        ensure!(
            found == expected,
            "the database has {found:?} instead of {expected:?}"
        );
        drop(connection);
        let used_bytes = self.store()?.used_bytes()?;
        self.close_store()?;
        let size = size_of_files(&self.setup.directory, 0)?;
        self.reopen(self.durability)?;
        Ok(DatabaseSize {
            file_bytes: size.file_bytes,
            allocated_bytes: size.allocated_bytes,
            used_bytes,
            data_bytes,
        })
    }

    fn store(&self) -> Result<&S> {
        self.store.as_ref().context("no database is open")
    }

    /// Replaces the database by an empty one.
    fn recreate(&mut self, durability: Durability) -> Result<()> {
        self.close_store()?;
        self.content = DatabaseContent::Nothing;
        self.coins = None;
        let directory = &self.setup.directory;
        fs::remove_dir_all(directory)?;
        fs::create_dir_all(directory)?;
        settle(directory)?;
        self.reopen(durability)
    }

    fn reopen(&mut self, durability: Durability) -> Result<()> {
        self.close_store()?;
        if self.setup.is_cold {
            give_memory_back();
        }
        let large = tasks::LARGE_VALUES * LARGE_LEN as u64;
        let records = self.setup.records * (self.setup.value_len as u64 + 64);
        let data_bytes = records + large + self.setup.coins * 80;
        let room = CacheBudget {
            data_bytes,
            cache_bytes: self.setup.cache_bytes.unwrap_or(2 * data_bytes),
            write_bytes: self.setup.cache_bytes.map(|bytes| bytes / 2),
            keys: self.keys,
        };
        self.store = Some((self.open)(&self.setup.directory, durability, room)?);
        self.durability = durability;
        self.is_warm = false;
        Ok(())
    }

    fn close_store(&mut self) -> Result<()> {
        self.store.take().map_or(Ok(()), Store::close)
    }

    fn close(mut self) -> Result<()> {
        self.close_store()
    }
}
