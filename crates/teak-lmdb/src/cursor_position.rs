//! The position of a client's cursor as data: it stays valid while the table changes.

/// The position of a cursor, and facts about its last operation that decide where the next step
/// leads.
#[derive(Clone, Debug, Default)]
pub(crate) struct CursorPosition {
    pub(crate) location: CursorLocation,
    /// The last forward step found no record, or the cursor moved to the last record. LMDB then
    /// takes the remaining values of the key for the end.
    pub(crate) is_at_end: bool,
    /// The last search did not find its key and led to another one, whose values LMDB has not
    /// read. If that key has several values, operations on the current one are refused, and a step
    /// leads to the first or last of them.
    pub(crate) is_without_value: bool,
    /// The location means the first value of its key, whatever its bytes: the client writes the
    /// value after it was put.
    pub(crate) is_at_first_value: bool,
}

/// Where a cursor is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum CursorLocation {
    #[default]
    Nowhere,
    /// At a record, or in the gap where it was. While the cursor has an engine cursor, the bytes
    /// have no meaning.
    At { key: Vec<u8>, value: Vec<u8> },
    /// After the last record.
    AfterLast,
}

impl CursorLocation {
    /// Sets the location to these bytes. Reuses memory, since each change of a transaction does
    /// this to each of its cursors.
    pub(crate) fn set(&mut self, new_key: &[u8], new_value: &[u8]) {
        match self {
            Self::At { key, value } => {
                key.clear();
                key.extend_from_slice(new_key);
                value.clear();
                value.extend_from_slice(new_value);
            }
            other => {
                *other = Self::At {
                    key: new_key.to_vec(),
                    value: new_value.to_vec(),
                }
            }
        }
    }

    /// Sets the location to that of an engine cursor, whose bytes are not copied.
    pub(crate) fn set_at_engine_cursor(&mut self) {
        if !matches!(self, Self::At { .. }) {
            *self = Self::At {
                key: Vec::new(),
                value: Vec::new(),
            };
        }
    }
}
