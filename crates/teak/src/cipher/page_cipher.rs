//! Encryption of pages, of large values, and of entries of logs.

use super::{
    aead::{AeadKey, MAC_LEN, NONCE_LEN, PREFIX_LEN, SUFFIX_LEN, Unauthentic, joined},
    data_key::{DataKey, Purpose},
    nonces::{Nonces, Suffixes},
};
use crate::error::Result;
use std::fmt;

/// Length of the trailer of a page: the id of the data key 4, birth 8, suffix of the nonce 12, MAC
/// 16.
pub(crate) const PAGE_TRAILER_LEN: usize = 4 + 8 + SUFFIX_LEN + MAC_LEN;

/// Large values are encrypted in chunks of this length. Each has a MAC of its own, so that a part
/// of a value can be checked alone by a later version.
const CHUNK_LEN: usize = 4096;

/// Length of the end of a value's trailer, after the MACs: birth 8, id of the data key 4, suffix of
/// the first chunk's nonce 12.
const VALUE_END_LEN: usize = 8 + 4 + SUFFIX_LEN;

/// Length of what encryption appends to an entry of a log: nonce and MAC.
pub(crate) const LOG_OVERHEAD_LEN: usize = NONCE_LEN + MAC_LEN;

/// Encrypts and decrypts the content of one database. Its memory is overwritten when it is dropped.
///
/// The heads of the module explain the nonces. Each instance draws its own random numbers.
pub(crate) struct PageCipher {
    pub(super) database_id: [u8; 16],
    pub(super) current: DataKey,
    /// A key with which older pages may be encrypted.
    pub(super) previous: Option<DataKey>,
    pub(super) nonces: Nonces,
}

impl PageCipher {
    pub(super) fn new(
        database_id: [u8; 16],
        current: DataKey,
        previous: Option<DataKey>,
    ) -> Result<Self> {
        Ok(Self {
            database_id,
            current,
            previous,
            nonces: Nonces::random()?,
        })
    }

    /// Encrypts a page in place, up to its trailer, and writes the trailer.
    pub(crate) fn seal_page(&self, number: u32, birth: u64, page: &mut [u8]) {
        let (content, trailer) = split_trailer(page).expect("a page is longer than its trailer");
        let suffix = self.nonces.take(1).at(0);
        let mac = self.current.pages.with_prefix(&prefix(number, birth)).seal(
            &suffix,
            &self.associated(Purpose::Page, 0, 0),
            content,
        );
        trailer[..4].copy_from_slice(&self.current.id.to_le_bytes());
        trailer[4..12].copy_from_slice(&birth.to_le_bytes());
        trailer[12..24].copy_from_slice(&suffix);
        trailer[24..].copy_from_slice(&mac);
    }

    /// Decrypts a page in place, and returns its birth. The trailer does not change. If the page
    /// is not authentic, nothing changes.
    pub(crate) fn open_page(&self, number: u32, page: &mut [u8]) -> Result<u64, Unauthentic> {
        let (content, trailer) = split_trailer(page).ok_or(Unauthentic)?;
        let key = self.key(u32::from_le_bytes(part(trailer, 0)))?;
        let birth = u64::from_le_bytes(part(trailer, 4));
        key.pages.with_prefix(&prefix(number, birth)).open(
            &part(trailer, 12),
            &self.associated(Purpose::Page, 0, 0),
            content,
            &part(trailer, 24),
        )?;
        Ok(birth)
    }

    /// Length of the trailer of a large value, at the end of its last page: a MAC for each chunk,
    /// then the birth, the id of the data key, and the suffix of the first nonce.
    pub(crate) const fn value_trailer_len(value_len: u64) -> u64 {
        value_len.div_ceil(CHUNK_LEN as u64) * MAC_LEN as u64 + VALUE_END_LEN as u64
    }

    /// Encrypts a large value at the beginning of `pages` in place, and writes its trailer to their
    /// end. Bytes between them become zero.
    pub(crate) fn seal_value(&self, start: u32, birth: u64, value_len: usize, pages: &mut [u8]) {
        let (value, gap, trailer) = split_value(value_len, pages)
            .expect("a large value is not empty, and its pages have room for the trailer");
        gap.fill(0);
        let (macs, end) = trailer.split_at_mut(trailer.len() - VALUE_END_LEN);
        let (macs, []) = macs.as_chunks_mut::<MAC_LEN>() else {
            unreachable!("the trailer begins with whole MACs");
        };
        let suffixes = self.nonces.take(macs.len() as u64);
        let key = self.current.values.with_prefix(&prefix(start, birth));
        let chunks = value.chunks_mut(CHUNK_LEN);
        assert_eq!(chunks.len(), macs.len(), "each chunk has a MAC");
        for (index, (chunk, mac)) in (0..).zip(chunks.zip(macs)) {
            let associated = self.associated(Purpose::Value, value_len as u64, index);
            *mac = key.seal(&suffixes.at(index), &associated, chunk);
        }
        end[..8].copy_from_slice(&birth.to_le_bytes());
        end[8..12].copy_from_slice(&self.current.id.to_le_bytes());
        end[12..].copy_from_slice(&suffixes.at(0));
    }

