//! Settling a database: the commit that counts, and the state to begin with.

use crate::{
    Checksum, Error, Geometry, Result, TransactionId,
    alloc::{FIRST_PAGE, Space, SpaceRoots},
    io::{CODED_RESERVED_LEN, Compression, Mapping, Pinned, Storage, random_id},
    record::{
        COMPRESSED, ENCRYPTED, Features, FlushLimits, KNOWN_FEATURES, Record, RecordMarks,
        SLOT_COUNT, is_page_size,
    },
};
use crate::{
    clock::now_ms,
    commit::{state::CommitState, written_extents::WrittenExtents},
    instance::{
        arena::Arena,
        dropped_trees::DroppedTrees,
        policies::{OpenRequest, RequestedPolicies, Settings},
        recovered::RecoveredDatabase,
        shrink_state::ShrinkState,
        wal::LeftWal,
        writer::WriterState,
        zone_state::ZoneState,
    },
    observe::recovery::Recovery,
    open::{
        encryption,
        recover::{self, Decision, RecoveredCommit},
    },
    planted::planted,
    read::{
        catalog,
        named_list::NamedPins,
        roots::KnownRoots,
        snapshot::Snapshot,
        verified_bitmap::{Verification, VerifiedBitmap},
    },
    record::record_ref::{RecordRef, slot_page},
};
use std::{
    io::{ErrorKind, IoSlice},
    path::Path,
    sync::Arc,
};

/// Finds the commit that counts, and makes that permanent unless the database must not be written.
pub(crate) fn recover_database(
    storage: &Arc<dyn Storage>,
    request: &OpenRequest,
) -> Result<RecoveredDatabase> {
    let found = find_and_recover(storage, request, request.formatted.as_ref())?;
    assert!(
        is_page_size(found.newest.page_size),
        "a file whose pages this version cannot read was refused"
    );
    // Records that continue from here, or are taken back to here, belong to this boot.
    let newest = Record {
        boot_id: request.boot,
        clean_close: false,
        ..found.newest.clone()
    };
    let mut snapshot = first_snapshot(storage, request, newest.clone())?;
    // SAFETY: reason 4 of `io/pinned.rs`, and reason 5 without a lock file beside writers. All
    // pending writes are done.
    let state = unsafe { Pinned::assume(&snapshot) };
    let space = match state.load_space_map() {
        Ok(space) => space,
        // Reading works without the free-space map, so the data can be saved.
        Err(_) if request.is_read_only => Space::new(newest.usable_page_len(), FIRST_PAGE),
        Err(error) => return Err(error),
    };
    let named = match request.is_read_only {
        true => NamedPins::default(),
        false => state.named_pins()?,
    };
    snapshot.note_counts_of(&space);
    let mut state = CommitState::new(RecordRef::of(&newest), found.sequences, found.flushed_slot);
    if request.is_read_only {
        // Nothing was flushed.
        state.distrust_after(found.known_flushed);
    }
    let is_changed = found.recovery != Recovery::Clean;
    let left = left_commits(request, &newest, &snapshot.mapping)?;
    let recovery = with_left(found.recovery, newest.transaction, &left);
    Ok(RecoveredDatabase {
        left,
        writer: (!request.is_read_only).then(|| WriterState {
            named,
            ..writer(newest, space, is_changed)
        }),
        snapshot,
        state,
        recovery,
    })
}

/// The commits that a process left in the log of its memtable.
fn left_commits(request: &OpenRequest, newest: &Record, mapping: &Mapping) -> Result<LeftWal> {
    planted!(LogIgnored => return Ok(LeftWal::default()));
    let Some(location) = &request.log_location else {
        return Ok(LeftWal::default());
    };
    let left = LeftWal::read(location, newest, mapping.codec().as_deref())?;
    if !request.is_read_only {
        return Ok(left);
    }
    match left.commit_count() {
        0 => Ok(LeftWal::default()),
        _ => Err(Error::InvalidArgument(IN_LOG.into())),
    }
}

