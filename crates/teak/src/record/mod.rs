//! The commit record: everything needed to begin reading a committed state, and to continue
//! writing.
//!
//! Pages 0 to 3 are four *slots* for records. Each commit writes one record, over the oldest one
//! that is neither the newest record, nor the last flushed one, nor the target of a running flush.
//! Three records must be preserved, hence four slots. The newest record is the one with the highest
//! sequence. (A clean close repeats the last transaction in a record with a higher sequence.)
//!
//! A record begins its page. It is written in whole sectors of 512 bytes, with zeros after its
//! length. All numbers are little-endian.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic: `TeakRec` and a byte 1 |
//! | 8 | 8 | checksum: XXH3-64 of the bytes from 16 up to the length |
//! | 16 | 4 | length of the record in bytes, at most a page |
//! | 20 | 2 | format version: 1 |
//! | 22 | 1 | slot: 0 to 3 |
//! | 23 | 1 | flags: 1 durability requested, 2 clean close, 4 written extents left out |
//! | 24 | 4 | compatible features: unknown bits allow reading and writing |
//! | 28 | 4 | read-only-compatible features: unknown bits allow only reading |
//! | 32 | 4 | incompatible features: unknown bits forbid opening |
//! | 36 | 4 | page size P in bytes |
//! | 40 | 2 | bytes kept free at the end of each page (0; 40 if pages are encrypted or compressed) |
//! | 42 | 1 | default durability, encoded by `Durability::to_byte` |
//! | 43 | 1 | compression of pages: 0 none, 1 LZ4, 1 + L zstd at level L |
//! | 44 | 4 | count of written extents |
//! | 48 | 4 | length of the space log |
//! | 52 | 4 | zero |
//! | 56 | 16 | database id |
//! | 72 | 16 | boot id of the machine when this was written |
//! | 88 | 8 | sequence |
//! | 96 | 8 | transaction |
//! | 104 | 8 | flushed transaction: the last one known to be flushed when this was written |
//! | 112 | 8 | time of the commit, milliseconds since 1970 |
//! | 120 | 8 | page count: pages of the file, slots included |
//! | 128 | 8 | geometry: lower limit in bytes |
//! | 136 | 8 | geometry: upper limit in bytes |
//! | 144 | 8 | geometry: growth step in bytes |
//! | 152 | 8 | geometry: shrink threshold in bytes |
//! | 160 | 64 | root of the catalog, in the encoding of the tree layer |
//! | 224 | 64 | root of the tree of named snapshots, which rollbacks do not affect |
//! | 288 | 24 | marks: three numbers of the application |
//! | 312 | 8 | transaction that set the marks |
//! | 320 | 24 | root of the array of bitmaps |
//! | 344 | 24 | root of the array of segments of deaths |
//! | 368 | 8 | bytes of lazy commits that may wait for a flush; all ones for no limit, zero for the default |
//! | 376 | 8 | milliseconds that a lazy commit may wait for a flush; all ones for no limit, zero for the default |
//! | 384 | 4 | journal: its first page; zero if there is none |
//! | 388 | 4 | journal: its pages |
//! | 392 | 8 | journal: the transaction that allocated it |
//! | 400 | 8 | acknowledged transaction: the last one known to be durable when this was written, by a flush or by the journal |
//! | 408 | 8 | checksum of the last entry of the write-ahead log that this commit has merged; zero if it merged none |
//! | 416 | 16 | zero, reserved |
//! | 432 | 8 x count | written extents: first page (4), length in pages (4) |
//! | then | | the space log |
//!
//! The root of an array:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | page: of the root node, or of the single element; 0 if there is none |
//! | 4 | 4 | info |
//! | 8 | 8 | checksum |
//! | 16 | 4 | count of elements |
//! | 20 | 1 | depth |
//! | 21 | 3 | zero |
//!
//! Magic, checksum and length keep their offsets in all future versions, so that a damaged record
//! is never taken for one of a future version.

use crate::{
    alloc::{FIRST_PAGE, SpaceRoots},
    types::{Checksum, Extent, Geometry, TransactionId},
};

use std::{fmt, time::Duration};

mod bytes;
mod decode;
pub(crate) mod durability;
mod encode;
pub(crate) mod probe;
pub(crate) mod record_ref;

/// Number of record slots: pages 0 to 3.
pub(crate) const SLOT_COUNT: u8 = 4;
/// The version of the format that this code writes.
pub(crate) const FORMAT_VERSION: u16 = 1;
/// Records are written in multiples of this length, which a disk writes atomically.
pub(crate) const SECTOR_LEN: usize = 512;
/// Length of a tree's root, which only the tree layer interprets.
pub(crate) const TREE_ROOT_LEN: usize = 64;

const MAGIC: [u8; 8] = *b"TeakRec\x01";
const CHECKSUM_AT: usize = 8;
const CHECKED_FROM: usize = 16;
const SLOT_AT: usize = 22;
const FLAGS_AT: usize = 23;
const DATABASE_ID_AT: usize = 56;
const FIXED_LEN: usize = 432;
const WRITTEN_EXTENT_LEN: usize = 8;
const RESERVED_LEN: usize = 16;
/// Bytes before the page size: those that say whether this code can read the record.
const FORMAT_FIELDS_LEN: usize = 36;

