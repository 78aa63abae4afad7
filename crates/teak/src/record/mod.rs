//! The commit record: everything needed to begin reading a committed state, and to continue
//! writing.
//!
//! Pages 0 to 3 are four *slots* for records. Each commit writes one record, over the oldest one
//! that is neither the last durable record nor about to become durable. Together with the newest
//! record three must be preserved, hence four slots. The newest record is the one with the highest
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
//! | 23 | 1 | flags: 1 asked to be durable, 2 clean close, 4 written extents left out |
//! | 24 | 4 | compatible features: unknown bits allow reading and writing |
//! | 28 | 4 | read-only-compatible features: unknown bits allow only reading |
//! | 32 | 4 | incompatible features: unknown bits forbid opening |
//! | 36 | 4 | page size P in bytes |
//! | 40 | 2 | bytes kept free at the end of each page (0; nonce and MAC of encrypted pages) |
//! | 42 | 1 | default durability, in the numbering of the layer above |
//! | 43 | 1 | zero |
//! | 44 | 4 | count of written extents |
//! | 48 | 4 | length of the space log |
//! | 52 | 4 | zero |
//! | 56 | 16 | database id |
//! | 72 | 16 | boot id of the machine when this was written |
//! | 88 | 8 | sequence |
//! | 96 | 8 | transaction |
//! | 104 | 8 | durable transaction: the last one known to be durable when this was written |
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
//! | 400 | 8 | acknowledged transaction: the last one known to be on disk when this was written, by a flush or by the journal |
//! | 408 | 24 | zero, reserved |
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
    alloc::{ArrayRoot, FIRST_PAGE, SpaceRoots},
    planted::planted,
    types::{Checksum, Extent, Geometry, PageNumber, TransactionId},
};

use std::time::Duration;

mod bytes;
pub(crate) mod durability;
pub(crate) mod probe;
pub(crate) mod record_ref;

use bytes::{ByteReader, ByteWriter};

/// Number of record slots: pages 0 to 3.
pub(crate) const SLOT_COUNT: u8 = 4;
/// The version of the format that this code writes.
pub(crate) const FORMAT_VERSION: u16 = 1;
/// Records are written in multiples of this length, which a disk writes atomically.
pub(crate) const SECTOR_LEN: usize = 512;
/// Length of a tree's root, which only the tree layer interprets.
pub(crate) const TREE_ROOT_LEN: usize = 64;

const MAGIC: [u8; 8] = *b"TeakRec\x01";
const CHECKED_FROM: usize = 16;
const SLOT_AT: usize = 22;
const FIXED_LEN: usize = 432;
const WRITTEN_EXTENT_LEN: usize = 8;
const RESERVED_LEN: usize = 24;
/// Bytes before the page size: those that say whether this code can read the record.
const FORMAT_FIELDS_LEN: usize = 36;

const ASKED_DURABLE: u8 = 1;
const CLEAN_CLOSE: u8 = 2;
const WRITTEN_LEFT_OUT: u8 = 4;

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

/// The features that this code knows.
pub(crate) const KNOWN_FEATURES: Features = Features {
    compatible: 0,
    read_only_compatible: NAMED_SNAPSHOTS,
    incompatible: TABLE_KINDS | JOURNAL,
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
    pub(crate) durable_transaction: TransactionId,
    pub(crate) time_ms: u64,
    pub(crate) asked_durable: bool,
    pub(crate) clean_close: bool,
    pub(crate) default_durability: u8,
    pub(crate) page_count: u64,
    pub(crate) geometry: Geometry,
    pub(crate) catalog_root: [u8; TREE_ROOT_LEN],
    pub(crate) snapshots_root: [u8; TREE_ROOT_LEN],
    pub(crate) marks: RecordMarks,
    pub(crate) flush_limits: FlushLimits,
    pub(crate) space_roots: SpaceRoots,
    pub(crate) journal: Option<JournalPages>,
    /// The last transaction known to be on disk when this was written, by a flush or by the
    /// journal.
    pub(crate) acknowledged: TransactionId,
    /// All extents of the state that were written since the durable transaction, or `None` if they
    /// did not fit.
    pub(crate) written: Option<Vec<Extent>>,
    pub(crate) space_log: Vec<u8>,
}

