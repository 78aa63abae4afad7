use crate::kit::{Kit, c_path, create, open};
use lmdb::{
    EnvironmentInfo, Stat, codes,
    environment_settings::{
        mdb_env_get_flags, mdb_env_get_maxkeysize, mdb_env_get_maxreaders, mdb_env_get_userctx,
        mdb_env_set_assert, mdb_env_set_flags, mdb_env_set_mapsize, mdb_env_set_maxdbs,
        mdb_env_set_maxreaders, mdb_env_set_userctx,
    },
    environments::{
        mdb_env_close, mdb_env_copy, mdb_env_copy2, mdb_env_copyfd, mdb_env_copyfd2,
        mdb_env_get_fd, mdb_env_get_path, mdb_env_info, mdb_env_open, mdb_env_stat, mdb_env_sync,
    },
    flags,
    reader_list::{mdb_reader_check, mdb_reader_list},
    transactions::mdb_txn_abort,
};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    fs::{self, File},
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    ptr,
};

/// The properties of the kit's environment.
fn info(kit: &Kit) -> EnvironmentInfo {
    let mut info = EnvironmentInfo {
        map_address: ptr::null_mut(),
        map_size: 0,
        last_page: 0,
        last_transaction: 0,
        max_readers: 0,
        reader_count: 0,
    };
    // SAFETY: a handle, and memory for the result.
    assert_eq!(unsafe { mdb_env_info(kit.environment, &raw mut info) }, 0);
    info
}

fn put(kit: &Kit, key: &[u8], data: &[u8]) -> c_int {
    let txn = kit.begin(0);
    let main = txn.open(None, 0).unwrap();
    match txn.put(main, key, data, 0) {
        0 => txn.commit(),
        code => {
            // SAFETY: a handle that is not used any more.
            unsafe { mdb_txn_abort(txn.0) };
            code
        }
    }
}

#[test]
fn the_files_have_the_names_that_clients_expect() {
    let kit = Kit::new();
    assert!(kit.path().join("data.mdb").is_file());
    assert!(kit.path().join("lock.mdb").is_file());
    let kit = Kit::with(flags::NOLOCK, |_| {});
    assert!(!kit.path().join("lock.mdb").exists());

    let file = kit.path().join("one");
    let other = create();
    assert_eq!(open(other, &file, flags::NOSUBDIR), 0);
    assert!(file.is_file() && kit.path().join("one-lock").is_file());
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_env_close(other) };

    let file = kit.path().join("two");
    let other = create();
    let asked = flags::NOSUBDIR | flags::NOLOCK;
    assert_eq!(open(other, &file, asked), 0);
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_env_close(other) };
    assert!(file.is_file() && !kit.path().join("two-lock").exists());
}

/// Postfix creates its tables under a lock of its own, for which the descriptor must be open for
/// writing.
#[test]
fn a_client_can_lock_the_data_file() {
    let is_locked = |kit: &Kit| {
        let mut descriptor = -1;
        // SAFETY: all fields are numbers.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as _;
        // SAFETY: a handle, memory for the results, and a lock of the whole file.
        unsafe {
            assert_eq!(mdb_env_get_fd(kit.environment, &raw mut descriptor), 0);
            libc::fcntl(descriptor, libc::F_SETLK, &raw const lock) == 0
        }
    };
    let mut kit = Kit::new();
    assert!(is_locked(&kit));
    assert_eq!(put(&kit, b"key", b"value"), 0);
    kit.reopen(flags::RDONLY);
    assert!(!is_locked(&kit), "as in LMDB, it is open for reading only");
}

/// rkv migrates such environments, and expects the lock file, which LMDB leaves.
#[test]
fn a_failed_open_leaves_a_lock_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("data.mdb"), "bogus").unwrap();
    let environment = create();
    assert_eq!(open(environment, directory.path(), 0), codes::INVALID);
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_env_close(environment) };
    assert!(directory.path().join("lock.mdb").is_file());
    assert_eq!(
        fs::read(directory.path().join("data.mdb")).unwrap(),
        b"bogus"
    );
}

