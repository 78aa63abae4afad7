//! Parked cursors: the state of a cursor while its source is not borrowed.

use super::TreeCursor;
use crate::{
    Result,
    btree::{PageSource, TreeRoot, position::Position},
    page::leaf::KeyBuffer,
};

/// The position of a cursor, and its buffer for reuse.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParkedCursor {
    position: Position,
    buffer: KeyBuffer,
}

impl ParkedCursor {
    /// Parked at a position.
    pub(crate) fn at(position: Position) -> Self {
        let buffer = KeyBuffer::default();
        Self { position, buffer }
    }

    pub(crate) fn position(&self) -> &Position {
        &self.position
    }

    pub(crate) fn position_mut(&mut self) -> &mut Position {
        &mut self.position
    }

    pub(crate) fn into_position(self) -> Position {
        self.position
    }
}

impl<'s, S: PageSource + ?Sized> TreeCursor<'s, S> {
    /// Resumes a parked cursor, in the same state of the tree.
    pub(crate) fn resume(source: &'s S, root: TreeRoot, parked: ParkedCursor) -> Result<Self> {
        let mut cursor = Self::resume_unread(source, root, parked);
        cursor.read_here()?;
        Ok(cursor)
    }

    /// Resumes a parked cursor without reading the record.
    pub(crate) fn resume_unread(source: &'s S, root: TreeRoot, parked: ParkedCursor) -> Self {
        let mut cursor = Self::new(source, root);
        (cursor.position, cursor.key) = (parked.position, parked.buffer);
        cursor
    }

    pub(crate) fn park(self) -> ParkedCursor {
        ParkedCursor {
            position: self.position,
            buffer: self.key,
        }
    }
}
