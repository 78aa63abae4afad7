//! The first pages of a file: its format, and the choice of the state.
//!
//! LMDB has two such pages. The one with the higher transaction is current. libmdbx has three. A
//! flushed one is *steady*. Another one is valid only until the system restarts, which its boot id
//! shows.

use crate::{
    Error, Result, Source,
    bytes::{u16_at, u32_at, u64_at},
    format::{Format, TREE_LEN, Tree, kind},
};
use std::{fs, io};

const LMDB_MAGIC: u32 = 0xBEEF_C0DE;
/// Seven bytes, followed by the version in the low byte.
const MDBX_MAGIC: u64 = 0x59_659D_BDEF_4C11;
const PAGE_SIZE_MIN: u32 = 256;
const PAGE_SIZE_MAX: u32 = 65_536;
/// Enough for the header and all numbers of any of the formats.
const META_LEN: usize = 256;
/// One of the flags of an LMDB 1.0 file.
const ENCRYPTED: u16 = 0x2000;
/// The signature of a flushed state.
const STEADY: u64 = u64::MAX;
/// The highest signature of a state that was not flushed.
const WEAK: u64 = 1;

/// The engine of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// LMDB, 0.9 or 1.0.
    Lmdb,
    /// libmdbx.
    Mdbx,
}

/// The id of this boot of the system, as libmdbx records it. `None` if the system has none.
pub fn this_boot() -> Option<u128> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16)
        .ok()
        .filter(|boot| *boot != 0)
}

/// The current state.
#[derive(Debug)]
pub(crate) struct ChosenState {
    pub(crate) format: Format,
    pub(crate) page_size: usize,
    /// The number of pages that may be in use. The file may be longer, or shorter if the last ones
    /// are free.
    pub(crate) page_count: u64,
    pub(crate) transaction: u64,
    /// The highest transaction of all first pages.
    pub(crate) newest: u64,
    pub(crate) main: Tree,
    pub(crate) marks: Option<[u64; 3]>,
    /// Notes for the user about the choice.
    pub(crate) notes: Vec<String>,
}

/// The contents of one of the pages.
struct Meta {
    transaction: u64,
    page_size: u32,
    page_count: u64,
    main: Tree,
    is_steady: bool,
    boot: u128,
    marks: Option<[u64; 3]>,
}

/// Determines the format of a file, and its current state.
pub(crate) fn find(source: &impl Source, boot: Option<u128>) -> Result<ChosenState> {
    let (format, page_size) = recognise(source)?;
    let mut metas = Vec::new();
    let mut notes = Vec::new();
    for number in 0..format.meta_count() {
        match read_meta(source, format, number, page_size) {
            Ok(meta) => metas.push(meta),
            Err(Error::Damaged { page, detail }) => {
                notes.push(format!("page {page} does not count: {detail}"));
            }
            Err(other) => return Err(other),
        }
    }
    let newest = metas.iter().map(|meta| meta.transaction).max();
    let (Some(newest), Some(meta)) = (newest, choose(&metas, boot)) else {
        let detail = match notes.is_empty() {
            true => "the system went down before any state was flushed".to_owned(),
            false => format!("there is no state that can be read: {}", notes.join("; ")),
        };
        return Err(Error::damaged(0, detail));
    };
    notes.extend(note_of_choice(meta, newest));
    Ok(ChosenState {
        format,
        page_size: meta.page_size as usize,
        page_count: meta.page_count,
        transaction: meta.transaction,
        newest,
        main: meta.main,
        marks: meta.marks,
        notes,
    })
}

/// The note about a state that is not simply the newest one.
fn note_of_choice(meta: &Meta, newest: u64) -> Option<String> {
    let read = meta.transaction;
    if read < newest {
        return Some(format!(
            "transactions after {read}, up to {newest}, were not flushed before the system went down: {read} is read"
        ));
    }
    (!meta.is_steady).then(|| {
        format!("transaction {read} was not flushed yet; it is read, since the system has not gone down meanwhile")
    })
}

