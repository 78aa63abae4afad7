use crate::kit::{Kit, Txn};
use lmdb::{
    codes, flags,
    flags::Operation,
    transactions::{mdb_txn_abort, mdb_txn_env, mdb_txn_id, mdb_txn_renew, mdb_txn_reset},
};
use std::{fs, path::Path, ptr};

fn abort(txn: Txn) {
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_txn_abort(txn.0) };
}

fn id(txn: Txn) -> usize {
    // SAFETY: a handle.
    unsafe { mdb_txn_id(txn.0) }
}

#[test]
fn a_reader_sees_its_state_until_it_is_renewed() {
    let kit = Kit::with(flags::NOTLS, |_| {});
    let reader = kit.begin(flags::RDONLY);
    assert_eq!(id(reader), 0);
    let writer = kit.begin(0);
    assert_eq!(id(writer), 1);
    // SAFETY: a handle.
    assert_eq!(unsafe { mdb_txn_env(writer.0) }, kit.environment);
    assert_eq!(writer.put(1, b"key", b"value", 0), 0);
    assert_eq!(writer.commit(), 0);
    assert_eq!(reader.get(1, b"key"), Err(codes::NOTFOUND));
    assert_eq!(reader.put(1, b"key", b"value", 0), libc::EACCES);
    // SAFETY: a handle.
    unsafe {
        assert_eq!(mdb_txn_renew(reader.0), libc::EINVAL, "it was not reset");
        mdb_txn_reset(reader.0);
        mdb_txn_reset(reader.0);
        assert_eq!(reader.get(1, b"key"), Err(libc::EINVAL));
        assert_eq!(mdb_txn_renew(reader.0), 0);
    }
    assert_eq!((id(reader), reader.get(1, b"key")), (1, Ok(&b"value"[..])));
    assert_eq!(reader.commit(), 0);
}

#[test]
fn a_thread_has_one_reader_unless_slots_belong_to_transactions() {
    let kit = Kit::new();
    let reader = kit.begin(flags::RDONLY);
    let second = kit.try_begin(ptr::null_mut(), flags::RDONLY);
    assert_eq!(second.err(), Some(codes::BAD_RSLOT));
    abort(reader);
    abort(kit.begin(flags::RDONLY));

    let kit = Kit::with(flags::NOTLS, |_| {});
    let readers = [kit.begin(flags::RDONLY), kit.begin(flags::RDONLY)];
    readers.into_iter().for_each(abort);
}

/// The number of descriptors of this process for the data file of a directory.
fn descriptors(directory: &Path) -> usize {
    let data = directory.join("data.mdb");
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let is_data = |path| fs::read_link(path).is_ok_and(|target| target == data);
    open.filter(|descriptor| is_data(descriptor.as_ref().unwrap().path()))
        .count()
}

#[test]
fn the_next_reader_reuses_the_object_of_an_ended_one_under_another_handle() {
    let kit = Kit::new();
    let first = kit.begin(flags::RDONLY);
    assert_eq!(first.get(1, b"key"), Err(codes::NOTFOUND));
    abort(first);
    let writer = kit.begin(0);
    assert_eq!(writer.put(1, b"key", b"value", 0), 0);
    assert_eq!(writer.commit(), 0);
    let second = kit.begin(flags::RDONLY);
    assert_ne!(second.0, first.0);
    assert_eq!(first.get(1, b"key"), Err(libc::EINVAL));
    assert_eq!(second.get(1, b"key"), Ok(&b"value"[..]));
    // The handle that an aborted transaction opened does not exist any more.
    assert_eq!(second.open(Some(c"named"), 0), Err(codes::NOTFOUND));
    abort(second);
}

#[test]
fn spare_objects_of_readers_do_not_hold_the_database_open() {
    let mut kit = Kit::with(flags::NOTLS, |_| {});
    // Descriptors of a new file have another name.
    kit.reopen(flags::NOTLS);
    let readers = [kit.begin(flags::RDONLY), kit.begin(flags::RDONLY)];
    readers.into_iter().for_each(abort);
    let open = descriptors(&kit.path());
    assert_ne!(open, 0);
    kit.reopen(flags::NOTLS);
    assert_eq!(descriptors(&kit.path()), open);
    // A transaction that outlives its environment frees the remaining parts.
    let reader = kit.begin(flags::RDONLY);
    kit.reopen(flags::NOTLS);
    assert_ne!(descriptors(&kit.path()), open);
    abort(reader);
    assert_eq!(descriptors(&kit.path()), open);
}

