//! Limits of the process and of the disk: each gives an error with a text, and no signal.

use crate::{processes::Other, shared::temporary_path};
use std::{
    fs::{self, File},
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};
use teak::{
    Create, Database, Deletion, Options, Result, Table, Transaction,
    codec::{Bytes, Str},
};

const MIB: u64 = 1 << 20;

/// Executes the commands of these tests in another process; `None` for an unknown command.
pub(crate) fn order(path: &Path, words: &[&str]) -> Option<String> {
    let done = match words {
        #[cfg(unix)]
        ["limit", limit_name, most] => {
            limit(limit_name, most.parse().unwrap());
            return Some("limited".to_owned());
        }
        ["look"] => read(path).map(|value| format!("{value:?}")),
        ["check"] => open_to_read(path)
            .and_then(|database| database.check(&mut |_| ControlFlow::Continue(())))
            .map(|report| report.is_clean().to_string()),
        ["open-alone"] => Options::new()
            .sharing(teak::Sharing::Alone)
            .open(path)
            .map(|_| "opened".to_owned()),
        ["delete"] => teak::delete(path, Deletion::IfUnused).map(|deleted| deleted.to_string()),
        ["backup"] => open_to_read(path)
            .and_then(|database| {
                database.backup(path.with_file_name("copy"), None, &mut |_| {
                    ControlFlow::Continue(())
                })
            })
            .map(|_| "copied".to_owned()),
        ["add", bytes] => Database::open(path).and_then(|database| {
            let added = add(&database, bytes.parse().unwrap());
            database.close().and(added).map(|()| "added".to_owned())
        }),
        _ => return None,
    };
    Some(done.unwrap_or_else(|error| format!("error: {error}")))
}

fn open_to_read(path: &Path) -> Result<Database> {
    Options::new()
        .read_only(true)
        .create(Create::Never)
        .open(path)
}

fn read(path: &Path) -> Result<Option<u64>> {
    let database = open_to_read(path)?;
    let txn = database.begin_read()?;
    let numbers: Table<Str, u64> = txn.open_table("numbers")?;
    numbers.get(&txn, "a")
}

fn add(database: &Database, bytes: usize) -> Result<()> {
    for durability in [teak::Durability::Lazy, teak::Durability::Durable] {
        let mut txn = database.begin_write()?;
        txn.set_durability(durability);
        let table: Table<Bytes, Bytes> = txn.create_table("bytes")?;
        for number in 0..bytes / 1000 {
            table.insert(&mut txn, number.to_be_bytes(), [1; 900])?;
        }
        txn.commit()?;
    }
    Ok(())
}

#[cfg(unix)]
fn limit(limit_name: &str, most: u64) {
    let (resource, most) = match limit_name {
        "file" => (libc::RLIMIT_FSIZE, most),
        "descriptors" => (libc::RLIMIT_NOFILE, most),
        // Beyond the current addresses.
        "addresses" => {
            let pages = fs::read_to_string("/proc/self/statm").unwrap();
            let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
            // SAFETY: the call takes no pointers.
            let page_len = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            (libc::RLIMIT_AS, pages * page_len as u64 + most)
        }
        // Beyond the current private memory.
        "memory" => {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmData:"));
            let kib = line.and_then(|line| line.split_whitespace().nth(1));
            let kib: u64 = kib.unwrap().parse().unwrap();
            (libc::RLIMIT_DATA, (kib << 10) + most)
        }
        _ => panic!("there is no limit {limit_name:?}"),
    };
    let mut limits = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is written by the call, and then read.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &raw mut limits), 0);
        limits.rlim_cur = most;
        assert_eq!(libc::setrlimit(resource, &raw const limits), 0);
    }
}

fn make(path: &Path) {
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let numbers = txn.create_table::<Str, u64>("numbers").unwrap();
    numbers.insert(&mut txn, "a", 1).unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
}

