//! The turn of a writer.

use super::{flusher::Flusher, writer::Writer};
use crate::{share::Turn, store::Generation};
use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// The turn of a writer, and the writer's place among processes.
#[derive(Debug)]
pub(super) struct WriterTurn {
    /// Absent only at the end.
    pub(super) turn: Option<Turn<Writer>>,
    pub(super) generation: Generation,
    pub(super) flusher: Arc<Flusher>,
}

impl WriterTurn {
    pub(super) fn flusher(&self) -> &Arc<Flusher> {
        &self.flusher
    }

    /// The turn, for who goes on with it. This one is left without, and may only be dropped.
    pub(super) fn take(&mut self) -> Self {
        Self {
            turn: self.turn.take(),
            generation: self.generation,
            flusher: Arc::clone(&self.flusher),
        }
    }
}

impl Deref for WriterTurn {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        self.turn
            .as_ref()
            .expect("a writer has its turn until it ends")
    }
}

impl DerefMut for WriterTurn {
    fn deref_mut(&mut self) -> &mut Writer {
        self.turn
            .as_mut()
            .expect("a writer has its turn until it ends")
    }
}

impl Drop for WriterTurn {
    fn drop(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        if self.generation.is_past() {
            // It is the parent's, which goes on.
            return std::mem::forget(turn);
        }
        self.flusher.place.leave(&self.flusher.progress);
    }
}