/// Why bytes are not a usable commit record.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum RecordFault {
    /// The magic differs.
    #[error("there is no commit record")]
    NotARecord,
    /// Length or checksum do not match.
    #[error("the commit record is damaged or incomplete")]
    Damaged,
    /// Written by a future version.
    #[error("format version {0}")]
    UnknownVersion(u16),
    /// Incompatible feature bits that this code does not know.
    #[error("features {0:#x}")]
    UnknownFeatures(u32),
    /// A complete record that belongs to another slot.
    #[error("the commit record was written for slot {0} and is in another")]
    WrongSlot(u8),
    /// A complete record with an invalid field.
    #[error("the commit record is inconsistent: {0}")]
    Nonsense(&'static str),
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

    /// How many bytes the space log may have beside `written_count` written extents. If the result
    /// is small, leave out the written extents.
    pub(crate) fn log_room(page_size: usize, written_count: usize) -> usize {
        page_size.saturating_sub(FIXED_LEN + WRITTEN_EXTENT_LEN * written_count)
    }

    /// The bytes to write: whole sectors, at most a page.
    pub(crate) fn encode(&self, page_size: usize) -> Vec<u8> {
        let extents = self.written.as_deref().unwrap_or_default();
        let length = FIXED_LEN + WRITTEN_EXTENT_LEN * extents.len() + self.space_log.len();
        assert!(
            length <= page_size,
            "a record has {length} bytes and must fit into a page"
        );
        assert!(
            page_size.is_multiple_of(SECTOR_LEN),
            "a page has whole sectors, so that a padded record stays in it"
        );
        assert!(
            self.journal.is_none_or(|journal| journal.extent.len > 0),
            "a journal without pages is stored as none"
        );
        let sectors_len = length.next_multiple_of(SECTOR_LEN);
        let mut out = ByteWriter::new(sectors_len);
        out.put(&MAGIC);
        out.u64(0);
        self.encode_format(length, extents.len(), &mut out);
        self.encode_state(&mut out);
        assert_eq!(
            out.len(),
            FIXED_LEN,
            "the lists begin where the fixed part ends"
        );
        for extent in extents {
            out.u32(extent.start.0);
            out.u32(extent.len);
        }
        out.put(&self.space_log);
        let mut bytes = out.finish(sectors_len);
        let checksum = Checksum::of(&bytes[CHECKED_FROM..length]);
        bytes[8..16].copy_from_slice(&checksum.0.to_le_bytes());
        debug_assert!(
            check_whole(&bytes).is_ok_and(|record| record.len() == length),
            "what was encoded reads back as a whole record"
        );
        assert_eq!(
            (Self::slot_of(&bytes), Self::sectors_len(&bytes)),
            (self.slot, bytes.len()),
            "slot and length are found in the bytes without decoding them"
        );
        bytes
    }

    fn encode_format(&self, length: usize, extent_count: usize, out: &mut ByteWriter) {
        out.u32(length as u32);
        out.u16(FORMAT_VERSION);
        out.u8(self.slot);
        out.u8(self.flags());
        out.u32(self.features.compatible);
        out.u32(self.features.read_only_compatible);
        out.u32(self.features.incompatible);
        out.u32(self.page_size);
        out.u16(self.reserved_per_page);
        out.u8(self.default_durability);
        out.u8(0);
        out.u32(extent_count as u32);
        out.u32(self.space_log.len() as u32);
        out.u32(0);
        out.put(&self.database_id);
        out.put(&self.boot_id);
    }

    fn encode_state(&self, out: &mut ByteWriter) {
        out.u64(self.sequence);
        out.u64(self.transaction.0);
        out.u64(self.durable_transaction.0);
        out.u64(self.time_ms);
        out.u64(self.page_count);
        out.u64(self.geometry.lower_limit_bytes);
        out.u64(self.geometry.upper_limit_bytes);
        out.u64(self.geometry.growth_step_bytes);
        out.u64(self.geometry.shrink_threshold_bytes);
        out.put(&self.catalog_root);
        out.put(&self.snapshots_root);
        self.marks.values.iter().for_each(|value| out.u64(*value));
        out.u64(self.marks.transaction.0);
        encode_root(&self.space_roots.bitmaps, out);
        encode_root(&self.space_roots.deaths, out);
        out.u64(self.flush_limits.bytes.max(1));
        out.u64(self.flush_limits.age_ms());
        let journal = self
            .journal
            .map_or((Extent::new(0, 0), TransactionId(0)), |j| {
                (j.extent, j.since)
            });
        out.u32(journal.0.start.0);
        out.u32(journal.0.len);
        out.u64(journal.1.0);
        out.u64(self.acknowledged.0);
        out.put(&[0; RESERVED_LEN]);
    }

    fn flags(&self) -> u8 {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        flag(self.asked_durable, ASKED_DURABLE)
            | flag(self.clean_close, CLEAN_CLOSE)
            | flag(self.written.is_none(), WRITTEN_LEFT_OUT)
    }

    /// Whether both can be records of one file: its identity and its page layout never change.
    pub(crate) fn has_same_file(&self, other: &Self) -> bool {
        self.database_id == other.database_id
            && self.page_size == other.page_size
            && self.reserved_per_page == other.reserved_per_page
    }

    /// The slot that the bytes claim, if they are a record.
    pub(crate) fn slot_of(bytes: &[u8]) -> u8 {
        bytes.get(SLOT_AT).copied().unwrap_or_default()
    }

    /// The length of the sectors that the bytes claim, if they are a record.
    pub(crate) fn sectors_len(bytes: &[u8]) -> usize {
        let length = bytes.get(16..20).and_then(|bytes| bytes.try_into().ok());
        let length = u32::from_le_bytes(length.unwrap_or_default());
        (length as usize).next_multiple_of(SECTOR_LEN)
    }

    /// Reads the record in `slot`. `bytes` begin at the slot and may extend past the record.
    pub(crate) fn decode(bytes: &[u8], slot: u8) -> Result<Self, RecordFault> {
        let record = check_whole(bytes)?;
        let mut fields = ByteReader::new(record);
        fields.skip(20);
        let version = fields.u16();
        if version != FORMAT_VERSION {
            return Err(RecordFault::UnknownVersion(version));
        }
        let found_slot = fields.u8();
        let flags = fields.u8();
        let features = Features {
            compatible: fields.u32(),
            read_only_compatible: fields.u32(),
            incompatible: fields.u32(),
        };
        let unknown = features.incompatible & !KNOWN_FEATURES.incompatible;
        if unknown != 0 {
            return Err(RecordFault::UnknownFeatures(unknown));
        }
        if found_slot != slot {
            return Err(RecordFault::WrongSlot(found_slot));
        }
        let len = record.len();
        let record = Self::decode_fields(slot, flags, features, fields)?;
        record.check().map_err(RecordFault::Nonsense)?;
        if len > record.page_size as usize {
            return Err(RecordFault::Nonsense("it is longer than a page"));
        }
        Ok(record)
    }

    fn decode_fields(
        slot: u8,
        flags: u8,
        features: Features,
        mut fields: ByteReader<'_>,
    ) -> Result<Self, RecordFault> {
        let total_len = FORMAT_FIELDS_LEN + fields.len();
        let page_size = fields.u32();
        let reserved_per_page = fields.u16();
        let default_durability = fields.u8();
        fields.skip(1);
        let extent_count = fields.u32();
        let log_len = fields.u32();
        fields.skip(4);
        let mut record = Self {
            slot,
            features,
            page_size,
            reserved_per_page,
            default_durability,
            asked_durable: flags & ASKED_DURABLE != 0,
            clean_close: flags & CLEAN_CLOSE != 0,
            database_id: fields.array(),
            boot_id: fields.array(),
            sequence: fields.u64(),
            transaction: TransactionId(fields.u64()),
            durable_transaction: TransactionId(fields.u64()),
            time_ms: fields.u64(),
            page_count: fields.u64(),
            geometry: Geometry {
                lower_limit_bytes: fields.u64(),
                upper_limit_bytes: fields.u64(),
                growth_step_bytes: fields.u64(),
                shrink_threshold_bytes: fields.u64(),
            },
            catalog_root: fields.array(),
            snapshots_root: fields.array(),
            marks: RecordMarks {
                values: [fields.u64(), fields.u64(), fields.u64()],
                transaction: TransactionId(fields.u64()),
            },
            space_roots: SpaceRoots {
                bitmaps: decode_root(&mut fields),
                deaths: decode_root(&mut fields),
            },
            flush_limits: FlushLimits::from_fields(fields.u64(), fields.u64()),
            journal: {
                let extent = Extent::new(fields.u32(), fields.u32());
                let since = TransactionId(fields.u64());
                (extent.len > 0).then_some(JournalPages { extent, since })
            },
            acknowledged: TransactionId(fields.u64()),
            written: None,
            space_log: Vec::new(),
        };
        fields.skip(RESERVED_LEN);
        assert_eq!(
            total_len - fields.len(),
            FIXED_LEN,
            "the lists are read from where they were written"
        );
        let is_left_out = flags & WRITTEN_LEFT_OUT != 0;
        record.decode_lists(fields, extent_count, log_len, is_left_out)?;
        Ok(record)
    }

    fn decode_lists(
        &mut self,
        mut fields: ByteReader<'_>,
        extent_count: u32,
        log_len: u32,
        is_left_out: bool,
    ) -> Result<(), RecordFault> {
        if fields.len() as u64
            != u64::from(extent_count) * WRITTEN_EXTENT_LEN as u64 + u64::from(log_len)
        {
            return Err(RecordFault::Nonsense("its parts are not as long as it is"));
        }
        let extents = (0..extent_count)
            .map(|_| Extent::new(fields.u32(), fields.u32()))
            .collect();
        self.written = (!is_left_out).then_some(extents);
        self.space_log = fields.rest().to_vec();
        Ok(())
    }

    /// Checks that the fields of the record are valid.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let is_page = |page: PageNumber| u64::from(page.0) < self.page_count;
        let is_extent = |extent: &Extent| {
            extent.len > 0 && extent.start.0 >= FIRST_PAGE && extent.end() <= self.page_count
        };
        let roots = [self.space_roots.bitmaps, self.space_roots.deaths];
        let rules = [
            (self.slot < SLOT_COUNT, "there is no such slot"),
            (
                self.sequence < LAST_NUMBER && self.transaction.0 < LAST_NUMBER,
                "there is no number for another commit",
            ),
            (is_page_size(self.page_size), "the page size is none"),
            (
                u32::from(self.reserved_per_page) < self.page_size / 2,
                "pages have no room left",
            ),
            (
                self.page_count >= u64::from(FIRST_PAGE),
                "the file is shorter than its records",
            ),
            (
                self.page_count <= 1 << 32,
                "there are more pages than numbers for them",
            ),
            (
                self.durable_transaction <= self.transaction,
                "a later transaction is durable",
            ),
            (
                self.acknowledged <= self.transaction,
                "a later transaction was acknowledged",
            ),
            (
                self.journal.iter().all(|journal| {
                    is_extent(&journal.extent)
                        && journal.extent.len <= u32::from(u16::MAX)
                        && journal.since <= self.transaction
                }),
                "the journal is not in the file",
            ),
            (
                self.geometry.lower_limit_bytes <= self.geometry.upper_limit_bytes,
                "the size limits cross",
            ),
            (
                roots.iter().all(|root| is_page(root.page)),
                "the free-space map is beyond the end",
            ),
            (
                self.written.iter().flatten().all(is_extent),
                "a written extent is not in the file",
            ),
            (
                self.written
                    .iter()
                    .all(|extents| extents.is_sorted_by(|a, b| a.end() <= u64::from(b.start.0))),
                "the written extents are not sorted and apart",
            ),
        ];
        rules
            .iter()
            .try_for_each(|(holds, what)| if *holds { Ok(()) } else { Err(*what) })
    }
}

