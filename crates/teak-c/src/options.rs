//! What databases and tables are opened and created with.

use crate::{
    border::{Grows, array, path, teak_slice},
    cause::Failure,
    events::{teak_event_function, teak_slow_reader_function},
};
use std::{
    cmp::Ordering,
    ffi::{CStr, c_char, c_int, c_void},
    sync::{Mutex, PoisonError},
    time::Duration,
};
use teak::{
    Comparison, Durability, Geometry, KeyOrder, Options, ReadAhead, TableOptions, ValueSize,
    Verification,
};

/// Whether a database is created.
#[repr(C)]
pub enum teak_create {
    /// If there is none yet.
    TEAK_CREATE_IF_MISSING = 0,
    /// It must be there.
    TEAK_CREATE_NEVER = 1,
    /// There must be none.
    TEAK_CREATE_NEW = 2,
}

/// What a database is opened for.
#[repr(C)]
pub enum teak_access {
    /// Reading and writing.
    TEAK_ACCESS_WRITE = 0,
    /// Reading alone.
    TEAK_ACCESS_READ = 1,
}

/// Who may have a database open at the same time.
#[repr(C)]
pub enum teak_sharing {
    /// Other processes too.
    TEAK_SHARING_PROCESSES = 0,
    /// This one alone.
    TEAK_SHARING_ALONE = 1,
    /// Other processes too, and this one reads without a lock file, also while others write, who do not know of it: with TEAK_ACCESS_READ alone.
    TEAK_SHARING_UNLOCKED = 2,
}

/// Whether a database may be on a network file system.
#[repr(C)]
pub enum teak_network {
    /// That is an error.
    TEAK_NETWORK_REFUSE = 0,
    /// One machine alone uses it.
    TEAK_NETWORK_ALLOW = 1,
}

/// What becomes of parts of the file that cannot be read.
#[repr(C)]
pub enum teak_faults {
    /// They are errors: a handler for SIGBUS is installed, which gives on what does not concern it.
    TEAK_FAULTS_HANDLE = 0,
    /// No handler is installed, and the process gets SIGBUS.
    TEAK_FAULTS_LEAVE = 1,
}

/// When a commit is on the disk.
#[repr(C)]
pub enum teak_durability {
    /// As the database has it; in a new one as TEAK_DURABILITY_DURABLE.
    TEAK_DURABILITY_DEFAULT = 0,
    /// When it returns.
    TEAK_DURABILITY_DURABLE = 1,
    /// Soon after it returns; a ticket tells when.
    TEAK_DURABILITY_ASYNC = 2,
    /// When the system, a later durable commit or the limits of the options have it written.
    TEAK_DURABILITY_LAZY = 3,
}

/// When pages are compared with their checksums.
#[repr(C)]
pub enum teak_verification {
    /// When each is first read.
    TEAK_VERIFICATION_FIRST_TOUCH = 0,
    /// Each time that one is read.
    TEAK_VERIFICATION_ALWAYS = 1,
    /// Never.
    TEAK_VERIFICATION_OFF = 2,
}

/// Whether the system reads ahead of what is asked for, where the file is not in memory.
#[repr(C)]
pub enum teak_read_ahead {
    /// No.
    TEAK_READ_AHEAD_OFF = 0,
    /// While the file is at most half as long as the machine has memory.
    TEAK_READ_AHEAD_AUTO = 1,
    /// Yes.
    TEAK_READ_AHEAD_ON = 2,
}

/// How keys or values are ordered.
#[repr(C)]
pub enum teak_order {
    /// As bytes, from the first to the last.
    TEAK_ORDER_BYTES = 0,
    /// As bytes, from the last to the first.
    TEAK_ORDER_REVERSE_BYTES = 1,
    /// As little-endian unsigned integers of 4 or 8 bytes.
    TEAK_ORDER_INTEGER = 2,
    /// As a comparison that the database was opened with.
    TEAK_ORDER_CUSTOM = 3,
}

