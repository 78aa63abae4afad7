//! The options of a database.

#![allow(unsafe_code)]

use super::{
    comparator::Comparator,
    functions::{LevelDbFunctions, Object},
};
use fastrand::Rng;

/// The options of the databases of an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LevelDbSetup {
    pub(crate) comparator: Comparator,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) block_bytes: usize,
    pub(crate) restart_interval: i32,
    pub(crate) file_bytes: usize,
    pub(crate) is_compressed: bool,
    pub(crate) bloom_bits: Option<i32>,
    pub(crate) is_paranoid: bool,
}

impl LevelDbSetup {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let comparator = match rng.u8(0..5) {
            0 => *Comparator::CUSTOM[rng.usize(..Comparator::CUSTOM.len())],
            _ => Comparator::Bytewise,
        };
        let bloom_bits = [None, Some(10), Some(1)][rng.usize(..3)];
        Self {
            comparator,
            write_buffer_bytes: [64 << 10, 64 << 10, 256 << 10, 4 << 20][rng.usize(..4)],
            block_bytes: [1 << 10, 4 << 10, 64 << 10][rng.usize(..3)],
            restart_interval: [1, 2, 16][rng.usize(..3)],
            file_bytes: [1 << 20, 2 << 20][rng.usize(..2)],
            is_compressed: rng.bool(),
            // The filter hashes bytes, and would miss equal keys with other bytes.
            bloom_bits: bloom_bits.filter(|_| !comparator.has_equal_keys()),
            is_paranoid: rng.bool(),
        }
    }
}

/// Options of a library, with the objects that they do not own.
pub(crate) struct LibraryOptions {
    functions: &'static LevelDbFunctions,
    pub(crate) options: Object,
    comparator: Option<Object>,
    filter: Option<Object>,
}

impl LibraryOptions {
    pub(crate) fn new(functions: &'static LevelDbFunctions, setup: &LevelDbSetup) -> Self {
        let comparator = setup.comparator.create(functions);
        // SAFETY: all objects are of this library, and live as long as the options.
        let (options, filter) = unsafe {
            let options = (functions.options_create)();
            if let Some(comparator) = comparator {
                (functions.options_set_comparator)(options, comparator);
            }
            let filter = setup.bloom_bits.map(|bits| {
                let filter = (functions.filterpolicy_create_bloom)(bits);
                (functions.options_set_filter_policy)(options, filter);
                filter
            });
            (functions.options_set_create_if_missing)(options, 1);
            (functions.options_set_paranoid_checks)(options, setup.is_paranoid.into());
            (functions.options_set_write_buffer_size)(options, setup.write_buffer_bytes);
            (functions.options_set_block_size)(options, setup.block_bytes);
            (functions.options_set_block_restart_interval)(options, setup.restart_interval);
            (functions.options_set_max_file_size)(options, setup.file_bytes);
            (functions.options_set_compression)(options, setup.is_compressed.into());
            (options, filter)
        };
        Self {
            functions,
            options,
            comparator,
            filter,
        }
    }
}

impl Drop for LibraryOptions {
    fn drop(&mut self) {
        // SAFETY: no open database uses them, and nothing uses them afterwards.
        unsafe {
            (self.functions.options_destroy)(self.options);
            if let Some(comparator) = self.comparator {
                (self.functions.comparator_destroy)(comparator);
            }
            if let Some(filter) = self.filter {
                (self.functions.filterpolicy_destroy)(filter);
            }
        }
    }
}
