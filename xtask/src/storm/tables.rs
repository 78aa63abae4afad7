//! The tables that workers share, and their contents.

use teak::{
    Error, Result, Table, TableDef, TableOptions, Transaction, WriteTxn,
    codec::{Bytes, Str},
};

/// The accounts, and the initial balance of each. The sum never changes.
pub(super) const ACCOUNTS: u64 = 100;
pub(super) const BALANCE: u64 = 1000;

/// All tables.
pub(super) const NAMES: [&str; 7] = [
    "accounts",
    "counter",
    "mirror",
    "inverse",
    "acknowledged",
    "large",
    "bulk",
];

/// The only key of the table `counter`.
pub(super) const COMMITS: &str = "commits";

/// Handles to the tables.
pub(super) struct StormTables {
    /// The sum of the values never changes.
    pub(super) accounts: Table<u64, u64>,
    /// The number of commits.
    pub(super) counter: Table<Str, u64>,
    /// Arbitrary keys and values, each value at most once.
    pub(super) mirror: Table<u64, u64>,
    /// The inverse of `mirror`.
    pub(super) inverse: Table<u64, u64>,
    /// The number of commits of each writer.
    pub(super) acknowledged: Table<u64, u64>,
    /// Values that do not fit into a leaf: see [`content`].
    pub(super) large: Table<u64, Bytes>,
    /// Many records, inserted and removed in batches.
    pub(super) bulk: Table<(u64, u64), Bytes>,
}

impl StormTables {
    /// The tables that `txn` sees; `None` before the first commit.
    pub(super) fn open(txn: &impl Transaction) -> Result<Option<Self>> {
        match txn.open_table::<u64, u64>(NAMES[0]) {
            Ok(_) => Self::open_all(txn).map(Some),
            Err(Error::TableNotFound(_)) if txn.tables()?.is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_all(txn: &impl Transaction) -> Result<Self> {
        Ok(Self {
            accounts: txn.open_table(NAMES[0])?,
            counter: txn.open_table(NAMES[1])?,
            mirror: txn.open_table(NAMES[2])?,
            inverse: txn.open_table(NAMES[3])?,
            acknowledged: txn.open_table(NAMES[4])?,
            large: txn.open_table(NAMES[5])?,
            bulk: txn.open_table(NAMES[6])?,
        })
    }

    /// The tables. The first write transaction creates and fills them.
    pub(super) fn create(txn: &mut WriteTxn) -> Result<Self> {
        if let Some(tables) = Self::open(txn)? {
            return Ok(tables);
        }
        let tables = Self {
            accounts: txn.create_table(NAMES[0])?,
            counter: txn.create_table(NAMES[1])?,
            mirror: TableDef::new(NAMES[2])
                .options(TableOptions::new().counted(true))
                .create(txn)?,
            inverse: txn.create_table(NAMES[3])?,
            acknowledged: txn.create_table(NAMES[4])?,
            large: txn.create_table(NAMES[5])?,
            bulk: txn.create_table(NAMES[6])?,
        };
        for account in 0..ACCOUNTS {
            tables.accounts.insert(txn, account, BALANCE)?;
        }
        Ok(tables)
    }

    pub(super) fn count(&self, txn: &impl Transaction) -> Result<u64> {
        Ok(self.counter.get(txn, COMMITS)?.unwrap_or(0))
    }
}

/// The shortest value that [`is_content`] recognizes.
pub(super) const LEN_MIN: usize = 16;

/// A value of at least [`LEN_MIN`] bytes, determined by its first bytes.
pub(super) fn content(mark: u64, len: usize) -> Vec<u8> {
    let word = mark.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    let mark = mark.to_le_bytes();
    mark.into_iter()
        .chain(word.into_iter().cycle())
        .take(len)
        .collect()
}

/// Whether a value was made by [`content`].
pub(super) fn is_content(value: &[u8]) -> bool {
    let Some((mark, _)) = value.split_first_chunk() else {
        return false;
    };
    value == content(u64::from_le_bytes(*mark), value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_recognized() {
        for len in [16, 17, 100, 5000] {
            let mut value = content(77, len);
            assert_eq!(value.len(), len);
            assert!(is_content(&value));
            value[len - 1] ^= 1;
            assert!(!is_content(&value));
        }
        assert!(!is_content(b"short"));
    }
}
