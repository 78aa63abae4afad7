//! Opening encrypted files, and the first record of a new one.

use crate::{
    Error, Result,
    cipher::{
        Cipher, KEY_BLOCK_LEN, KeyBlock, LOG_OVERHEAD_LEN, PAGE_TRAILER_LEN, PageCipher,
        RECORD_OVERHEAD_LEN, key_block_of,
    },
    instance::policies::EncryptionSettings,
    io::{CODED_RESERVED_LEN, EntryKind, PageCodec},
    record::{
        ENCRYPTED, Record, RecordFault, SEALED_OVERHEAD_LEN, SLOT_COUNT, probe::find_page_size,
        seal, unseal,
    },
    sync::lock,
};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

const _: () = assert!(
    RECORD_OVERHEAD_LEN == SEALED_OVERHEAD_LEN,
    "a record leaves room for what encryption adds"
);
const _: () = assert!(
    PAGE_TRAILER_LEN == CODED_RESERVED_LEN as usize,
    "a page leaves room for what encryption adds"
);

/// The cipher of an open database, and the description of its keys in each record.
#[derive(Debug)]
struct DatabaseCipher {
    algorithm: Cipher,
    cipher: PageCipher,
    key_block: Mutex<[u8; KEY_BLOCK_LEN]>,
}

const REFUSED: &str = "it is not authentic: it was damaged, or changed by somebody without the key";

impl PageCodec for DatabaseCipher {
    fn cipher(&self) -> Cipher {
        self.algorithm
    }

    fn seal_page(&self, number: u32, birth: u64, page: &mut [u8]) {
        self.cipher.seal_page(number, birth, page);
    }

    fn open_page(&self, number: u32, page: &mut [u8]) -> Result<(), &'static str> {
        let opened = self.cipher.open_page(number, page);
        opened.map(drop).map_err(|_| REFUSED)
    }

    fn seal_value(&self, start: u32, birth: u64, value_len: usize, pages: &mut [u8]) {
        self.cipher.seal_value(start, birth, value_len, pages);
    }

    fn open_value(
        &self,
        start: u32,
        value_len: usize,
        pages: &mut [u8],
    ) -> Result<(), &'static str> {
        let opened = self.cipher.open_value(start, value_len, pages);
        opened.map(drop).map_err(|_| REFUSED)
    }

    fn entry_added_len(&self) -> usize {
        LOG_OVERHEAD_LEN
    }

    fn seal_entry(&self, kind: EntryKind, position: u64, entry: &[u8]) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(entry.len() + LOG_OVERHEAD_LEN);
        sealed.extend_from_slice(entry);
        self.cipher.seal_bytes(kind as u8, position, &mut sealed);
        sealed
    }

    fn open_entry(&self, kind: EntryKind, position: u64, sealed: &[u8]) -> Option<Vec<u8>> {
        let mut entry = sealed.to_vec();
        let opened = self.cipher.open_bytes(kind as u8, position, &mut entry);
        opened.ok().map(|()| entry)
    }

    fn key_description(&self) -> Vec<u8> {
        lock(&self.key_block).to_vec()
    }

    fn set_key_description(&self, description: &[u8]) {
        lock(&self.key_block).copy_from_slice(description);
    }

    fn seal_record(&self, image: &[u8]) -> Vec<u8> {
        self.cipher
            .seal_record(&lock(&self.key_block), &seal(image))
    }

    fn open_record(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.cipher.open_record(sealed).ok().map(unseal)
    }
}

/// The codec of the file that begins with `head`. `None` without a key, and if there is no record:
/// the error of the record is the better one.
///
/// # Errors
///
/// - [`Error::WrongKey`] if the key does not open the file.
/// - [`Error::NotEncrypted`] if there is a key, and the file is not encrypted.
/// - Errors of the source of the key.
pub(crate) fn codec_of(
    head: &[u8],
    path: &Path,
    encryption: Option<&EncryptionSettings>,
) -> Result<Option<Arc<dyn PageCodec>>> {
    let (Some(encryption), Ok(page_size)) = (encryption, find_page_size(head)) else {
        return Ok(None);
    };
    let mut refusal = Error::NotEncrypted(path.to_path_buf());
    for slot in 0..SLOT_COUNT {
        let image = head.chunks(page_size as usize).nth(slot.into());
        let image = image.unwrap_or_default();
        if !matches!(Record::decode(image, slot), Err(RecordFault::Encrypted(_))) {
            continue;
        }
        match cipher_of(image, encryption) {
            Ok(cipher) => return Ok(Some(Arc::new(cipher))),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

/// The cipher of a file with this record.
fn cipher_of(sealed: &[u8], encryption: &EncryptionSettings) -> Result<DatabaseCipher> {
    let unusable = |reason: &'static str| Error::unknown_format(reason.to_owned());
    let key_block = key_block_of(sealed).ok_or_else(|| unusable("a record without its keys"))?;
    let decoded = KeyBlock::decode(&key_block).map_err(unusable)?;
    let cipher = decoded.open(&encryption.key, Record::database_id_of(sealed))?;
    Ok(DatabaseCipher {
        algorithm: decoded.cipher(),
        cipher,
        key_block: Mutex::new(key_block),
    })
}

/// The bytes of the first record of a new database. Notes in the record that the database is
/// encrypted, if it is to be.
pub(crate) fn first_record(
    record: &mut Record,
    encryption: Option<&EncryptionSettings>,
) -> Result<Vec<u8>> {
    let Some(encryption) = encryption else {
        return Ok(record.encode(record.page_size as usize));
    };
    record.features.incompatible |= ENCRYPTED;
    let (block, cipher) = KeyBlock::create(encryption.cipher, &encryption.key, record.database_id)?;
    let codec = DatabaseCipher {
        algorithm: encryption.cipher,
        cipher,
        key_block: Mutex::new(block.encode()),
    };
    Ok(codec.seal_record(&record.encode(record.page_size as usize)))
}

/// The error for an encrypted file that is opened without a key.
pub(crate) fn key_needed(path: &Path) -> Error {
    Error::KeyNeeded(path.to_path_buf())
}
