//! Creating and opening.

use super::{
    door::Door,
    engine::Engine,
    lock_file_errors::is_lack_of_lock_file,
    names::{refuse_as_own_lock, refuse_lock_name},
    open_file::{FORMATTED_LENS, leads_nowhere, look_first, open_file},
    policies::{How, Network, Settings, Sharing},
    settle::{join, settle},
    unlocked::{self, refuse_writing},
};
use crate::{
    Error, Result,
    commit::record::{SLOT_COUNT, probe::PROBE_LEN},
    store::{Access, Company, Create, Storage, is_on_network, needs_temporary_names},
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

impl Engine {
    /// Opens the database in a file, which other processes may have open as well.
    pub(crate) fn open(
        path: &Path,
        access: Access,
        create: Create,
        settings: Settings,
    ) -> Result<Self> {
        refuse_writing(access, settings.sharing)?;
        let had_temporary_names = needs_temporary_names();
        let opened = match Self::open_in(path, access, create, settings.clone()) {
            Err(_) if !had_temporary_names && needs_temporary_names() => {
                Self::open_in(path, access, create, settings)
            }
            // That is of the lock file, or is met again.
            Err(failed)
                if access == Access::ReadOnly
                    && settings.sharing == Sharing::Processes
                    && unlocked::is_reason(&failed) =>
            {
                Self::open_unlocked(path, settings, Some(failed))
            }
            opened => opened,
        };
        opened.map_err(|error| error.at(path))
    }

    fn open_in(path: &Path, access: Access, create: Create, settings: Settings) -> Result<Self> {
        let exists = match path.try_exists() {
            // It may be there, and is not to be seen.
            Err(error) if error.kind() != ErrorKind::NotADirectory => {
                return Err(Error::io("opening the database file")(error).at(path));
            }
            exists => exists.unwrap_or(false),
        };
        if !exists {
            if let Ok(target) = fs::read_link(path) {
                return Err(leads_nowhere(path, &target, create));
            }
            if create == Create::Never {
                return Err(Error::NotFound(path.to_path_buf()));
            }
            refuse_lock_name(path, &[])?;
            refuse_as_own_lock(path, settings.lock_file.as_deref())?;
        }
        if settings.network == Network::Refuse && is_on_network(path) {
            return Err(Error::NetworkFileSystem(path.to_path_buf()));
        }
        look_first(path, create)?;
        let file = (path, access, create);
        match settings.sharing {
            Sharing::Unlocked => Self::open_unlocked(path, settings, None),
            Sharing::Alone => Self::open_unshared(file, settings),
            Sharing::Processes => match Self::open_shared(file, settings.clone()) {
                // Who writes is alone then; who reads is led on by `open`.
                Err(lack) if access == Access::ReadWrite && is_lack_of_lock_file(&lack) => {
                    let alone = Self::open_unshared(file, settings);
                    alone.map_err(|error| match error {
                        Error::InUse(_) => lack,
                        other => other,
                    })
                }
                opened => opened,
            },
        }
    }

    fn open_shared(
        (path, access, create): (&Path, Access, Create),
        settings: Settings,
    ) -> Result<Self> {
        let mut door = Door::pass(path, &settings)?;
        let company = door.company();
        let file = (path, access, create);
        let (storage, how) = open_file(file, company, settings, Some(&mut door))?;
        let dynamic: Arc<dyn Storage> = Arc::clone(&storage) as _;
        Self::pass(door, dynamic, how, || storage.admit_others())
    }

    fn open_unshared(file: (&Path, Access, Create), settings: Settings) -> Result<Self> {
        let (storage, how) = open_file(file, Company::None, settings, None)?;
        let storage: Arc<dyn Storage> = storage;
        let settled = settle(&storage, &how)?;
        Ok(Self::new(how.path, storage, &how.settings, settled, None))
    }

    /// Joins those who have the database open; or puts it in order, and has others come in then. The door has looked at the shared memory.
    fn pass(
        mut door: Door,
        storage: Arc<dyn Storage>,
        how: How,
        admit_others: impl FnOnce() -> io::Result<()>,
    ) -> Result<Self> {
        if let Some(newest) = door.joins(&how, &*storage)? {
            let shared = door.enter(&storage, newest.page_size as usize);
            let mut settled = join(&storage, &how, newest)?;
            shared.join(&mut settled.state);
            let shared = Some(shared);
            return Ok(Self::new(how.path, storage, &how.settings, settled, shared));
        }
        let mut settled = settle(&storage, &how)?;
        if let Some(writer) = settled.writer.as_mut().filter(|_| !door.is_alone()) {
            // What readers of other processes hold is pending, and not free.
            writer.is_stale = true;
        }
        admit_others().map_err(Error::io("locking the database file"))?;
        let shared = door.begin(&storage, &settled, &how)?;
        shared.join(&mut settled.state);
        let shared = Some(shared);
        Ok(Self::new(how.path, storage, &how.settings, settled, shared))
    }

    /// Opens the database in a storage as one of several processes would, all of which this one plays. They share a lock file and
    /// that storage.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn open_apart(
        storage: Arc<dyn Storage>,
        lock_file: &Path,
        is_new: bool,
        settings: Settings,
        boot: [u8; 16],
    ) -> Result<Self> {
        let how = How {
            path: lock_file.to_path_buf(),
            is_new,
            formatted: None,
            is_read_only: false,
            settings,
            boot,
        };
        let mut door = Door::pass_apart(lock_file)?;
        door.look((0, 0), boot)?;
        Self::pass(door, storage, how, || Ok(()))
    }

    /// Has nothing of what this process does reach the others any more, as if it had been killed; `false` if nobody shares the database
    /// with it.
    ///
    /// # Errors
    /// What the system answers.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn die(&self) -> io::Result<bool> {
        match &self.flusher.shared {
            Some(shared) => shared.die().map(|()| true),
            None => Ok(false),
        }
    }

    /// Opens the database in a storage, whatever is behind it, for this process alone.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn open_storage(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        is_new: bool,
        is_read_only: bool,
        settings: Settings,
        boot: [u8; 16],
    ) -> Result<Self> {
        let how = How {
            path,
            is_new,
            formatted: None,
            is_read_only,
            settings,
            boot,
        };
        let settled = settle(&storage, &how)?;
        Ok(Self::new(how.path, storage, &how.settings, settled, None))
    }
}

const _: () = assert!(SLOT_COUNT == 4 && FORMATTED_LENS[4] == PROBE_LEN as u64);

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
