//! Encrypted databases of campaigns.

use teak::{Cipher, EncryptionKey, Options};

/// The key of all databases.
const KEY: [u8; 32] = [7; 32];
/// Little memory for decrypted pages, so that pages are given back and decrypted again.
const CACHE_BYTES: u64 = 100_000;

// The argument of campaigns that can encrypt their databases. A doc comment would replace the help
// of the task.
#[derive(clap::Args)]
pub(crate) struct EncryptionArguments {
    /// Encrypt all databases, with both ciphers in turn
    #[arg(long)]
    pub(crate) encrypted: bool,
}

impl EncryptionArguments {
    /// The encryption of an episode's databases.
    pub(crate) fn of_episode(&self, episode: u64) -> Encryption {
        match (self.encrypted, episode % 2) {
            (false, _) => Encryption::Off,
            (true, 0) => Encryption::On(Cipher::Aes256Gcm),
            (true, _) => Encryption::On(Cipher::XChaCha20Poly1305),
        }
    }

    /// The name of the campaign in results.
    pub(crate) fn name(&self, plain: &'static str, encrypted: &'static str) -> &'static str {
        match self.encrypted {
            false => plain,
            true => encrypted,
        }
    }
}

/// Whether a database is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encryption {
    Off,
    On(Cipher),
}

impl Encryption {
    /// The options with the key and the cipher, if there are any.
    pub(crate) fn apply(self, options: Options) -> Options {
        match self {
            Self::Off => options,
            Self::On(cipher) => options
                .encryption_key(EncryptionKey::from_bytes(KEY))
                .cipher(cipher)
                .decrypted_cache_bytes(CACHE_BYTES),
        }
    }

    /// The words of a command line that repeat this.
    pub(crate) fn in_command(self) -> &'static str {
        match self {
            Self::Off => "",
            Self::On(_) => " --encrypted",
        }
    }
}
