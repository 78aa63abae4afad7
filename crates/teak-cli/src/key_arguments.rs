//! The options that say where a key comes from, and how a new database is encrypted.

use crate::failure::Failure;
use crate::key_source::KeySource;
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use teak::{Cipher, Compression};

/// The key of the databases that a subcommand opens or creates.
#[derive(Args, Clone)]
pub(crate) struct KeyArguments {
    /// The file with the key of an encrypted database: 32 bytes, or 64 hexadecimal digits; see
    /// `teak key create` [default: the environment variable TEAK_KEY_FILE]
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::FilePath)]
    key_file: Option<PathBuf>,

    /// The environment variable with the key: 64 hexadecimal digits
    #[arg(long, global = true, value_name = "NAME")]
    key_env: Option<OsString>,

    /// The file with the passphrase of an encrypted database [default: the environment variable
    /// TEAK_PASSPHRASE_FILE]
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::FilePath)]
    passphrase_file: Option<PathBuf>,

    /// Ask for the passphrase on the terminal
    #[arg(long, global = true)]
    passphrase: bool,
}

impl KeyArguments {
    /// Where the key comes from, if an option says so.
    pub(crate) fn source(self) -> Result<Option<KeySource>, Failure> {
        let sources = [
            self.key_file.map(KeySource::File),
            self.key_env.map(KeySource::Variable),
            self.passphrase_file.map(KeySource::PassphraseFile),
            self.passphrase.then_some(KeySource::Terminal),
        ];
        only(sources)
    }
}

/// Encryption and compression of a dense copy.
#[derive(Args, Clone)]
pub(crate) struct CopyKeyArguments {
    /// Encrypt the copy of a database that is not encrypted
    #[arg(long, requires = "compact")]
    pub(crate) encrypt: bool,

    /// Do not encrypt the copy of an encrypted database
    #[arg(long, requires = "compact", conflicts_with_all = [
        "encrypt", "cipher", "to_key_file", "to_key_env", "to_passphrase_file", "to_passphrase",
    ])]
    pub(crate) decrypt: bool,

    /// The cipher of an encrypted copy [default: that of the database, or aes-256-gcm]
    #[arg(long, value_enum, value_name = "CIPHER", requires = "compact")]
    pub(crate) cipher: Option<CipherArgument>,

    /// Compress the copy: lz4, zstd, or zstd:LEVEL with a level from 1 to 19 [default: like the
    /// database]
    #[arg(long, value_name = "ALGORITHM", requires = "compact")]
    pub(crate) compress: Option<Compression>,

    /// Do not compress the copy of a compressed database
    #[arg(long, requires = "compact", conflicts_with = "compress")]
    pub(crate) expand: bool,

    #[command(flatten)]
    pub(crate) new_key: NewKeyArguments,
}

/// The key of a copy, or the next key of a database.
#[derive(Args, Clone)]
pub(crate) struct NewKeyArguments {
    /// The file with the new key
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    to_key_file: Option<PathBuf>,

    /// The environment variable with the new key
    #[arg(long, value_name = "NAME")]
    to_key_env: Option<OsString>,

    /// The file with the new passphrase
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    to_passphrase_file: Option<PathBuf>,

    /// Ask for the new passphrase on the terminal
    #[arg(long)]
    to_passphrase: bool,
}

impl NewKeyArguments {
    /// Where the new key comes from, if an option says so.
    pub(crate) fn source(&self) -> Result<Option<KeySource>, Failure> {
        let arguments = self.clone();
        let sources = [
            arguments.to_key_file.map(KeySource::File),
            arguments.to_key_env.map(KeySource::Variable),
            arguments.to_passphrase_file.map(KeySource::PassphraseFile),
            arguments.to_passphrase.then_some(KeySource::Terminal),
        ];
        only(sources)
    }
}

fn only(sources: [Option<KeySource>; 4]) -> Result<Option<KeySource>, Failure> {
    let mut given = sources.into_iter().flatten();
    let first = given.next();
    match given.next() {
        None => Ok(first),
        Some(_) => Err(Failure::Usage(
            "a database has one key; give one of its options: a file, an environment variable, a \
             passphrase file, or a passphrase"
                .to_owned(),
        )),
    }
}

/// Encryption and compression of a database that a subcommand may create.
#[derive(Args, Clone, Copy)]
pub(crate) struct EncodingArguments {
    /// Encrypt the database if it is created, with the key of --key-file or another key option
    #[arg(long)]
    pub(crate) encrypt: bool,

    /// The cipher of the new database [default: aes-256-gcm]
    #[arg(long, value_enum, value_name = "CIPHER", requires = "encrypt")]
    pub(crate) cipher: Option<CipherArgument>,

    /// Compress the database if it is created: lz4, zstd, or zstd:LEVEL with a level from 1 to 19
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) compress: Option<Compression>,
}

/// A cipher on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CipherArgument {
    /// Fast on processors with instructions for AES
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    /// Fast on all others
    #[value(name = "xchacha20-poly1305")]
    XChaCha20Poly1305,
}

impl From<CipherArgument> for Cipher {
    fn from(argument: CipherArgument) -> Self {
        match argument {
            CipherArgument::Aes256Gcm => Self::Aes256Gcm,
            CipherArgument::XChaCha20Poly1305 => Self::XChaCha20Poly1305,
        }
    }
}

/// The name of a cipher, as on the command line.
pub(crate) fn cipher_name(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Aes256Gcm => "aes-256-gcm",
        Cipher::XChaCha20Poly1305 => "xchacha20-poly1305",
        _ => "unknown",
    }
}