/// Regression: py-lmdb identifies environments by the device and inode of their files. The inode of
/// an unused lock file went to the next one, and a process that had such an environment open could
/// not make another with that name.
#[test]
fn a_new_environment_with_the_path_of_a_deleted_one_is_independent() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.put(1, b"old", b"1", 0), 0);
    assert_eq!(txn.commit(), 0);
    for name in ["data.mdb", "lock.mdb"] {
        fs::remove_file(kit.path().join(name)).unwrap();
    }
    let other = create();
    assert_eq!(open(other, &kit.path(), 0), 0);
    let txn = kit.begin(flags::RDONLY);
    assert_eq!(txn.get(1, b"old"), Ok(&b"1"[..]));
    assert_eq!(txn.commit(), 0);
    let mut stat = Stat::default();
    // SAFETY: a handle, and memory for the result; then the handle is not used any more.
    unsafe {
        assert_eq!(mdb_env_stat(other, &raw mut stat), 0);
        mdb_env_close(other);
    }
    assert_eq!(stat.entries, 0);
    let lock = kit.path().join("lock.mdb");
    assert!(lock.is_file(), "it stays, as in LMDB");
    let names = fs::read_dir(kit.path()).unwrap().count();
    assert_eq!(names, 2, "data.mdb and lock.mdb");
}

/// LMDB does not check whether the lock file belongs to another data file. Here the old environment
/// keeps the old one.
#[test]
fn a_deleted_data_file_is_replaced_by_a_new_one() {
    let kit = Kit::new();
    assert_eq!(put(&kit, b"old", b"1"), 0);
    let replacement = Kit::new();
    assert_eq!(put(&replacement, b"new", b"2"), 0);
    let data = kit.path().join("data.mdb");
    for round in 0..2 {
        fs::remove_file(&data).unwrap();
        if round == 0 {
            // SAFETY: a handle, and a string.
            let copied =
                unsafe { mdb_env_copy(replacement.environment, c_path(&kit.path()).as_ptr()) };
            assert_eq!(copied, 0);
        }
        let mut other = Kit::in_directory_of(&kit);
        assert_eq!(put(&other, b"other", b"3"), 0);
        let old = kit.begin(flags::RDONLY);
        assert_eq!(old.get(1, b"old"), Ok(&b"1"[..]));
        assert_eq!(old.get(1, b"other"), Err(codes::NOTFOUND));
        assert_eq!(old.commit(), 0);
        assert_eq!(put(&kit, b"old", b"1 again"), 0);
        assert_eq!(put(&kit, b"old", b"1"), 0);
        other.reopen(0);
        let txn = other.begin(flags::RDONLY);
        let found = if round == 0 {
            Ok(&b"2"[..])
        } else {
            Err(codes::NOTFOUND)
        };
        assert_eq!(txn.get(1, b"new"), found);
        assert_eq!(txn.get(1, b"other"), Ok(&b"3"[..]));
        assert_eq!(txn.commit(), 0);
        assert!(kit.path().join("lock.mdb").is_file());
    }
}

/// py-lmdb relies on it: both files have the requested mode, even if the lock file is made later.
#[test]
fn files_have_the_requested_mode() {
    let directory = tempfile::tempdir().unwrap();
    let mode_of = |name: &str| {
        let found = fs::metadata(directory.path().join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    for _ in 0..2 {
        let environment = create();
        let path = c_path(directory.path());
        // SAFETY: a handle and a string; then it is not used any more.
        unsafe {
            assert_eq!(mdb_env_open(environment, path.as_ptr(), 0, 0o600), 0);
            assert_eq!((mode_of("data.mdb"), mode_of("lock.mdb")), (0o600, 0o600));
            mdb_env_close(environment);
        }
        fs::remove_file(directory.path().join("lock.mdb")).unwrap();
    }
}

/// Regression: with a mask of 0o022 the group of the database could not use the remaining lock
/// file.
#[test]
fn the_remaining_lock_file_has_the_permissions_of_its_database() {
    let kit = Kit::new();
    let directory = kit.path();
    fs::set_permissions(
        directory.join("data.mdb"),
        fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    let environment = kit.environment;
    std::mem::forget(kit);
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_env_close(environment) };
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.join("lock.mdb")), 0o666);
    fs::remove_dir_all(directory).unwrap();
}

/// Bug: closing gave any file of that name the permissions of the database.
#[test]
fn a_lock_file_of_another_program_keeps_its_permissions() {
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("lock.mdb");
    fs::write(&lock, b"not a lock file of Teak").unwrap();
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o600)).unwrap();
    let path = c_path(directory.path());
    let environment = create();
    // SAFETY: a new environment, which is closed once.
    unsafe {
        assert_ne!(mdb_env_open(environment, path.as_ptr(), 0, 0o666), 0);
        mdb_env_close(environment);
    }
    let mode = fs::metadata(&lock).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

