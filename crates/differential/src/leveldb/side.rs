//! One of the two libraries, with its database and all open objects.

#![allow(unsafe_code)]

use super::{
    batch::LibraryBatch,
    comparator::Comparator,
    functions::{ErrorText, LevelDbFunctions, Object, start},
    iterator::LibraryIterator,
    setup::{LevelDbSetup, LibraryOptions},
    step::{BATCH_COUNT, ITERATOR_COUNT, Refusal, Reply, SNAPSHOT_COUNT, ShownBytes, Step, View},
};
use anyhow::{Result, anyhow};
use std::{
    cmp::Ordering,
    ffi::CString,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    ptr::{null, null_mut},
};

/// No estimate of this many bytes can be true.
const ESTIMATE_MAX: u64 = 1 << 32;

/// A library with an open database.
pub(crate) struct LevelDbSide {
    functions: &'static LevelDbFunctions,
    setup: LevelDbSetup,
    is_teak: bool,
    path: PathBuf,
    options: LibraryOptions,
    write_options: [Object; 2],
    /// Null only while it is opened again.
    database: Object,
    snapshots: [Option<Object>; SNAPSHOT_COUNT],
    iterators: [Option<LibraryIterator>; ITERATOR_COUNT],
    batches: [LibraryBatch; BATCH_COUNT],
}

impl LevelDbSide {
    /// Creates a database at `path`. `is_teak` tells the library over Teak from LevelDB.
    pub(crate) fn create(
        functions: &'static LevelDbFunctions,
        is_teak: bool,
        path: &Path,
        setup: LevelDbSetup,
    ) -> Result<Self> {
        // SAFETY: the objects are freed on drop.
        let write_options = [0, 1].map(|is_synced| unsafe {
            let options = (functions.writeoptions_create)();
            (functions.writeoptions_set_sync)(options, is_synced);
            options
        });
        let mut side = Self {
            functions,
            setup,
            is_teak,
            path: path.to_owned(),
            options: LibraryOptions::new(functions, &setup),
            write_options,
            database: null_mut(),
            snapshots: [None; SNAPSHOT_COUNT],
            iterators: Default::default(),
            batches: std::array::from_fn(|_| LibraryBatch::new(functions)),
        };
        match side.open_again() {
            Reply::Done => Ok(side),
            other => Err(anyhow!("no database was created: {other:?}")),
        }
    }

    /// Performs a step. The runner asks only for possible ones.
    pub(crate) fn perform(&mut self, step: &Step) -> Reply {
        match step {
            Step::Put {
                key,
                value,
                is_synced,
            } => self.put(&key.0, &value.0, *is_synced),
            Step::Delete { key, is_synced } => self.delete(&key.0, *is_synced),
            Step::Fill { batch, entries } => done(|| self.batches[*batch].fill(entries)),
            Step::Clear(batch) => done(|| self.batches[*batch].clear()),
            Step::Append { to, from } => done(|| self.batches[*to].append(&self.batches[*from])),
            Step::Iterate(batch) => Reply::Entries(self.batches[*batch].entries()),
            Step::Write { batch, is_synced } => self.write(*batch, *is_synced),
            Step::Get { view, key } => self.get(*view, &key.0),
            Step::TakeSnapshot(slot) => {
                // SAFETY: the database is open.
                let snapshot = unsafe { (self.functions.create_snapshot)(self.database) };
                self.snapshots[*slot] = Some(snapshot);
                Reply::Done
            }
            Step::ReleaseSnapshot(slot) => self.release_snapshot(*slot),
            Step::OpenIterator { slot, view } => {
                let iterator = self.iterator(*view);
                self.iterators[*slot].insert(iterator).position()
            }
            Step::CloseIterator(slot) => done(|| self.iterators[*slot] = None),
            Step::Move { slot, to } => match &self.iterators[*slot] {
                Some(iterator) => {
                    iterator.move_to(to);
                    iterator.position()
                }
                None => Reply::Failed("there is no iterator".to_owned()),
            },
            Step::CompareAll(view) => self.iterator(*view).all(),
            Step::Compact { start, limit } => self.compact(start.as_ref(), limit.as_ref()),
            Step::Property(name) => self.property(name),
            Step::Sizes(start, limit) => self.sizes(start, limit),
            Step::Reopen => {
                self.close();
                self.open_again()
            }
            Step::Refused(refusal) => self.refused(*refusal),
            Step::Destroy { has_other_file } => self.destroy(*has_other_file),
            Step::Repair if self.is_teak => self.repair(),
            // LevelDB's repair brings deleted records back.
            Step::Repair => {
                self.close();
                self.open_again()
            }
        }
    }

    /// Calls a function with the address of an error.
    fn call<R>(&self, call: impl FnOnce(ErrorText) -> R) -> std::result::Result<R, String> {
        let path = self.path.to_string_lossy();
        let called = self.functions.call(call);
        called.map_err(|text| text.replace(&*path, "DIR"))
    }

    fn reply(&self, call: impl FnOnce(ErrorText)) -> Reply {
        self.call(call).map_or_else(Reply::Failed, |()| Reply::Done)
    }

