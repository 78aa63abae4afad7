//! From the key of the application to the key that wraps the data keys.

use super::{
    aead::{AeadKey, KEY_LEN},
    algorithm::Cipher,
    data_key::{Purpose, derive},
    encryption_key::{EncryptionKey, KeyRequest, KeySource},
    key_file::unavailable,
};
use crate::error::{Error, Result};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroizing;

/// How the master key comes from the key of the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyDerivation {
    /// It is the key.
    Given,
    /// The key is a passphrase, and Argon2id makes 32 bytes of it.
    Argon2id(Argon2Cost),
}

/// Memory and time of Argon2id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Argon2Cost {
    pub(crate) memory_kib: u32,
    pub(crate) passes: u32,
    pub(crate) lanes: u32,
}

/// The second recommended option of RFC 9106, section 4: 64 MiB, 3 passes, 4 lanes. The first one
/// takes 2 GiB, which a program that opens a database may not have.
pub(super) const DEFAULT_COST: Argon2Cost = Argon2Cost {
    memory_kib: 64 << 10,
    passes: 3,
    lanes: 4,
};

/// The greatest memory is that of the first recommended option of RFC 9106. The greatest product of
/// memory and passes is twice its work. So a forged file costs seconds and 2 GiB, not more.
const MEMORY_MAX_KIB: u32 = 2 << 20;
const WORK_MAX_KIB: u64 = 4 << 20;
const LANES_MAX: u32 = 16;

impl Argon2Cost {
    /// Whether Argon2 allows these numbers, and a machine can afford them.
    pub(super) fn is_affordable(self) -> bool {
        let work = u64::from(self.memory_kib) * u64::from(self.passes);
        (1..=LANES_MAX).contains(&self.lanes)
            && (8 * self.lanes..=MEMORY_MAX_KIB).contains(&self.memory_kib)
            && (1..=WORK_MAX_KIB).contains(&work)
    }
}

impl KeyDerivation {
    /// The derivation for new databases with such a key.
    pub(super) fn of(key: &EncryptionKey) -> Self {
        match key.source() {
            KeySource::Passphrase(_) => Self::Argon2id(DEFAULT_COST),
            KeySource::Bytes(_) | KeySource::Callback(_) => Self::Given,
        }
    }

    /// The key that wraps the data keys of a database.
    pub(super) fn wrapping_key(
        self,
        key: &EncryptionKey,
        cipher: Cipher,
        salt: &[u8; 16],
        database_id: &[u8; 16],
    ) -> Result<AeadKey> {
        let master = self.master_key(key, salt, database_id)?;
        Ok(derive(Purpose::DataKey, cipher, &master, salt, database_id))
    }

    fn master_key(
        self,
        key: &EncryptionKey,
        salt: &[u8; 16],
        database_id: &[u8; 16],
    ) -> Result<Zeroizing<[u8; KEY_LEN]>> {
        match (self, key.source()) {
            (Self::Argon2id(cost), KeySource::Passphrase(passphrase)) => {
                stretch(passphrase, salt, cost)
            }
            (Self::Given, KeySource::Bytes(bytes)) => Ok(bytes.clone()),
            (Self::Given, KeySource::Callback(callback)) => {
                let key = callback(&KeyRequest::new(*database_id));
                key.map(Zeroizing::new)
                    .map_err(|error| unavailable(format!("the callback failed: {error}")))
            }
            (Self::Given, KeySource::Passphrase(_)) => Err(wrong_key(
                "it is encrypted with a key, and a passphrase was given",
            )),
            (Self::Argon2id(_), KeySource::Bytes(_) | KeySource::Callback(_)) => Err(wrong_key(
                "it is encrypted with a passphrase, and a key was given",
            )),
        }
    }
}

/// Argon2id (RFC 9106).
fn stretch(
    passphrase: &[u8],
    salt: &[u8; 16],
    cost: Argon2Cost,
) -> Result<Zeroizing<[u8; KEY_LEN]>> {
    assert!(
        cost.is_affordable(),
        "the cost was checked when it was read from the file"
    );
    let mib = cost.memory_kib >> 10;
    let failed = |cause| unavailable(format!("Argon2id with {mib} MiB failed: {cause}"));
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(KEY_LEN))
        .map_err(|error| failed(error.to_string()))?;
    let mut memory = Zeroizing::new(Vec::new());
    memory
        .try_reserve_exact(params.block_count())
        .map_err(|error| failed(error.to_string()))?;
    memory.resize(params.block_count(), Block::new());
    let mut key = Zeroizing::new([0; KEY_LEN]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(passphrase, salt, key.as_mut_slice(), memory.as_mut_slice())
        .map_err(|error| failed(error.to_string()))?;
    Ok(key)
}

pub(super) fn wrong_key(reason: &'static str) -> Error {
    Error::WrongKey { path: None, reason }
}

#[cfg(test)]
#[path = "key_derivation_tests.rs"]
mod tests;
