//! The keys of the databases that a command opens, creates or copies.

use crate::failure::Failure;
use crate::key_arguments::{CopyKeyArguments, EncodingArguments, KeyArguments, NewKeyArguments};
use crate::key_source::{KeyPurpose, KeySource};
use crate::text::shown_path;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, mem};
use teak::{Database, EncryptionKey, Options};

/// The variables that name files if no option does. Their keys are used for encrypted databases
/// only.
const KEY_FILE_VARIABLE: &str = "TEAK_KEY_FILE";
const PASSPHRASE_FILE_VARIABLE: &str = "TEAK_PASSPHRASE_FILE";

const KEY_OPTIONS: &str = "--key-file, --key-env, --passphrase-file or --passphrase";

/// The key of a command.
struct CommandKey {
    /// The source that an option names.
    given: Option<KeySource>,
    /// The source that a variable names.
    fallback: Option<KeySource>,
    /// The key, once it was read.
    read: Mutex<Option<EncryptionKey>>,
}

static KEY: OnceLock<CommandKey> = OnceLock::new();

/// Sets the key for all databases. Called once, before any is opened.
pub(crate) fn set_key(arguments: KeyArguments) -> Result<(), Failure> {
    let named_by = |variable| env::var_os(variable).filter(|path| !path.is_empty());
    let key_file = named_by(KEY_FILE_VARIABLE).map(|path| KeySource::File(path.into()));
    let passphrase_file = named_by(PASSPHRASE_FILE_VARIABLE);
    let passphrase_file = passphrase_file.map(|path| KeySource::PassphraseFile(path.into()));
    let _ = KEY.set(CommandKey {
        given: arguments.source()?,
        fallback: key_file.or(passphrase_file),
        read: Mutex::default(),
    });
    Ok(())
}

/// Whether a key that an option names is for this database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// It is. A database that is not encrypted is refused then.
    Always,
    /// Only if the database is encrypted.
    IfEncrypted,
}

/// The options to open a database that exists.
pub(crate) fn for_existing(
    options: Options,
    path: &Path,
    key_use: KeyUse,
) -> Result<Options, Failure> {
    let given = given().filter(|_| key_use == KeyUse::Always);
    let source = match given {
        Some(source) => Some(source),
        None => source().filter(|_| is_encrypted(path)),
    };
    with_key(options, source, KeyPurpose::Open)
}

/// The options to create a database, with its compression. `None` if the command must not create
/// one: with a key, only `--encrypt` makes it clear that the database is to be encrypted.
pub(crate) fn for_new(
    options: Options,
    path: &Path,
    arguments: EncodingArguments,
) -> Result<Option<Options>, Failure> {
    let options = options.compression(arguments.compress);
    if !arguments.encrypt {
        return Ok(given().is_none().then_some(options));
    }
    let source = source().ok_or_else(|| no_key("--encrypt"))?;
    let purpose = match path.exists() {
        true => KeyPurpose::Open,
        false => KeyPurpose::Create,
    };
    let mut options = with_key(options, Some(source), purpose)?;
    if let Some(cipher) = arguments.cipher {
        options = options.cipher(cipher.into());
    }
    Ok(Some(options))
}

/// The failure if a key was given, but not `--encrypt`, and there is no database yet.
pub(crate) fn not_to_be_encrypted(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{} does not exist, and with a key it is created only as an encrypted database; add \
         --encrypt, or leave the key out",
        shown_path(path)
    ))
}

/// The failure if a key was given, but not `--encrypt`, and the command always creates a database.
pub(crate) fn refused_key() -> Failure {
    let text = "with a key, the database is created only as an encrypted one; add --encrypt, or \
                leave the key out";
    Failure::Usage(text.to_owned())
}

/// The options of a dense copy of a database. They have the key of the copy, if it is encrypted.
pub(crate) fn for_copy(
    database: &Database,
    arguments: &CopyKeyArguments,
) -> Result<Options, Failure> {
    let own = arguments.new_key.source()?;
    let cipher = database.info().cipher;
    let compression = match arguments.expand {
        true => None,
        false => arguments.compress.or(database.info().compression),
    };
    let options = Options::new().compression(compression);
    if arguments.decrypt || (cipher.is_none() && !arguments.encrypt) {
        return match own.is_some() || arguments.cipher.is_some() {
            false => Ok(options),
            true => Err(Failure::Usage(format!(
                "{} is not encrypted, and neither is its copy; add --encrypt, or leave the key and \
                 the cipher of the copy out",
                shown_path(database.path())
            ))),
        };
    }
    let options = match own {
        Some(own) => options.encryption_key(own.read(KeyPurpose::Create)?),
        None => {
            let source = source().ok_or_else(|| no_key("an encrypted copy"))?;
            with_key(options, Some(source), KeyPurpose::Create)?
        }
    };
    let wanted = arguments.cipher.map(Into::into);
    Ok(options.cipher(wanted.or(cipher).unwrap_or_default()))
}

/// The next key of a database.
pub(crate) fn next_key(arguments: &NewKeyArguments) -> Result<EncryptionKey, Failure> {
    match arguments.source()? {
        Some(source) => source.read(KeyPurpose::Create),
        None => Err(Failure::Usage(
            "give the new key by --to-key-file, --to-key-env, --to-passphrase-file or \
             --to-passphrase"
                .to_owned(),
        )),
    }
}

fn no_key(reason: &str) -> Failure {
    Failure::Usage(format!("{reason} needs a key; give it by {KEY_OPTIONS}"))
}

fn given() -> Option<&'static KeySource> {
    KEY.get()?.given.as_ref()
}

fn source() -> Option<&'static KeySource> {
    given().or_else(|| KEY.get()?.fallback.as_ref())
}

fn is_encrypted(path: &Path) -> bool {
    matches!(teak::inspect(path), Err(teak::Error::KeyNeeded(_)))
}

/// Adds the key of this source. It is read once.
fn with_key(
    options: Options,
    source: Option<&KeySource>,
    purpose: KeyPurpose,
) -> Result<Options, Failure> {
    let (Some(source), Some(command)) = (source, KEY.get()) else {
        return Ok(options);
    };
    let mut read = command.read.lock().unwrap_or_else(PoisonError::into_inner);
    let key = match mem::take(&mut *read) {
        Some(key) => key,
        None => source.read(purpose)?,
    };
    *read = Some(key.clone());
    Ok(options.encryption_key(key))
}
