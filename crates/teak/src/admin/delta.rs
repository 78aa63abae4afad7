//! Incremental backups: the pages that a copy of an older state lacks.
//!
//! A page that was born after the older state is in none of its copies. A page that was born before
//! and is needed now is in all copies of that state or of a later one: from then on it was in use,
//! or a named snapshot used it. The births of pages are therefore sufficient. See `docs/format.md`
//! for the layout.

use crate::{
    Checksum, Error, Extent, PageNumber, Result, TransactionId,
    alloc::{self, FIRST_PAGE},
    btree::{
        PageSource,
        checksums::ChecksummedExtent,
        pages::{Forest, Unshared, unshared},
        reading::reading,
    },
    page::header::Header,
    record::{Record, RecordFault},
};
use crate::{
    admin::{
        backup::{self, BackupProgress, READING_BACKUP, WRITING_BACKUP, blamed},
        verified_copy::{EncodedVerifier, ValueVerifier, Verified},
    },
    read::{reader::Reader, snapshot::PinnedSnapshot, state_key::StateKey},
    write::rollback::forest,
};
use std::{
    collections::VecDeque,
    hash::Hasher,
    io::{self, Read, Write},
    ops::ControlFlow,
};
use twox_hash::XxHash3_64;

const MAGIC: [u8; 8] = *b"TeakDlt\x01";
/// Pages that are written at once.
const PAGES_AT_ONCE: u32 = 256;

/// The head of a delta.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeltaHead {
    pub(crate) page_size: u32,
    pub(crate) database_id: [u8; 16],
    pub(crate) since: TransactionId,
    pub(crate) since_checksum: Checksum,
    pub(crate) transaction: TransactionId,
    pub(crate) page_count: u64,
}

impl DeltaHead {
    /// Whether a copy of `state` has the older state in its history, as far as that can be
    /// determined: it is that state, or has a name for it.
    pub(crate) fn continues(&self, state: &PinnedSnapshot) -> Result<bool> {
        let mut checksums = Vec::new();
        if state.transaction() == self.since {
            checksums.push(state.catalog().checksum);
        }
        for (_, named) in state.all_named()? {
            if named.transaction == self.since {
                checksums.push(named.catalog_checksum());
            }
        }
        Ok(checksums
            .iter()
            .all(|checksum| *checksum == self.since_checksum))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.page_size.to_le_bytes());
        bytes.extend(self.database_id);
        bytes.extend(self.since.0.to_le_bytes());
        bytes.extend(self.since_checksum.0.to_le_bytes());
        bytes.extend(self.transaction.0.to_le_bytes());
        bytes.extend(self.page_count.to_le_bytes());
        bytes
    }
}