/// lmdb-rkv relies on it: a new environment has these properties, and a map size of 0 means that
/// none was set. Regression: it was reported as the largest number.
#[test]
fn a_new_environment_has_the_properties_that_lmdb_reports() {
    let kit = Kit::new();
    assert_eq!(info(&kit).last_page, 1);
    assert_eq!(info(&kit).map_size, 1 << 20);
    // SAFETY: a handle.
    assert_eq!(unsafe { mdb_env_set_mapsize(kit.environment, 0) }, 0);
    assert_eq!(info(&kit).map_size, 1 << 20);
}

#[test]
fn failed_opens_return_their_codes() {
    let kit = Kit::new();
    let path = kit.path();
    let cases = [
        (path.join("none"), 0, libc::ENOENT),
        (path.join("none"), flags::RDONLY, libc::ENOENT),
        (path.join("junk"), flags::NOSUBDIR, codes::INVALID),
        (path.clone(), 0x8000_0000, libc::EINVAL),
    ];
    fs::write(path.join("junk"), [7; 9000]).unwrap();
    for (path, flags, code) in cases {
        let environment = create();
        assert_eq!(open(environment, &path, flags), code, "{path:?}");
        // SAFETY: a handle that is not used any more.
        unsafe { mdb_env_close(environment) };
    }
    assert_eq!(open(kit.environment, &path, 0), libc::EINVAL, "it is open");
    // SAFETY: null is refused.
    assert_eq!(unsafe { mdb_env_sync(ptr::null_mut(), 1) }, libc::EINVAL);
}

#[test]
fn an_empty_file_becomes_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("empty");
    File::create(&file).unwrap();
    let environment = create();
    assert_eq!(open(environment, &file, flags::NOSUBDIR), 0);
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_env_close(environment) };
}

#[test]
fn transactions_are_counted_as_in_lmdb() {
    let mut kit = Kit::new();
    assert_eq!(info(&kit).last_transaction, 0);
    for number in 1..=3 {
        assert_eq!(put(&kit, b"key", &[number; 9]), 0);
        assert_eq!(info(&kit).last_transaction, usize::from(number));
    }
    assert_eq!(kit.begin(0).commit(), 0);
    assert_eq!(info(&kit).last_transaction, 3, "nothing has changed");
    kit.reopen(flags::RDONLY);
    assert_eq!(info(&kit).last_transaction, 3);
}

#[test]
fn the_map_size_is_a_limit_that_can_be_raised() {
    let kit = Kit::with(0, |environment| {
        // SAFETY: a handle.
        assert_eq!(unsafe { mdb_env_set_mapsize(environment, 16 * 4096) }, 0);
    });
    assert_eq!(info(&kit).map_size, 16 * 4096);
    assert_eq!(put(&kit, b"large", &[1; 100_000]), codes::MAP_FULL);
    assert_eq!(put(&kit, b"small", &[1; 100]), 0);
    // SAFETY: a handle.
    assert_eq!(unsafe { mdb_env_set_mapsize(kit.environment, 1 << 20) }, 0);
    assert_eq!(info(&kit).map_size, 1 << 20);
    assert_eq!(put(&kit, b"large", &[1; 100_000]), 0);
    assert_eq!(
        info(&kit).last_transaction,
        2,
        "setting the limit does not commit a transaction"
    );

    let writer = kit.begin(0);
    assert_eq!(
        // SAFETY: a handle.
        unsafe { mdb_env_set_mapsize(kit.environment, 1 << 21) },
        libc::EINVAL
    );
    assert_eq!(writer.commit(), 0);

    let kit = Kit::new();
    assert_eq!(put(&kit, b"large", &[1; 3_000_000]), 0, "no limit was set");
    assert!(info(&kit).map_size > 3_000_000);
}

