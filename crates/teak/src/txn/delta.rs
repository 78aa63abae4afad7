//! Incremental backups: the pages that a copy of an older state lacks.
//!
//! A page that was born after the older state is in none of its copies, and one that was born before it and is needed now is in
//! all copies of it or of a later state: from then on it was in use, or a named snapshot saw it. So births decide.
//! How they are laid out stands in `docs/format.md`.

use super::{
    backup::{self, BackupProgress},
    rollback::forest,
    snapshot::Snapshot,
};
use crate::{
    Error, PageNumber, Result, Run, Tag, TransactionId,
    space::{self, FIRST_PAGE},
    tree::{
        PageSource,
        pages::{Forest, unshared},
        reading::reading,
    },
};
use std::{
    hash::Hasher,
    io::{self, Read, Write},
    ops::{ControlFlow, Deref},
};
use twox_hash::XxHash3_64;

const MAGIC: [u8; 8] = *b"TeakDlt\x01";
/// Pages that are written at once.
const PAGES_AT_ONCE: u32 = 256;

/// The head of a delta.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) page_size: u32,
    pub(crate) database_id: [u8; 16],
    pub(crate) since: TransactionId,
    pub(crate) since_tag: Tag,
    pub(crate) transaction: TransactionId,
    pub(crate) page_count: u64,
}

impl Head {
    /// Whether a copy of `state` has the older state in its history, as far as it can tell: it is that, or has a name for it.
    pub(crate) fn continues(&self, state: &Snapshot) -> Result<bool> {
        let mut tags = Vec::new();
        if state.transaction() == self.since {
            tags.push(state.catalog().tag);
        }
        for (_, named) in state.all_named()? {
            if named.transaction == self.since {
                tags.push(named.catalog_tag());
            }
        }
        Ok(tags.iter().all(|tag| *tag == self.since_tag))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.page_size.to_le_bytes());
        bytes.extend(self.database_id);
        bytes.extend(self.since.0.to_le_bytes());
        bytes.extend(self.since_tag.0.to_le_bytes());
        bytes.extend(self.transaction.0.to_le_bytes());
        bytes.extend(self.page_count.to_le_bytes());
        bytes
    }
}

/// Writes what copies of `since`, or of a later state, lack of `state`. The caller holds both, and the named snapshots.
pub(crate) fn write<R: Deref<Target = Snapshot>>(
    (state, named): (&Snapshot, &[(Vec<u8>, R)]),
    since: &Snapshot,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<BackupProgress> {
    let page_size = PageSource::page_size(state);
    let (page_count, young) = young_pages(state, named, since)?;
    let head = Head {
        page_size: page_size as u32,
        database_id: state.record.database_id,
        since: since.transaction(),
        since_tag: since.catalog().tag,
        transaction: state.transaction(),
        page_count,
    };
    let pages: u64 = young.iter().map(|run| u64::from(run.len)).sum();
    let mut out = Hashed::new(out);
    let mut done = BackupProgress {
        transaction: state.transaction(),
        bytes: 0,
        total_bytes: pages * page_size as u64,
    };
    out.write(&head.encode())?;
    out.run(Run::new(0, FIRST_PAGE))?;
    out.write(&backup::records(&state.record, page_count))?;
    let mut chunk = Vec::new();
    for run in young {
        out.run(run)?;
        let mut start = run.start.0;
        while u64::from(start) < run.end() {
            let end = run.end().min(u64::from(start) + u64::from(PAGES_AT_ONCE)) as u32;
            chunk.clear();
            for page in start..end {
                let offset = u64::from(page) * page_size as u64;
                backup::add_page(state, offset, page_size, &mut chunk)?;
            }
            out.write(&chunk)?;
            done.bytes += chunk.len() as u64;
            backup::tell(done, progress)?;
            start = end;
        }
    }
    out.run(Run::new(0, 0))?;
    let hash = out.hash.finish();
    out.write(&hash.to_le_bytes())?;
    Ok(done)
}

/// How many pages a copy has, and those that were born after `since`, sorted, as runs.
fn young_pages<R: Deref<Target = Snapshot>>(
    state: &Snapshot,
    named: &[(Vec<u8>, R)],
    since: &Snapshot,
) -> Result<(u64, Vec<Run>)> {
    let space = state.space_to_look_at()?;
    let mut pages: Vec<Run> = Vec::new();
    let young = |born: Vec<(Run, TransactionId)>| {
        let young = born
            .into_iter()
            .filter(|(_, birth)| *birth > since.transaction());
        young.map(|(run, _)| run)
    };
    reading(state, || {
        let mut list = Forest::default();
        list.add(&state.named_list()?);
        let [born, _] = unshared(state, list, Forest::default())?;
        pages.extend(young(born));
        let later = named.iter().map(|(_, named)| &**named);
        let later = later.filter(|named| named.transaction() > since.transaction());
        for state in later.chain([state]) {
            let older = forest(since, since.catalog())?;
            let [born, _] = unshared(state, forest(state, state.catalog())?, older)?;
            pages.extend(young(born));
        }
        for page in space.classify().own {
            if crate::page::header::Header::read(PageSource::page(state, page)?).birth
                > since.transaction()
            {
                pages.push(Run {
                    start: page,
                    len: 1,
                });
            }
        }
        Ok(())
    })?;
    let page_count = space.page_count() - space.trailing_free();
    Ok((page_count, space::joined(pages)))
}

/// What goes out, and the hash of it.
struct Hashed<'w> {
    out: &'w mut dyn Write,
    hash: XxHash3_64,
}

