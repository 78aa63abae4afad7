//! Options of an open database, and the policies that result.

#[cfg(feature = "encryption")]
use crate::cipher::{Cipher, EncryptionKey};
use crate::{
    Error, Geometry, Result,
    clock::Clock,
    io::{Compression, FILE_MODE, LogLocation, Mapping, ReadAhead},
    page::comparison::Comparisons,
    record::{FlushLimits, Record},
};
use crate::{
    observe::{events::EventHook, slow_reader::SlowReaderHook},
    read::verified_bitmap::Verification,
    record::durability::Durability,
    share::attachment::UnusedLockFile,
};
use std::{path::PathBuf, sync::Arc, time::Duration};

/// Options for opening a database. `None` keeps the value stored in the file.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `None` for the default.
    pub(crate) page_size: Option<usize>,
    pub(crate) durability: Option<Durability>,
    pub(crate) flush_after_bytes: Option<u64>,
    pub(crate) flush_after: Option<Duration>,
    pub(crate) verification: Verification,
    pub(crate) size_limit_bytes: Option<u64>,
    pub(crate) geometry: Option<Geometry>,
    pub(crate) write_memory_bytes: usize,
    pub(crate) move_percent: u32,
    pub(crate) journal_bytes: Option<u64>,
    pub(crate) drop_limits: DropLimits,
    pub(crate) slow_readers: Option<SlowReaderHook>,
    pub(crate) events: Option<EventHook>,
    pub(crate) sharing: Sharing,
    /// Path of the lock file, if it is not next to the database file.
    pub(crate) lock_file: Option<PathBuf>,
    /// Permissions of created files, before the process's umask is applied.
    pub(crate) file_mode: u32,
    pub(crate) network: Network,
    pub(crate) without_name: LostNamePolicy,
    pub(crate) on_close: ClosePolicy,
    /// Whether small commits go to a memtable.
    pub(crate) has_memtable: bool,
    pub(crate) unused_lock_file: UnusedLockFile,
    pub(crate) comparisons: Comparisons,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) codecs: CodecSettings,
    /// The clock by which records expire.
    pub(crate) clock: Clock,
}

/// The page size of a new compressed database, unless it is set.
const COMPRESSED_PAGE_SIZE: usize = 32 << 10;

/// How the pages of a file are encoded.
#[derive(Clone, Debug)]
pub(crate) struct CodecSettings {
    pub(crate) encryption: Option<EncryptionSettings>,
    /// Of a new database.
    pub(crate) compression: Option<Compression>,
    /// The memory that decoded pages may take.
    pub(crate) cache_bytes: u64,
}

impl Default for CodecSettings {
    fn default() -> Self {
        Self {
            encryption: None,
            compression: None,
            cache_bytes: 256 << 20,
        }
    }
}

/// How a database is encrypted, and with which key. Without the feature nobody makes one.
#[derive(Clone, Debug)]
pub(crate) struct EncryptionSettings {
    #[cfg(feature = "encryption")]
    pub(crate) key: EncryptionKey,
    /// Of a new database.
    #[cfg(feature = "encryption")]
    pub(crate) cipher: Cipher,
}

impl CodecSettings {
    /// The settings for a copy of a file: its cipher, with this key, and its compression.
    pub(crate) fn for_copy_of(&self, file: &Mapping) -> Self {
        let encryption = self.encryption.clone();
        Self {
            encryption: encryption.map(|given| given.for_copy_of(file)),
            compression: file.compression(),
            cache_bytes: self.cache_bytes,
        }
    }
}

impl EncryptionSettings {
    #[cfg(feature = "encryption")]
    pub(crate) fn new(key: EncryptionKey) -> Self {
        Self {
            key,
            cipher: Cipher::default(),
        }
    }