#[test]
fn settings_are_stored_and_returned() {
    let kit = Kit::with(flags::NOSYNC | flags::WRITEMAP, |environment| {
        // SAFETY: handles and numbers.
        unsafe {
            assert_eq!(mdb_env_set_maxreaders(environment, 0), libc::EINVAL);
            assert_eq!(mdb_env_set_maxreaders(environment, 7), 0);
        }
    });
    let environment = kit.environment;
    let (mut number, mut descriptor, mut path) = (0, 0, ptr::null());
    // SAFETY: a handle, and memory for the result.
    unsafe {
        assert_eq!(mdb_env_get_maxreaders(environment, &raw mut number), 0);
        assert_eq!((number, info(&kit).max_readers), (7, 7));
        assert_eq!(
            mdb_env_set_maxreaders(environment, 8),
            libc::EINVAL,
            "too late"
        );
        assert_eq!(mdb_env_set_maxdbs(environment, 8), libc::EINVAL, "too late");

        assert_eq!(mdb_env_set_flags(environment, flags::NOSYNC, 0), 0);
        assert_eq!(mdb_env_set_flags(environment, flags::NOMETASYNC, 1), 0);
        assert_eq!(
            mdb_env_set_flags(environment, flags::RDONLY, 1),
            libc::EINVAL
        );
        assert_eq!(mdb_env_get_flags(environment, &raw mut number), 0);
        assert_eq!(number, flags::WRITEMAP | flags::NOMETASYNC);

        assert_eq!(mdb_env_get_path(environment, &raw mut path), 0);
        assert_eq!(CStr::from_ptr(path), &*c_path(&kit.path()));
        assert_eq!(mdb_env_get_fd(environment, &raw mut descriptor), 0);
        assert!(libc::fcntl(descriptor, libc::F_GETFD) >= 0);

        let context = ptr::from_ref(&kit).cast_mut().cast::<c_void>();
        assert_eq!(mdb_env_set_userctx(environment, context), 0);
        assert_eq!(mdb_env_get_userctx(environment), context);
        assert_eq!(mdb_env_set_assert(environment, None), 0);
        assert_eq!(mdb_env_get_maxkeysize(environment), 511);
        assert_eq!(mdb_env_sync(environment, 1), 0);
    }
}

