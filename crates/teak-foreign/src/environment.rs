//! A foreign file: its state, its tables, and passes over their records.

use crate::{
    Engine, Error, Records, Result, Source,
    format::{Format, TREE_LEN},
    meta::{self, ChosenState},
    pages::Pages,
    records::NamedDatabase,
    table::Table,
};

/// A file of LMDB or libmdbx, in the state that was current when it was opened.
#[derive(Debug)]
pub struct Environment<S> {
    pub(crate) source: S,
    pub(crate) state: ChosenState,
    boot: Option<u128>,
}

impl<S: Source> Environment<S> {
    /// Recognises a file, and chooses the state that its engine would choose. `boot` is the id of
    /// the current boot ([`this_boot`](crate::this_boot)). Without it only flushed states of a
    /// libmdbx file count.
    ///
    /// # Errors
    ///
    /// [`Error::NotRecognised`]; [`Error::Unsupported`] for files of 32-bit programs, of machines
    /// with the other byte order, encrypted ones, and unknown versions; [`Error::Damaged`] if there
    /// is no valid state; [`Error::Io`].
    pub fn open(source: S, boot: Option<u128>) -> Result<Self> {
        let state = meta::find(&source, boot)?;
        Ok(Self {
            source,
            state,
            boot,
        })
    }

    /// The engine that made the file.
    pub fn engine(&self) -> Engine {
        match self.state.format {
            Format::Lmdb09 | Format::Lmdb10 => Engine::Lmdb,
            Format::Mdbx => Engine::Mdbx,
        }
    }

    /// The name of the format.
    pub fn format_name(&self) -> &'static str {
        self.state.format.name()
    }

    /// The transaction whose state is read.
    pub fn transaction(&self) -> u64 {
        self.state.transaction
    }

    /// The size of pages, in bytes.
    pub fn page_size(&self) -> usize {
        self.state.page_size
    }

    /// Notes for the user about the choice of the state.
    pub fn notes(&self) -> &[String] {
        &self.state.notes
    }

    /// The three numbers of the application that libmdbx calls a canary, if they were set.
    pub fn marks(&self) -> Option<[u64; 3]> {
        self.state.marks
    }

    /// All tables: the main one, followed by the named ones in its order.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::CutShort`], [`Error::Io`].
    pub fn tables(&self) -> Result<Vec<Table>> {
        let mut main = Table::new(None, 0, self.state.main)?;
        let mut named = Vec::new();
        {
            let mut pass = self.pass();
            let mut records = pass.records(&main)?;
            records.for_each_named(|NamedDatabase { name, page, tree }| {
                let tree = (tree.len() == TREE_LEN)
                    .then(|| self.state.format.tree(tree))
                    .flatten()
                    .ok_or_else(|| Error::damaged(page, "a description of a table is too short"))?;
                let name = match self.state.format {
                    // Its names end with a zero.
                    Format::Lmdb10 => name.strip_suffix(&[0]).unwrap_or(name),
                    Format::Lmdb09 | Format::Mdbx => name,
                };
                named.push(Table::new(Some(name.to_vec()), page, tree)?);
                Ok(())
            })?;
        }
        main.records = (main.records)
            .checked_sub(named.len() as u64)
            .ok_or_else(|| Error::damaged(0, "the main table has more records than it says"))?;
        let mut tables = vec![main];
        tables.append(&mut named);
        Ok(tables)
    }

    /// Begins a pass over tables, in which no page is read twice.
    pub fn pass(&self) -> TableScan<'_, S> {
        TableScan {
            pages: Pages::new(&self.source, &self.state),
        }
    }

    /// Fails if there was a commit to the file since it was opened. Otherwise no page that was read
    /// has changed.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`], [`Error::NotRecognised`], [`Error::Unsupported`], [`Error::Damaged`],
    /// [`Error::Io`].
    pub fn refuse_changed(&self) -> Result<()> {
        let now = meta::find(&self.source, self.boot)?;
        match now.newest == self.state.newest {
            true => Ok(()),
            false => Err(Error::Changed {
                was: self.state.newest,
                is: now.newest,
            }),
        }
    }
}

/// A pass over the tables of a file. It reads each table once; reading one again takes another
/// pass.
#[derive(Debug)]
pub struct TableScan<'e, S> {
    pages: Pages<'e, S>,
}

impl<'e, S: Source> TableScan<'e, S> {
    /// The records of a table, in the order of the file.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the description of the table is impossible.
    pub fn records<'p>(&'p mut self, table: &Table) -> Result<Records<'p, 'e, S>> {
        Records::new(&mut self.pages, table)
    }

    /// The number of pages read so far, and of pages that may be in use.
    pub fn progress(&self) -> (u64, u64) {
        self.pages.progress()
    }
}
