//! Marks: three numbers in each state that the application sets in a transaction.

use crate::{Result, TransactionId, record};
use crate::{read::snapshot::Snapshot, write::transaction::WriteTransaction};

/// Three numbers of the application, and the transaction that set them. See
/// [`WriteTxn::set_marks`](crate::WriteTxn::set_marks).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Marks {
    /// The numbers; zeros until they are set.
    pub values: [u64; 3],
    /// The last transaction that set them, even to equal values; `None` if no transaction has.
    pub set_in: Option<TransactionId>,
}

impl From<record::RecordMarks> for Marks {
    fn from(marks: record::RecordMarks) -> Self {
        Self {
            values: marks.values,
            // The first transaction has the id 1.
            set_in: Some(marks.transaction).filter(|transaction| transaction.0 > 0),
        }
    }
}

impl Snapshot {
    pub(crate) fn marks(&self) -> Marks {
        self.record.marks.into()
    }
}

impl WriteTransaction {
    pub(crate) fn marks(&self) -> Marks {
        self.marks.into()
    }

    pub(crate) fn set_marks(&mut self, values: [u64; 3]) -> Result<()> {
        self.refuse_broken()?;
        self.marks = record::RecordMarks {
            values,
            transaction: self.id(),
        };
        Ok(())
    }
}
