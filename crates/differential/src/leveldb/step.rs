//! Steps of scripts, and replies to them.

use std::fmt;

/// Snapshots, iterators and batches that exist at a time.
pub(crate) const SNAPSHOT_COUNT: usize = 3;
pub(crate) const ITERATOR_COUNT: usize = 3;
pub(crate) const BATCH_COUNT: usize = 2;

/// Bytes of a key or of a value. They are shown abbreviated.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ShownBytes(pub(crate) Vec<u8>);

/// The greatest number of shown parts of long bytes.
const PARTS_MAX: usize = 12;
/// The number of equal bytes from which on they are one part.
const RUN_MIN: usize = 6;

impl fmt::Debug for ShownBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for run in self.0.chunk_by(|a, b| a == b) {
            let byte = run[..1].escape_ascii().to_string();
            match run.len() {
                len @ RUN_MIN.. => parts.push(format!("{byte}*{len}")),
                len => parts.push(byte.repeat(len)),
            }
        }
        let count = parts.len();
        let is_long = |part: &String| part.contains('*');
        let shown = parts.iter().take(PARTS_MAX.max(count.min(40)));
        let mut was_long = false;
        f.write_str("\"")?;
        for part in shown {
            if was_long || is_long(part) {
                f.write_str(" ")?;
            }
            was_long = is_long(part);
            f.write_str(part)?;
        }
        match count > 40 {
            true => write!(f, "\"... {} bytes", self.0.len()),
            false => f.write_str("\""),
        }
    }
}

/// A change of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BatchEntry {
    Put(ShownBytes, ShownBytes),
    Delete(ShownBytes),
}

/// The state that is read: that of a snapshot, or the newest.
pub(crate) type View = Option<usize>;

/// A move of an iterator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum IteratorMove {
    First,
    Last,
    Seek(ShownBytes),
    Next,
    Prev,
}

/// An opening that LevelDB refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    Exists,
    Missing,
    Locked,
    OtherComparator,
    NoParent,
    NoDirectory,
    DestroyOpen,
}

/// A step of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Put {
        key: ShownBytes,
        value: ShownBytes,
        is_synced: bool,
    },
    Delete {
        key: ShownBytes,
        is_synced: bool,
    },
    Fill {
        batch: usize,
        entries: Vec<BatchEntry>,
    },
    Clear(usize),
    Append {
        to: usize,
        from: usize,
    },
    Iterate(usize),
    Write {
        batch: usize,
        is_synced: bool,
    },
    Get {
        view: View,
        key: ShownBytes,
    },
    TakeSnapshot(usize),
    ReleaseSnapshot(usize),
    OpenIterator {
        slot: usize,
        view: View,
    },
    CloseIterator(usize),
    Move {
        slot: usize,
        to: IteratorMove,
    },
    /// Compares all records, in both directions.
    CompareAll(View),
    Compact {
        start: Option<ShownBytes>,
        limit: Option<ShownBytes>,
    },
    Property(String),
    Sizes(ShownBytes, ShownBytes),
    Reopen,
    Refused(Refusal),
    Destroy {
        has_other_file: bool,
    },
    Repair,
}

/// A record.
pub(crate) type ShownRecord = (ShownBytes, ShownBytes);

/// The reply to a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    Done,
    Failed(String),
    Value(Option<ShownBytes>),
    /// The position of an iterator.
    At(Option<ShownRecord>),
    /// The position of an iterator with an error.
    AtError(String),
    Entries(Vec<BatchEntry>),
    Records {
        forward: Vec<ShownRecord>,
        back: Vec<ShownRecord>,
    },
    Property(Option<String>),
    /// Whether an estimate can be true.
    Plausible(bool),
    /// Whether the directory is left.
    Left(bool),
}