/// journal_bytes of teak_options: commits do without a journal.
pub const TEAK_NO_JOURNAL: u64 = u64::MAX;
/// move_percent of teak_options: neither commits nor closing move pages.
pub const TEAK_MOVE_NOTHING: u32 = u32::MAX;

/// value_size of teak_table_options: the first value decides for the table.
pub const TEAK_VALUE_SIZE_AS_FIRST: u32 = u32::MAX;

/// How two keys follow each other: below zero, zero or above zero, as with memcmp. It may be called from any thread, from several at a time, and must
/// not call this library.
pub type teak_compare_function =
    Option<unsafe extern "C" fn(user: *mut c_void, a: teak_slice, b: teak_slice) -> c_int>;

/// An order of the application's, under a name that stands in the file. The function and what `user` leads to have to stay as long as the process
/// has the database open.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_comparison {
    /// 1 to 64 bytes of UTF-8, ended by a zero.
    pub name: *const c_char,
    /// The order.
    pub compare: teak_compare_function,
    /// What the function is given, or NULL.
    pub user: *mut c_void,
}

/// How long a file may be, and how it grows and shrinks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_geometry {
    /// The file does not become shorter than this.
    pub lower_limit_bytes: u64,
    /// Nor longer; 0 for no limit.
    pub upper_limit_bytes: u64,
    /// What it grows by; 0 for the engine's choice.
    pub growth_step_bytes: u64,
    /// What has to be free at its end before it is cut off; 0 for the engine's choice, UINT64_MAX for never.
    pub shrink_threshold_bytes: u64,
}

/// How a database is opened. Zero is the default of every field but the size.
///
/// ```c
/// teak_options options = {.size = sizeof options, .page_size = 16384, .sharing = TEAK_SHARING_ALONE};
/// teak_db db;
/// check(teak_db_open(path, &options, &db, &error));
/// check(teak_db_close(db, &error));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_options {
    /// sizeof(teak_options).
    pub size: usize,
    /// Of a new database, in bytes: 4096 (the default) to 65536, a power of two.
    pub page_size: u32,
    /// A teak_create.
    pub create: u32,
    /// A teak_access.
    pub access: u32,
    /// A teak_sharing.
    pub sharing: u32,
    /// A teak_network.
    pub network: u32,
    /// A teak_faults.
    pub faults: u32,
    /// Of commits that ask for no other: a teak_durability. It is kept in the file.
    pub durability: u32,
    /// A teak_verification.
    pub verification: u32,
    /// How many bytes lazy commits may have written before they are flushed; UINT64_MAX for any number, 0 for what the file has. Kept in the file.
    pub flush_after_bytes: u64,
    /// How old a lazy commit may become before it is flushed, in milliseconds; 0 for what the file has. Kept in the file.
    pub flush_after_ms: u64,
    /// How long the file may become; UINT64_MAX for any length, 0 for what the file has. Kept in the file.
    pub size_limit_bytes: u64,
    /// The same in full, or NULL for what the file has. Kept in the file.
    pub geometry: *const teak_geometry,
    /// How many bytes of pages a write transaction keeps in memory; 0 for 256 MiB.
    pub write_memory_bytes: u64,
    /// How many pages a commit may move from the end of the file, in per cent of those that it writes; 0 for 100, or TEAK_MOVE_NOTHING.
    pub move_percent: u32,
    /// A teak_read_ahead.
    pub read_ahead: u32,
    /// Orders of the application's, or NULL.
    pub comparisons: *const teak_comparison,
    /// How many these are.
    pub comparison_count: usize,
    /// Is told what happens, or NULL.
    pub on_event: teak_event_function,
    /// What that is given, or NULL.
    pub event_user: *mut c_void,
    /// Is asked about slow readers, or NULL: then the file becomes longer.
    pub on_slow_reader: teak_slow_reader_function,
    /// What that is given, or NULL.
    pub slow_reader_user: *mut c_void,
    /// The path of the lock file, or NULL for that of the database with -lock behind it. All who have the database open at the same time say the same.
    pub lock_file: *const c_char,
    /// The permissions of files that are created, less the mask of the process; 0 for 0666.
    pub file_mode: u32,
    /// 1 if a commit fails with TEAK_FILE_NOT_FOUND when the file was removed, renamed or replaced since it was opened; 0 if it is made, and the first is
    /// TEAK_EVENT_NAME_LOST.
    pub require_name: u32,
    /// How long the journal is that the file gets for small durable commits; 0 for a sixty-fourth of a file of 32 MiB or more and 4 MiB at most, or TEAK_NO_JOURNAL.
    pub journal_bytes: u64,
}