    /// Decrypts a large value in place, and returns its birth. If it is not authentic, its bytes
    /// have no meaning afterwards.
    pub(crate) fn open_value(
        &self,
        start: u32,
        value_len: usize,
        pages: &mut [u8],
    ) -> Result<u64, Unauthentic> {
        let (value, _, trailer) = split_value(value_len, pages).ok_or(Unauthentic)?;
        let (macs, end) = trailer.split_at(trailer.len() - VALUE_END_LEN);
        let birth = u64::from_le_bytes(part(end, 0));
        let key = self.key(u32::from_le_bytes(part(end, 8)))?;
        let suffixes = Suffixes::from(&part(end, 12));
        let key = key.values.with_prefix(&prefix(start, birth));
        let (macs, _) = macs.as_chunks::<MAC_LEN>();
        for (index, (chunk, mac)) in (0..).zip(value.chunks_mut(CHUNK_LEN).zip(macs)) {
            let associated = self.associated(Purpose::Value, value_len as u64, index);
            key.open(&suffixes.at(index), &associated, chunk, mac)?;
        }
        Ok(birth)
    }

    /// Encrypts an entry of a log in place, and appends nonce and MAC. `kind` and `position` are
    /// numbers that the reader knows, too.
    pub(crate) fn seal_bytes(&self, kind: u8, position: u64, bytes: &mut Vec<u8>) {
        let nonce = self.unbound_nonce();
        let associated = self.associated(Purpose::Log, u64::from(kind), position);
        let mac = self.current.logs.seal(&nonce, &associated, bytes);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&mac);
    }

    /// Decrypts an entry of a log, and removes nonce and MAC. If it is not authentic, nothing
    /// changes.
    pub(crate) fn open_bytes(
        &self,
        kind: u8,
        position: u64,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Unauthentic> {
        let content_len = bytes.len().checked_sub(LOG_OVERHEAD_LEN);
        let content_len = content_len.ok_or(Unauthentic)?;
        let (content, end) = bytes.split_at_mut(content_len);
        let (nonce, mac) = (part(end, 0), part(end, NONCE_LEN));
        let associated = self.associated(Purpose::Log, u64::from(kind), position);
        let mut open = |key: &AeadKey| key.open(&nonce, &associated, content, &mac);
        // An entry does not say which data key it was encrypted with.
        open(&self.current.logs).or_else(|unauthentic| {
            let previous = self.previous.as_ref().ok_or(unauthentic)?;
            open(&previous.logs)
        })?;
        bytes.truncate(content_len);
        Ok(())
    }

    /// The data key with this id.
    pub(super) fn key(&self, id: u32) -> Result<&DataKey, Unauthentic> {
        [Some(&self.current), self.previous.as_ref()]
            .into_iter()
            .flatten()
            .find(|key| key.id == id)
            .ok_or(Unauthentic)
    }

    /// A nonce for bytes that have no page: a random half, and a suffix.
    pub(super) fn unbound_nonce(&self) -> [u8; NONCE_LEN] {
        joined(self.nonces.prefix(), &self.nonces.take(1).at(0))
    }

    /// The bytes that are authenticated with a ciphertext, but not stored with it.
    fn associated(&self, purpose: Purpose, first: u64, second: u64) -> [u8; 33] {
        let mut bytes = [0; 33];
        bytes[0] = purpose as u8;
        bytes[1..17].copy_from_slice(&self.database_id);
        bytes[17..25].copy_from_slice(&first.to_le_bytes());
        bytes[25..].copy_from_slice(&second.to_le_bytes());
        bytes
    }
}

/// The ids of the keys, without secrets.
impl fmt::Debug for PageCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCipher")
            .field("current_id", &self.current.id)
            .field("previous_id", &self.previous.as_ref().map(|key| key.id))
            .finish_non_exhaustive()
    }
}

/// The first half of the nonce of a page.
fn prefix(number: u32, birth: u64) -> [u8; PREFIX_LEN] {
    let mut prefix = [0; PREFIX_LEN];
    prefix[..4].copy_from_slice(&number.to_le_bytes());
    prefix[4..].copy_from_slice(&birth.to_le_bytes());
    prefix
}

/// Content and trailer of a page.
fn split_trailer(page: &mut [u8]) -> Option<(&mut [u8], &mut [u8; PAGE_TRAILER_LEN])> {
    page.split_last_chunk_mut()
}

/// The bytes of a value, those that are unused, and the trailer. `None` if the value is empty, or
/// the pages are too few.
fn split_value(value_len: usize, pages: &mut [u8]) -> Option<(&mut [u8], &mut [u8], &mut [u8])> {
    if value_len == 0 {
        // It would have no MAC.
        return None;
    }
    let trailer_len = PageCipher::value_trailer_len(value_len as u64);
    let trailer_len = usize::try_from(trailer_len).ok()?;
    let (value, rest) = pages.split_at_mut_checked(value_len)?;
    let gap_len = rest.len().checked_sub(trailer_len)?;
    let (gap, trailer) = rest.split_at_mut(gap_len);
    Some((value, gap, trailer))
}

/// The `N` bytes at `at`, which are inside.
pub(super) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}