    fn put(&self, key: &[u8], value: &[u8], is_synced: bool) -> Reply {
        let options = self.write_options[usize::from(is_synced)];
        // SAFETY: the database is open, and the lengths are those of the bytes.
        self.reply(|error| unsafe {
            let (key_start, value_start) = (start(key), start(value));
            (self.functions.put)(
                self.database,
                options,
                key_start,
                key.len(),
                value_start,
                value.len(),
                error,
            );
        })
    }

    fn delete(&self, key: &[u8], is_synced: bool) -> Reply {
        let options = self.write_options[usize::from(is_synced)];
        // SAFETY: the database is open, and the length is that of the key.
        self.reply(|error| unsafe {
            (self.functions.delete)(self.database, options, start(key), key.len(), error);
        })
    }

    fn write(&self, batch: usize, is_synced: bool) -> Reply {
        let options = self.write_options[usize::from(is_synced)];
        let batch = self.batches[batch].object;
        // SAFETY: the database is open, and the batch is of this library.
        self.reply(|error| unsafe {
            (self.functions.write)(self.database, options, batch, error);
        })
    }

    /// Calls a function with options of reading.
    fn with_view<R>(&self, view: View, call: impl FnOnce(Object) -> R) -> R {
        let functions = self.functions;
        let snapshot = view.and_then(|slot| self.snapshots[slot]);
        // SAFETY: the snapshot is held, and the options are not used after the call.
        unsafe {
            let options = (functions.readoptions_create)();
            (functions.readoptions_set_verify_checksums)(options, 1);
            (functions.readoptions_set_snapshot)(options, snapshot.unwrap_or(null_mut()));
            let returned = call(options);
            (functions.readoptions_destroy)(options);
            returned
        }
    }

    fn get(&self, view: View, key: &[u8]) -> Reply {
        let mut len = usize::MAX;
        let found = self.with_view(view, |options| {
            // SAFETY: the database is open, and the length is that of the key.
            self.call(|error| unsafe {
                let (start, key_len) = (start(key), key.len());
                (self.functions.get)(self.database, options, start, key_len, &raw mut len, error)
            })
        });
        match found {
            Err(error) => Reply::Failed(error),
            Ok(value) if value.is_null() && len != 0 => {
                Reply::Failed("no value has a length".to_owned())
            }
            Ok(value) => Reply::Value(self.functions.take(value, Some(len)).map(ShownBytes)),
        }
    }

    fn release_snapshot(&mut self, slot: usize) -> Reply {
        if let Some(snapshot) = self.snapshots[slot].take() {
            // SAFETY: the database is open, and the snapshot is not used any more.
            unsafe { (self.functions.release_snapshot)(self.database, snapshot) };
        }
        Reply::Done
    }

    fn iterator(&self, view: View) -> LibraryIterator {
        self.with_view(view, |options| {
            // SAFETY: the database is open, and `close` drops all iterators before.
            unsafe {
                let iterator = (self.functions.create_iterator)(self.database, options);
                LibraryIterator::new(self.functions, iterator)
            }
        })
    }

    fn compact(&self, from: Option<&ShownBytes>, to: Option<&ShownBytes>) -> Reply {
        let bound = |key: Option<&ShownBytes>| {
            key.map_or((null(), 0), |ShownBytes(key)| (start(key), key.len()))
        };
        let ((from, from_len), (to, to_len)) = (bound(from), bound(to));
        // SAFETY: the database is open, and the lengths are those of the keys.
        unsafe { (self.functions.compact_range)(self.database, from, from_len, to, to_len) };
        Reply::Done
    }

    fn property(&self, name: &str) -> Reply {
        let Ok(name) = CString::new(name) else {
            return Reply::Property(None);
        };
        // SAFETY: the database is open, and the name is a string.
        let value = unsafe { (self.functions.property_value)(self.database, name.as_ptr()) };
        let value = self.functions.take(value, None);
        Reply::Property(value.map(|value| form(&String::from_utf8_lossy(&value))))
    }

    fn sizes(&self, from: &ShownBytes, to: &ShownBytes) -> Reply {
        let (starts, limits) = ([start(&from.0)], [start(&to.0)]);
        let (start_lens, limit_lens) = ([from.0.len()], [to.0.len()]);
        let mut sizes = [u64::MAX];
        // SAFETY: the database is open, and there is one range.
        unsafe {
            (self.functions.approximate_sizes)(
                self.database,
                1,
                starts.as_ptr(),
                start_lens.as_ptr(),
                limits.as_ptr(),
                limit_lens.as_ptr(),
                sizes.as_mut_ptr(),
            );
        }
        let is_empty = self.setup.comparator.compare(&from.0, &to.0) != Ordering::Less;
        Reply::Plausible(sizes[0] < ESTIMATE_MAX && (!is_empty || sizes[0] == 0))
    }

