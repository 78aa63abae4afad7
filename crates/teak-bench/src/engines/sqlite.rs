//! SQLite: a table without row numbers, a write-ahead log, a connection for each thread.

use super::{
    Durability,
    store::{CacheBudget, Connection, LookupTransaction, Read, ScanDirection, Store, Write},
};
use anyhow::Result;
use rusqlite::{CachedStatement, OptionalExtension, Row, params};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

const FILE_NAME: &str = "bench.sqlite";
/// The maximum time that a thread waits for another writer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Pages of the log before a checkpoint: enough that pages which changed many times are
/// checkpointed once.
const CHECKPOINT_PAGES: u32 = 10_000;

const GET: &str = "SELECT value FROM records WHERE key = ?1";
const PUT: &str =
    "INSERT INTO records (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";
const REMOVE: &str = "DELETE FROM records WHERE key = ?1";
const FORWARDS: &str = "SELECT key, value FROM records ORDER BY key LIMIT ?1";
const BACKWARDS: &str = "SELECT key, value FROM records ORDER BY key DESC LIMIT ?1";
const FROM: &str = "SELECT key, value FROM records WHERE key >= ?2 ORDER BY key LIMIT ?1";

/// A database.
pub(crate) struct Sqlite {
    path: PathBuf,
    durability: Durability,
    room: CacheBudget,
}

/// A transaction. Dropping it rolls back, which for a read transaction is a normal end.
pub(crate) struct SqliteTransaction<'c> {
    connection: &'c rusqlite::Connection,
    is_open: bool,
}

impl Sqlite {
    /// Opens the database in `directory`, or creates it.
    pub(crate) fn open(
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
    ) -> Result<Self> {
        let sqlite = Self {
            path: directory.join(FILE_NAME),
            durability,
            room,
        };
        sqlite.connect()?.execute_batch(
            "CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        )?;
        Ok(sqlite)
    }
}

impl Store for Sqlite {
    type Connection<'s> = rusqlite::Connection;

    fn connect(&self) -> Result<rusqlite::Connection> {
        let connection = rusqlite::Connection::open(&self.path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.set_prepared_statement_cache_capacity(32);
        let synchronous = match self.durability {
            Durability::Durable => "FULL",
            Durability::Lazy | Durability::Async => "NORMAL",
            Durability::Careless => "OFF",
        };
        let CacheBudget {
            data_bytes,
            cache_bytes,
            ..
        } = self.room;
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
             PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -{}; PRAGMA mmap_size = {};",
            cache_bytes / 1024,
            data_bytes * 4
        ))?;
        Ok(connection)
    }

    fn sync(&self) -> Result<()> {
        let connection = self.connect()?;
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }

    fn used_bytes(&self) -> Result<Option<u64>> {
        let connection = self.connect()?;
        let of = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
        let (pages, free, page_size): (i64, i64, i64) =
            (of("page_count")?, of("freelist_count")?, of("page_size")?);
        Ok(Some(u64::try_from((pages - free) * page_size)?))
    }
}

impl Connection for rusqlite::Connection {
    type Read<'r> = SqliteTransaction<'r>;
    type Write<'w> = SqliteTransaction<'w>;

    fn read(&mut self) -> Result<SqliteTransaction<'_>> {
        SqliteTransaction::begin(self, "BEGIN DEFERRED")
    }

    fn write(&mut self) -> Result<SqliteTransaction<'_>> {
        SqliteTransaction::begin(self, "BEGIN IMMEDIATE")
    }
}

impl<'c> SqliteTransaction<'c> {
    fn begin(connection: &'c rusqlite::Connection, flags: &str) -> Result<Self> {
        connection.prepare_cached(flags)?.execute([])?;
        Ok(Self {
            connection,
            is_open: true,
        })
    }

    fn statement(&self, text: &str) -> Result<CachedStatement<'c>> {
        Ok(self.connection.prepare_cached(text)?)
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if self.is_open
            && let Ok(mut end) = self.connection.prepare_cached("ROLLBACK")
        {
            // A failure here shows when the next transaction begins.
            let _ = end.execute([]);
        }
    }
}

impl LookupTransaction for SqliteTransaction<'_> {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let found = self.statement(GET)?.query_row([key], |row| {
            see(row.get_ref(0)?.as_blob()?);
            Ok(())
        });
        Ok(found.optional()?.is_some())
    }
}

impl Read for SqliteTransaction<'_> {
    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let most = i64::try_from(most).unwrap_or(-1);
        let mut show = |row: &Row<'_>| -> rusqlite::Result<()> {
            see(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            Ok(())
        };
        let (mut statement, key) = match direction {
            ScanDirection::Forwards => (self.statement(FORWARDS)?, None),
            ScanDirection::Backwards => (self.statement(BACKWARDS)?, None),
            ScanDirection::From(key) => (self.statement(FROM)?, Some(key)),
        };
        let mut rows = match key {
            Some(key) => statement.query(params![most, key])?,
            None => statement.query(params![most])?,
        };
        while let Some(row) = rows.next()? {
            show(row)?;
        }
        Ok(())
    }
}

impl Write for SqliteTransaction<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.statement(PUT)?.execute(params![key, value])?;
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.statement(REMOVE)?.execute([key])?;
        Ok(())
    }

    fn commit(mut self) -> Result<()> {
        self.statement("COMMIT")?.execute([])?;
        self.is_open = false;
        Ok(())
    }
}