/// This many zeros at the start of a slot mean that it has no record.
pub(crate) const ERASED_LEN: usize = SECTOR_LEN;

/// Whether a slot, which begins with `bytes`, never had a record or has been erased.
pub(crate) fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().take(ERASED_LEN).all(|byte| *byte == 0)
}

/// The bytes of the record, if magic, length and checksum are right.
fn check_whole(bytes: &[u8]) -> Result<&[u8], RecordFault> {
    let Some((head, _)) = bytes.split_at_checked(FIXED_LEN) else {
        return Err(RecordFault::NotARecord);
    };
    let mut fields = ByteReader::new(head);
    if fields.array() != MAGIC {
        return Err(RecordFault::NotARecord);
    }
    let checksum = Checksum(fields.u64());
    let length = fields.u32() as usize;
    match bytes.get(..length) {
        Some(record)
            if length >= FIXED_LEN
                && (planted!(NoChecksum) || Checksum::of(&record[CHECKED_FROM..]) == checksum) =>
        {
            Ok(record)
        }
        _ => Err(RecordFault::Damaged),
    }
}

fn encode_root(root: &ArrayRoot, out: &mut ByteWriter) {
    out.u32(root.page.0);
    out.u32(root.info);
    out.u64(root.checksum.0);
    out.u32(root.count);
    out.u8(root.depth);
    out.put(&[0; 3]);
}

fn decode_root(fields: &mut ByteReader<'_>) -> ArrayRoot {
    let page = PageNumber(fields.u32());
    let info = fields.u32();
    let checksum = Checksum(fields.u64());
    let count = fields.u32();
    let depth = fields.u8();
    fields.skip(3);
    ArrayRoot {
        page,
        info,
        checksum,
        depth,
        count,
    }
}

#[cfg(test)]
mod tests;
