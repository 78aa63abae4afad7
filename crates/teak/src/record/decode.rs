//! Decoding of commit records, and the check of their fields.

use super::{
    CHECKED_FROM, CLEAN_CLOSE, COMPRESSED, DATABASE_ID_AT, FIXED_LEN, FORMAT_FIELDS_LEN,
    FORMAT_VERSION, Features, FlushLimits, JournalPages, KNOWN_FEATURES, LAST_NUMBER, MAGIC,
    REQUESTED_DURABLE, RESERVED_LEN, Record, RecordFault, RecordMarks, SEALED, SECTOR_LEN, SLOT_AT,
    SLOT_COUNT, WRITTEN_EXTENT_LEN, WRITTEN_LEFT_OUT, bytes::ByteReader, is_page_size,
};
use crate::{
    alloc::{ArrayRoot, FIRST_PAGE, SpaceRoots},
    planted::planted,
    types::{Checksum, Extent, Geometry, PageNumber, TransactionId},
};

impl Record {
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
        if flags & SEALED != 0 {
            let page_size = fields.u32();
            return Err(match is_page_size(page_size) {
                true => RecordFault::Encrypted(page_size),
                false => RecordFault::Inconsistent("the page size is invalid"),
            });
        }
        let len = record.len();
        let record = Self::decode_fields(slot, flags, features, fields)?;
        record.check().map_err(RecordFault::Inconsistent)?;
        if len > record.page_size as usize {
            return Err(RecordFault::Inconsistent("it is longer than a page"));
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
        let compression = fields.u8();
        let extent_count = fields.u32();
        let log_len = fields.u32();
        fields.skip(4);
        let mut record = Self {
            slot,
            features,
            page_size,
            reserved_per_page,
            default_durability,
            compression,
            requested_durable: flags & REQUESTED_DURABLE != 0,
            clean_close: flags & CLEAN_CLOSE != 0,
            database_id: fields.array(),
            boot_id: fields.array(),
            sequence: fields.u64(),
            transaction: TransactionId(fields.u64()),
            flushed_transaction: TransactionId(fields.u64()),
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
            log_end: Checksum(fields.u64()),
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
            return Err(RecordFault::Inconsistent(
                "the lengths of its sections do not add up",
            ));
        }
        let extents = (0..extent_count)
            .map(|_| Extent::new(fields.u32(), fields.u32()))
            .collect();
        self.written = (!is_left_out).then_some(extents);
        self.space_log = fields.rest().to_vec();
        Ok(())
    }

    /// The slot that the bytes claim, if they are a record.
    pub(crate) fn slot_of(bytes: &[u8]) -> u8 {
        bytes.get(SLOT_AT).copied().unwrap_or_default()
    }

    /// The database id in the bytes, if they are a record.
    pub(crate) fn database_id_of(bytes: &[u8]) -> [u8; 16] {
        let id = bytes.get(DATABASE_ID_AT..).and_then(<[u8]>::first_chunk);
        id.copied().unwrap_or_default()
    }

    /// The length of the sectors that the bytes claim, if they are a record.
    pub(crate) fn sectors_len(bytes: &[u8]) -> usize {
        let length = bytes.get(16..20).and_then(|bytes| bytes.try_into().ok());
        let length = u32::from_le_bytes(length.unwrap_or_default());
        (length as usize).next_multiple_of(SECTOR_LEN)
    }

    /// Checks that the fields of the record are valid.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let is_page = |page: PageNumber| u64::from(page.0) < self.page_count;
        let is_extent = |extent: &Extent| {
            extent.len > 0 && extent.start.0 >= FIRST_PAGE && extent.end() <= self.page_count
        };
        let roots = [self.space_roots.bitmaps, self.space_roots.deaths];
        let rules = [
            (self.slot < SLOT_COUNT, "the slot number is out of range"),
            (
                self.sequence < LAST_NUMBER && self.transaction.0 < LAST_NUMBER,
                "its transaction or sequence number is exhausted",
            ),
            (is_page_size(self.page_size), "the page size is invalid"),
            (
                u32::from(self.reserved_per_page) < self.page_size / 2,
                "the reserved bytes leave no room in a page",
            ),
            (
                (self.compression != 0) == (self.features.incompatible & COMPRESSED != 0),
                "its compression and its features differ",
            ),
            (
                self.page_count >= u64::from(FIRST_PAGE),
                "the page count does not cover the record slots",
            ),
            (self.page_count <= 1 << 32, "the page count exceeds 2^32"),
            (
                self.flushed_transaction <= self.transaction,
                "its flushed transaction is newer than its own",
            ),
            (
                self.acknowledged <= self.transaction,
                "its acknowledged transaction is newer than its own",
            ),
            (
                self.journal.iter().all(|journal| {
                    is_extent(&journal.extent)
                        && journal.extent.len <= u32::from(u16::MAX)
                        && journal.since <= self.transaction
                }),
                "the journal lies outside the file",
            ),
            (
                self.geometry.lower_limit_bytes <= self.geometry.upper_limit_bytes,
                "the lower size limit exceeds the upper one",
            ),
            (
                roots.iter().all(|root| is_page(root.page)),
                "the free-space map lies outside the file",
            ),
            (
                self.written.iter().flatten().all(is_extent),
                "a written extent lies outside the file",
            ),
            (
                self.written
                    .iter()
                    .all(|extents| extents.is_sorted_by(|a, b| a.end() <= u64::from(b.start.0))),
                "the written extents overlap or are unsorted",
            ),
        ];
        rules
            .iter()
            .try_for_each(|(holds, text)| if *holds { Ok(()) } else { Err(*text) })
    }
}

/// The bytes of the record, if magic, length and checksum are right.
pub(super) fn check_whole(bytes: &[u8]) -> Result<&[u8], RecordFault> {
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
