//! The choice between the two ciphers.

/// The cipher of an encrypted database. It is chosen when the database is created, and stays.
///
/// Both ciphers have keys of 256 bits and nonces of 192 bits, and detect every change of what they
/// encrypted. `docs/encryption.md` has the reasons, and the speed of both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Cipher {
    /// AES-256-GCM with a key for each nonce (XAES-256-GCM). The fastest choice on processors with
    /// instructions for AES, which nearly all have.
    #[default]
    Aes256Gcm,
    /// XChaCha20-Poly1305. Faster on processors without instructions for AES.
    XChaCha20Poly1305,
}

impl Cipher {
    /// The number that stands for the cipher in a file.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Aes256Gcm => 1,
            Self::XChaCha20Poly1305 => 2,
        }
    }

    pub(super) fn of_code(code: u8) -> Option<Self> {
        [Self::Aes256Gcm, Self::XChaCha20Poly1305]
            .into_iter()
            .find(|cipher| cipher.code() == code)
    }
}