/// The bytes that an encrypted record has in addition: the description of its keys, a nonce and a
/// tag.
pub(crate) const SEALED_OVERHEAD_LEN: usize = 192 + 24 + 16;

const REQUESTED_DURABLE: u8 = 1;
const CLEAN_CLOSE: u8 = 2;
const WRITTEN_LEFT_OUT: u8 = 4;
/// Most of the record is encrypted.
const SEALED: u8 = 8;

const _: () = assert!(
    SLOT_COUNT as u32 == FIRST_PAGE,
    "the pages of the records are those that the free-space map does not hand out"
);
const _: () = assert!(
    FIXED_LEN <= SECTOR_LEN,
    "the fixed part of a record is in one sector, which a disk writes atomically"
);
const _: () = assert!(
    (MAGIC.len() + size_of::<Checksum>()) == CHECKED_FROM,
    "the checksum covers everything after itself"
);
const _: () = assert!(
    CHECKED_FROM < SLOT_AT && SLOT_AT < FORMAT_FIELDS_LEN,
    "the slot is covered by the checksum, and is among the fields that are read first"
);

/// Feature bits of the format, grouped by what an implementation that does not know them may do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Features {
    pub(crate) compatible: u32,
    pub(crate) read_only_compatible: u32,
    pub(crate) incompatible: u32,
}

/// There are named snapshots, whose pages a writer must preserve.
pub(crate) const NAMED_SNAPSHOTS: u32 = 1;

/// There are, or were, tables of kinds that programs without support for them must not ignore.
pub(crate) const TABLE_KINDS: u32 = 2;

/// There is, or was, a journal: it may hold commits that are stored nowhere else.
pub(crate) const JOURNAL: u32 = 4;

/// Pages, values and records are encrypted.
pub(crate) const ENCRYPTED: u32 = 1;
/// Pages and large values may be compressed.
pub(crate) const COMPRESSED: u32 = 16;

/// There is a prepared transaction in the list of named snapshots: an entry of a kind that programs
/// without support for it cannot verify, and without whose decision nothing may be written.
pub(crate) const PREPARED_TRANSACTION: u32 = 8;

const _: () = assert!(
    TABLE_KINDS & JOURNAL == 0 && (TABLE_KINDS | JOURNAL) & PREPARED_TRANSACTION == 0,
    "each feature has a bit of its own"
);

/// The features that this code knows.
pub(crate) const KNOWN_FEATURES: Features = Features {
    compatible: 0,
    read_only_compatible: NAMED_SNAPSHOTS,
    incompatible: ENCRYPTED | TABLE_KINDS | JOURNAL | PREPARED_TRANSACTION | COMPRESSED,
};

/// The limits at which lazy commits are flushed without a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlushLimits {
    /// Bytes of pages that may wait; `u64::MAX` for no limit.
    pub(crate) bytes: u64,
    /// How long the oldest of them may wait, in whole milliseconds; `Duration::MAX` for no limit.
    pub(crate) age: Duration,
}

impl FlushLimits {
    /// No commit waits longer than five seconds, the interval at which ext4 commits its journal.
    pub(crate) const DEFAULT: Self = Self {
        bytes: u64::MAX,
        age: Duration::from_secs(5),
    };

    /// Whether a lazy commit never becomes due.
    pub(crate) fn is_never(self) -> bool {
        self.bytes == u64::MAX && self.age == Duration::MAX
    }

    fn age_ms(self) -> u64 {
        u64::try_from(self.age.as_millis().max(1)).unwrap_or(u64::MAX)
    }

    /// Zero is not a possible limit, and means that none was set.
    fn from_fields(bytes: u64, age_ms: u64) -> Self {
        Self {
            bytes: match bytes {
                0 => Self::DEFAULT.bytes,
                bytes => bytes,
            },
            age: match age_ms {
                0 => Self::DEFAULT.age,
                u64::MAX => Duration::MAX,
                age_ms => Duration::from_millis(age_ms),
            },
        }
    }
}

/// Pages for entries of small commits. These entries are on disk before the commits' own pages are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JournalPages {
    pub(crate) extent: Extent,
    /// The transaction that allocated them.
    pub(crate) since: TransactionId,
}

/// Numbers that the application sets in a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RecordMarks {
    pub(crate) values: [u64; 3],
    /// The transaction that set them.
    pub(crate) transaction: TransactionId,
}

