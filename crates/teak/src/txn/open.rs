//! Creating and opening.

use super::{
    arena::Arena,
    catalog,
    checked::Checked,
    demanded,
    door::Door,
    dropped::DroppedTrees,
    engine::{Engine, Excess, Writer, slot_page},
    high_water::HighWater,
    holes::Punching,
    look::refusal,
    named::NamedPins,
    names::{refuse_as_own_lock, refuse_lock_name},
    pages::zone::Zone,
    policies::{Asked, Network, Settings, Sharing},
    progress::{State, Written},
    recover::{self, Decision, Found, Recovery},
    roots::KnownRoots,
    shared::is_lack_of_lock_file,
    snapshot::Snapshot,
    tail::Tail,
    unlocked::{self, refuse_writing},
    written::WrittenRuns,
};
use crate::{
    Error, Geometry, Result, TransactionId,
    commit::record::{
        Features, FlushLimits, KNOWN_FEATURES, Marks, Record, RecordFault, SLOT_COUNT,
        probe::{PROBE_LEN, begins_with_record, find_page_size},
    },
    error::shown,
    space::{FIRST_PAGE, Space, SpaceRoots},
    store::{
        Access, Company, Create, Created, FileStorage, Storage, boot_id, is_on_network,
        needs_temporary_names, random_id, read_head,
    },
};
use std::{
    fs,
    io::{self, ErrorKind, IoSlice},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
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

/// What is wrong with a symbolic link that leads to nothing.
fn leads_nowhere(path: &Path, target: &Path, create: Create) -> Error {
    let target = path.parent().unwrap_or(Path::new("")).join(target);
    if create == Create::Never {
        return Error::NotFound(target);
    }
    Error::InvalidArgument(format!(
        "{} is a symbolic link to {}, where nothing is; name that file to create the database there, or remove the link",
        shown(path),
        shown(&target)
    ))
}

/// Opens and locks the file itself, or makes it; the door looks at the shared memory as soon as the file is locked.
fn open_file(
    (path, access, create): (&Path, Access, Create),
    company: Company,
    settings: Settings,
    mut door: Option<&mut Door>,
) -> Result<(Arc<FileStorage>, How)> {
    let opened = |create| {
        wait_for_leaving(|| FileStorage::open(path, access, create, company, settings.file_mode))
    };
    let (mut storage, created) = opened(create)?;
    let boot = boot_id();
    if let Some(door) = &mut door {
        door.look(storage.id(), boot)?;
    }
    let may_format = created == Created::No
        && create == Create::IfMissing
        && access == Access::ReadWrite
        && company == Company::None;
    if may_format && is_blank(&storage)? {
        // As `mktemp` makes it.
        format_in_place(&storage, path, &settings, boot)?;
    }
    let mut formatted = None;
    if created == Created::Yes {
        formatted = Some(format(&storage, path, &settings, boot)?);
        drop(storage);
        // The system knows what is open by the path that it was opened by, and a new file had none.
        storage = opened(Create::Never)?.0;
        if let Some(door) = door {
            // There are file systems that number a file anew when it is opened again.
            door.note_file(storage.id());
        }
    }
    storage.set_read_ahead(settings.read_ahead);
    let how = How {
        path: path.to_path_buf(),
        is_new: false,
        formatted,
        is_read_only: matches!(access, Access::ReadOnly),
        settings,
        boot,
    };
    Ok((Arc::new(storage), how))
}

/// Looks at the database file before anything is done to its lock file.
fn look_first(path: &Path, create: Create) -> Result<()> {
    if create == Create::New && path.symlink_metadata().is_ok() {
        return Err(Error::AlreadyExists(path.to_path_buf()));
    }
    let read = |len| match read_head(path, len) {
        Err(Error::NotFound(_)) => Ok(Vec::new()),
        read => read.map(|(head, _)| head),
    };
    let head = read(QUICK_LOOK_LEN)?;
    // What is empty, or not there, is for who opens it.
    if head.is_empty() || begins_with_record(&head) {
        return Ok(());
    }
    let head = read(PROBE_LEN + 1)?;
    if create == Create::IfMissing && is_half_formatted(head.len() as u64, &head) {
        return Ok(());
    }
    match find_page_size(&head) {
        Err(RecordFault::NotARecord) => Err(refusal(RecordFault::NotARecord, path)),
        _ => Ok(()),
    }
}

/// Whether nothing is in the file: it is empty, or is as a crash in [`format_in_place`] leaves it.
fn is_blank(storage: &FileStorage) -> Result<bool> {
    let file_len = storage.len();
    if file_len == 0 {
        return Ok(true);
    }
    if !FORMATTED_LENS.contains(&file_len) {
        return Ok(false);
    }
    let mut bytes = vec![0; file_len as usize];
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    Ok(demanded::copy(&mapping, 0, &mut bytes)? && is_half_formatted(file_len, &bytes))
}

/// Whether a file of that length, which begins with `bytes`, has the length of an empty database and no record yet.
fn is_half_formatted(file_len: u64, bytes: &[u8]) -> bool {
    FORMATTED_LENS.contains(&file_len)
        && bytes.len() as u64 == file_len
        && bytes.iter().all(|byte| *byte == 0)
}

/// The lengths of empty databases, of each page size.
const FORMATTED_LENS: [u64; 5] = [4 << 12, 4 << 13, 4 << 14, 4 << 15, 4 << 16];
const _: () = assert!(SLOT_COUNT == 4 && FORMATTED_LENS[4] == PROBE_LEN as u64);

/// Bytes that tell whether there is a record in the first place for one.
const QUICK_LOOK_LEN: usize = 64;

/// Opens the file by `open`. A process that was killed, and is not wholly gone yet, is waited for.
pub(super) fn wait_for_leaving<F>(open: impl Fn() -> Result<F>) -> Result<F> {
    let began = Instant::now();
    loop {
        match open() {
            Err(Error::InUse(_)) if began.elapsed() < GOING => thread::sleep(GOING / 100),
            opened => return opened,
        }
    }
}

/// How long a process may take to go.
const GOING: Duration = Duration::from_secs(1);

/// What a database is opened with.
pub(super) struct How {
    pub(super) path: PathBuf,
    pub(super) is_new: bool,
    /// What this opening has written to a file that it has made, and flushed.
    pub(super) formatted: Option<Record>,
    pub(super) is_read_only: bool,
    pub(super) settings: Settings,
    pub(super) boot: [u8; 16],
}

/// A database that nobody writes to, and what was found in it.
pub(super) struct Settled {
    pub(super) snapshot: Snapshot,
    pub(super) state: State,
    /// Absent where nothing may be written.
    pub(super) writer: Option<Writer>,
    pub(super) recovery: Recovery,
}

/// Finds the commit that counts, and sees to it that it stays so unless nothing may be written.
pub(super) fn settle(storage: &Arc<dyn Storage>, how: &How) -> Result<Settled> {
    let formatted = match how.is_new {
        true => Some(format(&**storage, &how.path, &how.settings, how.boot)?),
        false => how.formatted.clone(),
    };
    let found = find_and_settle(storage, how, formatted.as_ref())?;
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    // What goes on from here, or is taken back to here, is of this boot.
    let newest = Record {
        boot_id: how.boot,
        clean_close: false,
        ..found.newest.clone()
    };
    let checked = Checked::new(how.settings.verification, newest.page_count);
    let mut snapshot = Snapshot::new(
        newest.clone(),
        mapping,
        checked,
        how.settings.comparisons.clone(),
        KnownRoots::default(),
    )?;
    let space = match snapshot.space_to_look_at() {
        Ok(space) => space,
        // Reading does without the space map: what is there can be saved.
        Err(_) if how.is_read_only => Space::new(newest.page_size as usize, FIRST_PAGE),
        Err(error) => return Err(error),
    };
    let named = match how.is_read_only {
        true => NamedPins::default(),
        false => snapshot.named_pins()?,
    };
    snapshot.note_counts_of(&space);
    let mut state = State::new(Written::of(&newest), found.sequences, found.durable_slot);
    if how.is_read_only {
        // Nothing was flushed.
        state.durable.transaction = found.known_durable;
    }
    let is_changed = found.recovery != Recovery::Clean;
    Ok(Settled {
        writer: (!how.is_read_only).then(|| Writer {
            named,
            ..writer(newest, space, is_changed)
        }),
        snapshot,
        state,
        recovery: found.recovery,
    })
}

/// Opens a database that other processes have open, and have put in order. `newest` is the state that readers see.
fn join(storage: &Arc<dyn Storage>, how: &How, newest: Record) -> Result<Settled> {
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let checked = Checked::new(how.settings.verification, newest.page_count);
    let snapshot = Snapshot::new(
        newest.clone(),
        mapping,
        checked,
        how.settings.comparisons.clone(),
        KnownRoots::default(),
    )?;
    let writer = (!how.is_read_only).then(|| Writer {
        is_stale: true,
        ..writer(
            newest.clone(),
            Space::new(newest.page_size as usize, FIRST_PAGE),
            true,
        )
    });
    let state = State::new(Written::of(&newest), [0; SLOT_COUNT as usize], newest.slot);
    Ok(Settled {
        snapshot,
        state,
        writer,
        recovery: Recovery::Joined,
    })
}

/// Decides which commit counts, and makes that hold unless nothing may be written.
fn find_and_settle(
    storage: &Arc<dyn Storage>,
    how: &How,
    formatted: Option<&Record>,
) -> Result<Found> {
    let is_read_only = how.is_read_only;
    let mut redone = None;
    // Each time that it is decided anew, another record has lost, or something that the journal says is in its place.
    for _ in 0..=SLOT_COUNT + 2 {
        let found = match recover::find(storage, &how.path, how.boot)? {
            Decision::Found(found) => *found,
            Decision::ToRedo(redo) => {
                refuse_unknown(&redo.record, is_read_only)?;
                if is_read_only {
                    return Err(Error::InvalidArgument(IN_JOURNAL.into()));
                }
                // With these pages a newer commit may be whole, whose record may be where the other belongs. The system may drop an entry
                // meanwhile that had not reached the disk: then it is the pages of another commit that count.
                match redone.replace(redo.record.clone()) {
                    Some(record) if record == redo.record => redo.write_record(&**storage)?,
                    _ => redo.write_pages(&**storage)?,
                }
                continue;
            }
        };
        refuse_unknown(&found.newest, is_read_only)?;
        if is_read_only {
            return Ok(found);
        }
        refuse_unverified(&found)?;
        // There is nothing in a new file but a record that was flushed.
        if formatted == Some(&found.newest) || found.settle(storage)? {
            return Ok(found);
        }
    }
    let detail = "pages change while they are looked at";
    Err(Error::corrupted(slot_page(0), "recovery", detail))
}

const IN_JOURNAL: &str = "the machine went down, and the newest commits stand in the journal only; open it for writing once, which puts \
                          them where they can be read";

/// Refuses what this version may not write, or cannot read.
fn refuse_unknown(newest: &Record, is_read_only: bool) -> Result<()> {
    let unknown = newest.features.read_only_compatible & !KNOWN_FEATURES.read_only_compatible;
    if unknown != 0 && !is_read_only {
        let text = format!("features {unknown:#x}, which allow reading only; open it for reading");
        return Err(Error::UnknownFormat(text));
    }
    if newest.reserved_per_page != 0 {
        return Err(Error::UnknownFormat(
            "bytes reserved in each page".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses to build upon what nobody here can verify. Tables of newer versions that have not changed
/// since the last durable commit are no hindrance.
fn refuse_unverified(found: &Found) -> Result<()> {
    let Some(name) = &found.unverified else {
        return Ok(());
    };
    let table = catalog::in_words(name);
    Err(Error::UnknownFormat(format!(
        "{table} was changed since the last commit that is known to be durable, and only a version that \
         knows it can tell whether it is whole; this one can open the database for reading"
    )))
}

/// What the first write transaction begins with.
fn writer(newest: Record, space: Space, is_changed: bool) -> Writer {
    Writer {
        space,
        arena: Arena::new(newest.page_size as usize),
        written: WrittenRuns::new(newest.page_size as usize),
        unwritten: Arc::default(),
        is_changed,
        is_stale: false,
        last_growth: None,
        blocks_given_back: 0,
        asked: Asked::default(),
        named: NamedPins::default(),
        excess: Excess::of(&newest),
        tail: Tail::default(),
        punching: Punching::default(),
        high_water: HighWater::default(),
        zone: Zone::default(),
        dropped: DroppedTrees::default(),
        newest,
    }
}

/// Writes the record of an empty database and flushes it, which gives a new file its name. Returns the record.
fn format(
    storage: &dyn Storage,
    path: &Path,
    settings: &Settings,
    boot: [u8; 16],
) -> Result<Record> {
    let page_size = settings.page_size;
    let empty = catalog::empty().encode();
    let record = Record {
        slot: 0,
        features: Features::default(),
        page_size: page_size as u32,
        reserved_per_page: 0,
        database_id: random_id().map_err(Error::io("making a database id"))?,
        boot_id: boot,
        sequence: 1,
        transaction: TransactionId(0),
        durable_transaction: TransactionId(0),
        time_ms: now_ms(),
        asked_durable: true,
        clean_close: true,
        default_durability: settings.durability.unwrap_or_default().to_byte(),
        flush_limits: FlushLimits {
            bytes: settings
                .flush_after_bytes
                .unwrap_or(FlushLimits::DEFAULT.bytes),
            age: settings.flush_after.unwrap_or(FlushLimits::DEFAULT.age),
        },
        page_count: u64::from(FIRST_PAGE),
        geometry: settings.geometry_over(Geometry::default()),
        catalog_root: empty,
        snapshots_root: empty,
        marks: Marks::default(),
        space_roots: SpaceRoots::default(),
        journal: None,
        acknowledged: TransactionId(0),
        written: Some(Vec::new()),
        space_log: Vec::new(),
    };
    let bytes = record.encode(page_size);
    storage
        .set_len(u64::from(SLOT_COUNT) * page_size as u64)
        .and_then(|()| storage.write(0, &[IoSlice::new(&bytes)]))
        .and_then(|()| storage.flush())
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::AlreadyExists(path.to_path_buf()),
            _ => Error::io("creating the database")(error),
        })?;
    Ok(record)
}

/// The same for an empty file that is there. If it fails the file is empty again; a crash leaves it empty, [half formatted](is_half_formatted), or
/// a database, since the record is one sector.
fn format_in_place(
    storage: &dyn Storage,
    path: &Path,
    settings: &Settings,
    boot: [u8; 16],
) -> Result<()> {
    let formatted = format(storage, path, settings, boot).inspect_err(|_| {
        // If that fails too, the file is one of these all the same, unless the record was written in part.
        let _ = storage.set_len(0);
    });
    formatted.map(drop)
}

pub(super) fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