    /// Closes the database with all that is open.
    fn close(&mut self) {
        self.iterators = Default::default();
        for slot in 0..SNAPSHOT_COUNT {
            self.release_snapshot(slot);
        }
        if !self.database.is_null() {
            // SAFETY: nothing of it is used any more.
            unsafe { (self.functions.close)(self.database) };
            self.database = null_mut();
        }
    }

    fn open_again(&mut self) -> Reply {
        let path = self.path.clone();
        match self.open(&self.options, &path) {
            Ok(database) => {
                self.database = database;
                Reply::Done
            }
            Err(error) => Reply::Failed(error),
        }
    }

    fn open(&self, options: &LibraryOptions, path: &Path) -> std::result::Result<Object, String> {
        let path = text(path);
        // SAFETY: the options live, and the path is a string.
        self.call(|error| unsafe { (self.functions.open)(options.options, path.as_ptr(), error) })
    }

    /// An opening that fails. Closes and opens the database if necessary.
    fn refused(&mut self, refusal: Refusal) -> Reply {
        let mut setup = self.setup;
        let sibling = |name: &str| {
            let mut path = self.path.clone().into_os_string();
            path.push(name);
            PathBuf::from(path)
        };
        let mut path = self.path.clone();
        match refusal {
            Refusal::Exists | Refusal::Locked | Refusal::OtherComparator => {}
            Refusal::Missing => path = sibling("-missing"),
            Refusal::NoParent => path = sibling("-none/below/database"),
            Refusal::NoDirectory => {
                path = sibling("-file");
                if let Err(error) = fs::write(&path, "no directory") {
                    return Reply::Failed(error.to_string());
                }
            }
            Refusal::DestroyOpen => {
                let path = text(&path);
                // SAFETY: the options live, and the path is a string.
                return self.reply(|error| unsafe {
                    (self.functions.destroy_db)(self.options.options, path.as_ptr(), error);
                });
            }
        }
        if matches!(refusal, Refusal::Exists | Refusal::OtherComparator) {
            self.close();
        }
        if refusal == Refusal::OtherComparator {
            setup.comparator = match setup.comparator {
                Comparator::Bytewise => Comparator::Backward,
                _ => Comparator::Bytewise,
            };
        }
        let options = LibraryOptions::new(self.functions, &setup);
        // SAFETY: the options live.
        unsafe {
            (self.functions.options_set_error_if_exists)(
                options.options,
                u8::from(refusal == Refusal::Exists),
            );
            (self.functions.options_set_create_if_missing)(
                options.options,
                u8::from(refusal != Refusal::Missing),
            );
        }
        match self.open(&options, &path) {
            Ok(database) => {
                // SAFETY: it was opened just now.
                unsafe { (self.functions.close)(database) };
                Reply::Failed("opened".to_owned())
            }
            Err(error) if self.database.is_null() => match self.open_again() {
                Reply::Done => Reply::Failed(error),
                failed => failed,
            },
            Err(error) => Reply::Failed(error),
        }
    }

    fn repair(&mut self) -> Reply {
        self.close();
        let path = text(&self.path);
        let repaired = self.reply(|error| {
            // SAFETY: the options live, and the path is a string.
            unsafe { (self.functions.repair_db)(self.options.options, path.as_ptr(), error) }
        });
        match repaired {
            Reply::Done => self.open_again(),
            failed => failed,
        }
    }

    fn destroy(&mut self, has_other_file: bool) -> Reply {
        self.close();
        let other = self.path.join("other");
        if has_other_file && let Err(error) = fs::write(&other, "stays") {
            return Reply::Failed(error.to_string());
        }
        let path = text(&self.path);
        let destroyed = self.reply(|error| {
            // SAFETY: the options live, and the path is a string.
            unsafe { (self.functions.destroy_db)(self.options.options, path.as_ptr(), error) }
        });
        let is_left = self.path.exists();
        if destroyed == Reply::Done && has_other_file && fs::remove_file(&other).is_err() {
            return Reply::Failed("a file of others is gone".to_owned());
        }
        match (destroyed, self.open_again()) {
            (Reply::Done, Reply::Done) => Reply::Left(is_left),
            (Reply::Done, failed) | (failed, _) => failed,
        }
    }
}

impl Drop for LevelDbSide {
    fn drop(&mut self) {
        self.close();
        // SAFETY: nothing uses them any more.
        unsafe {
            for options in self.write_options {
                (self.functions.writeoptions_destroy)(options);
            }
        }
    }
}

fn done(work: impl FnOnce()) -> Reply {
    work();
    Reply::Done
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// The part of a property's value that is equal in both libraries: a number is only a number, and
/// of tables only the lines above rows of numbers.
fn form(value: &str) -> String {
    if value.parse::<u64>().is_ok() {
        return "a number".to_owned();
    }
    let is_row = |line: &&str| {
        let words = line.split([' ', ':', '[']).filter(|word| !word.is_empty());
        words.clone().count() > 1 && words.take(2).all(|word| word.parse::<f64>().is_ok())
    };
    let lines = value.lines().filter(|line| !is_row(line));
    lines.fold(String::new(), |form, line| form + line + "\n")
}
