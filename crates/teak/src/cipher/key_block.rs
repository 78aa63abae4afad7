//! The key block of a commit record: the encrypted data keys of the database, and how their key is
//! derived.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version, 1 |
//! | 1 | 1 | cipher: 1 is AES-256-GCM, 2 is XChaCha20-Poly1305 |
//! | 2 | 1 | derivation: 0 if the key was given, 1 if Argon2id makes it of a passphrase |
//! | 3 | 1 | number of data keys, 1 or 2 |
//! | 4 | 4 | Argon2: memory in KiB |
//! | 8 | 4 | Argon2: passes |
//! | 12 | 4 | Argon2: lanes |
//! | 16 | 16 | salt, random |
//! | 32 | 4 | id of the current data key, at least 1 |
//! | 36 | 4 | zero |
//! | 40 | 76 | current data key: id 4, nonce 24, encrypted key 32, MAC 16 |
//! | 116 | 76 | previous data key: likewise, with a lower id; zeros if there is none |

use super::{
    aead::{AeadKey, KEY_LEN, MAC_LEN, NONCE_LEN},
    algorithm::Cipher,
    data_key::{DataKey, Purpose},
    encryption_key::{EncryptionKey, KeySource},
    key_derivation::{Argon2Cost, KeyDerivation, wrong_key},
    page_cipher::PageCipher,
    system::random,
};
use crate::error::{Error, Result};
use zeroize::Zeroizing;

/// Length of a key block.
pub(crate) const KEY_BLOCK_LEN: usize = 192;

const VERSION: u8 = 1;
const CURRENT_AT: usize = 40;
const WRAPPED_LEN: usize = 4 + NONCE_LEN + KEY_LEN + MAC_LEN;

const _: () = assert!(
    CURRENT_AT + 2 * WRAPPED_LEN == KEY_BLOCK_LEN,
    "two data keys fill the block"
);

/// The key block of a commit record. It has no secrets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyBlock {
    cipher: Cipher,
    derivation: KeyDerivation,
    salt: [u8; 16],
    current: WrappedKey,
    previous: Option<WrappedKey>,
}

/// An encrypted data key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WrappedKey {
    id: u32,
    nonce: [u8; NONCE_LEN],
    encrypted: [u8; KEY_LEN],
    mac: [u8; MAC_LEN],
}

/// The random numbers of a block.
struct WrapRandomness {
    salt: [u8; 16],
    nonces: [[u8; NONCE_LEN]; 2],
}

type Secret = Zeroizing<[u8; KEY_LEN]>;

impl KeyBlock {
    /// Makes the first data key of a database.
    pub(crate) fn create(
        cipher: Cipher,
        key: &EncryptionKey,
        database_id: [u8; 16],
    ) -> Result<(Self, PageCipher)> {
        let secret = Zeroizing::new(random()?);
        let block = Self::wrap(cipher, key, &database_id, (1, &secret), None)?;
        let current = DataKey::new(1, cipher, &secret, &database_id);
        Ok((block, PageCipher::new(database_id, current, None)?))
    }

    /// Decrypts the data keys.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if the key is another one, and [`Error::KeyUnavailable`] if it cannot be
    /// had.
    pub(crate) fn open(&self, key: &EncryptionKey, database_id: [u8; 16]) -> Result<PageCipher> {
        let (current, previous) = self.unwrap_keys(key, &database_id)?;
        self.page_cipher(database_id, &current, previous.as_ref())
    }

    /// The block after the key of the database has changed from `old` to `new`. The data keys stay.
    pub(crate) fn rewrap(
        &self,
        old: &EncryptionKey,
        new: &EncryptionKey,
        database_id: [u8; 16],
    ) -> Result<Self> {
        let (current, previous) = self.unwrap_keys(old, &database_id)?;
        let previous = self.previous.zip(previous.as_ref());
        Self::wrap(
            self.cipher,
            new,
            &database_id,
            (self.current.id, &current),
            previous.map(|(wrapped, secret)| (wrapped.id, secret)),
        )
    }

