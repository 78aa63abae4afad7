//! Encrypted and compressed databases of campaigns.

use teak::{Cipher, Compression, EncryptionKey, Options};

/// The key of all databases.
const KEY: [u8; 32] = [7; 32];
/// Little memory for decoded pages, so that pages are given back and decoded again.
const CACHE_BYTES: u64 = 100_000;
/// The least size of pages that are compressed.
const COMPRESSED_PAGE_SIZE_MIN: usize = 8192;

// The arguments of campaigns that can encode their databases. A doc comment would replace the help
// of the task.
#[derive(clap::Args)]
pub(crate) struct EncodingArguments {
    /// Encrypt all databases, with both ciphers in turn
    #[arg(long)]
    pub(crate) encrypted: bool,
    /// Compress all databases, with LZ4 and zstd in turn, and encrypt each third one
    #[arg(long, conflicts_with = "encrypted")]
    pub(crate) compressed: bool,
}

impl EncodingArguments {
    /// The encoding of an episode's databases.
    pub(crate) fn of_episode(&self, episode: u64) -> Encoding {
        if self.compressed {
            let compression = [Compression::Lz4, Compression::Zstd(1)][episode as usize % 2];
            let cipher = (episode % 3 == 2).then_some(Cipher::Aes256Gcm);
            return Encoding::Compressed(compression, cipher);
        }
        match (self.encrypted, episode % 2) {
            (false, _) => Encoding::Off,
            (true, 0) => Encoding::Encrypted(Cipher::Aes256Gcm),
            (true, _) => Encoding::Encrypted(Cipher::XChaCha20Poly1305),
        }
    }

    /// The name of the campaign in results: the one of these.
    pub(crate) fn name(&self, names: [&'static str; 3]) -> &'static str {
        names[match (self.encrypted, self.compressed) {
            (false, false) => 0,
            (true, _) => 1,
            (false, true) => 2,
        }]
    }
}

/// How a database is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    Off,
    Encrypted(Cipher),
    Compressed(Compression, Option<Cipher>),
}

impl Encoding {
    /// The options with key, cipher and compression, if there are any.
    pub(crate) fn apply(self, options: Options) -> Options {
        let (compression, cipher) = match self {
            Self::Off => return options,
            Self::Encrypted(cipher) => (None, Some(cipher)),
            Self::Compressed(compression, cipher) => (Some(compression), cipher),
        };
        let options = options
            .compression(compression)
            .decoded_cache_bytes(CACHE_BYTES);
        match cipher {
            None => options,
            Some(cipher) => options
                .encryption_key(EncryptionKey::from_bytes(KEY))
                .cipher(cipher),
        }
    }

    /// The page size, if this one was drawn.
    pub(crate) fn page_size(self, drawn: usize) -> usize {
        match self {
            Self::Compressed(..) => drawn.max(COMPRESSED_PAGE_SIZE_MIN),
            _ => drawn,
        }
    }

    /// The words of a command line that repeat this.
    pub(crate) fn in_command(self) -> &'static str {
        match self {
            Self::Off => "",
            Self::Encrypted(_) => " --encrypted",
            Self::Compressed(..) => " --compressed",
        }
    }
}