/// The result of recovery, with the commits in the log.
fn with_left(recovery: Recovery, newest: TransactionId, left: &LeftWal) -> Recovery {
    let last = left.last(newest);
    match recovery {
        Recovery::Clean if left.commit_count() > 0 => Recovery::Killed { last },
        Recovery::Killed { .. } => Recovery::Killed { last },
        Recovery::Verified { .. } => Recovery::Verified { last },
        // The commit that did not reach the disk has merged some of these.
        Recovery::RolledBack { from, .. } if last >= from => Recovery::Verified { last },
        Recovery::RolledBack { from, reason, .. } => Recovery::RolledBack {
            from,
            to: last,
            reason,
        },
        other => other,
    }
}

/// Opens a database that other processes have open and have recovered. `newest` is the state that
/// readers see.
pub(crate) fn join(
    storage: &Arc<dyn Storage>,
    request: &OpenRequest,
    newest: Record,
) -> Result<RecoveredDatabase> {
    // The commit may have been made, and the file may have grown, since the file was opened.
    storage
        .refresh(true)
        .map_err(Error::io("reading the length of the file"))?;
    let snapshot = first_snapshot(storage, request, newest.clone())?;
    let writer = (!request.is_read_only).then(|| WriterState {
        is_stale: true,
        ..writer(
            newest.clone(),
            Space::new(newest.usable_page_len(), FIRST_PAGE),
            true,
        )
    });
    let state = CommitState::new(
        RecordRef::of(&newest),
        [0; SLOT_COUNT as usize],
        newest.slot,
    );
    Ok(RecoveredDatabase {
        snapshot,
        state,
        writer,
        recovery: Recovery::Joined,
        left: LeftWal::default(),
    })
}

/// The state that readers of an opened database begin with.
fn first_snapshot(
    storage: &Arc<dyn Storage>,
    request: &OpenRequest,
    newest: Record,
) -> Result<Snapshot> {
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let verification = match request.settings.verification {
        // A page with a codec is decoded when it is first read, and a bit says that it is.
        Verification::Off if mapping.is_coded() => Verification::FirstTouch,
        verification => verification,
    };
    let verified = VerifiedBitmap::new(verification, newest.page_count);
    let comparisons = request.settings.comparisons.clone();
    Snapshot::new(
        newest,
        mapping,
        verified,
        comparisons,
        KnownRoots::default(),
    )
}

/// Decides which commit counts, and makes that permanent unless the database must not be written.
pub(crate) fn find_and_recover(
    storage: &Arc<dyn Storage>,
    request: &OpenRequest,
    formatted: Option<&Record>,
) -> Result<RecoveredCommit> {
    let is_read_only = request.is_read_only;
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let mut redone = None;
    // Each repetition means that another record has lost, or that a part of the journal was
    // applied.
    for _ in 0..=SLOT_COUNT + 2 {
        let found = match recover::find(storage, &request.path, request.boot)? {
            Decision::Found(found) => *found,
            Decision::ToRedo(redo) => {
                refuse_unknown(&redo.record, is_read_only)?;
                refuse_other_codecs(&redo.record, &mapping)?;
                if is_read_only {
                    return Err(Error::InvalidArgument(IN_JOURNAL.into()));
                }
                // With these pages a newer commit may be complete, and its record may be in the
                // slot that the entry's record belongs to. The pages are therefore written first,
                // and the record only if the same entry wins again. The system may drop an entry
                // meanwhile that had not reached the disk. In that case the pages of another commit
                // count.
                match redone.replace(redo.record.clone()) {
                    Some(record) if record == redo.record => redo.write_record(&**storage)?,
                    _ => redo.write_pages(&**storage)?,
                }
                continue;
            }
        };
        refuse_unknown(&found.newest, is_read_only)?;
        refuse_other_codecs(&found.newest, &mapping)?;
        if is_read_only {
            return Ok(found);
        }
        refuse_unverified(&found)?;
        // A new file has only a record that was flushed.
        if formatted == Some(&found.newest) || found.make_permanent(storage)? {
            return Ok(found);
        }
    }
    let detail = "the file changed during recovery";
    Err(Error::corrupted(slot_page(0), "recovery", detail))
}