// SAFETY: it begins with its size, any bytes are a value, and there is no padding.
unsafe impl Grows for teak_options {
    const NAME: &'static str = "teak_options";
}

/// How a table is created. Zero is the default of every field but the size.
///
/// ```c
/// teak_table_options options = {.size = sizeof options, .order = TEAK_ORDER_INTEGER};
/// teak_txn txn;
/// teak_table table;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("blocks"), &options, &table, &error));
/// uint64_t height = 840000;
/// check(teak_insert(txn, table, (teak_slice){&height, sizeof height}, teak_text("halving"), &error));
/// check(teak_txn_commit(txn, NULL, &error));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_table_options {
    /// sizeof(teak_table_options).
    pub size: usize,
    /// How keys are ordered: a teak_order.
    pub order: u32,
    /// 1 if each key stands whole in its page, in place of sharing a prefix with its neighbours.
    pub whole_keys: u32,
    /// 1 if the table counts, so that ranks are found in two descents.
    pub counted: u32,
    /// To how many bytes values are aligned in memory: 1 (the default), 2, 4, 8 or 16.
    pub value_align: u32,
    /// 1 if a key has several values.
    pub several_values: u32,
    /// How values of a key are ordered that has several: a teak_order.
    pub value_order: u32,
    /// How many bytes each value has of a key that has several: 0 for any number, or TEAK_VALUE_SIZE_AS_FIRST.
    pub value_size: u32,
    /// Zero.
    pub reserved: u32,
    /// TEAK_ORDER_CUSTOM: the name of the comparison of keys.
    pub comparison: *const c_char,
    /// TEAK_ORDER_CUSTOM: the name of the comparison of values.
    pub value_comparison: *const c_char,
}

// SAFETY: it begins with its size, any bytes are a value, and there is no padding.
unsafe impl Grows for teak_table_options {
    const NAME: &'static str = "teak_table_options";
}

/// The comparisons that a database was opened with.
pub(crate) type Comparisons = Vec<&'static Comparison>;

/// The comparisons that C gives.
///
/// # Safety
///
/// There are so many of them, with names that are null or ended by a zero, and the functions are what they should be.
pub(crate) unsafe fn comparisons(
    given: *const teak_comparison,
    count: usize,
) -> Result<Comparisons, Failure> {
    // SAFETY: the caller's promise.
    let given: &[teak_comparison] = unsafe { array(given, count) }?;
    // SAFETY: the caller's promise.
    let engines = |given: &teak_comparison| unsafe { given.to_engine() };
    given.iter().map(engines).collect()
}

fn unknown(field: &str, value: u32) -> Failure {
    Failure::invalid_argument(format!(
        "{field} cannot be {value}; teak.h lists the values"
    ))
}

fn choice<T: Copy>(field: &str, value: u32, choices: &[T]) -> Result<T, Failure> {
    let chosen = choices.get(value as usize).copied();
    chosen.ok_or_else(|| unknown(field, value))
}

/// What a `teak_durability` says, or nothing for the default.
pub(crate) fn durability(value: u32) -> Result<Option<Durability>, Failure> {
    let choices = [
        None,
        Some(Durability::Durable),
        Some(Durability::Async),
        Some(Durability::Lazy),
    ];
    choice("durability", value, &choices)
}