/// The newest complete state. Of equal ones the first.
fn choose(metas: &[Meta], boot: Option<u128>) -> Option<&Meta> {
    let is_whole = |meta: &&Meta| meta.is_steady || boot == Some(meta.boot);
    let whole = metas.iter().filter(is_whole).rev();
    whole.max_by_key(|meta| (meta.transaction, meta.is_steady))
}

/// The format and the page size, from the first page that can be recognised.
fn recognise(source: &impl Source) -> Result<(Format, u32)> {
    let mut refusal = None;
    let offsets = std::iter::once(0)
        .chain((PAGE_SIZE_MIN.ilog2()..=PAGE_SIZE_MAX.ilog2()).map(|bits| 1_u64 << bits));
    for offset in offsets {
        let mut bytes = [0; META_LEN];
        match source.read_at(&mut bytes, offset) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(source) => return Err(Error::Io { page: 0, source }),
        }
        match identify(&bytes) {
            Ok(Some(format)) => {
                let page_size = u32_at(&bytes, format.page_size_at()).unwrap_or(0);
                let is_size = page_size.is_power_of_two()
                    && (PAGE_SIZE_MIN..=PAGE_SIZE_MAX).contains(&page_size);
                if is_size && (offset == 0 || offset == u64::from(page_size)) {
                    return Ok((format, page_size));
                }
            }
            Ok(None) => {}
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal.unwrap_or(Error::NotRecognised(
        "it does not begin like one; name the file data.mdb or mdbx.dat, or its directory",
    )))
}

/// The format, from the bytes of a page. `None` if it is not a first page.
fn identify(bytes: &[u8]) -> Result<Option<Format>> {
    if let Some(stamp) = u64_at(bytes, 20) {
        if stamp >> 8 == MDBX_MAGIC {
            // Bit 7 is the order of the lists of free pages, which are not read.
            return match stamp as u8 {
                2 | 3 | 66 | 67 | 255 => Ok(Some(Format::Mdbx)),
                version => Err(unknown_version("libmdbx", u32::from(version))),
            };
        }
        if stamp.swap_bytes() >> 8 == MDBX_MAGIC {
            return Err(foreign_bytes("libmdbx"));
        }
    }
    for at in [16, 24, 12] {
        let (Some(magic), Some(version)) = (u32_at(bytes, at), u32_at(bytes, at + 4)) else {
            continue;
        };
        if magic.swap_bytes() == LMDB_MAGIC {
            return Err(foreign_bytes("LMDB"));
        }
        if magic != LMDB_MAGIC {
            continue;
        }
        return match (at, version) {
            (16, 1) => Ok(Some(Format::Lmdb09)),
            (24, 3) => Ok(Some(Format::Lmdb10)),
            // Their pages have shorter headers.
            (16, 3) | (12, _) => Err(Error::Unsupported(
                "this file of LMDB is of a 32-bit program; have its mdb_dump -a write it as text, and `teak load` read that".to_owned(),
            )),
            _ => Err(unknown_version("LMDB", version)),
        };
    }
    Ok(None)
}

fn foreign_bytes(engine: &str) -> Error {
    Error::Unsupported(format!(
        "this file of {engine} is of a machine with the other order of bytes; have its dump program write it as text there, and `teak load` read that"
    ))
}

fn unknown_version(engine: &str, version: u32) -> Error {
    Error::Unsupported(format!(
        "this file of {engine} has version {version} of its format, which is not known; have its dump program write it as text, and `teak load` read that"
    ))
}

impl Format {
    fn meta_count(self) -> u64 {
        match self {
            Self::Lmdb09 | Self::Lmdb10 => 2,
            Self::Mdbx => 3,
        }
    }

