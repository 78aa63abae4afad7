//! A batch of a library.

#![allow(unsafe_code)]

use super::{
    functions::{LevelDbFunctions, Object, Start, bytes, start},
    step::{BatchEntry, ShownBytes},
};

/// A batch.
pub(crate) struct LibraryBatch {
    functions: &'static LevelDbFunctions,
    pub(crate) object: Object,
}

impl LibraryBatch {
    pub(crate) fn new(functions: &'static LevelDbFunctions) -> Self {
        Self {
            functions,
            // SAFETY: it is freed on drop.
            object: unsafe { (functions.writebatch_create)() },
        }
    }

    pub(crate) fn fill(&self, entries: &[BatchEntry]) {
        for entry in entries {
            // SAFETY: the lengths are those of the bytes.
            unsafe {
                match entry {
                    BatchEntry::Put(ShownBytes(key), ShownBytes(value)) => {
                        (self.functions.writebatch_put)(
                            self.object,
                            start(key),
                            key.len(),
                            start(value),
                            value.len(),
                        );
                    }
                    BatchEntry::Delete(ShownBytes(key)) => {
                        (self.functions.writebatch_delete)(self.object, start(key), key.len());
                    }
                }
            }
        }
    }

    pub(crate) fn clear(&self) {
        // SAFETY: the batch exists.
        unsafe { (self.functions.writebatch_clear)(self.object) };
    }

    pub(crate) fn append(&self, from: &Self) {
        // SAFETY: both batches exist, and are of one library.
        unsafe { (self.functions.writebatch_append)(self.object, from.object) };
    }

    pub(crate) fn entries(&self) -> Vec<BatchEntry> {
        let mut entries: Vec<BatchEntry> = Vec::new();
        let state = (&raw mut entries).cast();
        // SAFETY: the functions below get the address of the entries.
        unsafe { (self.functions.writebatch_iterate)(self.object, state, on_put, on_delete) };
        entries
    }
}

impl Drop for LibraryBatch {
    fn drop(&mut self) {
        // SAFETY: nothing uses it any more.
        unsafe { (self.functions.writebatch_destroy)(self.object) };
    }
}

extern "C" fn on_put(state: Object, key: Start, key_len: usize, value: Start, value_len: usize) {
    // SAFETY: the state is the address of entries, and the library gives a key and a value.
    unsafe {
        let entries = &mut *state.cast::<Vec<BatchEntry>>();
        let (key, value) = (bytes(key, key_len), bytes(value, value_len));
        entries.push(BatchEntry::Put(
            ShownBytes(key.to_vec()),
            ShownBytes(value.to_vec()),
        ));
    }
}

extern "C" fn on_delete(state: Object, key: Start, key_len: usize) {
    // SAFETY: the state is the address of entries, and the library gives a key.
    unsafe {
        let entries = &mut *state.cast::<Vec<BatchEntry>>();
        let key = bytes(key, key_len);
        entries.push(BatchEntry::Delete(ShownBytes(key.to_vec())));
    }
}