/// A lock file was 67 MB long, so that a read of a process that may not make such files ended by a
/// signal.
#[cfg(unix)]
#[test]
fn small_files_suffice_for_a_read() {
    let (_directory, path) = temporary_path();
    make(&path);
    let mut other = Other::start(&path);
    for bytes in [MIB, 1 << 19] {
        other.ask(&format!("limit file {bytes}"));
        assert_eq!(other.ask("look"), "Some(1)");
        assert_eq!(other.ask("check"), "true");
    }
    for bytes in [1 << 18, 4096, 0] {
        other.ask(&format!("limit file {bytes}"));
        let refused = other.ask("look");
        assert!(refused.contains("RLIMIT_FSIZE"), "{refused}");
        assert!(refused.contains(&bytes.to_string()), "{refused}");
    }
    assert_eq!(read(&path).unwrap(), Some(1));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_database_that_may_not_grow_is_an_error() {
    let (_directory, path) = temporary_path();
    make(&path);
    let mut other = Other::start(&path);
    other.ask(&format!("limit file {MIB}"));
    let refused = other.ask(&format!("add {}", 4 * MIB));
    assert!(refused.contains("RLIMIT_FSIZE"), "{refused}");
    assert_eq!(other.ask("look"), "Some(1)");
    // A file that is already longer cannot be written to there.
    add(&Database::open(&path).unwrap(), 4 * MIB as usize).unwrap();
    let refused = other.ask(&format!("add {}", 8 * MIB));
    assert!(refused.contains("RLIMIT_FSIZE"), "{refused}");
    assert_eq!(other.ask("look"), "Some(1)");
    let refused = other.ask("backup");
    assert!(refused.contains("RLIMIT_FSIZE"), "{refused}");
    let database = Database::open(&path).unwrap();
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

#[cfg(unix)]
#[test]
fn few_addresses_suffice_for_a_read() {
    let (_directory, path) = temporary_path();
    make(&path);
    for bytes in (3..40).step_by(3) {
        let mut other = Other::start(&path);
        other.ask(&format!("limit addresses {}", bytes * MIB));
        let answer = other.ask("look");
        let is_reported = answer.contains("RLIMIT_AS");
        assert!(
            answer == "Some(1)" || bytes < 12 && is_reported,
            "{bytes} MiB: {answer}"
        );
    }
}

/// Such a database has its reader table in memory of its own. No memory for it was a panic.
#[cfg(unix)]
#[test]
fn a_lack_of_memory_for_the_reader_table_is_an_error() {
    let (_directory, path) = temporary_path();
    make(&path);
    let mut refusals = 0;
    for mib in 1..10 {
        let mut other = Other::start(&path);
        other.ask(&format!("limit memory {}", mib * MIB));
        let answer = other.ask("open-alone");
        let is_refused = answer.contains("allocating the reader table");
        assert!(answer == "opened" || is_refused, "{mib} MiB: {answer}");
        refusals += u64::from(is_refused);
    }
    assert!((1..9).contains(&refusals), "{refusals} of 9 are refused");
}

#[cfg(unix)]
#[test]
fn a_lack_of_descriptors_is_an_error() {
    let (_directory, path) = temporary_path();
    make(&path);
    let mut other = Other::start(&path);
    let mut last = String::new();
    for count in 0..20 {
        other.ask(&format!("limit descriptors {count}"));
        last = other.ask("look");
        let is_reported = last.contains("RLIMIT_NOFILE");
        assert!(
            last == "Some(1)" || is_reported,
            "{count} descriptors: {last}"
        );
    }
    assert_eq!(last, "Some(1)");
}

/// A file system in a file, on a loop device: the kind of the file system, and the size of its
/// blocks.
#[cfg(unix)]
struct Disk {
    directory: tempfile::TempDir,
}

#[cfg(unix)]
impl Disk {
    fn of_ext(kind: &str, block_bytes: u32, bytes: u64) -> Option<Self> {
        let block_bytes = block_bytes.to_string();
        Self::mount(kind, &["-q", "-F", "-m", "0", "-b", &block_bytes], bytes)
    }

    /// Prints the reason if none can be mounted, which requires root and a loop device.
    fn mount(kind: &str, arguments: &[&str], bytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        let mounted = directory.path().join("mounted");
        fs::create_dir(&mounted).unwrap();
        File::create(&image).unwrap().set_len(bytes).unwrap();
        let made = Command::new(format!("mkfs.{kind}"))
            .args(arguments)
            .arg(&image)
            .output();
        let mount = || {
            Command::new("mount")
                .args(["-o", "loop"])
                .args([&image, &mounted])
                .output()
        };
        match made.and_then(|_| mount()) {
            Ok(output) if output.status.success() => Some(Self { directory }),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr);
                println!("not run, since {kind} cannot be mounted (it requires root): {why}");
                None
            }
            Err(why) => {
                println!("not run, since {kind} cannot be made and mounted: {why}");
                None
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("mounted").join(name)
    }

    /// Occupies all free space except about this many bytes.
    fn fill(&self, but: u64) {
        let mut kept = File::create(self.path("kept")).unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        let mut rest = &vec![1u8; but as usize][..];
        while !rest.is_empty() {
            match kept.write(rest) {
                Ok(len) => rest = &rest[len..],
                // Blocks of removed files are free when the journal of the file system is written,
                // and when no child that another test forked has the files open.
                Err(error) => {
                    assert!(
                        std::time::Instant::now() < deadline,
                        "{error}, {} bytes of {but} missing",
                        rest.len()
                    );
                    // SAFETY: the call takes nothing.
                    unsafe { libc::sync() };
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        let mut file = File::create(self.path("filler")).unwrap();
        for len in [1 << 16, 1024, 1] {
            while file.write_all(&vec![1u8; len]).is_ok() {}
        }
        file.sync_all().unwrap();
        self.remove("kept");
        // SAFETY: the call takes nothing.
        unsafe { libc::sync() };
    }

    /// Removes a file. Its blocks become free even if a forked child has it open.
    fn remove(&self, name: &str) {
        let path = self.path(name);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(0).unwrap();
        fs::remove_file(path).unwrap();
    }
}

#[cfg(unix)]
impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.path(""))
            .status();
    }
}

/// Stores to mapped memory need blocks for whole system pages: only a smaller block was allocated.
#[cfg(unix)]
#[test]
fn a_disk_that_is_nearly_full_ends_no_process() {
    for (kind, block_bytes) in [
        ("ext4", 1024),
        ("ext4", 4096),
        ("ext2", 1024),
        ("ext3", 2048),
    ] {
        let Some(disk) = Disk::of_ext(kind, block_bytes, 16 * MIB) else {
            return;
        };
        let path = disk.path("some.teak");
        let (mut reads, mut held) = (0, Vec::new());
        for free in (0..=80).step_by(4).map(|kib| kib << 10) {
            make(&path);
            disk.fill(free);
            let context = format!("{kind}, blocks of {block_bytes}, {free} bytes free");
            let mut other = Other::start(&path);
            let reply = other.ask("look");
            assert_eq!(reply, "Some(1)", "{context}");
            reads += 1;
            assert_eq!(other.ask("check"), "true", "{context}");
            let added = other.ask("add 1000000");
            assert!(added.contains("No space left"), "{context}: {added}");
            assert_eq!(other.ask("look"), "Some(1)", "{context}");
            assert_eq!(other.ask("delete"), "true", "{context}");
            // Like a child that another test forked.
            held.push(File::open(disk.path("filler")).unwrap());
            disk.remove("filler");
            let left = fs::read_dir(disk.path("")).unwrap().count();
            assert_eq!(left, 1, "lost+found, {context}");
        }
        assert!(reads > 0);
    }
}

/// Btrfs takes a block for each store to a page that it has written, also of the lock file. The
/// error said that the lock file was truncated or cannot be read, or that another process failed.
#[cfg(unix)]
#[test]
fn a_full_disk_with_no_block_for_the_lock_file_is_a_full_disk() {
    let Some(disk) = Disk::mount("btrfs", &["-q", "-f"], 160 * MIB) else {
        return;
    };
    let path = disk.path("some.teak");
    File::create(disk.path("most"))
        .and_then(|mut most| most.write_all(&vec![1; 64 << 20]))
        .unwrap();
    for free in (160..=320).step_by(16).map(|kib| kib << 10) {
        make(&path);
        disk.fill(free);
        let mut other = Other::start(&path);
        let added = other.ask("add 1000000");
        assert!(
            added.contains("the disk is full"),
            "{free} bytes free: {added}"
        );
        disk.remove("filler");
        assert_eq!(other.ask("look"), "Some(1)", "{free} bytes free");
        assert_eq!(other.ask("delete"), "true", "{free} bytes free");
    }
}

/// The reader table has the needed length, and each process sees all of it.
#[test]
fn a_lock_file_grows_with_its_readers() {
    let (_directory, path) = temporary_path();
    make(&path);
    let lock_len = || {
        fs::metadata(path.with_file_name("some.teak-lock"))
            .unwrap()
            .len()
    };
    let database = Database::open(&path).unwrap();
    assert!(lock_len() < MIB, "{}", lock_len());
    let mut other = Other::start(&path);
    other.ask("open");
    let mut held = 0;
    for more in [100, 17_000, 20_000] {
        other.ask(&format!("hold {more}"));
        held += more;
        assert_eq!(database.readers().unwrap().len(), held);
        assert!(lock_len() as usize > held * 64);
    }
    // Here the first process has a slot after all those.
    let own = database.begin_read().unwrap();
    assert_eq!(database.readers().unwrap().len(), held + 1);
    add(&database, 100_000).unwrap();
    drop(own);
    other.kill();
    add(&database, 200_000).unwrap();
    let readers = || database.readers().unwrap().len();
    let gone = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        drop((0..100).map(|_| database.begin_read()).collect::<Vec<_>>());
        add(&database, 1000).unwrap();
        readers() == 0
    });
    assert!(gone, "{} readers of a dead process", readers());
}