#[test]
fn a_read_only_environment_refuses_writers() {
    let mut kit = Kit::new();
    assert_eq!(put(&kit, b"key", b"value"), 0);
    kit.reopen(flags::RDONLY);
    assert_eq!(kit.try_begin(ptr::null_mut(), 0).err(), Some(libc::EACCES));
    // SAFETY: a handle.
    assert_eq!(unsafe { mdb_env_sync(kit.environment, 1) }, libc::EACCES);
    let txn = kit.begin(flags::RDONLY);
    let main = txn.open(None, 0).unwrap();
    assert_eq!(txn.get(main, b"key"), Ok(&b"value"[..]));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn the_main_database_is_counted() {
    let kit = Kit::new();
    let mut stat = Stat::default();
    // SAFETY: a handle, and memory for the result.
    assert_eq!(unsafe { mdb_env_stat(kit.environment, &raw mut stat) }, 0);
    assert_eq!((stat.page_size, stat.entries), (4096, 0));
    assert_eq!(put(&kit, b"key", b"value"), 0);
    // SAFETY: a handle, and memory for the result.
    assert_eq!(unsafe { mdb_env_stat(kit.environment, &raw mut stat) }, 0);
    assert_eq!((stat.depth, stat.leaf_pages, stat.entries), (1, 1, 1));
    assert_eq!(
        info(&kit).last_page + 3,
        fs::metadata(kit.path().join("data.mdb")).unwrap().len() as usize / 4096
    );
}

#[test]
fn copies_are_environments() {
    let kit = Kit::new();
    assert_eq!(put(&kit, b"key", b"value"), 0);
    for copy in ["exact", "dense", "descriptor", "dense descriptor"] {
        let target = kit.path().join(copy);
        fs::create_dir(&target).unwrap();
        let path = c_path(&target);
        // SAFETY: a handle, a string, and a descriptor that is open.
        unsafe {
            match copy {
                "exact" => assert_eq!(mdb_env_copy(kit.environment, path.as_ptr()), 0),
                "dense" => assert_eq!(mdb_env_copy2(kit.environment, path.as_ptr(), 1), 0),
                other => {
                    let file = File::create(target.join("data.mdb")).unwrap();
                    let copied = match other {
                        "descriptor" => mdb_env_copyfd(kit.environment, file.as_raw_fd()),
                        _ => mdb_env_copyfd2(kit.environment, file.as_raw_fd(), flags::CP_COMPACT),
                    };
                    assert_eq!(copied, 0);
                }
            }
            assert_eq!(
                mdb_env_copy2(kit.environment, path.as_ptr(), 0),
                libc::EEXIST
            );
            assert_eq!(
                mdb_env_copy2(kit.environment, path.as_ptr(), 8),
                libc::EINVAL
            );
        }
        let environment = create();
        assert_eq!(open(environment, &target, flags::RDONLY), 0, "{copy}");
        let mut stat = Stat::default();
        // SAFETY: a handle, which is not used any more then, and room.
        unsafe {
            assert_eq!(mdb_env_stat(environment, &raw mut stat), 0);
            mdb_env_close(environment);
        }
        assert_eq!(stat.entries, 1, "{copy}");
    }
}

/// Without locks LMDB has no table of readers, so neither a thread nor the process can have too
/// many.
#[test]
fn without_locks_the_readers_of_a_thread_are_not_limited() {
    let mut kit = Kit::with(flags::NOLOCK, |environment| {
        // SAFETY: a handle.
        assert_eq!(unsafe { mdb_env_set_maxreaders(environment, 2) }, 0);
    });
    assert_eq!(put(&kit, b"key", b"value"), 0);
    let readers: Vec<_> = (0..100).map(|_| kit.begin(flags::RDONLY)).collect();
    assert_eq!(put(&kit, b"key", b"later"), 0);
    for reader in readers {
        assert_eq!(reader.get(1, b"key"), Ok(&b"value"[..]));
        assert_eq!(reader.commit(), 0);
    }
    kit.reopen(flags::NOLOCK | flags::RDONLY);
    let [one, other] = [0, 1].map(|_| kit.begin(flags::RDONLY));
    assert_eq!(one.get(1, b"key"), other.get(1, b"key"));
    assert_eq!((one.commit(), other.commit()), (0, 0));
    // With locks a thread has one reader.
    kit.reopen(0);
    let one = kit.begin(flags::RDONLY);
    let other = kit.try_begin(ptr::null_mut(), flags::RDONLY);
    assert_eq!(other.err(), Some(codes::BAD_RSLOT));
    assert_eq!(one.commit(), 0);
}

unsafe extern "C" fn collect(line: *const c_char, lines: *mut c_void) -> c_int {
    // SAFETY: the test passes a list of strings, and the library passes strings.
    let (lines, line) = unsafe { (&mut *lines.cast::<Vec<String>>(), CStr::from_ptr(line)) };
    lines.push(line.to_str().unwrap().to_owned());
    0
}

fn readers(kit: &Kit) -> Vec<String> {
    let mut lines = Vec::<String>::new();
    // SAFETY: a handle, and a function that takes this context.
    let said = unsafe { mdb_reader_list(kit.environment, Some(collect), (&raw mut lines).cast()) };
    assert_eq!(said, 0);
    lines
}

#[test]
fn readers_are_listed_and_limited() {
    let kit = Kit::with(flags::NOTLS, |environment| {
        // SAFETY: a handle.
        unsafe { mdb_env_set_maxreaders(environment, 2) };
    });
    assert_eq!(readers(&kit), ["(no active readers)\n"]);
    let (one, other) = (kit.begin(flags::RDONLY), kit.begin(flags::RDONLY));
    let lines = readers(&kit);
    assert_eq!(lines.len(), 3);
    assert!(lines[0].contains("pid") && lines[1].contains(&std::process::id().to_string()));
    assert!(lines[1].ends_with(" 0\n"));
    let third = kit.try_begin(ptr::null_mut(), flags::RDONLY);
    assert_eq!(third.err(), Some(codes::READERS_FULL));
    assert_eq!((one.commit(), other.commit()), (0, 0));
    assert_eq!(
        info(&kit).reader_count,
        2,
        "the largest number of readers at once"
    );
    let mut dead = 7;
    assert_eq!(
        // SAFETY: a handle, and memory for the result.
        unsafe { mdb_reader_check(kit.environment, &raw mut dead) },
        0
    );
    assert_eq!(dead, 0);
}

#[cfg(target_os = "linux")] // Elsewhere a thread has no user of its own.
#[test]
fn an_environment_can_be_read_without_permission_to_write() {
    // SAFETY: returns a number.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("not run: only root can act as another user");
    }
    // In a separate thread, because it acts as another user.
    let thread = std::thread::spawn(|| {
        let mut kit = Kit::new();
        assert_eq!(put(&kit, b"k", b"v"), 0);
        for (name, mode) in [("data.mdb", 0o644), ("lock.mdb", 0o644), ("", 0o555)] {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(kit.path().join(name), permissions).unwrap();
        }
        kit.reopen(flags::RDONLY);
        // SAFETY: these change this thread's access to files.
        unsafe { (libc::setfsgid(65_534), libc::setfsuid(65_534)) };
        for asked in [flags::RDONLY, flags::RDONLY | flags::NOLOCK] {
            kit.reopen(asked);
            let txn = kit.begin(flags::RDONLY);
            let main = txn.open(None, 0).unwrap();
            assert_eq!(txn.get(main, b"k"), Ok(&b"v"[..]));
            // SAFETY: a handle that is not used any more.
            unsafe { mdb_txn_abort(txn.0) };
        }
        // SAFETY: these change this thread's access to files.
        unsafe { (libc::setfsuid(0), libc::setfsgid(0)) };
    });
    thread.join().unwrap();
}
