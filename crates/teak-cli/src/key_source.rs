//! Where the key of a database comes from.

use crate::failure::Failure;
use console::Term;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::mem;
use std::path::PathBuf;
use teak::EncryptionKey;
use zeroize::Zeroizing;

/// The source of a key. Keys and passphrases are never arguments, which all users can see.
#[derive(Clone, Debug)]
pub(crate) enum KeySource {
    /// A file with a key.
    File(PathBuf),
    /// An environment variable with a key.
    Variable(OsString),
    /// A file with a passphrase.
    PassphraseFile(PathBuf),
    /// A passphrase that somebody types.
    Terminal,
}

/// The purpose of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPurpose {
    /// A database that exists.
    Open,
    /// A database that is created, so a typing error would lose it.
    Create,
}

impl KeySource {
    /// Reads the key, or asks for it.
    pub(crate) fn read(&self, purpose: KeyPurpose) -> Result<EncryptionKey, Failure> {
        Ok(match self {
            Self::File(path) => EncryptionKey::from_file(path)?,
            Self::Variable(name) => EncryptionKey::from_env(name)?,
            Self::PassphraseFile(path) => EncryptionKey::from_passphrase_file(path)?,
            Self::Terminal => EncryptionKey::from_passphrase(asked(purpose)?),
        })
    }
}

/// Asks for a passphrase, without an echo; twice for a new database.
fn asked(purpose: KeyPurpose) -> Result<String, Failure> {
    let terminal = Term::stderr();
    if !io::stdin().is_terminal() || !terminal.is_term() {
        let text = "there is no terminal to ask for a passphrase; put it into a file, and name that \
                    (--passphrase-file)";
        return Err(Failure::Usage(text.to_owned()));
    }
    let ask = |question: &str| {
        let written = terminal.write_str(question);
        let answer = written.and_then(|()| terminal.read_secure_line());
        answer.map_err(|error| {
            Failure::Usage(format!("the passphrase cannot be read: {error}; try again"))
        })
    };
    let (question, repeated) = match purpose {
        KeyPurpose::Open => ("Passphrase: ", None),
        KeyPurpose::Create => ("New passphrase: ", Some("The new passphrase once more: ")),
    };
    let mut passphrase = Zeroizing::new(ask(question)?);
    if passphrase.is_empty() {
        return Err(Failure::Usage(
            "the passphrase is empty; try again".to_owned(),
        ));
    }
    if let Some(question) = repeated {
        let again = Zeroizing::new(ask(question)?);
        if again != passphrase {
            let text = "the two passphrases differ; nothing was changed; try again";
            return Err(Failure::Usage(text.to_owned()));
        }
    }
    Ok(mem::take(&mut *passphrase))
}