/// Writes the pages of `state` that copies of `since`, or of a later state, lack. The caller holds
/// both states and the named snapshots.
pub(crate) fn write(
    (state, named): (&PinnedSnapshot, &[(StateKey, Reader)]),
    since: &PinnedSnapshot,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<BackupProgress> {
    let page_size = state.record().page_size as usize;
    let young = YoungPages::find(state, named, since);
    let YoungPages {
        page_count,
        extents,
        mut checksummed,
    } = young.map_err(|error| blamed(error, (state, named)))?;
    let head = DeltaHead {
        page_size: page_size as u32,
        database_id: state.record.database_id,
        since: since.transaction(),
        since_checksum: since.catalog().checksum,
        transaction: state.transaction(),
        page_count,
    };
    let pages: u64 = extents.iter().map(|extent| u64::from(extent.len)).sum();
    let mut out = HashingWriter::new(out);
    let mut done = BackupProgress {
        transaction: state.transaction(),
        bytes: 0,
        total_bytes: pages * page_size as u64,
    };
    out.write(&head.encode())?;
    out.write_extent(Extent::new(0, FIRST_PAGE))?;
    out.write(&backup::records(&state.record, &state.mapping, page_count))?;
    let mut chunk = Vec::new();
    let mut values = ValueVerifier::default();
    let mut encoded = EncodedVerifier::default();
    for extent in extents {
        out.write_extent(extent)?;
        let mut start = extent.start.0;
        while u64::from(start) < extent.end() {
            let end = extent
                .end()
                .min(u64::from(start) + u64::from(PAGES_AT_ONCE)) as u32;
            chunk.clear();
            for page in start..end {
                let page = PageNumber(page);
                let bytes = backup::add_page(state, page, page_size, &mut chunk)?;
                let compared = match state.mapping.is_coded() {
                    true => encoded.copied(state, (page, bytes), &mut checksummed),
                    false => values.copied(page, bytes, &mut checksummed),
                };
                compared.map_err(|error| blamed(error, (state, named)))?;
            }
            out.write(&chunk)?;
            done.bytes += chunk.len() as u64;
            backup::report_progress(done, progress)?;
            start = end;
        }
    }
    out.write_extent(Extent::new(0, 0))?;
    let hash = out.hash.finish();
    out.write(&hash.to_le_bytes())?;
    Ok(done)
}

/// The pages born after a state.
struct YoungPages {
    /// Number of pages of a copy.
    page_count: u64,
    /// All young pages.
    extents: Vec<Extent>,
    /// Young pages of trees with their checksums, sorted.
    checksummed: VecDeque<ChecksummedExtent>,
}

impl YoungPages {
    fn find(
        state: &PinnedSnapshot,
        named: &[(StateKey, Reader)],
        since: &PinnedSnapshot,
    ) -> Result<Self> {
        let space = state.load_space_map()?;
        let source = Verified(state);
        let mut checksummed: Vec<ChecksummedExtent> = Vec::new();
        let mut own: Vec<Extent> = Vec::new();
        let is_young = |birth: TransactionId| birth > since.transaction();
        let young = |born: Vec<Unshared>| {
            let young = born.into_iter().filter(|page| is_young(page.birth));
            young.map(|page| page.checksummed)
        };
        reading(&source, || {
            let [mut list, nothing] = [state, since].map(|state| Forest::new(state.transaction()));
            list.add(&state.named_list()?);
            let [born, _] = unshared(&source, list, nothing)?;
            checksummed.extend(young(born));
            let later = named.iter().map(|(_, named)| &**named);
            let later = later.filter(|named| is_young(named.transaction()));
            for state in later.chain([state]) {
                let source = Verified(state);
                let of = |state| forest(&Verified(state), state.transaction(), state.catalog());
                let [born, _] = unshared(&source, of(state)?, of(since)?)?;
                checksummed.extend(young(born));
            }
            for page in space.classify().own {
                let header = Header::read(PageSource::page(state, page)?);
                own.extend(is_young(header.birth).then_some(Extent::new(page.0, 1)));
            }
            Ok(())
        })?;
        checksummed.sort_unstable_by_key(|page| page.extent.start);
        checksummed.dedup_by_key(|page| page.extent.start);
        own.extend(checksummed.iter().map(|page| page.extent));
        Ok(Self {
            page_count: space.page_count() - space.trailing_free(),
            extents: alloc::joined(own),
            checksummed: checksummed.into(),
        })
    }
}

/// A writer that hashes everything written.
struct HashingWriter<'w> {
    out: &'w mut dyn Write,
    hash: XxHash3_64,
}

impl<'w> HashingWriter<'w> {
    fn new(out: &'w mut dyn Write) -> Self {
        let hash = XxHash3_64::default();
        Self { out, hash }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.write(bytes);
        self.out.write_all(bytes).map_err(Error::io(WRITING_BACKUP))
    }

    fn write_extent(&mut self, extent: Extent) -> Result<()> {
        let (start, len) = (extent.start.0.to_le_bytes(), extent.len.to_le_bytes());
        self.write(&[start, len].concat())
    }
}

/// A reader of a delta.
pub(crate) struct Delta<'r> {
    source: &'r mut dyn Read,
    hash: XxHash3_64,
    pub(crate) head: DeltaHead,
}