    /// This key, with the cipher of a file.
    #[cfg_attr(
        not(feature = "encryption"),
        allow(unused_variables, clippy::needless_update)
    )]
    pub(crate) fn for_copy_of(self, file: &Mapping) -> Self {
        Self {
            #[cfg(feature = "encryption")]
            cipher: file.cipher().unwrap_or(self.cipher),
            ..self
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            page_size: None,
            durability: None,
            flush_after_bytes: None,
            flush_after: None,
            verification: Verification::FirstTouch,
            size_limit_bytes: None,
            geometry: None,
            write_memory_bytes: 256 << 20,
            move_percent: 100,
            journal_bytes: None,
            drop_limits: DropLimits::default(),
            slow_readers: None,
            events: None,
            sharing: Sharing::Processes,
            lock_file: None,
            file_mode: FILE_MODE,
            network: Network::Refuse,
            without_name: LostNamePolicy::Commit,
            on_close: ClosePolicy::Flush,
            has_memtable: true,
            unused_lock_file: UnusedLockFile::Remove,
            comparisons: Comparisons::default(),
            read_ahead: ReadAhead::default(),
            codecs: CodecSettings::default(),
            clock: Clock::default(),
        }
    }
}

impl Settings {
    /// The page size of a new database.
    pub(crate) fn page_size(&self) -> usize {
        self.page_size.unwrap_or(match self.codecs.compression {
            Some(_) => COMPRESSED_PAGE_SIZE,
            None => 4096,
        })
    }

    /// The requested geometry, on top of the geometry `recorded` in the file.
    pub(crate) fn geometry_over(&self, recorded: Geometry) -> Geometry {
        let geometry = self.geometry.unwrap_or(recorded);
        Geometry {
            upper_limit_bytes: self.size_limit_bytes.unwrap_or(geometry.upper_limit_bytes),
            ..geometry
        }
    }
}

/// Which other processes may have the database open; see
/// [`Options::sharing`](crate::Options::sharing).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Sharing {
    /// Any number of processes, which know of each other's readers and writers by the lock file.
    /// Without this file a database is read only if no lock file can be created or written (a
    /// read-only medium or directory, a full disk) and no process has the database open for
    /// writing. Until it is closed, opening it for writing fails with [`Error::InUse`](crate::Error::InUse).
    #[default]
    Processes,
    /// No other process. There is no lock file, and other processes get
    /// [`Error::InUse`](crate::Error::InUse).
    Alone,
    /// Any number. This process only reads, without a lock file, and the others do not know of it.
    /// Requires [`Options::read_only`](crate::Options::read_only).
    ///
    /// With this option a database can also be read while earlier writers are active. They may
    /// reuse its pages after two more commits. Each page is therefore compared with its checksum on
    /// every access. If a page was reused, the operation fails with [`Error::SnapshotLost`](crate::Error::SnapshotLost): begin
    /// a new transaction. Bytes borrowed from the file may change; copy them and compare. Rust
    /// gives no guarantee for a shared slice that changes, so use this option beside writers only
    /// if a lock file is impossible. See `docs/locking.md`.
    Unlocked,
}

/// Handling of a file on another machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Network {
    Refuse,
    Allow,
}

/// Handling of a commit to a file that was removed, renamed or replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LostNamePolicy {
    /// The commit succeeds, and the first one reports an event.
    Commit,
    /// The commit fails.
    Refuse,
}

/// Handling of lazy commits that are not on the disk when the database is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClosePolicy {
    /// They are flushed, and the clean close is recorded.
    Flush,
    /// They stay in the system's cache, as after a process that was killed.
    LeaveLazy,
    /// The file ends with the database, so nothing is written.
    Discard,
}

/// The policies of one open database: the options given, or else the values stored in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policies {
    pub(crate) durability: Durability,
    pub(crate) flush_limits: FlushLimits,
    geometry: Geometry,
    pub(crate) write_memory_bytes: usize,
    pub(crate) move_percent: u32,
    pub(crate) journal_bytes: Option<u64>,
    pub(crate) drop_limits: DropLimits,
    pub(crate) verification: Verification,
    pub(crate) without_name: LostNamePolicy,
    pub(crate) on_close: ClosePolicy,
    pub(crate) unused_lock_file: UnusedLockFile,
    sharing: Sharing,
}

impl Policies {
    pub(crate) fn new(settings: &Settings, record: &Record) -> Self {
        let recorded = record.flush_limits;
        Self {
            durability: settings
                .durability
                .unwrap_or(Durability::from_byte(record.default_durability)),
            flush_limits: FlushLimits {
                bytes: settings.flush_after_bytes.unwrap_or(recorded.bytes),
                age: settings.flush_after.unwrap_or(recorded.age),
            },
            geometry: settings.geometry_over(record.geometry),
            write_memory_bytes: settings.write_memory_bytes,
            move_percent: settings.move_percent,
            journal_bytes: settings.journal_bytes,
            drop_limits: settings.drop_limits,
            verification: settings.verification,
            without_name: settings.without_name,
            on_close: settings.on_close,
            unused_lock_file: settings.unused_lock_file,
            sharing: settings.sharing,
        }
    }

