//! Data keys: the keys that encrypt the content of a database, and their subkeys.

use super::{
    aead::{AeadKey, KEY_LEN},
    algorithm::Cipher,
};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

/// The subkeys of a data key: one for each purpose, so that no two purposes share nonces.
pub(super) struct DataKey {
    pub(super) id: u32,
    pub(super) pages: AeadKey,
    pub(super) values: AeadKey,
    pub(super) records: AeadKey,
    pub(super) logs: AeadKey,
}

/// Purposes of subkeys, and the first byte of the associated data of each encryption.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Purpose {
    Page = 1,
    Value = 2,
    Record = 3,
    Log = 4,
    DataKey = 5,
}

impl Purpose {
    fn label(self) -> &'static str {
        match self {
            Self::Page => "teak 1 pages",
            Self::Value => "teak 1 large values",
            Self::Record => "teak 1 commit records",
            Self::Log => "teak 1 logs",
            Self::DataKey => "teak 1 data keys",
        }
    }
}

impl DataKey {
    pub(super) fn new(
        id: u32,
        cipher: Cipher,
        secret: &[u8; KEY_LEN],
        database_id: &[u8; 16],
    ) -> Self {
        let subkey = |purpose| derive(purpose, cipher, secret, database_id, database_id);
        Self {
            id,
            pages: subkey(Purpose::Page),
            values: subkey(Purpose::Value),
            records: subkey(Purpose::Record),
            logs: subkey(Purpose::Log),
        }
    }
}

/// The key for a purpose by HKDF-SHA256 (RFC 5869). The information is the purpose, the cipher and
/// the database.
pub(super) fn derive(
    purpose: Purpose,
    cipher: Cipher,
    secret: &[u8; KEY_LEN],
    salt: &[u8; 16],
    database_id: &[u8; 16],
) -> AeadKey {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    let parts = [purpose.label().as_bytes(), &[cipher.code()], database_id];
    Hkdf::<Sha256>::new(Some(salt), secret)
        .expand_multi_info(&parts, key.as_mut_slice())
        .expect("HKDF-SHA256 gives up to 8,160 bytes");
    AeadKey::new(cipher, &key)
}
