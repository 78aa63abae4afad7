//! The engine's cursors of any kind, as a client's cursor holds them.

use crate::{
    codes::CallResult,
    free_pages::FreePages,
    handles::TableHandle,
    read_view::{ReadView, viewed},
};
use std::mem;
use teak::{Cursor, Direction, KeyStep, SeekOp};

/// A borrowing cursor without the borrow's lifetime. Its owner drops it before the transaction
/// changes or ends.
#[derive(Clone)]
pub(crate) enum EngineCursor {
    Plain(Cursor<'static>),
    Multi(Cursor<'static>),
    Free(FreePages),
}

/// Runs an expression with a cursor of any kind.
macro_rules! each {
    ($engine:expr, $cursor:ident => $work:expr) => {
        match $engine {
            EngineCursor::Plain($cursor) | EngineCursor::Multi($cursor) => $work,
            EngineCursor::Free($cursor) => $work,
        }
    };
}

impl EngineCursor {
    /// A cursor without a position.
    ///
    /// # Safety
    ///
    /// The cursor is used only while the transaction of `view` exists and does not change.
    pub(crate) unsafe fn new(view: ReadView<'_>, tables: &TableHandle) -> CallResult<Self> {
        // SAFETY: only the lifetime changes, and the caller promises to keep to the real one.
        let view = unsafe { mem::transmute::<ReadView<'_>, ReadView<'static>>(view) };
        Ok(match tables {
            TableHandle::Plain(table) => Self::Plain(viewed!(view, txn => table.cursor(txn))?),
            TableHandle::Multi(table) => Self::Multi(viewed!(view, txn => table.cursor(txn))?),
        })
    }

    pub(crate) fn is_on_record(&self) -> bool {
        each!(self, cursor => cursor.is_on_record())
    }

    /// The key. In its page, if the table does not share prefixes.
    #[inline(always)]
    pub(crate) fn key(&self) -> &[u8] {
        each!(self, cursor => cursor.key())
    }

    /// The value, in its page.
    #[inline(always)]
    pub(crate) fn value(&self) -> CallResult<&[u8]> {
        Ok(match self {
            Self::Plain(cursor) | Self::Multi(cursor) => cursor.value()?,
            Self::Free(pages) => pages.value(),
        })
    }

    pub(crate) fn first(&mut self) -> CallResult<bool> {
        Ok(each!(self, cursor => cursor.first()?))
    }

    pub(crate) fn last(&mut self) -> CallResult<bool> {
        Ok(each!(self, cursor => cursor.last()?))
    }

    pub(crate) fn next(&mut self) -> CallResult<bool> {
        Ok(each!(self, cursor => cursor.next()?))
    }

    pub(crate) fn prev(&mut self) -> CallResult<bool> {
        Ok(each!(self, cursor => cursor.prev()?))
    }

    pub(crate) fn next_key(&mut self) -> CallResult<bool> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => Ok(cursor.step(KeyStep::NextKey)?),
            Self::Free(pages) => Ok(pages.next()?),
        }
    }

    pub(crate) fn prev_key(&mut self) -> CallResult<bool> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => Ok(cursor.step(KeyStep::PrevKey)?),
            Self::Free(pages) => Ok(pages.prev()?),
        }
    }

    /// Moves to the next value of the key. Stays if there is none.
    pub(crate) fn next_value(&mut self) -> CallResult<bool> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => Ok(cursor.step(KeyStep::NextValue)?),
            Self::Free(_) => Ok(false),
        }
    }

    /// Moves to the previous value of the key. Stays if there is none.
    pub(crate) fn prev_value(&mut self) -> CallResult<bool> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => Ok(cursor.step(KeyStep::PrevValue)?),
            Self::Free(_) => Ok(false),
        }
    }

    pub(crate) fn first_value(&mut self) -> CallResult<bool> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => Ok(cursor.step(KeyStep::FirstValue)?),
            Self::Free(pages) => Ok(pages.is_on_record()),
        }
    }

    pub(crate) fn last_value(&mut self) -> CallResult<bool> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => Ok(cursor.step(KeyStep::LastValue)?),
            Self::Free(pages) => Ok(pages.is_on_record()),
        }
    }

    /// Moves to the key. If it does not exist, moves to the first record after it and returns
    /// `false`.
    pub(crate) fn seek_exact(&mut self, key: &[u8]) -> CallResult<bool> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => Ok(cursor.seek(SeekOp::Equal, key)?),
            Self::Free(pages) => Ok(pages.seek_exact(key)?),
        }
    }

    /// Moves to the pair. If it does not exist, moves to the first one after it and returns
    /// `false`. If keys have one value, `value` is ignored.
    pub(crate) fn seek_pair_exact(&mut self, key: &[u8], value: &[u8]) -> CallResult<bool> {
        match self {
            Self::Multi(cursor) => Ok(cursor.seek(SeekOp::Equal, (key, value))?),
            other => other.seek_exact(key),
        }
    }

    /// The number of values of the key.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => cursor.count(),
            Self::Free(pages) => pages.is_on_record().into(),
        }
    }

    /// The values of one size from here to the end of their page. Moves to the last of them.
    pub(crate) fn packed(&mut self) -> CallResult<Option<&[u8]>> {
        match self {
            Self::Plain(cursor) | Self::Multi(cursor) => {
                Ok(cursor.read_packed(Direction::Forward)?)
            }
            Self::Free(_) => Ok(None),
        }
    }

    /// The value, if keys have several. Valid until the next change.
    pub(crate) fn value_of_several(&self) -> Option<&'static [u8]> {
        match self {
            Self::Multi(cursor) => cursor.value_in_page().unwrap_or_default(),
            _ => None,
        }
    }

    /// Moves to the first value of the key in the same page. The values of a page are adjacent in
    /// memory.
    pub(crate) fn go_to_page_start(&mut self) -> CallResult {
        loop {
            let here = self.value_of_several().map(<[u8]>::as_ptr_range);
            if !self.prev_value()? {
                return Ok(());
            }
            let before = self.value_of_several().map(<[u8]>::as_ptr_range);
            if before.map(|before| before.end) != here.map(|here| here.start) {
                self.next_value()?;
                return Ok(());
            }
        }
    }
}
