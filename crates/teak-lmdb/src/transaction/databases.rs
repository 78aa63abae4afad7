//! The databases that a transaction knows, creates and changes.

use super::Transaction;
use crate::{
    border::Stat,
    codes::{self, CallResult, Code},
    compare::ComparisonScope,
    description,
    environment::OpenEnvironment,
    flags,
    handles::{FIRST_NAMED, MAIN, OpenDatabase, TableHandle},
    limits::PAGE_SIZE,
    orders::{self, CompareFunction},
    read_view::ReadView,
    writer::main_flags,
};
use std::{ffi::c_uint, sync::Arc};
use teak::{
    DetachedCursor, KeyOrder, MultiTableDef, TableDef, TableOptions, TableStat, ValueSize,
    codec::Raw,
};

impl Transaction {
    /// The open database of a handle. `None` for a main database to which nothing was ever written.
    pub(crate) fn open(&mut self, handle: c_uint) -> CallResult<Option<Arc<OpenDatabase>>> {
        self.prepare(handle)?;
        self.prepared(handle)
            .map(Option::<&Arc<OpenDatabase>>::cloned)
    }

    /// Finds the main database for [`Self::prepared`], if `handle` is its handle.
    pub(crate) fn prepare(&mut self, handle: c_uint) -> CallResult {
        match handle == MAIN && self.main.is_none() && !self.is_reset() {
            true => self.find_main(),
            false => Ok(()),
        }
    }

    /// Like [`Self::open`], but only after [`Self::prepare`].
    pub(crate) fn prepared(&self, handle: c_uint) -> CallResult<Option<&Arc<OpenDatabase>>> {
        if handle == MAIN && !self.is_reset() {
            return Ok(self.main.as_ref());
        }
        self.named(handle).map(Some)
    }

    fn named(&self, handle: c_uint) -> CallResult<&Arc<OpenDatabase>> {
        let index = handle.checked_sub(FIRST_NAMED).map(|index| index as usize);
        let index = index.filter(|_| !self.is_reset() && !self.dropped.contains(&handle));
        let index = index.ok_or(Code::INVALID_ARGUMENT)?;
        let own = self.own.iter().rev().chain(self.inherited.iter().rev());
        let mut own = own.filter(|(other, _)| *other == handle);
        let known = || self.remembered.known.get(index)?.as_ref();
        let open = own.next().map(|(_, open)| open).or_else(known);
        match open {
            Some(open) if open.is_closed() => Err(Code(codes::BAD_DBI)),
            Some(open) => Ok(open),
            None => Err(Code::INVALID_ARGUMENT),
        }
    }

    /// Finds the main database.
    #[inline]
    fn find_main(&mut self) -> CallResult {
        let seen = self.remembered.main.take();
        let view = self.view()?;
        let seen = seen.filter(|main| view.has(&main.tables));
        if seen.is_some() {
            self.main = seen;
            return Ok(());
        }
        self.main = view.open(&self.opened.database, b"", main_flags(view))?;
        // Other transactions see a database of a write transaction after the commit.
        if let (Some(main), false) = (&self.main, self.is_writing()) {
            self.opened.see_main(main);
        }
        Ok(())
    }

    /// The main database, if it exists.
    fn main(&mut self) -> CallResult<Option<Arc<OpenDatabase>>> {
        if self.main.is_none() {
            self.find_main()?;
        }
        Ok(self.main.clone())
    }

    /// The flags of the main database, which need not exist yet.
    pub(crate) fn main_flags(&mut self) -> CallResult<c_uint> {
        match self.main()? {
            Some(main) => Ok(main.flags),
            None => Ok(main_flags(self.view()?).unwrap_or(0)),
        }
    }

    /// The main database. Creates it if it does not exist.
    pub(crate) fn make_main(&mut self) -> CallResult<Arc<OpenDatabase>> {
        if let Some(main) = self.main()? {
            return Ok(main);
        }
        let flags = self.main_flags()?;
        self.create(b"", flags)?;
        self.main()?.ok_or(Code::NOT_FOUND)
    }

    /// Creates the table of a database.
    pub(crate) fn create(
        &mut self,
        name: &[u8],
        database_flags: c_uint,
    ) -> CallResult<TableHandle> {
        let options = description::options_of(database_flags);
        self.create_with(name, database_flags, options)
    }

    fn create_with(
        &mut self,
        name: &[u8],
        database_flags: c_uint,
        options: TableOptions,
    ) -> CallResult<TableHandle> {
        self.change(|txn| match database_flags & flags::DUPSORT {
            0 => (TableDef::<Raw, Raw>::from_bytes(name)
                .options(options)
                .create(txn))
            .map(TableHandle::Plain),
            _ => (MultiTableDef::<Raw, Raw>::from_bytes(name)
                .options(options)
                .create(txn))
            .map(TableHandle::Multi),
        })
    }

    /// Adds flags to the main database. If it does not have them, it must be empty.
    pub(crate) fn add_main_flags(&mut self, added: c_uint) -> CallResult {
        let flags = self.main_flags()?;
        if flags | added == flags || !self.is_writing() {
            return Ok(());
        }
        if let Some(main) = self.main()? {
            if self.view()?.stat(&main.tables)?.records != 0 {
                return Err(Code(codes::INCOMPATIBLE));
            }
            self.change(|txn| txn.drop_table(b""))?;
        }
        self.main = None;
        self.reset_cursors(MAIN);
        self.change(|_| Ok(()))?;
        let noted = self.writer()?.set_main_flags(flags | added);
        Ok(noted?)
    }