pub(crate) const IN_JOURNAL: &str = "the machine went down, and the newest commits are only in the journal; \
                          open it once for writing, which applies the journal";

const IN_LOG: &str = "a process or the machine went down, and its newest commits are only in the write-ahead log next to the \
                      database; open it once for writing, which applies the log";

/// Refuses a database that this version must not write.
pub(crate) fn refuse_unknown(newest: &Record, is_read_only: bool) -> Result<()> {
    let unknown = newest.features.read_only_compatible & !KNOWN_FEATURES.read_only_compatible;
    if unknown != 0 && !is_read_only {
        let text = format!("features {unknown:#x}, which allow only reading; open it read-only");
        return Err(Error::unknown_format(text));
    }
    Ok(())
}

/// Refuses a database whose pages are not as `mapping` shows them.
fn refuse_other_codecs(newest: &Record, mapping: &Mapping) -> Result<()> {
    let is_encrypted = newest.features.incompatible & ENCRYPTED != 0;
    if newest.reserved_per_page != mapping.reserved_len()
        || is_encrypted != mapping.codec().is_some()
    {
        return Err(Error::unknown_format("bytes reserved in each page"));
    }
    if newest.compression != mapping.compression().map_or(0, Compression::to_byte) {
        return Err(Error::unknown_format("how pages are compressed"));
    }
    Ok(())
}

/// Refuses to build on a table that this version cannot verify. Tables of newer versions are no
/// obstacle if they have not changed since the last flushed commit.
pub(crate) fn refuse_unverified(found: &RecoveredCommit) -> Result<()> {
    let Some(name) = &found.unverified else {
        return Ok(());
    };
    let table = catalog::loss_text(name);
    Err(Error::unknown_format(format!(
        "{table} was changed since the last commit that is known to be durable, and only a version that \
         knows it can tell whether it is whole; this one can open the database for reading"
    )))
}

/// The writer's state for the first write transaction.
pub(crate) fn writer(newest: Record, space: Space, is_changed: bool) -> WriterState {
    WriterState {
        space,
        arena: Arena::new(newest.usable_page_len()),
        written: WrittenExtents::new(newest.page_size as usize),
        unwritten: Arc::default(),
        is_changed,
        is_stale: false,
        last_growth: None,
        blocks_given_back: 0,
        last_durability: None,
        asked: RequestedPolicies::default(),
        named: NamedPins::default(),
        shrink: ShrinkState::new(&newest),
        zone: ZoneState::default(),
        dropped: DroppedTrees::default(),
        newest,
    }
}

/// Writes the record of an empty database and flushes it, which gives a new file its name. Returns
/// the record.
pub(crate) fn format(
    storage: &dyn Storage,
    path: &Path,
    settings: &Settings,
    boot: [u8; 16],
) -> Result<Record> {
    let page_size = settings.page_size();
    let empty = catalog::empty().encode();
    let mut record = Record {
        slot: 0,
        features: Features {
            incompatible: settings.codecs.compression.map_or(0, |_| COMPRESSED),
            ..Features::default()
        },
        page_size: page_size as u32,
        reserved_per_page: match (&settings.codecs.encryption, settings.codecs.compression) {
            (None, None) => 0,
            _ => CODED_RESERVED_LEN,
        },
        database_id: random_id().map_err(Error::io("generating a database id"))?,
        boot_id: boot,
        sequence: 1,
        transaction: TransactionId(0),
        flushed_transaction: TransactionId(0),
        time_ms: now_ms(),
        requested_durable: true,
        clean_close: true,
        compression: (settings.codecs.compression).map_or(0, Compression::to_byte),
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
        marks: RecordMarks::default(),
        space_roots: SpaceRoots::default(),
        journal: None,
        acknowledged: TransactionId(0),
        log_end: Checksum(0),
        written: Some(Vec::new()),
        space_log: Vec::new(),
    };
    let bytes = encryption::first_record(&mut record, settings.codecs.encryption.as_ref())?;
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
