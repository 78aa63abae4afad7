//! canopydb: a tree of raw bytes.

use super::{
    Durability,
    store::{
        CacheBudget, Connection, LookupTransaction, Read, ScanDirection, Store, StorePair, Write,
        wait_until_quiet,
    },
};
use anyhow::{Context, Result};
use canopydb::{
    Database, DbOptions, EnvOptions, Environment, ReadTransaction, Tree, TreeOptions,
    WriteTransaction,
};
use self_cell::self_cell;
use std::{fs, path::Path};

const RECORDS: &[u8] = b"records";

self_cell!(
    /// A read transaction, with the tree opened once.
    pub(crate) struct CanopydbRead {
        owner: ReadTransaction,
        #[not_covariant]
        dependent: Tree,
    }
);

self_cell!(
    /// A write transaction, with the tree opened once.
    pub(crate) struct CanopydbWrite {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: Tree,
    }
);

/// An open database.
pub(crate) struct Canopydb {
    database: Database,
    _environment: Environment,
}

impl Canopydb {
    /// Opens the database in `directory`, or creates it.
    pub(crate) fn open(
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
    ) -> Result<Self> {
        let directory = directory.join("canopydb");
        fs::create_dir_all(&directory)?;
        let mut environment = EnvOptions::new(directory);
        environment.page_cache_size = usize::try_from(room.cache_bytes)?;
        let mut options = DbOptions::new();
        options.default_commit_sync = durability == Durability::Durable;
        let environment = Environment::with_options(environment)?;
        let database = environment.get_or_create_database_with("bench", options)?;
        let transaction = database.begin_write()?;
        let mut plain = TreeOptions::new();
        plain.compress_overflow_values = None;
        drop(transaction.get_or_create_tree_with(RECORDS, plain)?);
        transaction.commit()?;
        Ok(Self {
            database,
            _environment: environment,
        })
    }
}

impl Store for Canopydb {
    type Connection<'s> = &'s Canopydb;

    fn connect(&self) -> Result<&Self> {
        Ok(self)
    }

    fn sync(&self) -> Result<()> {
        Ok(self.database.sync()?)
    }

    fn rest(&self) -> Result<()> {
        self.database.checkpoint()?;
        wait_until_quiet()
    }
}

impl Connection for &Canopydb {
    type Read<'r>
        = CanopydbRead
    where
        Self: 'r;
    type Write<'w>
        = CanopydbWrite
    where
        Self: 'w;

    fn read(&mut self) -> Result<CanopydbRead> {
        CanopydbRead::try_new(self.database.begin_read()?, |transaction| {
            transaction
                .get_tree(RECORDS)?
                .context("canopydb has lost its tree")
        })
    }

    fn write(&mut self) -> Result<CanopydbWrite> {
        CanopydbWrite::try_new(self.database.begin_write()?, |transaction| {
            transaction
                .get_tree(RECORDS)?
                .context("canopydb has lost its tree")
        })
    }
}

impl LookupTransaction for CanopydbRead {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        self.with_dependent(|_, tree| {
            let found = tree.get(key)?;
            Ok(found.map(|value| see(value.as_ref())).is_some())
        })
    }
}

impl Read for CanopydbRead {
    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        self.with_dependent(|_, tree| {
            let mut range = match direction {
                ScanDirection::From(key) => tree.range(key..)?,
                _ => tree.iter()?,
            };
            for _ in 0..most {
                let record = match direction {
                    ScanDirection::Backwards => range.next_back(),
                    _ => range.next(),
                };
                let Some(record) = record else { break };
                let (key, value) = record?;
                see(key.as_ref(), value.as_ref());
            }
            Ok(())
        })
    }
}

impl LookupTransaction for CanopydbWrite {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        self.with_dependent(|_, tree| {
            let found = tree.get(key)?;
            Ok(found.map(|value| see(value.as_ref())).is_some())
        })
    }
}

impl Write for CanopydbWrite {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_all(&[(key, value)])
    }

    fn put_all(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        self.with_dependent_mut(|_, tree| {
            for (key, value) in records {
                tree.insert(key, value)?;
            }
            Ok(())
        })
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.with_dependent_mut(|_, tree| {
            tree.delete(key)?;
            Ok(())
        })
    }

    fn commit(self) -> Result<()> {
        self.into_owner().commit()?;
        Ok(())
    }
}
