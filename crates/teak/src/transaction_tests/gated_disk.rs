//! A disk that flushes and writes on request, for tests of commits that others wait for.

use crate::transaction_tests::test_kit::{
    BOOT, CAPACITY, create_table, get, key, open_storage, put,
};
use crate::{
    Result, TransactionId,
    io::{Mapping, Storage, WritableMapping, sim::SimDisk},
};
use crate::{
    instance::engine::Engine, record::durability::Durability, write::transaction::WriteTransaction,
};
use std::{
    io::{self, IoSlice},
    sync::{Arc, Condvar, Mutex},
    thread,
};

/// A disk whose flushes wait until they are let through, and optionally its writes too.
#[derive(Debug)]
pub(crate) struct GatedDisk {
    pub(crate) disk: SimDisk,
    gate: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug)]
struct GateState {
    is_open: bool,
    begun: u32,
    holds_writes: bool,
    is_write_held: bool,
}

impl GatedDisk {
    pub(crate) fn set_open(&self, is_open: bool) {
        self.gate.lock().unwrap().is_open = is_open;
        self.changed.notify_all();
    }

    pub(crate) fn set_holding_writes(&self, holds_writes: bool) {
        self.gate.lock().unwrap().holds_writes = holds_writes;
        self.changed.notify_all();
    }

    pub(crate) fn wait_write_held(&self) {
        let mut gate = self.gate.lock().unwrap();
        while !gate.is_write_held {
            gate = self.changed.wait(gate).unwrap();
        }
    }

    /// Waits until so many flushes have begun.
    pub(crate) fn wait_begun(&self, count: u32) {
        let mut gate = self.gate.lock().unwrap();
        while gate.begun < count {
            gate = self.changed.wait(gate).unwrap();
        }
    }

    pub(crate) fn begun(&self) -> u32 {
        self.gate.lock().unwrap().begun
    }
}

impl Storage for GatedDisk {
    fn len(&self) -> u64 {
        self.disk.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.disk.set_len(bytes)
    }

    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut gate = self.gate.lock().unwrap();
        gate.is_write_held = gate.holds_writes;
        self.changed.notify_all();
        while gate.holds_writes {
            gate = self.changed.wait(gate).unwrap();
        }
        drop(gate);
        self.disk.write(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        let mut gate = self.gate.lock().unwrap();
        gate.begun += 1;
        self.changed.notify_all();
        while !gate.is_open {
            gate = self.changed.wait(gate).unwrap();
        }
        drop(gate);
        self.disk.flush()
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        self.disk.mapping()
    }

    fn secure(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.disk.secure(offset, len)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.disk.punch(offset, len)
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        self.disk.writable()
    }

    fn mark_written(&self, offset: u64, len: u64) {
        self.disk.mark_written(offset, len);
    }
}

/// A database with an empty table `a`, whose flushes wait from now on.
pub(crate) fn gated() -> (Arc<GatedDisk>, Arc<Engine>) {
    let disk = Arc::new(GatedDisk {
        disk: SimDisk::new(CAPACITY),
        gate: Mutex::new(GateState {
            is_open: true,
            begun: 0,
            holds_writes: false,
            is_write_held: false,
        }),
        changed: Condvar::new(),
    });
    let storage: Arc<dyn Storage> = disk.clone();
    let engine = open_storage(storage, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    txn.commit().unwrap();
    disk.set_open(false);
    disk.gate.lock().unwrap().begun = 0;
    (disk, engine)
}

pub(crate) fn put_one(
    engine: &Arc<Engine>,
    durability: Durability,
    i: u32,
) -> Result<TransactionId> {
    put(engine, durability, [(key(i), b"value".to_vec())])
}

pub(crate) type Committing = thread::JoinHandle<Result<TransactionId>>;

pub(crate) fn spawn_put(engine: &Arc<Engine>, i: u32) -> Committing {
    spawn_commit(engine, Durability::Durable, i)
}

pub(crate) fn spawn_commit(engine: &Arc<Engine>, durability: Durability, i: u32) -> Committing {
    let engine = Arc::clone(engine);
    thread::spawn(move || put_one(&engine, durability, i))
}

/// Like [`gated`], with a durable commit of key 0 that is being flushed, and one of key 1 to be
pub(crate) fn gated_with_two_commits() -> (Arc<GatedDisk>, Arc<Engine>, [Committing; 2]) {
    let (disk, engine) = gated();
    let first = spawn_put(&engine, 0);
    disk.wait_begun(1);
    let second = spawn_put(&engine, 1);
    wait_committed(&engine, 3);
    (disk, engine, [first, second])
}

/// Waits until commit `transaction` was made.
pub(crate) fn wait_committed(engine: &Engine, transaction: u64) {
    while engine.newest().0 < transaction {
        thread::yield_now();
    }
}

pub(crate) fn has(engine: &Arc<Engine>, i: u32) -> bool {
    get(engine, b"a", &key(i)).is_some()
}
