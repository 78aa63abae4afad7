//! An iterator of a library.

#![allow(unsafe_code)]

use super::{
    functions::{LevelDbFunctions, Object, bytes, start},
    step::{IteratorMove, Reply, ShownBytes, ShownRecord},
};

/// An iterator.
pub(crate) struct LibraryIterator {
    functions: &'static LevelDbFunctions,
    object: Object,
}

impl LibraryIterator {
    /// # Safety
    ///
    /// `object` is an iterator of this library, whose database stays open as long as this exists.
    pub(crate) unsafe fn new(functions: &'static LevelDbFunctions, object: Object) -> Self {
        Self { functions, object }
    }

    /// Moves the iterator, which has a position if the move needs one.
    pub(crate) fn move_to(&self, to: &IteratorMove) {
        let functions = self.functions;
        // SAFETY: the iterator exists, and the length is that of the key.
        unsafe {
            match to {
                IteratorMove::First => (functions.iter_seek_to_first)(self.object),
                IteratorMove::Last => (functions.iter_seek_to_last)(self.object),
                IteratorMove::Seek(ShownBytes(key)) => {
                    (functions.iter_seek)(self.object, start(key), key.len());
                }
                IteratorMove::Next => (functions.iter_next)(self.object),
                IteratorMove::Prev => (functions.iter_prev)(self.object),
            }
        }
    }

    fn record(&self) -> Option<ShownRecord> {
        let functions = self.functions;
        // SAFETY: the iterator exists, and the bytes are valid until it moves.
        unsafe {
            if (functions.iter_valid)(self.object) == 0 {
                return None;
            }
            let (mut key_len, mut value_len) = (0, 0);
            let key = (functions.iter_key)(self.object, &raw mut key_len);
            let value = (functions.iter_value)(self.object, &raw mut value_len);
            let (key, value) = (bytes(key, key_len), bytes(value, value_len));
            Some((ShownBytes(key.to_vec()), ShownBytes(value.to_vec())))
        }
    }

    /// The record at the position, or the error.
    pub(crate) fn position(&self) -> Reply {
        // SAFETY: the iterator exists.
        let call = |error| unsafe { (self.functions.iter_get_error)(self.object, error) };
        match self.functions.call(call) {
            Err(error) => Reply::AtError(error),
            Ok(()) => Reply::At(self.record()),
        }
    }

    /// All records, in both directions.
    pub(crate) fn all(&self) -> Reply {
        let all = |begin: &IteratorMove, step: &IteratorMove| {
            let mut records = Vec::new();
            self.move_to(begin);
            while let Some(record) = self.record() {
                records.push(record);
                self.move_to(step);
            }
            records
        };
        let forward = all(&IteratorMove::First, &IteratorMove::Next);
        let back = all(&IteratorMove::Last, &IteratorMove::Prev);
        match self.position() {
            Reply::At(None) => Reply::Records { forward, back },
            other => other,
        }
    }
}

impl Drop for LibraryIterator {
    fn drop(&mut self) {
        // SAFETY: nothing uses it any more.
        unsafe { (self.functions.iter_destroy)(self.object) };
    }
}
