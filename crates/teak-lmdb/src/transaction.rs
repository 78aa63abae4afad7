//! A transaction of a client.

use crate::{
    border::Stat,
    codes::{self, Code, Outcome},
    cursor::{Backup, Cursor},
    description,
    environment::{Environment, Opened, PAGE_SIZE},
    flags,
    handles::{FIRST_NAMED, Known, MAIN, Open, Tables},
    orders::{self, CompareFunction, Of},
    view::View,
    writer::{Writer, main_flags},
};
use std::{ffi::c_uint, ptr, sync::Arc};
use teak::{KeyOrder, ReadTxn, Savepoint, TableOptions, TableStat, WriteTxn, codec::Bytes};

/// `MDB_txn`: a read transaction, a write transaction, or one that is nested in another.
///
/// Invariants: `writer` belongs to the outermost transaction, which outlives those nested in it; `child` and `parent` point to each
/// other; each cursor in `cursors` is open, and says that it is of this transaction.
#[derive(Debug)]
pub struct Transaction {
    pub(crate) environment: *mut Environment,
    pub(crate) opened: Arc<Opened>,
    side: Side,
    /// Whether nothing can be done but to abort it.
    is_broken: bool,
    pub(crate) parent: *mut Self,
    pub(crate) child: *mut Self,
    /// The named databases that were open when it began, and those that it has opened itself.
    known: Known,
    inherited: Vec<(c_uint, Arc<Open>)>,
    own: Vec<(c_uint, Arc<Open>)>,
    /// Handles of databases that it has dropped.
    dropped: Vec<c_uint>,
    main: Option<Arc<Open>>,
    cursors: Vec<*const Cursor>,
    /// The cursors of the outer transaction, as they were when this one began.
    backups: Vec<(*const Cursor, Backup)>,
}

#[derive(Debug)]
enum Side {
    /// Absent while it is reset. The place is that of a reader.
    Reading {
        txn: Option<ReadTxn>,
        place: Option<usize>,
    },
    Writing {
        writer: *mut Writer,
        /// Of a nested transaction.
        savepoint: Option<Savepoint>,
    },
}

/// How a transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Commit,
    Abort,
}