    /// Refuses options that differ, if the file has this geometry now.
    pub(crate) fn refuse_other(&self, in_file: Geometry, asked: &Settings) -> Result<()> {
        fn differs<T: PartialEq>(asked: Option<T>, is: T) -> bool {
            asked.is_some_and(|asked| asked != is)
        }
        let geometry = asked.geometry.map(|_| asked.geometry_over(in_file));
        // Opening without locks is satisfied by an opening with a lock file, which is safer.
        let is_met = (asked.sharing, self.sharing) == (Sharing::Unlocked, Sharing::Processes);
        let option = if differs(asked.durability, self.durability) {
            "durability"
        } else if differs(asked.flush_after_bytes, self.flush_limits.bytes) {
            "flush_after_bytes"
        } else if differs(asked.flush_after, self.flush_limits.age) {
            "flush_after"
        } else if differs(geometry, self.geometry) && differs(geometry, in_file) {
            "geometry"
        } else if differs(asked.size_limit_bytes, self.geometry.upper_limit_bytes)
            && differs(asked.size_limit_bytes, in_file.upper_limit_bytes)
        {
            "size_limit_bytes"
        } else if asked.sharing != self.sharing && !is_met {
            "sharing"
        } else if asked.verification != self.verification && self.sharing != Sharing::Unlocked {
            "verification"
        } else if asked.without_name != self.without_name {
            "require_name"
        } else {
            return Ok(());
        };
        Err(Error::OptionsDiffer { option })
    }
}

/// Settings that this process wants in the next record, until it has committed for the first time.
/// After that other processes may change them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RequestedPolicies {
    durability: Option<Durability>,
    flush_after_bytes: Option<u64>,
    flush_after: Option<Duration>,
    geometry: Option<Geometry>,
}

impl RequestedPolicies {
    pub(crate) fn new(settings: &Settings, policies: &Policies) -> Self {
        let asks = settings.geometry.is_some() || settings.size_limit_bytes.is_some();
        Self {
            durability: settings.durability,
            flush_after_bytes: settings.flush_after_bytes,
            flush_after: settings.flush_after,
            geometry: asks.then_some(policies.geometry),
        }
    }

    /// Stores the requested settings in a record. Returns whether that changed it.
    pub(crate) fn note(&self, record: &mut Record) -> bool {
        let before = record.clone();
        // A byte that a later version wrote stays, unless a durability was requested.
        if let Some(durability) = self.durability {
            record.default_durability = durability.to_byte();
        }
        let limits = record.flush_limits;
        record.flush_limits = FlushLimits {
            bytes: self.flush_after_bytes.unwrap_or(limits.bytes),
            age: self.flush_after.unwrap_or(limits.age),
        };
        record.geometry = self.geometry.unwrap_or(record.geometry);
        *record != before
    }
}

/// How many pages of dropped trees are released at which time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropLimits {
    /// By the transaction that drops the tree.
    pub(crate) at_once: u64,
    /// By each later transaction, if it takes few pages itself.
    pub(crate) later_min: u64,
    /// A transaction that takes more pages releases this many times as many.
    pub(crate) later_share: u64,
    /// The limit for that, unless the transaction takes more pages itself.
    pub(crate) later_max: u64,
    /// Factor if the file had to grow or there was no space.
    pub(crate) wanted: u64,
}

impl Default for DropLimits {
    fn default() -> Self {
        Self {
            at_once: 65_536,
            later_min: 64,
            later_share: 4,
            later_max: 512,
            wanted: 16,
        }
    }
}

/// A request to open a database.
pub(crate) struct OpenRequest {
    pub(crate) path: PathBuf,
    pub(crate) is_new: bool,
    /// The record that this opening has written to the new file and flushed.
    pub(crate) formatted: Option<Record>,
    pub(crate) is_read_only: bool,
    pub(crate) settings: Settings,
    pub(crate) boot: [u8; 16],
    /// Where the log of the memtable is; `None` if there is neither.
    pub(crate) log_location: Option<Arc<dyn LogLocation>>,
}
