//! Creating and opening databases.

use crate::{
    Error, Result,
    io::{Access, Create, FileSharing, Storage, is_on_network, needs_temporary_names},
    record::{SLOT_COUNT, probe::PROBE_LEN},
};
use crate::{
    instance::{
        engine::Engine,
        policies::{Network, OpenRequest, Settings, Sharing},
    },
    open::{
        codecs,
        open_file::{FORMATTED_LENS, dangling_link, inspect_before_open, open_file},
        settle::{format, join, recover_database},
        unlocked::{self, refuse_writing},
    },
    process::attach::Attach,
    share::{
        lock_file_errors::is_lack_of_lock_file,
        names::{refuse_as_own_lock, refuse_lock_name},
    },
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
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
            // The error concerns the lock file, or occurs again without it.
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
            // The file may exist but be inaccessible.
            Err(error) if error.kind() != ErrorKind::NotADirectory => {
                return Err(Error::io("opening the database file")(error).at(path));
            }
            exists => exists.unwrap_or(false),
        };
        if !exists {
            if let Ok(target) = fs::read_link(path) {
                return Err(dangling_link(path, &target, create));
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
        inspect_before_open(path, create)?;
        let file = (path, access, create);
        match settings.sharing {
            Sharing::Unlocked => Self::open_unlocked(path, settings, None),
            Sharing::Alone => Self::open_unshared(file, settings),
            Sharing::Processes => match Self::open_shared(file, settings.clone()) {
                // Without a lock file, a writer must be alone. `open` handles readers.
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
        loop {
            let mut attach = Attach::enter_gate(path, &settings)?;
            let file_sharing = attach.file_sharing();
            let file = (path, access, create);
            let opened = open_file(file, file_sharing, settings.clone(), Some(&mut attach));
            if opened.is_err() && attach.is_left_alone() {
                // The process with commits in its memtable has died, so this one recovers them.
                continue;
            }
            let (storage, request) = opened?;
            let dynamic: Arc<dyn Storage> = Arc::clone(&storage) as _;
            return Self::attach(attach, dynamic, request, || storage.admit_others());
        }
    }

    fn open_unshared(file: (&Path, Access, Create), settings: Settings) -> Result<Self> {
        let (storage, request) = open_file(file, FileSharing::Exclusive, settings, None)?;
        let storage: Arc<dyn Storage> = storage;
        Self::recover_alone(request, storage)
    }

    /// Recovers the database, for this process alone.
    pub(super) fn recover_alone(
        mut request: OpenRequest,
        storage: Arc<dyn Storage>,
    ) -> Result<Self> {
        let storage = prepared(storage, &mut request)?;
        let recovered = recover_database(&storage, &request)?;
        Self::new(request, storage, recovered, None)
    }

    /// Joins the processes that have the database open. If there are none, or the database is not
    /// in order, recovers it and then admits the others. `attach` has mapped the shared memory.
    fn attach(
        mut attach: Attach,
        storage: Arc<dyn Storage>,
        mut request: OpenRequest,
        admit_others: impl FnOnce() -> io::Result<()>,
    ) -> Result<Self> {
        let storage = prepared(storage, &mut request)?;
        if let Some(newest) = attach.joinable_record(&request, &*storage)? {
            let shared = attach.finish(&storage, newest.page_size as usize);
            let mut recovered = join(&storage, &request, newest)?;
            recovered.state.join(&shared);
            return Self::new(request, storage, recovered, Some(shared));
        }
        let mut recovered = recover_database(&storage, &request)?;
        if let Some(writer) = recovered.writer.as_mut().filter(|_| !attach.is_alone()) {
            // Pages that readers of other processes hold are pending, not free.
            writer.is_stale = true;
        }
        if recovered.left.commit_count() > 0 {
            attach.note_memtable();
        }
        admit_others().map_err(Error::io("locking the database file"))?;
        let shared = attach.begin_and_finish(&storage, &recovered, &request)?;
        recovered.state.join(&shared);
        Self::new(request, storage, recovered, Some(shared))
    }

    /// Opens the database in a storage as one of several simulated processes, all in this process.
    /// They share a lock file and the storage.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn open_apart(
        storage: Arc<dyn Storage>,
        lock_file: &Path,
        is_new: bool,
        settings: Settings,
        boot: [u8; 16],
    ) -> Result<Self> {
        let request = OpenRequest {
            path: lock_file.to_path_buf(),
            is_new,
            formatted: None,
            is_read_only: false,
            settings,
            boot,
            log_location: None,
        };
        let mut attach = Attach::enter_gate_apart(lock_file)?;
        attach.map_region((0, 0), boot)?;
        Self::attach(attach, storage, request, || Ok(()))
    }

    /// Keeps the rest of this process's actions from the other processes, as if it had been killed.
    /// `false` if the database is not shared.
    ///
    /// # Errors
    ///
    /// The system's error.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn die(&self) -> io::Result<bool> {
        match &self.committer.shared {
            Some(shared) => shared.die().map(|()| true),
            None => Ok(false),
        }
    }

    /// Opens the database in any storage, for this process alone.
    pub(crate) fn open_storage(
        storage: Arc<dyn Storage>,
        path: std::path::PathBuf,
        is_new: bool,
        is_read_only: bool,
        settings: Settings,
        boot: [u8; 16],
    ) -> Result<Self> {
        let request = OpenRequest {
            path: path.clone(),
            is_new,
            formatted: None,
            is_read_only,
            settings,
            boot,
            log_location: storage.log_location(),
        };
        Self::recover_alone(request, storage).map_err(|error| error.at(&path))
    }
}

/// Formats a new file, and shows it decoded.
fn prepared(storage: Arc<dyn Storage>, request: &mut OpenRequest) -> Result<Arc<dyn Storage>> {
    let (path, settings) = (&request.path, &request.settings);
    if std::mem::take(&mut request.is_new) {
        request.formatted = Some(format(&*storage, path, settings, request.boot)?);
    }
    codecs::decoded(storage, path, &settings.codecs)
}

const _: () = assert!(SLOT_COUNT == 4 && FORMATTED_LENS[4] == PROBE_LEN as u64);

#[cfg(test)]
#[path = "open_database_tests.rs"]
mod tests;