    /// The offset of the page size in the first pages: in the description of the tree of free
    /// pages.
    fn page_size_at(self) -> usize {
        match self {
            Self::Lmdb09 | Self::Lmdb10 => self.header_len() + 24,
            Self::Mdbx => self.header_len() + 44,
        }
    }
}

fn read_meta(source: &impl Source, format: Format, number: u64, page_size: u32) -> Result<Meta> {
    let mut bytes = [0; META_LEN];
    let offset = number * u64::from(page_size);
    match source.read_at(&mut bytes, offset) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(Error::damaged(number, "the file ends before it"));
        }
        Err(source) => {
            let page = number;
            return Err(Error::Io { page, source });
        }
    }
    let damaged = |detail: &str| Error::damaged(number, detail);
    if !matches!(identify(&bytes), Ok(Some(found)) if found == format) {
        return Err(damaged("it does not begin as such a file does"));
    }
    let header = format.header(&bytes).ok_or_else(|| damaged("too short"))?;
    if header.kind != kind::META || header.number != number {
        return Err(damaged("its header is not that of a first page"));
    }
    if u32_at(&bytes, format.page_size_at()) != Some(page_size) {
        return Err(damaged("it has another size of pages"));
    }
    let body = &bytes[format.header_len()..];
    let meta = match format {
        Format::Lmdb09 | Format::Lmdb10 => lmdb_meta(format, body, page_size)?,
        Format::Mdbx => mdbx_meta(body, number, page_size)?,
    };
    let meta = meta.ok_or_else(|| damaged("too short"))?;
    let bytes_in_use = meta.page_count.checked_mul(u64::from(page_size));
    match bytes_in_use.is_some_and(|bytes| bytes <= i64::MAX as u64) {
        true if meta.page_count >= format.meta_count() => Ok(meta),
        _ => Err(damaged("its number of pages cannot be")),
    }
}

fn lmdb_meta(format: Format, body: &[u8], page_size: u32) -> Result<Option<Meta>> {
    if format == Format::Lmdb10 && u16_at(body, 28).is_some_and(|flags| flags & ENCRYPTED != 0) {
        return Err(Error::Unsupported(
            "this file of LMDB 1.0 is encrypted; have mdb_dump -a of the application that has the key write it as text, and `teak load` read that".to_owned(),
        ));
    }
    let main = body.get(24 + TREE_LEN..).and_then(|main| format.tree(main));
    let (Some(main), Some(last), Some(transaction)) = (main, u64_at(body, 120), u64_at(body, 128))
    else {
        return Ok(None);
    };
    Ok(Some(Meta {
        transaction,
        page_size,
        page_count: last.saturating_add(1),
        main,
        is_steady: true,
        boot: 0,
        marks: None,
    }))
}

fn mdbx_meta(body: &[u8], number: u64, page_size: u32) -> Result<Option<Meta>> {
    let number_at = |at| u64_at(body, at).unwrap_or(0);
    let transaction = number_at(8);
    if transaction == 0 || transaction != number_at(176) {
        return Err(Error::damaged(number, "it was not written to its end"));
    }
    if body[18] != 0 || body[19] != 0 {
        return Err(Error::Unsupported(
            "this file of libmdbx has pages with more in their headers than is known; have mdbx_dump write it as text, and `teak load` read that".to_owned(),
        ));
    }
    let signature = number_at(168);
    if signature > WEAK && signature != STEADY {
        return Err(Error::damaged(number, "its signature is not right"));
    }
    let (Some(main), Some(page_count)) = (Format::Mdbx.tree(&body[88..]), u32_at(body, 36)) else {
        return Ok(None);
    };
    let marks = [136, 144, 152].map(number_at);
    let are_set = marks != [0; 3] || number_at(160) != 0;
    Ok(Some(Meta {
        transaction,
        page_size,
        page_count: u64::from(page_count),
        main,
        is_steady: signature > WEAK,
        boot: u128::from(number_at(192)) | u128::from(number_at(200)) << 64,
        marks: are_set.then_some(marks),
    }))
}