/// The number by which the system knows this thread.
fn this_thread() -> usize {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

impl Transaction {
    fn new(environment: *mut Environment, opened: &Arc<Opened>, side: Side) -> Self {
        Self {
            environment,
            side,
            is_broken: false,
            parent: ptr::null_mut(),
            child: ptr::null_mut(),
            known: opened.handles().known(),
            inherited: Vec::new(),
            own: Vec::new(),
            dropped: Vec::new(),
            main: None,
            cursors: Vec::new(),
            backups: Vec::new(),
            opened: Arc::clone(opened),
        }
    }

    /// Begins to read.
    pub(crate) fn read(environment: *mut Environment, opened: &Arc<Opened>) -> Outcome<Self> {
        let side = Side::Reading {
            txn: None,
            place: None,
        };
        let mut txn = Self::new(environment, opened, side);
        match txn.renew() {
            Ok(()) => Ok(txn),
            Err(code) => {
                txn.give_place_back();
                Err(code)
            }
        }
    }

    /// Begins to write, when nobody else does.
    pub(crate) fn write(environment: *mut Environment, opened: &Arc<Opened>) -> Outcome<Self> {
        opened.refuse_read_only()?;
        let writer = Box::into_raw(Box::new(Writer::begin(opened)?));
        opened.count_writer(true);
        let savepoint = None;
        Ok(Self::new(
            environment,
            opened,
            Side::Writing { writer, savepoint },
        ))
    }

    /// Begins a transaction in `parent`, which has no other one.
    pub(crate) fn nested(parent: &mut Self) -> Outcome<Self> {
        if !parent.is_writing() {
            return Err(Code::INVALID_ARGUMENT);
        }
        parent.refuse_blocked()?;
        parent.change(|_| Ok(()))?;
        let writer = parent.writer()?;
        let savepoint = Some(writer.txn.savepoint()?);
        let side = Side::Writing { writer, savepoint };
        let mut nested = Self::new(parent.environment, &parent.opened, side);
        nested.known = Arc::clone(&parent.known);
        nested.inherited = parent
            .inherited
            .iter()
            .chain(&parent.own)
            .cloned()
            .collect();
        nested.main = parent.main.clone();
        nested.dropped.clone_from(&parent.dropped);
        nested.parent = parent;
        Ok(nested)
    }

    /// Takes over the cursors of the outer transaction, until this one ends.
    pub(crate) fn adopt_cursors(&mut self, parent: &mut Self) {
        for cursor in &parent.cursors {
            // SAFETY: cursors in the list are open.
            let open = unsafe { &**cursor };
            self.backups.push((*cursor, open.back_up()));
            open.set_transaction(self);
            self.cursors.push(*cursor);
        }
        parent.child = self;
    }

    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.side, Side::Writing { .. })
    }

    /// Whether it was reset.
    pub(crate) fn is_reset(&self) -> bool {
        matches!(self.side, Side::Reading { txn: None, .. })
    }

    /// Refuses a transaction that was reset, has failed, or has one nested in it.
    pub(crate) fn refuse_blocked(&self) -> Outcome {
        match self.is_reset() || self.is_broken || !self.child.is_null() {
            true => Err(Code(codes::BAD_TXN)),
            false => Ok(()),
        }
    }

    /// Refuses what only a writer can do.
    pub(crate) fn refuse_reader(&self) -> Outcome {
        match self.is_writing() {
            true => self.refuse_blocked(),
            false => Err(Code(libc::EACCES)),
        }
    }

    pub(crate) fn writer(&mut self) -> Outcome<&mut Writer> {
        match self.side {
            // SAFETY: the outermost transaction has it as long as this one lives, and one function of one transaction
            // uses it at a time.
            Side::Writing { writer, .. } => Ok(unsafe { &mut *writer }),
            Side::Reading { .. } => Err(Code(libc::EACCES)),
        }
    }

    /// What is to be read.
    pub(crate) fn view(&self) -> Outcome<View<'_>> {
        match &self.side {
            Side::Reading { txn, .. } => txn.as_ref().map(View::Read).ok_or(Code(codes::BAD_TXN)),
            // SAFETY: as in `writer`; the view borrows this transaction, so that nobody changes it meanwhile.
            Side::Writing { writer, .. } => Ok(View::Write(unsafe { &(**writer).txn })),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.view().map_or(0, View::id)
    }

    /// Changes something. Cursors keep their places as bytes; an error in the middle breaks the transaction.
    pub(crate) fn change<R>(
        &mut self,
        work: impl FnOnce(&mut WriteTxn) -> teak::Result<R>,
    ) -> Outcome<R> {
        self.store_reserved()?;
        self.writer()?.reserved = None;
        let changed = self.change_only(work)?;
        self.writer()?.is_changed = true;
        Ok(changed)
    }

    fn change_only<R>(
        &mut self,
        work: impl FnOnce(&mut WriteTxn) -> teak::Result<R>,
    ) -> Outcome<R> {
        self.freeze_cursors();
        // A panic leaves it so.
        self.is_broken = true;
        let done = work(&mut self.writer()?.txn).map_err(Code::from);
        self.is_broken = done.as_ref().is_err_and(|code| code.breaks_transaction());
        done
    }

    /// Gives the record of a reserved value what the client has written there meanwhile.
    pub(crate) fn store_reserved(&mut self) -> Outcome {
        if !self.is_writing() {
            return Ok(());
        }
        let writer = self.writer()?;
        let Some(reserved) = writer.reserved.take() else {
            return Ok(());
        };
        let stored = match reserved.is_news(&writer.txn) {
            Ok(true) => self.change_only(|txn| reserved.store(txn)),
            known => known.map(drop),
        };
        // The client may go on writing there.
        self.writer()?.reserved = Some(reserved);
        stored
    }

    /// Marks it as failed.
    pub(crate) fn set_broken(&mut self) {
        self.is_broken = true;
    }

    fn freeze_cursors(&self) {
        for cursor in &self.cursors {
            // SAFETY: cursors in the list are open.
            unsafe { &**cursor }.freeze();
        }
    }

    /// All cursors of a database are nowhere from now on.
    pub(crate) fn reset_cursors(&self, handle: c_uint) {
        for cursor in &self.cursors {
            // SAFETY: cursors in the list are open.
            unsafe { &**cursor }.reset_if_of(handle);
        }
    }

    pub(crate) fn register(&mut self, cursor: *const Cursor) {
        self.cursors.push(cursor);
    }

    /// Forgets a cursor, unless it is one that is given back to the outer transaction; says whether it did.
    pub(crate) fn unregister(&mut self, cursor: *const Cursor) -> bool {
        if self.backups.iter().any(|(kept, _)| *kept == cursor) {
            return false;
        }
        self.cursors.retain(|open| *open != cursor);
        true
    }

    /// The open database of a handle; `None` for a main database to which nothing was ever written.
    pub(crate) fn open(&mut self, handle: c_uint) -> Outcome<Option<Arc<Open>>> {
        if handle == MAIN && !self.is_reset() {
            return self.main();
        }
        self.named(handle).map(Some)
    }

    fn named(&self, handle: c_uint) -> Outcome<Arc<Open>> {
        let index = handle.checked_sub(FIRST_NAMED).map(|index| index as usize);
        let index = index.filter(|_| !self.is_reset() && !self.dropped.contains(&handle));
        let index = index.ok_or(Code::INVALID_ARGUMENT)?;
        let own = self.own.iter().rev().chain(self.inherited.iter().rev());
        let mut own = own.filter(|(other, _)| *other == handle);
        let known = || self.known.get(index).and_then(Option::as_ref);
        let open = own.next().map(|(_, open)| open).or_else(known);
        match open {
            Some(open) if open.is_closed() => Err(Code(codes::BAD_DBI)),
            Some(open) => Ok(Arc::clone(open)),
            None => Err(Code::INVALID_ARGUMENT),
        }
    }

    /// The main database, if it is there.
    fn main(&mut self) -> Outcome<Option<Arc<Open>>> {
        if self.main.is_none() {
            let seen = self.opened.main_seen();
            let view = self.view()?;
            let seen = seen.filter(|main| view.stat(&main.tables).is_ok());
            self.main = match seen {
                Some(main) => Some(main),
                None => view.open(&self.opened, b"", main_flags(view))?,
            };
            if let Some(main) = &self.main {
                self.opened.see_main(main);
            }
        }
        Ok(self.main.clone())
    }

    /// The flags of the main database, which need not be there yet.
    pub(crate) fn main_flags(&mut self) -> Outcome<c_uint> {
        match self.main()? {
            Some(main) => Ok(main.flags),
            None => Ok(main_flags(self.view()?).unwrap_or(0)),
        }
    }

    /// The main database, which is made if it is not there.
    pub(crate) fn make_main(&mut self) -> Outcome<Arc<Open>> {
        if let Some(main) = self.main()? {
            return Ok(main);
        }
        let flags = self.main_flags()?;
        self.create(b"", flags)?;
        self.main()?.ok_or(Code::NOT_FOUND)
    }

    /// Makes the table of a database.
    pub(crate) fn create(&mut self, name: &[u8], database_flags: c_uint) -> Outcome<Tables> {
        let options = description::options_of(database_flags);
        self.create_with(name, database_flags, options)
    }

    fn create_with(
        &mut self,
        name: &[u8],
        database_flags: c_uint,
        options: TableOptions,
    ) -> Outcome<Tables> {
        self.change(|txn| match database_flags & flags::DUPSORT {
            0 => (txn.create_table_with::<Bytes, Bytes>(name, options)).map(Tables::Plain),
            _ => (txn.create_multi_table_with::<Bytes, Bytes>(name, options)).map(Tables::Multi),
        })
    }

    /// Gives the main database flags, which must be empty then, if they are others than it has.
    pub(crate) fn add_main_flags(&mut self, added: c_uint) -> Outcome {
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

    /// Has a database be in an order of the client's. One that is not yet must be empty, and is made anew.
    pub(crate) fn set_order(
        &mut self,
        handle: c_uint,
        of: Of,
        function: Option<CompareFunction>,
    ) -> Outcome {
        let open = match self.open(handle)? {
            Some(open) => open,
            None if self.is_writing() => self.make_main()?,
            None => return Ok(()),
        };
        let name = open.name().to_vec();
        let found = self.view()?.find(&self.opened, &name)?;
        let (_, options) = found.ok_or(Code::NOT_FOUND)?;
        let orders = [Some(options.key_order()), options.order_of_values()];
        let is_custom = |of: Of| matches!(orders[of as usize], Some(KeyOrder::Custom(_)));
        let order_of = |of| orders::order_of(&self.opened, &name, of, open.flags);
        if is_custom(of) {
            let (given, _) = order_of(of)?;
            given.give(function);
            open.set_order(given);
            return Ok(());
        }
        if of == Of::Values && !open.is_multi() || function.is_none() {
            return Ok(());
        }
        self.refuse_reader()?;
        if self.view()?.stat(&open.tables)?.records != 0 {
            return Err(Code(codes::INCOMPATIBLE));
        }
        let (given, _) = order_of(of)?;
        let comparison = |each: Of| match is_custom(each) || each == of {
            true => order_of(each).map(|(_, comparison)| Some(comparison)),
            false => Ok(None),
        };
        let (keys, values) = (comparison(Of::Keys)?, comparison(Of::Values)?);
        let options = description::options_in(open.flags, keys, values);
        given.give(function);
        self.change(|txn| txn.drop_table(&name))?;
        self.create_with(&name, open.flags, options)?;
        open.set_order(given);
        self.reset_cursors(handle);
        Ok(())
    }

    /// The handle by which this transaction knows a named database.
    pub(crate) fn handle_of(&self, name: &[u8]) -> Option<c_uint> {
        let own = self.own.iter().chain(&self.inherited);
        let mut own = own.filter(|(_, open)| open.name() == name && !open.is_closed());
        if let Some((handle, _)) = own.next() {
            return Some(*handle);
        }
        let is_it = |open: &Option<Arc<Open>>| {
            open.as_ref()
                .is_some_and(|open| open.name() == name && !open.is_closed())
        };
        let index = self.known.iter().position(is_it)?;
        Some(FIRST_NAMED + index as c_uint)
    }

    /// Has a named database under a handle that was reserved.
    pub(crate) fn own(&mut self, handle: c_uint, open: Arc<Open>) {
        self.dropped.retain(|dropped| *dropped != handle);
        self.own.push((handle, open));
    }

    /// Closes a handle whose database it has dropped, for everybody.
    pub(crate) fn close_dropped(&mut self, handle: c_uint, open: &Open) {
        self.dropped.push(handle);
        self.reset_cursors(handle);
        open.close();
        self.opened.handles().close(handle);
    }

    /// Counts of a database.
    pub(crate) fn stat(&mut self, handle: c_uint) -> Outcome<Stat> {
        Ok(match self.open(handle)? {
            Some(open) => of_counts(&self.view()?.stat(&open.tables)?),
            None => Stat {
                page_size: PAGE_SIZE as c_uint,
                ..Stat::default()
            },
        })
    }

    /// Begins to read the newest state, after it was reset or at first.
    pub(crate) fn renew(&mut self) -> Outcome {
        let Side::Reading { txn: None, place } = &mut self.side else {
            return Err(Code::INVALID_ARGUMENT);
        };
        let is_of_thread = !self.opened.has(flags::NOTLS);
        let max = self.opened.max_readers as usize;
        let taken = match *place {
            Some(taken) => taken,
            None => *place.insert(
                self.opened
                    .places()
                    .take(this_thread(), max, is_of_thread)?,
            ),
        };
        let begun = self.opened.database.begin_read();
        let begun = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.give_place_back();
                return Err(error.into());
            }
        };
        self.opened.places().read(taken, View::Read(&begun).id());
        if let Side::Reading { txn, .. } = &mut self.side {
            *txn = Some(begun);
        }
        self.known = self.opened.handles().known();
        self.main = None;
        Ok(())
    }

    /// Ends reading, and keeps the handle; nothing, if it writes.
    pub(crate) fn reset(&mut self) {
        if self.is_writing() || self.is_reset() {
            return;
        }
        self.reset_all_cursors();
        self.end_handles(End::Abort);
        if let Side::Reading { txn, place } = &mut self.side {
            *txn = None;
            if let (Some(place), true) = (*place, self.opened.has(flags::NOTLS)) {
                self.opened.places().keep(place);
            }
        }
        if !self.opened.has(flags::NOTLS) {
            self.give_place_back();
        }
    }

    fn reset_all_cursors(&self) {
        for cursor in &self.cursors {
            // SAFETY: cursors in the list are open.
            unsafe { &**cursor }.reset();
        }
    }

    fn give_place_back(&mut self) {
        if let Side::Reading { place, .. } = &mut self.side
            && let Some(place) = place.take()
        {
            self.opened.places().give_back(place);
        }
    }

    /// What it has opened becomes everybody's, or nobody's.
    fn end_handles(&mut self, end: End) {
        let own = std::mem::take(&mut self.own);
        if own.is_empty() {
            return;
        }
        let mut handles = self.opened.handles();
        match end {
            End::Commit => handles.publish(&own),
            End::Abort => handles.forget(&own),
        }
    }

    /// Ends it, however that goes.
    pub(crate) fn end(&mut self, end: End) -> Outcome {
        match self.side {
            Side::Reading { .. } => {
                self.end_handles(end);
                self.leave_cursors();
                if let Side::Reading { txn, .. } = &mut self.side {
                    *txn = None;
                }
                self.give_place_back();
                Ok(())
            }
            Side::Writing { writer, .. } if self.parent.is_null() => self.end_writing(writer, end),
            Side::Writing { .. } => self.end_nested(end),
        }
    }

    fn end_writing(&mut self, writer: *mut Writer, end: End) -> Outcome {
        let settled = match end {
            End::Commit if self.is_broken => Err(Code(codes::BAD_TXN)),
            End::Commit => self.store_reserved(),
            End::Abort => Ok(()),
        };
        self.free_cursors();
        // SAFETY: it was made by `write`, and this transaction, which ends now, is the only one that has it still.
        let mut writer = unsafe { Box::from_raw(writer) };
        let done = settled.and_then(|()| match end {
            End::Commit if writer.is_changed => {
                writer.txn.set_durability(self.opened.durability());
                writer.txn.commit().map(drop).map_err(Code::from)
            }
            _ => Ok(()),
        });
        self.opened.count_writer(false);
        self.end_handles(match done {
            Ok(()) => end,
            Err(_) => End::Abort,
        });
        done
    }

    fn end_nested(&mut self, end: End) -> Outcome {
        let settled = match end {
            End::Commit if self.is_broken => Err(Code(codes::BAD_TXN)),
            End::Commit => self.change_nothing(),
            End::Abort => Ok(()),
        };
        let end = match settled {
            Ok(()) => end,
            Err(_) => End::Abort,
        };
        self.freeze_cursors();
        let savepoint = match &mut self.side {
            Side::Writing { savepoint, .. } => savepoint.take(),
            Side::Reading { .. } => None,
        };
        let writer = self.writer()?;
        if end == End::Abort {
            writer.reserved = None;
        }
        writer.forget_names();
        let done = savepoint.map_or(Ok(()), |savepoint| {
            if end == End::Abort {
                writer.txn.rollback_to(&savepoint)?;
            }
            writer.txn.release(savepoint)
        });
        self.give_cursors_back(end);
        // SAFETY: the outer transaction lives as long as this one, and its function is not running.
        let parent = unsafe { &mut *self.parent };
        parent.child = ptr::null_mut();
        match end {
            End::Commit => {
                parent.own.append(&mut self.own);
                parent.main = self.main.take();
                parent.dropped = std::mem::take(&mut self.dropped);
            }
            End::Abort => self.end_handles(End::Abort),
        }
        // LMDB's parent has failed then too.
        parent.is_broken |= settled.is_err() || done.is_err();
        settled?;
        Ok(done?)
    }

    fn change_nothing(&mut self) -> Outcome {
        self.store_reserved()?;
        self.writer()?.reserved = None;
        Ok(())
    }

    /// The cursors of the outer transaction go back to it; those of this one end.
    fn give_cursors_back(&mut self, end: End) {
        for (cursor, backup) in std::mem::take(&mut self.backups) {
            self.cursors.retain(|open| *open != cursor);
            // SAFETY: cursors in the list are open.
            let cursor = unsafe { &*cursor };
            cursor.set_transaction(self.parent);
            if end == End::Abort {
                cursor.restore(backup);
            }
        }
        self.free_cursors();
    }

    fn free_cursors(&mut self) {
        for cursor in std::mem::take(&mut self.cursors) {
            // SAFETY: cursors in the list are open, and their handles end with a write transaction.
            drop(unsafe { Box::from_raw(cursor.cast_mut()) });
        }
    }

    /// The cursors of a read transaction are the client's, and of no transaction from now on.
    fn leave_cursors(&mut self) {
        for cursor in std::mem::take(&mut self.cursors) {
            // SAFETY: cursors in the list are open.
            let cursor = unsafe { &*cursor };
            cursor.reset();
            cursor.set_transaction(ptr::null_mut());
        }
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
pub(crate) fn stat_of_main(opened: &Arc<Opened>) -> Outcome<Stat> {
    let txn = opened.database.begin_read()?;
    let view = View::Read(&txn);
    Ok(match view.find(opened, b"")? {
        Some((tables, _)) => of_counts(&view.stat(&tables)?),
        None => Stat {
            page_size: PAGE_SIZE as c_uint,
            ..Stat::default()
        },
    })
}