impl teak_geometry {
    pub(crate) fn to_engine(self) -> Geometry {
        Geometry {
            lower_limit_bytes: self.lower_limit_bytes,
            upper_limit_bytes: match self.upper_limit_bytes {
                0 => u64::MAX,
                limit => limit,
            },
            growth_step_bytes: self.growth_step_bytes,
            shrink_threshold_bytes: self.shrink_threshold_bytes,
        }
    }
}

impl teak_options {
    /// The engine's options, and the comparisons among them.
    ///
    /// # Safety
    ///
    /// What it points to is there.
    pub(crate) unsafe fn to_engine(self) -> Result<(Options, Comparisons), Failure> {
        let mut options = Options::new();
        if self.page_size != 0 {
            options = options.page_size(self.page_size as usize);
        }
        options = match self.sharing {
            0 => options,
            1 => options.exclusive(true),
            2 => options.no_lock_file(true),
            other => return Err(unknown("sharing", other)),
        };
        options = match self.create {
            0 => options.create(true),
            1 => options.create(false),
            2 => options.create_new(true),
            other => return Err(unknown("create", other)),
        };
        options = options
            .read_only(choice("access", self.access, &[false, true])?)
            .allow_network(choice("network", self.network, &[false, true])?)
            .require_name(choice("require_name", self.require_name, &[false, true])?)
            .handle_faults(choice("faults", self.faults, &[true, false])?)
            .verification(choice(
                "verification",
                self.verification,
                &[
                    Verification::FirstTouch,
                    Verification::Always,
                    Verification::Off,
                ],
            )?)
            .read_ahead(choice(
                "read_ahead",
                self.read_ahead,
                &[ReadAhead::Off, ReadAhead::Auto, ReadAhead::On],
            )?)
            .size_limit_bytes((self.size_limit_bytes != 0).then_some(self.size_limit_bytes));
        if let Some(durability) = durability(self.durability)? {
            options = options.durability(durability);
        }
        if self.flush_after_bytes != 0 {
            options = options.flush_after_bytes(self.flush_after_bytes);
        }
        if self.flush_after_ms != 0 {
            options = options.flush_after(Duration::from_millis(self.flush_after_ms));
        }
        // SAFETY: the caller's promise.
        if let Some(geometry) = unsafe { self.geometry.as_ref() } {
            options = options.geometry(geometry.to_engine());
        }
        if self.write_memory_bytes != 0 {
            let bytes = usize::try_from(self.write_memory_bytes).unwrap_or(usize::MAX);
            options = options.write_memory_bytes(bytes);
        }
        if !self.lock_file.is_null() {
            // SAFETY: the caller's promise.
            options = options.lock_file(unsafe { path(self.lock_file) }?);
        }
        if self.file_mode != 0 {
            options = options.file_mode(self.file_mode);
        }
        options = match self.journal_bytes {
            0 => options,
            TEAK_NO_JOURNAL => options.journal_bytes(0),
            bytes => options.journal_bytes(bytes),
        };
        options = match self.move_percent {
            0 => options,
            TEAK_MOVE_NOTHING => options.move_percent(0),
            percent => options.move_percent(percent),
        };
        // SAFETY: the caller's promise.
        let comparisons = unsafe { comparisons(self.comparisons, self.comparison_count) }?;
        for comparison in &comparisons {
            options = options.comparison(comparison);
        }
        // SAFETY: the caller's promise.
        Ok((unsafe { self.with_functions(options) }, comparisons))
    }
}

/// A comparison as C gives it: what two of them are the same by.
#[derive(Clone, PartialEq, Eq)]
struct CallbackComparison {
    name: String,
    compare: usize,
    user: usize,
}