/// A commit record, read or to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) slot: u8,
    pub(crate) features: Features,
    pub(crate) page_size: u32,
    pub(crate) reserved_per_page: u16,
    pub(crate) database_id: [u8; 16],
    pub(crate) boot_id: [u8; 16],
    pub(crate) sequence: u64,
    pub(crate) transaction: TransactionId,
    pub(crate) flushed_transaction: TransactionId,
    pub(crate) time_ms: u64,
    pub(crate) requested_durable: bool,
    pub(crate) clean_close: bool,
    pub(crate) default_durability: u8,
    /// How pages are compressed, encoded by `Compression::to_byte`; 0 if they are not.
    pub(crate) compression: u8,
    pub(crate) page_count: u64,
    pub(crate) geometry: Geometry,
    pub(crate) catalog_root: [u8; TREE_ROOT_LEN],
    pub(crate) snapshots_root: [u8; TREE_ROOT_LEN],
    pub(crate) marks: RecordMarks,
    pub(crate) flush_limits: FlushLimits,
    pub(crate) space_roots: SpaceRoots,
    pub(crate) journal: Option<JournalPages>,
    /// The last transaction known to be durable when this was written, by a flush or by the
    /// journal.
    pub(crate) acknowledged: TransactionId,
    /// The checksum of the last entry of the write-ahead log that this commit has merged, or zero.
    pub(crate) log_end: Checksum,
    /// All extents of the state that were written since the flushed transaction, or `None` if they
    /// did not fit.
    pub(crate) written: Option<Vec<Extent>>,
    pub(crate) space_log: Vec<u8>,
}

/// Why bytes are not a usable commit record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RecordFault {
    /// The magic differs.
    NotARecord,
    /// Length or checksum do not match.
    Damaged,
    /// Written by a future version.
    UnknownVersion(u16),
    /// Incompatible feature bits that this code does not know.
    UnknownFeatures(u32),
    /// A complete record that is encrypted, of a file with this page size.
    Encrypted(u32),
    /// A complete record that belongs to another slot.
    WrongSlot(u8),
    /// A complete record with an invalid field.
    Inconsistent(&'static str),
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord => f.write_str("there is no commit record"),
            Self::Damaged => f.write_str("the commit record is damaged or incomplete"),
            Self::UnknownVersion(version) => write!(f, "format version {version}"),
            Self::UnknownFeatures(features) => write!(f, "features {features:#x}"),
            Self::Encrypted(_) => f.write_str("the commit record is encrypted"),
            Self::WrongSlot(slot) => {
                write!(
                    f,
                    "the commit record was written for slot {slot} and is in another"
                )
            }
            Self::Inconsistent(detail) => write!(f, "the commit record is inconsistent: {detail}"),
        }
    }
}

/// Upper bound of transaction numbers; no commit ever has this number.
pub(crate) const LAST_NUMBER: u64 = 1 << 63;

/// Whether a database may have pages of this size.
pub(crate) const fn is_page_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && 4096 <= bytes && bytes <= 65536
}

impl Record {
    /// Returns a copy without the lists that each commit writes again.
    pub(crate) fn without_lists(&self) -> Self {
        Self {
            written: None,
            space_log: Vec::new(),
            ..*self
        }
    }

    /// Returns a copy without the written extents, which [`WrittenExtents`] keeps.
    ///
    /// [`WrittenExtents`]: crate::commit::written_extents::WrittenExtents
    pub(crate) fn without_written(&self) -> Self {
        Self {
            written: None,
            space_log: self.space_log.clone(),
            ..*self
        }
    }

    /// The bytes of a page that its layout may use.
    pub(crate) fn usable_page_len(&self) -> usize {
        self.page_size as usize - usize::from(self.reserved_per_page)
    }

    /// The longest encoded record, before it is encrypted.
    pub(crate) fn len_max(&self) -> usize {
        match self.reserved_per_page {
            0 => self.page_size as usize,
            _ => self.page_size as usize - SEALED_OVERHEAD_LEN,
        }
    }

    /// Whether there is a prepared transaction, so that nothing else may be written.
    pub(crate) fn has_prepared(&self) -> bool {
        self.features.incompatible & PREPARED_TRANSACTION != 0
    }

    /// Whether both can be records of one file: its identity and its page layout never change.
    pub(crate) fn has_same_file(&self, other: &Self) -> bool {
        self.database_id == other.database_id
            && self.page_size == other.page_size
            && self.reserved_per_page == other.reserved_per_page
    }
}

/// The image of a record, marked as one whose later part is going to be encrypted.
pub(crate) fn seal(image: &[u8]) -> Vec<u8> {
    let mut image = image.to_vec();
    image[FLAGS_AT] |= SEALED;
    image
}

/// Undoes [`seal`].
pub(crate) fn unseal(mut image: Vec<u8>) -> Vec<u8> {
    image[FLAGS_AT] &= !SEALED;
    let len = u32::from_le_bytes(*image[CHECKED_FROM..].first_chunk().expect("a whole record"));
    assert!(
        (CHECKED_FROM..=image.len()).contains(&(len as usize)),
        "the image has all bytes of the record"
    );
    let checksum = Checksum::of(&image[CHECKED_FROM..len as usize]);
    image[CHECKSUM_AT..CHECKED_FROM].copy_from_slice(&checksum.0.to_le_bytes());
    image
}

/// This many zeros at the start of a slot mean that it has no record.
pub(crate) const ERASED_LEN: usize = SECTOR_LEN;

/// Whether a slot, which begins with `bytes`, never had a record or has been erased.
pub(crate) fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().take(ERASED_LEN).all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests;
