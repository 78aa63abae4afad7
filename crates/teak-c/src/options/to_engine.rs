//! Conversion of C's options to the engine's.

use super::{
    TEAK_MOVE_NOTHING, TEAK_NO_JOURNAL, TEAK_VALUE_SIZE_AS_FIRST, teak_comparison, teak_geometry,
    teak_options, teak_table_options,
};
use crate::{
    encryption::with_encryption,
    failure::Failure,
    ffi::{array, path, teak_slice},
};
use std::{
    cmp::Ordering,
    ffi::{CStr, c_char, c_void},
    sync::{Mutex, PoisonError},
    time::Duration,
};
use teak::{
    Comparison, Compression, Create, Durability, Geometry, KeyOrder, Options, ReadAhead, Sharing,
    TableOptions, ValueSize, Verification,
};

/// The comparisons that a database was opened with.
pub(crate) type Comparisons = Vec<&'static Comparison>;

/// The comparisons that C passes.
///
/// # Safety
///
/// The array has that many elements; their names are null or zero-terminated, and the functions
/// match their types.
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

/// The durability of a `teak_durability`; `None` for the default.
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
        Geometry::new()
            .lower_limit_bytes(self.lower_limit_bytes)
            .upper_limit_bytes(match self.upper_limit_bytes {
                0 => u64::MAX,
                limit => limit,
            })
            .growth_step_bytes(self.growth_step_bytes)
            .shrink_threshold_bytes(self.shrink_threshold_bytes)
    }
}

impl teak_options {
    /// The engine's options, and the comparisons among them.
    ///
    /// # Safety
    ///
    /// The pointers are null or valid.
    pub(crate) unsafe fn to_engine(self) -> Result<(Options, Comparisons), Failure> {
        let mut options = Options::new();
        if self.page_size != 0 {
            options = options.page_size(self.page_size as usize);
        }
        options = match self.sharing {
            0 => options,
            1 => options.sharing(Sharing::Alone),
            2 => options.sharing(Sharing::Unlocked),
            other => return Err(unknown("sharing", other)),
        };
        options = match self.create {
            0 => options.create(Create::IfMissing),
            1 => options.create(Create::Never),
            2 => options.create(Create::New),
            other => return Err(unknown("create", other)),
        };
        options = options
            .read_only(choice("access", self.access, &[false, true])?)
            .allow_network(choice("network", self.network, &[false, true])?)
            .require_name(choice("require_name", self.require_name, &[false, true])?)
            .flush_on_close(choice("leave_lazy", self.leave_lazy, &[true, false])?)
            .remove_lock_file(choice(
                "leave_lock_file",
                self.leave_lock_file,
                &[true, false],
            )?)
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
        options = options.compression(self.compression()?);
        if self.decoded_cache_bytes != 0 {
            options = options.decoded_cache_bytes(self.decoded_cache_bytes);
        }
        // SAFETY: the caller's promise.
        options = unsafe { with_encryption(self.with_storage(options)?, self.encryption) }?;
        // SAFETY: the caller's promise.
        let comparisons = unsafe { comparisons(self.comparisons, self.comparison_count) }?;
        for comparison in &comparisons {
            options = options.comparison(comparison);
        }
        // SAFETY: the caller's promise.
        Ok((unsafe { self.with_functions(options) }, comparisons))
    }

    fn compression(&self) -> Result<Option<Compression>, Failure> {
        match (self.compression, self.compression_level) {
            (0, 0) => Ok(None),
            (1, 0) => Ok(Some(Compression::Lz4)),
            (2, 0) => Ok(Some(Compression::Zstd(3))),
            (2, level @ 1..=19) => Ok(Some(Compression::Zstd(level as u8))),
            (0..=2, level) => Err(unknown("compression_level", level)),
            (other, _) => Err(unknown("compression", other)),
        }
    }

    /// Adds durability, sizes of the file, memory and the lock file.
    ///
    /// # Safety
    ///
    /// The pointers are null or valid.
    unsafe fn with_storage(self, mut options: Options) -> Result<Options, Failure> {
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
        Ok(options)
    }
}

/// The parts of a C comparison that decide whether two are equal.
#[derive(Clone, PartialEq, Eq)]
struct CallbackComparison {
    name: String,
    compare: usize,
    user: usize,
}

/// Databases keep comparisons for the life of the process, so each distinct one is kept once.
static KEPT: Mutex<Vec<(CallbackComparison, &'static Comparison)>> = Mutex::new(Vec::new());

/// The text of a name.
///
/// # Safety
///
/// `name` is null or points to a zero-terminated string that is valid for `'v`.
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
    /// The name is null or zero-terminated, and the function matches its type.
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
            // SAFETY: it is C's function, called with the arguments that C asked for.
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
    /// The names are null or zero-terminated.
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
/// The name is null or zero-terminated.
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