impl<'r> Delta<'r> {
    /// Reads the head.
    pub(crate) fn open(source: &'r mut dyn Read) -> Result<Self> {
        let head = DeltaHead {
            page_size: 0,
            database_id: [0; 16],
            since: TransactionId(0),
            since_checksum: Checksum(0),
            transaction: TransactionId(0),
            page_count: 0,
        };
        let hash = XxHash3_64::default();
        let mut delta = Self { source, hash, head };
        if delta.array()? != MAGIC {
            return Err(not_one("it does not begin like one"));
        }
        delta.head = DeltaHead {
            page_size: u32::from_le_bytes(delta.array()?),
            database_id: delta.array()?,
            since: TransactionId(u64::from_le_bytes(delta.array()?)),
            since_checksum: Checksum(u64::from_le_bytes(delta.array()?)),
            transaction: TransactionId(u64::from_le_bytes(delta.array()?)),
            page_count: u64::from_le_bytes(delta.array()?),
        };
        let is_possible = crate::record::is_page_size(delta.head.page_size)
            && (u64::from(FIRST_PAGE)..=1 << 32).contains(&delta.head.page_count);
        match is_possible {
            true => Ok(delta),
            false => Err(not_one("its header is invalid")),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.source
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => not_one("it ends too early"),
                _ => Error::io(READING_BACKUP)(error),
            })?;
        self.hash.write(bytes);
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    /// Passes all pages to `write`, some at a time, with the number of the first.
    pub(crate) fn apply(
        mut self,
        mut write: impl FnMut(PageNumber, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut chunk = Vec::new();
        self.read_records(&mut chunk)?;
        write(PageNumber(0), &chunk)?;
        let mut next = u64::from(FIRST_PAGE);
        loop {
            let extent = self.read_extent()?;
            if extent.len == 0 {
                break;
            }
            if u64::from(extent.start.0) < next {
                return Err(not_one("its pages are not in order"));
            }
            if extent.end() > self.head.page_count {
                return Err(not_one("it has pages beyond the end of the file"));
            }
            next = extent.start.0.into();
            while next < extent.end() {
                let count = (extent.end() - next).min(PAGES_AT_ONCE.into());
                chunk.resize(count as usize * self.head.page_size as usize, 0);
                self.read(&mut chunk)?;
                write(PageNumber(next as u32), &chunk)?;
                next += count;
            }
        }
        self.read_end()
    }

    fn read_extent(&mut self) -> Result<Extent> {
        let (start, len) = (self.array()?, self.array()?);
        Ok(Extent::new(
            u32::from_le_bytes(start),
            u32::from_le_bytes(len),
        ))
    }

    /// Reads the first extent, which contains the commit records. They must match the head.
    fn read_records(&mut self, chunk: &mut Vec<u8>) -> Result<()> {
        if self.read_extent()? != Extent::new(0, FIRST_PAGE) {
            return Err(not_one("it does not begin with commit records"));
        }
        let page_size = self.head.page_size as usize;
        chunk.resize(page_size * FIRST_PAGE as usize, 0);
        self.read(chunk)?;
        for (slot, page) in (0..).zip(chunk.chunks(page_size)) {
            let agrees = match Record::decode(page, slot) {
                Ok(record) => {
                    record.page_size == self.head.page_size
                        && record.database_id == self.head.database_id
                        && record.transaction == self.head.transaction
                        && record.page_count == self.head.page_count
                }
                // The rest is checked when the database is opened.
                Err(RecordFault::Encrypted(page_size)) => page_size == self.head.page_size,
                Err(_) => false,
            };
            if !agrees {
                return Err(not_one("its commit records contradict its head"));
            }
        }
        Ok(())
    }

    /// Reads the end after the pages: the hash, and nothing else.
    fn read_end(mut self) -> Result<()> {
        let hash = self.hash.finish();
        if u64::from_le_bytes(self.array()?) != hash {
            return Err(Error::corrupted(
                PageNumber(0),
                "reading an incremental backup",
                "its checksum does not match; make the backup again",
            ));
        }
        let mut more = Vec::new();
        let read = self.source.take(1).read_to_end(&mut more);
        read.map_err(Error::io(READING_BACKUP))?;
        match more.is_empty() {
            true => Ok(()),
            false => Err(not_one("there is more data after its end")),
        }
    }
}

fn not_one(reason: &str) -> Error {
    Error::InvalidArgument(format!(
        "the incremental backup is incomplete or damaged: {reason}; make it again"
    ))
}
