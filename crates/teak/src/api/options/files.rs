//! Options about the files of a database: its lock file, name, permissions and file system.

use super::{Create, Options};
#[cfg(doc)]
use crate::Event;
use crate::{
    Error, Result,
    instance::policies::{ClosePolicy, LostNamePolicy, Network, Settings, Sharing},
    share::attachment::UnusedLockFile,
};
use std::path::PathBuf;

/// Files.
impl Options {
    /// Sets which other processes may have the database open. The default is
    /// [`Sharing::Processes`].
    ///
    /// ```
    /// use teak::{Options, Sharing};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = Options::new().sharing(Sharing::Alone).open(&path)?;
    /// assert!(!directory.path().join("coins.teak-lock").exists());
    /// database.close()?;
    ///
    /// let reading = Options::new().read_only(true).sharing(Sharing::Unlocked);
    /// let database = reading.open(&path)?;
    /// assert!(!database.info().has_lock_file);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.settings.sharing = sharing;
        self
    }

    /// Sets the path of the lock file; the default is the name of the database followed by `-lock`.
    /// All processes that have the database open at the same time must use the same path; others
    /// get [`Error::InUse`]. [`delete`](crate::delete) knows only the default.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let lock_file = directory.path().join("coins.lock");
    /// let database = teak::Options::new().lock_file(&lock_file).open(&path)?;
    /// assert!(lock_file.exists());
    /// # drop(database);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.lock_file = Some(path.into());
        self
    }

    /// Sets whether the last process that closes the database removes the lock file. The default is
    /// `true`. Removing it releases its disk blocks, which can take milliseconds while other
    /// programs flush files of the same file system. With `false`, a program that opens and closes
    /// a database often saves that, and creating the lock file the next time. The file that stays
    /// has some 400 KB, of which 140 KB are on the disk. If this process has the database open
    /// already, the setting of the first opening applies.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// teak::Options::new().remove_lock_file(false).open(&path)?.close()?;
    /// assert!(directory.path().join("coins.teak-lock").exists());
    /// teak::Database::open(&path)?.close()?;
    /// assert!(!directory.path().join("coins.teak-lock").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_lock_file(mut self, is_removed: bool) -> Self {
        self.settings.unused_lock_file = match is_removed {
            true => UnusedLockFile::Remove,
            false => UnusedLockFile::Leave,
        };
        self
    }

    /// Sets the permissions of created files, as for `open`, less the process's `umask`; the
    /// default is 0o666. Existing files keep theirs, and a recreated lock file gets those of the
    /// database.
    ///
    /// ```
    /// use std::os::unix::fs::PermissionsExt;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().file_mode(0o600).open(&path)?;
    /// assert_eq!(path.metadata()?.permissions().mode() & 0o777, 0o600);
    /// # drop(database);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_mode(mut self, mode: u32) -> Self {
        self.settings.file_mode = mode;
        self
    }

    /// Sets whether a file on a network file system may be opened. Only processes of one machine
    /// may use it then, which Teak cannot check.
    pub fn allow_network(mut self, is_allowed: bool) -> Self {
        self.settings.network = match is_allowed {
            true => Network::Allow,
            false => Network::Refuse,
        };
        self
    }

    /// Sets whether a commit fails with [`Error::NameLost`] if the file, or a directory above it,
    /// was removed, renamed or replaced since it was opened. By default the commit succeeds, into a
    /// file that may be gone after closing, and the first such commit emits [`Event::NameLost`].
    /// The removal of the last link to the file is noticed at once; any other change within 10
    /// milliseconds.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().require_name(true).open(&path)?;
    /// std::fs::remove_file(&path)?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("names")?;
    /// assert!(matches!(txn.commit(), Err(teak::Error::NameLost { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require_name(mut self, is_required: bool) -> Self {
        self.settings.without_name = match is_required {
            true => LostNamePolicy::Refuse,
            false => LostNamePolicy::Commit,
        };
        self
    }

    /// The settings of a database that ends with its last handle.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an option about a file that stays.
    pub(in crate::api) fn ephemeral_settings(&self) -> Result<Settings> {
        let refused = [
            (self.is_read_only, "read_only"),
            (self.create == Create::Never, "create"),
        ];
        self.refuse(
            &refused,
            "is new, has no name and ends with its last handle",
        )?;
        self.settings_of_nameless()
    }

    /// The settings of a database that is in no file of this machine, and is only read.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an option about a file of this machine.
    pub(in crate::api) fn source_settings(&self) -> Result<Settings> {
        let refused = [(self.create == Create::New, "create")];
        self.refuse(&refused, "exists, and is only read")?;
        self.settings_of_nameless()
    }

    fn settings_of_nameless(&self) -> Result<Settings> {
        let (settings, usual) = (&self.settings, Settings::default());
        let refused = [
            (settings.sharing == Sharing::Unlocked, "sharing"),
            (settings.lock_file.is_some(), "lock_file"),
            (
                settings.unused_lock_file == UnusedLockFile::Leave,
                "remove_lock_file",
            ),
            (settings.file_mode != usual.file_mode, "file_mode"),
            (
                settings.without_name == LostNamePolicy::Refuse,
                "require_name",
            ),
            (
                settings.journal_bytes.is_some_and(|bytes| bytes > 0),
                "journal_bytes",
            ),
        ];
        self.refuse(&refused, "has no name, and that no other process finds")?;
        Ok(Settings {
            sharing: Sharing::Alone,
            on_close: ClosePolicy::Discard,
            journal_bytes: Some(0),
            ..self.settings()?
        })
    }

    fn refuse(&self, options: &[(bool, &str)], kind: &str) -> Result<()> {
        match options.iter().find(|(is_set, _)| *is_set) {
            Some((_, option)) => Err(Error::InvalidArgument(format!(
                "`Options::{option}` makes no sense for a database that {kind}; leave the option out, or open a file"
            ))),
            None => Ok(()),
        }
    }
}