    /// Orders a database by the client's function. A database in another order must be empty, and
    /// is recreated.
    pub(crate) fn set_order(
        &mut self,
        handle: c_uint,
        of: ComparisonScope,
        function: Option<CompareFunction>,
    ) -> CallResult {
        let open = match self.open(handle)? {
            Some(open) => open,
            None if self.is_writing() => self.make_main()?,
            None => return Ok(()),
        };
        let name = open.name().to_vec();
        let found = self.view()?.find(&self.opened.database, &name)?;
        let (_, options) = found.ok_or(Code::NOT_FOUND)?;
        let orders = [Some(options.order), options.value_order];
        let is_custom =
            |of: ComparisonScope| matches!(orders[of as usize], Some(KeyOrder::Custom(_)));
        let order_of = |of| orders::order_of(&self.opened.database, &name, of, open.flags);
        if is_custom(of) {
            let (given, _) = order_of(of)?;
            given.give(function);
            open.set_order(given);
            return Ok(());
        }
        if of == ComparisonScope::Values && !open.is_multi() || function.is_none() {
            return Ok(());
        }
        self.refuse_reader()?;
        if self.view()?.stat(&open.tables)?.records != 0 {
            return Err(Code(codes::INCOMPATIBLE));
        }
        let (given, _) = order_of(of)?;
        let comparison = |each: ComparisonScope| match is_custom(each) || each == of {
            true => order_of(each).map(|(_, comparison)| Some(comparison)),
            false => Ok(None),
        };
        let (keys, values) = (
            comparison(ComparisonScope::Keys)?,
            comparison(ComparisonScope::Values)?,
        );
        let options = description::options_in(open.flags, keys, values);
        given.give(function);
        self.change(|txn| txn.drop_table(&name))?;
        self.create_with(&name, open.flags, options)?;
        open.set_order(given);
        self.reset_cursors(handle);
        Ok(())
    }

    /// Recreates the table so that values can have any size, as LMDB allows although the flags say
    /// otherwise.
    pub(crate) fn free_sizes(&mut self, open: &OpenDatabase) -> CallResult {
        /// Clients cannot use this name: theirs are C strings.
        const COPY: &[u8] = b"\0copy";
        let TableHandle::Multi(old) = &open.tables else {
            return Err(Code(codes::INCOMPATIBLE));
        };
        let name = open.name().to_vec();
        let found = self.view()?.find(&self.opened.database, &name)?;
        let (_, options) = found.ok_or(Code::NOT_FOUND)?;
        let mut options = options.value_size(ValueSize::Any);
        if options.value_order == Some(KeyOrder::Integer) {
            let (given, order) = orders::order_of(
                &self.opened.database,
                &name,
                ComparisonScope::Values,
                open.flags,
            )?;
            options = options.value_order(KeyOrder::Custom(order));
            open.set_order(given);
        }
        self.change(|txn| {
            let new = MultiTableDef::<Raw, Raw>::from_bytes(COPY)
                .options(options)
                .create(txn)?;
            let mut cursor = DetachedCursor::new(old);
            let mut pairs = Vec::new();
            let mut has_more = true;
            while has_more {
                let take = |key: &[u8], value: &[u8]| pairs.push((key.to_vec(), value.to_vec()));
                has_more = cursor.read_batch(txn, 1000, take)?;
                for (key, value) in pairs.drain(..) {
                    new.insert(txn, &key, &value)?;
                }
            }
            txn.drop_table(&name)?;
            txn.rename_table(COPY, &name)
        })
    }

    /// The handle of a named database, if this transaction knows it.
    pub(crate) fn handle_of(&self, name: &[u8]) -> Option<c_uint> {
        let own = self.own.iter().chain(&self.inherited);
        let mut own = own.filter(|(_, open)| open.name() == name && !open.is_closed());
        if let Some((handle, _)) = own.next() {
            return Some(*handle);
        }
        let is_it = |open: &Option<Arc<OpenDatabase>>| {
            open.as_ref()
                .is_some_and(|open| open.name() == name && !open.is_closed())
        };
        let index = self.remembered.known.iter().position(is_it)?;
        Some(FIRST_NAMED + index as c_uint)
    }

    /// Adds a named database under a reserved handle.
    pub(crate) fn own(&mut self, handle: c_uint, open: Arc<OpenDatabase>) {
        self.dropped.retain(|dropped| *dropped != handle);
        self.opened.handles().note(handle, &open);
        self.own.push((handle, open));
    }

    /// Closes the handle of a dropped database, for all transactions.
    pub(crate) fn close_dropped(&mut self, handle: c_uint, open: &OpenDatabase) {
        self.dropped.push(handle);
        self.reset_cursors(handle);
        open.close();
        self.opened.handles().close(handle);
        self.opened.count_generation();
    }

    /// Counts of a database.
    pub(crate) fn stat(&mut self, handle: c_uint) -> CallResult<Stat> {
        Ok(match self.open(handle)? {
            Some(open) => of_counts(&self.view()?.stat(&open.tables)?),
            None => Stat {
                page_size: PAGE_SIZE as c_uint,
                ..Stat::default()
            },
        })
    }
}

fn of_counts(stat: &TableStat) -> Stat {
    Stat {
        page_size: PAGE_SIZE as c_uint,
        depth: stat.depth.into(),
        branch_pages: stat.inner_pages as usize,
        leaf_pages: stat.leaf_pages as usize,
        overflow_pages: stat.value_pages as usize,
        entries: stat.records as usize,
    }
}

/// Counts of the main database, as of the last commit.
pub(crate) fn stat_of_main(opened: &Arc<OpenEnvironment>) -> CallResult<Stat> {
    let txn = opened.database.begin_read()?;
    let view = ReadView::Read(&txn);
    Ok(match view.find(&opened.database, b"")? {
        Some((tables, _)) => of_counts(&view.stat(&tables)?),
        None => Stat {
            page_size: PAGE_SIZE as c_uint,
            ..Stat::default()
        },
    })
}