/// Waits for an answer that must come.
#[cfg(unix)]
fn answer_within(seconds: u64, mut other: Other, order: &str) -> String {
    let (send, receive) = std::sync::mpsc::channel();
    let order = order.to_owned();
    let id = other.id();
    thread::spawn(move || send.send(other.ask(&order)));
    let answer = receive.recv_timeout(Duration::from_secs(seconds));
    answer.unwrap_or_else(|_| {
        // SAFETY: a process that this test has started.
        unsafe { libc::kill(id as i32, libc::SIGKILL) };
        panic!("no answer after {seconds} seconds")
    })
}

/// New processes waited at the gate without end.
#[cfg(unix)]
#[test]
fn an_unrelated_process_that_locked_the_gate_is_named() {
    if !crate::can("locks of descriptions", |abilities| {
        abilities.locks_of_descriptions
    }) {
        return;
    }
    let (_directory, path) = temporary_path();
    make(&path);
    let _database = Database::open(&path).unwrap();
    let lock_path = path.with_file_name("some.teak-lock");
    // A separate process, because closing the file would drop its lock.
    // SAFETY: the structure is plain numbers.
    let mut all: libc::flock = unsafe { std::mem::zeroed() };
    all.l_type = libc::F_WRLCK as libc::c_short;
    let file = File::options()
        .read(true)
        .write(true)
        .open(lock_path)
        .unwrap();
    // SAFETY: the structure is read only.
    let locked = unsafe {
        libc::fcntl(
            std::os::fd::AsRawFd::as_raw_fd(&file),
            libc::F_SETLK,
            &raw const all,
        )
    };
    // Other processes lock the process entries.
    assert_eq!(locked, -1);
    all.l_start = 1 << 62;
    all.l_len = 1;
    // SAFETY: the structure is read only.
    let locked = unsafe {
        libc::fcntl(
            std::os::fd::AsRawFd::as_raw_fd(&file),
            libc::F_SETLK,
            &raw const all,
        )
    };
    assert_eq!(locked, 0);
    let refused = answer_within(20, Other::start(&path), "look");
    let own = format!("process {}", std::process::id());
    assert!(refused.contains(&own), "{refused}");
}