#[test]
fn an_abort_undoes_all_changes() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    let named = txn.open(Some(c"named"), flags::CREATE).unwrap();
    assert_eq!(txn.put(named, b"key", b"value", 0), 0);
    abort(txn);
    let txn = kit.begin(0);
    assert_eq!(
        txn.get(named, b"key"),
        Err(libc::EINVAL),
        "the handle has ended"
    );
    assert_eq!(txn.open(Some(c"named"), 0), Err(codes::NOTFOUND));
    assert_eq!(id(txn), 1);
    abort(txn);
    // SAFETY: null is refused.
    unsafe { mdb_txn_abort(ptr::null_mut()) };
}

#[test]
fn a_nested_transaction_is_committed_or_undone_with_its_cursors() {
    let kit = Kit::new();
    let outer = kit.begin(0);
    for key in [b"a", b"b", b"c"] {
        assert_eq!(outer.put(1, key, b"outer", 0), 0);
    }
    let cursor = outer.cursor(1);
    cursor.seek(Operation::SetKey, b"b", &[]).unwrap();

    let inner = kit.try_begin(outer.0, 0).unwrap();
    assert_eq!(outer.put(1, b"x", b"", 0), codes::BAD_TXN, "it has a child");
    assert_eq!(kit.try_begin(outer.0, 0).err(), Some(codes::BAD_TXN));
    let own = inner.cursor(1);
    own.seek(Operation::SetKey, b"b", &[]).unwrap();
    assert_eq!(own.del(0), 0);
    assert_eq!(
        own.go(Operation::GetCurrent),
        Ok((&b"c"[..], &b"outer"[..]))
    );
    let named = inner.open(Some(c"named"), flags::CREATE).unwrap();
    assert_eq!(inner.put(named, b"key", b"value", 0), 0);
    abort(inner);
    assert_eq!(
        cursor.go(Operation::GetCurrent),
        Ok((&b"b"[..], &b"outer"[..]))
    );
    assert_eq!(outer.open(Some(c"named"), 0), Err(codes::NOTFOUND));

    let inner = kit.try_begin(outer.0, 0).unwrap();
    assert_eq!(inner.del(1, b"b", None), 0);
    let innermost = kit.try_begin(inner.0, 0).unwrap();
    let named = innermost.open(Some(c"named"), flags::CREATE).unwrap();
    assert_eq!(innermost.put(named, b"key", b"value", 0), 0);
    assert_eq!(inner.commit(), 0, "with its nested transaction");
    assert_eq!(
        cursor.go(Operation::GetCurrent),
        Ok((&b"c"[..], &b"outer"[..]))
    );
    assert_eq!(outer.get(named, b"key"), Ok(&b"value"[..]));
    assert_eq!(outer.commit(), 0);

    let reader = kit.begin(flags::RDONLY);
    assert_eq!(reader.get(named, b"key"), Ok(&b"value"[..]));
    assert_eq!(reader.get(1, b"b"), Err(codes::NOTFOUND));
    assert_eq!(
        kit.try_begin(reader.0, flags::RDONLY).err(),
        Some(libc::EINVAL)
    );
    abort(reader);
}

#[test]
fn a_transaction_that_failed_can_only_be_aborted() {
    let kit = Kit::with(0, |environment| {
        // SAFETY: a handle.
        unsafe { lmdb::environment_settings::mdb_env_set_mapsize(environment, 10 * 4096) };
    });
    let txn = kit.begin(0);
    assert_eq!(txn.put(1, b"large", &[1; 100_000], 0), codes::MAP_FULL);
    assert_eq!(txn.put(1, b"small", b"", 0), codes::BAD_TXN);
    assert_eq!(txn.commit(), codes::BAD_TXN);
    let txn = kit.begin(0);
    assert_eq!(txn.put(1, b"small", b"", 0), 0);
    assert_eq!(txn.commit(), 0);
}