    /// Makes a new data key the current one. The one that was current stays, to read what it
    /// encrypted.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is a previous key already: pages may still need it.
    #[cfg_attr(not(test), expect(dead_code, reason = "data keys are not changed yet"))]
    pub(crate) fn with_new_data_key(
        &self,
        key: &EncryptionKey,
        database_id: [u8; 16],
    ) -> Result<(Self, PageCipher)> {
        let (previous, None) = self.unwrap_keys(key, &database_id)? else {
            return Err(Error::InvalidArgument(
                "the data key of the database is being changed already; finish that first"
                    .to_owned(),
            ));
        };
        let id = self.current.id.checked_add(1).ok_or_else(|| {
            Error::InvalidArgument("the database has had 2^32 - 1 data keys".to_owned())
        })?;
        let secret = Zeroizing::new(random()?);
        let block = Self::wrap(
            self.cipher,
            key,
            &database_id,
            (id, &secret),
            Some((self.current.id, &previous)),
        )?;
        let page_cipher = block.page_cipher(database_id, &secret, Some(&previous))?;
        Ok((block, page_cipher))
    }

    /// The block without the previous data key, for when nothing is encrypted with it any more.
    #[cfg_attr(not(test), expect(dead_code, reason = "data keys are not changed yet"))]
    pub(crate) fn without_previous_data_key(&self) -> Self {
        Self {
            previous: None,
            ..*self
        }
    }

    pub(crate) fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// The id of the data key that encrypts.
    pub(crate) fn current_id(&self) -> u32 {
        self.current.id
    }

    /// Whether the data key is being changed.
    #[cfg_attr(not(test), expect(dead_code, reason = "data keys are not changed yet"))]
    pub(crate) fn has_previous_data_key(&self) -> bool {
        self.previous.is_some()
    }

    #[cfg_attr(not(test), expect(dead_code, reason = "data keys are not changed yet"))]
    pub(crate) fn derivation(&self) -> KeyDerivation {
        self.derivation
    }

    fn page_cipher(
        &self,
        database_id: [u8; 16],
        current: &Secret,
        previous: Option<&Secret>,
    ) -> Result<PageCipher> {
        let data_key = |id, secret| DataKey::new(id, self.cipher, secret, &database_id);
        let previous = self
            .previous
            .zip(previous)
            .map(|(wrapped, secret)| data_key(wrapped.id, secret));
        PageCipher::new(database_id, data_key(self.current.id, current), previous)
    }

    fn wrap(
        cipher: Cipher,
        key: &EncryptionKey,
        database_id: &[u8; 16],
        current: (u32, &Secret),
        previous: Option<(u32, &Secret)>,
    ) -> Result<Self> {
        if matches!(key.source(), KeySource::Passphrase(text) if text.is_empty()) {
            return Err(Error::InvalidArgument(
                "a passphrase is empty; give one of at least one byte".to_owned(),
            ));
        }
        let randomness = WrapRandomness {
            salt: random()?,
            nonces: [random()?, random()?],
        };
        let derivation = KeyDerivation::of(key);
        let subject = (cipher, derivation, database_id);
        let block = Self::wrap_with(key, subject, current, previous, randomness)?;
        assert_eq!(
            Self::decode(&block.encode()),
            Ok(block),
            "what is written reads back"
        );
        Ok(block)
    }

    /// Like `wrap`, with given randomness.
    fn wrap_with(
        key: &EncryptionKey,
        (cipher, derivation, database_id): (Cipher, KeyDerivation, &[u8; 16]),
        current: (u32, &Secret),
        previous: Option<(u32, &Secret)>,
        WrapRandomness { salt, nonces }: WrapRandomness,
    ) -> Result<Self> {
        let wrapping = derivation.wrapping_key(key, cipher, &salt, database_id)?;
        let wrapped = |(id, secret): (u32, &Secret), nonce| {
            WrappedKey::new(&wrapping, cipher, database_id, id, secret, nonce)
        };
        Ok(Self {
            cipher,
            derivation,
            salt,
            current: wrapped(current, nonces[0]),
            previous: previous.map(|previous| wrapped(previous, nonces[1])),
        })
    }

    fn unwrap_keys(
        &self,
        key: &EncryptionKey,
        database_id: &[u8; 16],
    ) -> Result<(Secret, Option<Secret>)> {
        let wrapping = self
            .derivation
            .wrapping_key(key, self.cipher, &self.salt, database_id)?;
        let open = |wrapped: WrappedKey| wrapped.open(&wrapping, self.cipher, database_id);
        Ok((open(self.current)?, self.previous.map(open).transpose()?))
    }