impl<'w> Hashed<'w> {
    fn new(out: &'w mut dyn Write) -> Self {
        let hash = XxHash3_64::default();
        Self { out, hash }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.write(bytes);
        self.out
            .write_all(bytes)
            .map_err(Error::io("writing the backup"))
    }

    fn run(&mut self, run: Run) -> Result<()> {
        let (start, len) = (run.start.0.to_le_bytes(), run.len.to_le_bytes());
        self.write(&[start, len].concat())
    }
}

/// Reads a delta.
pub(crate) struct Delta<'r> {
    source: &'r mut dyn Read,
    hash: XxHash3_64,
    pub(crate) head: Head,
}

impl<'r> Delta<'r> {
    /// Reads the head.
    pub(crate) fn open(source: &'r mut dyn Read) -> Result<Self> {
        let head = Head {
            page_size: 0,
            database_id: [0; 16],
            since: TransactionId(0),
            since_tag: Tag(0),
            transaction: TransactionId(0),
            page_count: 0,
        };
        let hash = XxHash3_64::default();
        let mut delta = Self { source, hash, head };
        if delta.array()? != MAGIC {
            return Err(not_one("it does not begin like one"));
        }
        delta.head = Head {
            page_size: u32::from_le_bytes(delta.array()?),
            database_id: delta.array()?,
            since: TransactionId(u64::from_le_bytes(delta.array()?)),
            since_tag: Tag(u64::from_le_bytes(delta.array()?)),
            transaction: TransactionId(u64::from_le_bytes(delta.array()?)),
            page_count: u64::from_le_bytes(delta.array()?),
        };
        let is_possible = crate::commit::record::is_page_size(delta.head.page_size)
            && (u64::from(FIRST_PAGE)..=1 << 32).contains(&delta.head.page_count);
        match is_possible {
            true => Ok(delta),
            false => Err(not_one("its head makes no sense")),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.source
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => not_one("it ends too early"),
                _ => Error::io("reading the backup")(error),
            })?;
        self.hash.write(bytes);
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    /// Hands all pages over, some at a time, with the number of the first.
    pub(crate) fn apply(
        mut self,
        mut write: impl FnMut(PageNumber, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut chunk = Vec::new();
        loop {
            let (start, len) = (
                u32::from_le_bytes(self.array()?),
                u32::from_le_bytes(self.array()?),
            );
            let end = u64::from(start) + u64::from(len);
            if end > self.head.page_count {
                return Err(not_one("it has pages behind the end of the file"));
            }
            if len == 0 {
                break;
            }
            let mut next = u64::from(start);
            while next < end {
                let count = (end - next).min(PAGES_AT_ONCE.into());
                chunk.resize(count as usize * self.head.page_size as usize, 0);
                self.read(&mut chunk)?;
                write(PageNumber(next as u32), &chunk)?;
                next += count;
            }
        }
        let hash = self.hash.finish();
        match u64::from_le_bytes(self.array()?) == hash {
            true => Ok(()),
            false => Err(Error::corrupted(
                PageNumber(0),
                "reading an incremental backup",
                "its checksum is another; make the backup again",
            )),
        }
    }
}

fn not_one(reason: &str) -> Error {
    Error::InvalidArgument(format!(
        "this is no whole incremental backup: {reason}; make it again"
    ))
}