#[cfg(unix)]
#[test]
fn a_table_of_readers_that_was_emptied_is_an_error() {
    use crate::shared::FileExt;
    let (_directory, path) = temporary_path();
    make(&path);
    let database = Database::open(&path).unwrap();
    add(&database, 10_000).unwrap();
    let lock_path = path.with_file_name("some.teak-lock");
    let len = fs::metadata(&lock_path).unwrap().len() as usize;
    let file = File::options().write(true).open(lock_path).unwrap();
    let table = 389_120;
    file.write_all_at(&vec![0; len - table], table as u64)
        .unwrap();
    let answer = answer_within(20, Other::start(&path), "look");
    assert!(answer.starts_with("error"), "{answer}");
    let refused = database.begin_read().map(drop).unwrap_err().to_string();
    assert!(refused.contains("visible state"), "{refused}");
}

/// Processes that had the database open died of a signal.
#[test]
fn a_truncated_lock_file_is_an_error() {
    let (_directory, path) = temporary_path();
    make(&path);
    let lock_path = path.with_file_name("some.teak-lock");
    for len in [0, 8, 4096, 5000, 69_632, 100_000, 389_120, 393_216, 400_000] {
        let mut other = Other::start(&path);
        other.ask("open");
        other.ask("begin-read");
        other.ask("hold 70");
        let file = File::options().write(true).open(&lock_path).unwrap();
        file.set_len(len).unwrap();
        for order in [
            "put durable a 1",
            "put lazy a 1",
            "begin-read",
            "refresh",
            "sync",
            "hold 300",
        ] {
            let answer = other.ask(order);
            assert!(!answer.contains("panic"), "{len}, {order}: {answer}");
        }
        let answer = other.ask("put durable a 2");
        // The rest of a partly existing page is zero.
        let is_noticed = answer.contains("the lock file was truncated");
        assert!(is_noticed || len == 400_000, "{len}: {answer}");
        other.ask("close");
        drop(other);
        // If the file system has no attributes, an empty file may belong to another program.
        if len == 0 && matches!(read(&path), Err(teak::Error::NotALockFile { .. })) {
            fs::remove_file(&lock_path).unwrap();
        }
        let written = if is_noticed { 1 } else { 2 };
        assert_eq!(read(&path).unwrap(), Some(written), "{len}");
    }
}