/// Databases keep comparisons for ever, so each that C gives is kept once.
static KEPT: Mutex<Vec<(CallbackComparison, &'static Comparison)>> = Mutex::new(Vec::new());

/// The text of a name.
///
/// # Safety
///
/// `name` is null or leads to characters with a zero behind them, for `'v`.
unsafe fn name<'v>(name: *const c_char) -> Result<&'v str, Failure> {
    if name.is_null() {
        return Err(Failure::invalid_argument(
            "the name of a comparison is a null pointer",
        ));
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str()
        .map_err(|_| Failure::invalid_argument("the name of a comparison is not UTF-8"))
}

impl teak_comparison {
    /// # Safety
    ///
    /// The name is null or ended by a zero, and the function is what it should be.
    pub(crate) unsafe fn to_engine(self) -> Result<&'static Comparison, Failure> {
        // SAFETY: the caller's promise.
        let name = unsafe { name(self.name) }?;
        let Some(compare) = self.compare else {
            let text = format!("the comparison {name:?} has no function");
            return Err(Failure::invalid_argument(text));
        };
        let given = CallbackComparison {
            name: name.to_owned(),
            compare: compare as usize,
            user: self.user as usize,
        };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, comparison)) = kept.iter().find(|(known, _)| *known == given) {
            return Ok(comparison);
        }
        let user = given.user;
        let function = move |a: &[u8], b: &[u8]| -> Ordering {
            let (a, b) = (teak_slice::new(a), teak_slice::new(b));
            // SAFETY: it is C's function, with what C wants it to be given.
            unsafe { compare(user as *mut c_void, a, b) }.cmp(&0)
        };
        let name = Box::leak(name.to_owned().into_boxed_str());
        let comparison = Comparison::new(name, Box::leak(Box::new(function)));
        let comparison = &*Box::leak(Box::new(comparison));
        kept.push((given, comparison));
        Ok(comparison)
    }
}

impl teak_table_options {
    /// The engine's options, and whether a key has several values.
    ///
    /// # Safety
    ///
    /// The names are null or ended by a zero.
    pub(crate) unsafe fn to_engine(
        self,
        comparisons: &[&'static Comparison],
    ) -> Result<(TableOptions, bool), Failure> {
        // SAFETY: the caller's promise.
        let order = |field, value, name| unsafe { order(field, value, name, comparisons) };
        let is_multi = choice("several_values", self.several_values, &[false, true])?;
        let mut options = TableOptions::new()
            .order(order("order", self.order, self.comparison)?)
            .share_prefixes(choice("whole_keys", self.whole_keys, &[true, false])?)
            .counted(choice("counted", self.counted, &[false, true])?);
        if self.value_align != 0 {
            options = options.value_align(self.value_align as usize);
        }
        if self.value_order != 0 {
            options = options.value_order(order(
                "value_order",
                self.value_order,
                self.value_comparison,
            )?);
        }
        if self.value_size != 0 {
            let size = match (self.value_size, u16::try_from(self.value_size)) {
                (TEAK_VALUE_SIZE_AS_FIRST, _) => ValueSize::AsFirst,
                (_, Ok(size)) => ValueSize::Bytes(size),
                (other, _) => return Err(unknown("value_size", other)),
            };
            options = options.value_size(size);
        }
        Ok((options, is_multi))
    }
}

/// # Safety
///
/// The name is null or ended by a zero.
unsafe fn order(
    field: &str,
    value: u32,
    comparison: *const c_char,
    comparisons: &[&'static Comparison],
) -> Result<KeyOrder, Failure> {
    Ok(match value {
        0 => KeyOrder::Bytes,
        1 => KeyOrder::ReverseBytes,
        2 => KeyOrder::Integer,
        3 => {
            // SAFETY: the caller's promise.
            let name = unsafe { name(comparison) }?;
            let known = comparisons.iter().find(|known| known.name() == name);
            KeyOrder::Custom(known.ok_or_else(|| {
                let text = format!("the database was not opened with a comparison {name:?}");
                Failure::invalid_argument(text)
            })?)
        }
        other => return Err(unknown(field, other)),
    })
}