    /// The bytes of the block.
    pub(crate) fn encode(&self) -> [u8; KEY_BLOCK_LEN] {
        let (derivation, cost) = match self.derivation {
            KeyDerivation::Given => (0, [0; 3]),
            KeyDerivation::Argon2id(cost) => (1, [cost.memory_kib, cost.passes, cost.lanes]),
        };
        let mut bytes = [0; KEY_BLOCK_LEN];
        let count = 1 + u8::from(self.previous.is_some());
        bytes[..4].copy_from_slice(&[VERSION, self.cipher.code(), derivation, count]);
        for (field, number) in bytes[4..16].chunks_mut(4).zip(cost) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        bytes[16..32].copy_from_slice(&self.salt);
        bytes[32..36].copy_from_slice(&self.current.id.to_le_bytes());
        let keys = [Some(self.current), self.previous];
        for (field, key) in bytes[CURRENT_AT..].chunks_mut(WRAPPED_LEN).zip(keys) {
            if let Some(key) = key {
                key.encode(field);
            }
        }
        bytes
    }

    /// Reads and checks a block. An error says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let Ok(bytes) = <&[u8; KEY_BLOCK_LEN]>::try_from(bytes) else {
            return Err("its key block is cut off");
        };
        if bytes[0] != VERSION {
            return Err("its key block has an unknown version");
        }
        let cipher = Cipher::of_code(bytes[1]).ok_or("its cipher is unknown")?;
        let cost = Argon2Cost {
            memory_kib: number_at(bytes, 4),
            passes: number_at(bytes, 8),
            lanes: number_at(bytes, 12),
        };
        let derivation = match bytes[2] {
            0 if bytes[4..16] == [0; 12] => KeyDerivation::Given,
            1 if cost.is_affordable() => KeyDerivation::Argon2id(cost),
            0 | 1 => return Err("the parameters of its passphrase are out of range"),
            _ => return Err("the derivation of its key is unknown"),
        };
        let current = WrappedKey::decode(&bytes[CURRENT_AT..]);
        let previous = &bytes[CURRENT_AT + WRAPPED_LEN..];
        let previous = match bytes[3] {
            1 if previous == [0; WRAPPED_LEN] => None,
            2 => Some(WrappedKey::decode(previous)),
            _ => return Err("its data keys are not one or two"),
        };
        let are_ids_possible = current.id == number_at(bytes, 32)
            && current.id > 0
            && previous.is_none_or(|key| (1..current.id).contains(&key.id));
        if !are_ids_possible || number_at(bytes, 36) != 0 {
            return Err("the ids of its data keys are impossible");
        }
        Ok(Self {
            cipher,
            derivation,
            salt: array_at(bytes, 16),
            current,
            previous,
        })
    }
}

impl WrappedKey {
    fn new(
        wrapping: &AeadKey,
        cipher: Cipher,
        database_id: &[u8; 16],
        id: u32,
        secret: &Secret,
        nonce: [u8; NONCE_LEN],
    ) -> Self {
        let mut encrypted = **secret;
        let mac = wrapping.seal(&nonce, &associated(database_id, id, cipher), &mut encrypted);
        Self {
            id,
            nonce,
            encrypted,
            mac,
        }
    }

    fn open(&self, wrapping: &AeadKey, cipher: Cipher, database_id: &[u8; 16]) -> Result<Secret> {
        let mut secret = Zeroizing::new(self.encrypted);
        let associated = associated(database_id, self.id, cipher);
        wrapping
            .open(&self.nonce, &associated, secret.as_mut_slice(), &self.mac)
            .map_err(|_| wrong_key("its data keys are encrypted with another key"))?;
        Ok(secret)
    }

    fn encode(&self, field: &mut [u8]) {
        let (id, rest) = field.split_at_mut(4);
        let (nonce, rest) = rest.split_at_mut(NONCE_LEN);
        let (encrypted, mac) = rest.split_at_mut(KEY_LEN);
        id.copy_from_slice(&self.id.to_le_bytes());
        nonce.copy_from_slice(&self.nonce);
        encrypted.copy_from_slice(&self.encrypted);
        mac.copy_from_slice(&self.mac);
    }

    /// `field` has at least the length of an encrypted key.
    fn decode(field: &[u8]) -> Self {
        Self {
            id: number_at(field, 0),
            nonce: array_at(field, 4),
            encrypted: array_at(field, 4 + NONCE_LEN),
            mac: array_at(field, 4 + NONCE_LEN + KEY_LEN),
        }
    }
}

/// Binds an encrypted data key to its database, id and cipher.
fn associated(database_id: &[u8; 16], id: u32, cipher: Cipher) -> [u8; 22] {
    let mut bytes = [0; 22];
    bytes[0] = Purpose::DataKey as u8;
    bytes[1] = cipher.code();
    bytes[2..6].copy_from_slice(&id.to_le_bytes());
    bytes[6..].copy_from_slice(database_id);
    bytes
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
#[path = "key_block_tests.rs"]
mod tests;
