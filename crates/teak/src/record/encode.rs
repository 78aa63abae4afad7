//! Encoding of commit records.

use super::{
    CHECKED_FROM, CLEAN_CLOSE, COMPRESSED, FIXED_LEN, FORMAT_VERSION, MAGIC, REQUESTED_DURABLE,
    RESERVED_LEN, Record, SECTOR_LEN, WRITTEN_EXTENT_LEN, WRITTEN_LEFT_OUT, bytes::ByteWriter,
    decode::check_whole,
};
use crate::{
    alloc::ArrayRoot,
    types::{Checksum, Extent, TransactionId},
};

impl Record {
    /// How many bytes the space log may have beside `written_count` written extents, in a record of
    /// at most `len_max` bytes. If the result is small, leave out the written extents.
    pub(crate) fn log_room(len_max: usize, written_count: usize) -> usize {
        len_max.saturating_sub(FIXED_LEN + WRITTEN_EXTENT_LEN * written_count)
    }

    /// The bytes to write: whole sectors, at most a page.
    pub(crate) fn encode(&self, page_size: usize) -> Vec<u8> {
        let extents = self.written.as_deref().unwrap_or_default();
        let length = FIXED_LEN + WRITTEN_EXTENT_LEN * extents.len() + self.space_log.len();
        assert!(
            length <= page_size,
            "a record has {length} bytes and must fit into a page"
        );
        assert_eq!(
            self.compression != 0,
            self.features.incompatible & COMPRESSED != 0,
            "a program without the feature refuses compressed pages"
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
        out.u8(self.compression);
        out.u32(extent_count as u32);
        out.u32(self.space_log.len() as u32);
        out.u32(0);
        out.put(&self.database_id);
        out.put(&self.boot_id);
    }

    fn encode_state(&self, out: &mut ByteWriter) {
        out.u64(self.sequence);
        out.u64(self.transaction.0);
        out.u64(self.flushed_transaction.0);
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
        out.u64(self.log_end.0);
        out.put(&[0; RESERVED_LEN]);
    }

    fn flags(&self) -> u8 {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        flag(self.requested_durable, REQUESTED_DURABLE)
            | flag(self.clean_close, CLEAN_CLOSE)
            | flag(self.written.is_none(), WRITTEN_LEFT_OUT)
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
