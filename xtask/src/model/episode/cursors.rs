//! Cursors of an episode.

use super::{ModelEpisode, ModelWriter, any};
use crate::model::{
    cursors::{
        ModelCursor,
        steps::{CURSORS_MAX, CursorOperation, CursorRead, CursorStep},
        walk,
    },
    reading::ReadSource,
    violation::ModelResult,
};

impl ModelEpisode {
    pub(super) fn walk(
        &self,
        source: ReadSource,
        name: &[u8],
        walk: &(Vec<CursorStep>, CursorRead),
    ) -> ModelResult {
        with_state!(self, source, |txn, tables| {
            walk::perform(txn, name, any(tables, name)?, walk)
        })
    }

    pub(super) fn cursor(&mut self, operation: &CursorOperation) -> ModelResult {
        match operation {
            CursorOperation::Open(source, name) => {
                let cursor = with_state!(self, *source, |txn, tables| {
                    ModelCursor::open(txn, name, any(tables, name)?)?
                });
                self.store_cursor(cursor);
                Ok(())
            }
            CursorOperation::Copy(slot) => {
                let copy = self.cursors[*slot].clone();
                self.store_cursor(copy);
                Ok(())
            }
            CursorOperation::Reset(slot) => {
                self.cursors[*slot].reset();
                Ok(())
            }
            CursorOperation::Step(slot, source, step) => {
                let mut cursor = self.cursors[*slot].clone();
                with_state!(self, *source, |txn, tables| cursor.step(txn, tables, step))?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
            CursorOperation::Read(slot, source, read) => {
                let mut cursor = self.cursors[*slot].clone();
                with_state!(self, *source, |txn, tables| cursor.read(txn, tables, read))?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
            CursorOperation::Compare(slot, other, source) => {
                let (one, other) = (&self.cursors[*slot], &self.cursors[*other]);
                with_state!(self, *source, |txn, tables| one.compare(other, txn, tables))
            }
            CursorOperation::Change(slot, change) => {
                let mut cursor = self.cursors[*slot].clone();
                let ModelWriter { txn, tables, .. } = self.writing()?;
                cursor.change(txn, tables, change)?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
        }
    }

    pub(super) fn store_cursor(&mut self, cursor: ModelCursor) {
        if self.cursors.len() == CURSORS_MAX {
            self.cursors.remove(0);
        }
        self.cursors.push(cursor);
    }
}
