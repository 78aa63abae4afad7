//! Encryption of commit records.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 16 | magic and checksum, as in a plain record |
//! | 16 | 4 | length of the encrypted record |
//! | 20 | 52 | as in a plain record: format version, slot, flags, features, page size, database id |
//! | 72 | 192 | key block |
//! | 264 | 24 | nonce |
//! | 288 | n | the encrypted bytes of the plain record from 72 up to its length |
//! | 288 + n | 16 | MAC of these bytes, of the bytes from 16 to 72, and of the key block |
//!
//! So a program without the key sees what it needs to decide whether it may open the file.

use super::{
    aead::{MAC_LEN, NONCE_LEN, Unauthentic},
    data_key::Purpose,
    key_block::{KEY_BLOCK_LEN, KeyBlock},
    page_cipher::{PageCipher, part},
};
use crate::types::Checksum;

/// How much longer a record is when it is encrypted.
pub(crate) const RECORD_OVERHEAD_LEN: usize = KEY_BLOCK_LEN + NONCE_LEN + MAC_LEN;

const CHECKSUM_AT: usize = 8;
const LENGTH_AT: usize = 16;
/// Length of the part that does not change.
const CLEAR_LEN: usize = 72;
const DATABASE_ID_AT: usize = 56;
const NONCE_AT: usize = CLEAR_LEN + KEY_BLOCK_LEN;
const ENCRYPTED_AT: usize = NONCE_AT + NONCE_LEN;
const SECTOR_LEN: usize = 512;

impl PageCipher {
    /// Encrypts the image of a record: the whole sectors that encoding returned.
    pub(crate) fn seal_record(&self, key_block: &[u8; KEY_BLOCK_LEN], image: &[u8]) -> Vec<u8> {
        let length = length_of(image).expect("the image is a whole record");
        assert!(
            KeyBlock::decode(key_block).is_ok_and(|block| block.current_id() == self.current.id),
            "a record is encrypted with the current data key of its key block"
        );
        assert_eq!(
            image[DATABASE_ID_AT..CLEAR_LEN],
            self.database_id,
            "a record is encrypted with the key of its database"
        );
        let sealed_len = length + RECORD_OVERHEAD_LEN;
        let mut sealed = Vec::with_capacity(sealed_len.next_multiple_of(SECTOR_LEN));
        sealed.extend_from_slice(&image[..CLEAR_LEN]);
        set_length(&mut sealed, sealed_len);
        sealed.extend_from_slice(key_block);
        let nonce = self.unbound_nonce();
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&image[CLEAR_LEN..length]);
        let (clear, encrypted) = sealed.split_at_mut(ENCRYPTED_AT);
        let mac = self
            .current
            .records
            .seal(&nonce, &self.associated_with_record(clear), encrypted);
        sealed.extend_from_slice(&mac);
        finish(sealed, sealed_len)
    }

    /// Decrypts a record, and returns the image that was encrypted.
    ///
    /// If the key block of the record differs from that of this cipher, open that one first:
    /// another process may have changed the data key.
    pub(crate) fn open_record(&self, sealed: &[u8]) -> Result<Vec<u8>, Unauthentic> {
        let sealed_len = length_of(sealed).ok_or(Unauthentic)?;
        let key_block = key_block_of(sealed).ok_or(Unauthentic)?;
        let key_block = KeyBlock::decode(&key_block).map_err(|_| Unauthentic)?;
        let key = self.key(key_block.current_id())?;
        let (clear, rest) = sealed[..sealed_len].split_at(ENCRYPTED_AT);
        let (encrypted, mac) = rest.split_last_chunk::<MAC_LEN>().ok_or(Unauthentic)?;
        if clear[DATABASE_ID_AT..CLEAR_LEN] != self.database_id {
            return Err(Unauthentic);
        }
        let mut image = [&clear[..CLEAR_LEN], encrypted].concat();
        key.records.open(
            &part(clear, NONCE_AT),
            &self.associated_with_record(clear),
            &mut image[CLEAR_LEN..],
            mac,
        )?;
        let length = image.len();
        set_length(&mut image, length);
        Ok(finish(image, length))
    }

    /// The database id of this cipher, the clear bytes of the record from the length on, and its
    /// key block.
    fn associated_with_record(&self, clear: &[u8]) -> Vec<u8> {
        let purpose = [Purpose::Record as u8];
        [&purpose, &self.database_id[..], &clear[LENGTH_AT..NONCE_AT]].concat()
    }
}

/// The key block of an encrypted record; `None` if it is too short to have one.
pub(crate) fn key_block_of(sealed: &[u8]) -> Option<[u8; KEY_BLOCK_LEN]> {
    let length = length_of(sealed)?;
    (length >= CLEAR_LEN + RECORD_OVERHEAD_LEN).then(|| part(sealed, CLEAR_LEN))
}

/// The length that a record states, if it has all these bytes and a clear part.
fn length_of(image: &[u8]) -> Option<usize> {
    let length = image.get(LENGTH_AT..)?.first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    (CLEAR_LEN..=image.len())
        .contains(&length)
        .then_some(length)
}

fn set_length(record: &mut [u8], length: usize) {
    let length = u32::try_from(length).expect("a record fits into a page");
    record[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length.to_le_bytes());
}

/// Sets the checksum of a record of this length, and fills its last sector.
fn finish(mut record: Vec<u8>, length: usize) -> Vec<u8> {
    assert_eq!(record.len(), length, "the record is complete");
    let checksum = Checksum::of(&record[LENGTH_AT..]);
    record[CHECKSUM_AT..LENGTH_AT].copy_from_slice(&checksum.0.to_le_bytes());
    record.resize(length.next_multiple_of(SECTOR_LEN), 0);
    record
}
