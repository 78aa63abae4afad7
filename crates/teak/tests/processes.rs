//! One database in many processes. Each test starts this program again as another process, with a
//! role in the test.

use crate::shared::temporary_path;
use std::{
    env,
    io::{BufRead, BufReader, Write},
    ops::ControlFlow,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use teak::{
    Create, Database, Durability, Error, Options, Recovery, Sharing, SlowReaderChoice, Table,
    Transaction, TransactionId, Verification, WriteOptions,
    codec::{Bytes, Str},
};

/// Tells the other process its role and path.
const ROLE: &str = "TEAK_TEST_ROLE";

/// Another process, which executes one command per line, and answers each with one line.
pub(crate) struct Other {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(path: &Path) -> Self {
        let mut process = Command::new(env::current_exe().unwrap())
            .args([
                "processes::another_process_answers",
                "--exact",
                "--nocapture",
                "--quiet",
            ])
            .env(ROLE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut other = Self {
            process,
            orders,
            answers,
        };
        // Output of the test runner comes first.
        while other.answer() != "ready" {}
        other
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            let len = self.answers.read_line(&mut line).unwrap();
            assert!(len > 0, "the other process has ended");
            // Its test harness says so on a slow machine.
            if !line.contains("has been running for over") {
                return line.trim().to_owned();
            }
        }
    }

    /// Sends a command whose answer is read later.
    #[cfg(unix)]
    pub(crate) fn ask_later(&mut self, order: &str) {
        self.send(order);
    }

    pub(crate) fn send(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
    }

    pub(crate) fn ask(&mut self, order: &str) -> String {
        self.send(order);
        self.answer()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Tests that another process starts, opens a database and ends on request. In that process, it is
/// its main function.
#[test]
fn another_process_answers() {
    if let Some(path) = env::var_os(ROLE) {
        return obey(Path::new(&path));
    }
    let (_directory, path) = temporary_path();
    let mut other = Other::start(&path);
    assert_eq!(other.ask("open"), "Clean");
    assert!(path.with_file_name("some.teak-lock").exists());
    assert_eq!(other.ask("close"), "closed");
    assert!(!path.with_file_name("some.teak-lock").exists());
}

/// Executes the lines of the standard input.
fn obey(path: &Path) {
    println!("\nready");
    let mut database = None;
    let mut reader = None;
    let mut writer = None;
    let mut held = Vec::new();
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let words: Vec<_> = order.split(' ').collect();
        let done = match words[..] {
            ["open"] => Database::open(path).map(|opened| {
                let recovery = format!("{:?}", opened.info().recovery);
                database = Some(opened);
                recovery
            }),
            ["open", "unflushed"] => unflushed().open(path).map(|opened| {
                let recovery = format!("{:?}", opened.info().recovery);
                database = Some(opened);
                recovery
            }),
            ["open", durability, limit] => Options::new()
                .durability(durability_of(durability))
                .size_limit_bytes(Some(limit.parse().unwrap()))
                .open(path)
                .map(|opened| {
                    database = Some(opened);
                    "opened".to_owned()
                }),
            ["close"] => database
                .take()
                .unwrap()
                .close()
                .map(|()| "closed".to_owned()),
            ["put", durability, key, value] => put(
                database.as_ref().unwrap(),
                durability,
                key,
                value.parse().unwrap(),
            )
            .map(|id| id.to_string()),
            ["fill", count] => fill(database.as_ref().unwrap(), count.parse().unwrap())
                .map(|()| "filled".to_owned()),
            ["get", key] => get(database.as_ref().unwrap(), key).map(|found| format!("{found:?}")),
            ["begin-read"] => database.as_ref().unwrap().begin_read().map(|begun| {
                let id = begun.id().to_string();
                reader = Some(begun);
                id
            }),
            ["read", key] => {
                get_in(reader.as_ref().unwrap(), key).map(|found| format!("{found:?}"))
            }
            ["hold", count] => {
                let begin = |_| database.as_ref().unwrap().begin_read();
                let begun: teak::Result<Vec<_>> = (0..count.parse().unwrap()).map(begin).collect();
                begun.map(|mut begun| {
                    held.append(&mut begun);
                    held.len().to_string()
                })
            }
            // Reads until that fails, and then restarts.
            ["read-on", key] => {
                let failed = loop {
                    if let Err(error) = get_in(reader.as_ref().unwrap(), key) {
                        break error;
                    }
                };
                reader = None;
                let begun = database.as_ref().unwrap().begin_read();
                begun.and_then(|begun| {
                    let found = get_in(&begun, key)?;
                    reader = Some(begun);
                    Ok(format!("{failed}, {found:?}"))
                })
            }
            ["end-read"] => {
                reader = None;
                Ok("ended".to_owned())
            }
            ["begin-write"] => database.as_ref().unwrap().begin_write().map(|begun| {
                writer = Some(begun);
                "begun".to_owned()
            }),
            // On the reader's state.
            ["begin-write-at"] => {
                let begun = database
                    .as_ref()
                    .unwrap()
                    .begin_write_with(WriteOptions::new().at(reader.as_ref().unwrap()));
                begun.map(|begun| {
                    writer = begun;
                    "begun".to_owned()
                })
            }
            ["write", key, value] => {
                let txn = writer.as_mut().unwrap();
                let numbers = txn.create_table::<Str, u64>("numbers").unwrap();
                let written = numbers.insert(txn, key, value.parse::<u64>().unwrap());
                written.map(|()| "written".to_owned())
            }
            ["checkpoint", durability] => {
                let txn = writer.as_mut().unwrap();
                txn.set_durability(durability_of(durability));
                txn.checkpoint().map(|id| id.to_string())
            }
            ["roll-back"] => writer
                .as_mut()
                .unwrap()
                .roll_back()
                .map(|()| "rolled back".to_owned()),
            ["refresh"] => reader
                .as_mut()
                .unwrap()
                .refresh()
                .map(|is_other| is_other.to_string()),
            ["commit-and-read", durability] => {
                let mut txn = writer.take().unwrap();
                txn.set_durability(durability_of(durability));
                txn.commit_and_read().map(|begun| {
                    let id = begun.id().to_string();
                    reader = Some(begun);
                    id
                })
            }
            ["commit"] => writer.take().unwrap().commit().map(|id| id.to_string()),
            ["wait-for-commit", after] => {
                let after = TransactionId(after.parse().unwrap());
                let waited = database.as_ref().unwrap().wait_for_commit(after, None);
                waited.map(|id| id.unwrap().to_string())
            }
            ["mark", durability] => {
                let mut txn = database.as_ref().unwrap().begin_write().unwrap();
                txn.set_marks([1, 2, 3]).unwrap();
                txn.set_durability(durability_of(durability));
                txn.commit().map(|_| "marked".to_owned())
            }
            ["limit-files"] => {
                #[cfg(unix)]
                limit_files();
                Ok("limited".to_owned())
            }
            ["sync"] => database
                .as_ref()
                .unwrap()
                .sync()
                .map(|()| "synced".to_owned()),
            _ => Ok(crate::locks::harm(path, &words)
                .or_else(|| crate::limits::order(path, &words))
                .or_else(|| crate::prepared::order(database.as_ref(), &words))
                .unwrap_or_else(|| panic!("there is no order {order:?}"))),
        };
        match done {
            Ok(done) => println!("{done}"),
            Err(error) => println!("error: {error}"),
        }
    }
}

/// Closing flushes no lazy commits.
fn unflushed() -> Options {
    Options::new().flush_on_close(false)
}

/// From now on every write to a file of this process fails.
#[cfg(unix)]
fn limit_files() {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the first call makes exceeding the limit an error instead of a signal; the second
    // reads the structure.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const none), 0);
    }
}

fn table(database: &Database) -> Table<Str, u64> {
    let txn = database.begin_read().unwrap();
    txn.open_table("numbers").unwrap()
}

fn durability_of(word: &str) -> Durability {
    match word {
        "durable" => Durability::Durable,
        "async" => Durability::Async,
        _ => Durability::Lazy,
    }
}

fn put(
    database: &Database,
    durability: &str,
    key: &str,
    value: u64,
) -> teak::Result<teak::TransactionId> {
    let mut txn = database.begin_write()?;
    txn.set_durability(durability_of(durability));
    let numbers = txn.create_table::<Str, u64>("numbers")?;
    numbers.insert(&mut txn, key, value)?;
    txn.commit()
}

/// Grows the file by about this many pages.
fn fill(database: &Database, count: u64) -> teak::Result<()> {
    let mut txn = database.begin_write()?;
    let table: Table<u64, Bytes> = txn.create_table("filler")?;
    for number in 0..count {
        table.insert(&mut txn, number, [number as u8; 3000])?;
    }
    txn.commit().map(drop)
}

fn get_in(txn: &impl Transaction, key: &str) -> teak::Result<Option<u64>> {
    txn.open_table::<Str, u64>("numbers")?.get(txn, key)
}

fn get(database: &Database, key: &str) -> teak::Result<Option<u64>> {
    get_in(&database.begin_read()?, key)
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

#[test]
fn commits_of_one_process_are_visible_to_the_other() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    assert_eq!(other.ask("open"), "Joined");
    assert_eq!(other.ask("get a"), "Some(1)");
    for round in 2..200 {
        let durability = ["durable", "async", "lazy"][round as usize % 3];
        match round % 2 {
            0 => {
                let order = format!("put {durability} a {round}");
                assert!(!other.ask(&order).starts_with("error"));
                assert_eq!(get(&database, "a").unwrap(), Some(round));
            }
            _ => {
                put(&database, durability, "a", round).unwrap();
                assert_eq!(other.ask("get a"), format!("Some({round})"));
            }
        }
    }
    assert_clean(&database);
    assert_eq!(other.ask("close"), "closed");
    assert_clean(&database);
    database.close().unwrap();
    assert!(!path.with_file_name("some.teak-lock").exists());
    let database = Database::open(&path).unwrap();
    assert_eq!(database.info().recovery, Recovery::Clean);
    assert_eq!(get(&database, "a").unwrap(), Some(199));
    assert_clean(&database);
}

#[test]
fn waiting_for_a_commit_ends_with_one_of_another_process() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut seen = put(&database, "durable", "a", 0).unwrap();
    let (mut other, mut third) = (Other::start(&path), Other::start(&path));
    other.ask("open");
    third.ask("open");
    let began = Instant::now();
    for round in 1..=40 {
        other.send(&format!("wait-for-commit {seen}"));
        third.send(&format!("wait-for-commit {seen}"));
        // Sometimes they sleep by then, sometimes they do not.
        thread::sleep(Duration::from_millis(round % 4 * 5));
        let durability = ["durable", "async", "lazy"][round as usize % 3];
        seen = put(&database, durability, "a", round).unwrap();
        assert_eq!(other.answer(), seen.to_string());
        assert_eq!(third.answer(), seen.to_string());
    }
    // Polling once a second would take far longer.
    assert!(began.elapsed() < Duration::from_secs(20));
    // A process that dies while waiting does no harm.
    other.send(&format!("wait-for-commit {seen}"));
    thread::sleep(Duration::from_millis(20));
    other.kill();
    for round in 1..=20 {
        third.send(&format!("wait-for-commit {seen}"));
        seen = put(&database, "lazy", "a", round).unwrap();
        assert_eq!(third.answer(), seen.to_string());
    }
    let order = format!("put durable a {}", 7);
    let committed = third.ask(&order);
    let waited = database.wait_for_commit(seen, None).unwrap().unwrap();
    assert_eq!(waited.to_string(), committed);
}

#[test]
fn a_process_sees_the_file_grow() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let before = database.begin_read().unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    for count in [100, 10_000] {
        let pages = database.stat().unwrap().page_count;
        assert_eq!(other.ask(&format!("fill {count}")), "filled");
        assert!(database.stat().unwrap().page_count >= pages + count / 2);
        let txn = database.begin_read().unwrap();
        let filler: Table<u64, Bytes> = txn.open_table("filler").unwrap();
        for record in filler.iter(&txn).unwrap() {
            let (number, value) = record.unwrap();
            assert_eq!(value, [number as u8; 3000]);
        }
        assert_eq!(filler.len(&txn).unwrap(), count);
        assert_eq!(get_in(&before, "a").unwrap(), Some(1));
        put(&database, "lazy", "a", count).unwrap();
        assert_eq!(other.ask("get a"), format!("Some({count})"));
    }
    assert_clean(&database);
}

#[test]
fn limits_set_by_another_process_hold_for_all() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    assert_eq!(other.ask("open lazy 4000000"), "opened");
    put(&database, "durable", "a", 2).unwrap();
    other.ask("put durable a 3");
    let full = fill(&database, 10_000).unwrap_err();
    assert!(
        matches!(full, Error::Full { limit_bytes } if limit_bytes < 4_000_001),
        "{full}"
    );
    // The next choice counts as well.
    put(&database, "durable", "a", 4).unwrap();
    assert_eq!(other.ask("close"), "closed");
    database.close().unwrap();
    let _database = Database::open(&path).unwrap();
    let asked = |durability| Options::new().durability(durability).open(&path);
    assert!(asked(Durability::Lazy).is_ok());
    assert!(matches!(
        asked(Durability::Durable),
        Err(Error::OptionsDiffer { .. })
    ));
}

#[test]
fn one_of_two_simultaneous_closes_is_clean() {
    for _ in 0..20 {
        let (_directory, path) = temporary_path();
        let database = Database::open(&path).unwrap();
        let mut other = Other::start(&path);
        other.ask("open");
        other.ask("put lazy a 1");
        put(&database, "lazy", "b", 2).unwrap();
        other.send("close");
        database.close().unwrap();
        assert_eq!(other.answer(), "closed");
        let database = Database::open(&path).unwrap();
        assert_eq!(database.info().recovery, Recovery::Clean);
    }
}

#[test]
fn lazy_commits_that_a_process_closes_unflushed_are_found_by_the_next_one() {
    if !crate::can("id of a boot", |abilities| abilities.boot_id) {
        return;
    }
    let (_directory, path) = temporary_path();
    let lock_file = path.with_file_name("some.teak-lock");
    let mut last = 0;
    for session in 1..10 {
        let mut other = Other::start(&path);
        let opened = other.ask("open unflushed");
        match session {
            1 => assert_eq!(opened, "Clean"),
            _ => assert!(opened.starts_with("Killed"), "{opened}"),
        }
        for round in 0..30 {
            last += 1;
            let durability = match round {
                10 | 20 if session % 2 == 0 => "durable",
                _ => "lazy",
            };
            other.ask(&format!("put {durability} last {last}"));
            other.ask(&format!("put {durability} {last} {last}"));
        }
        match session % 3 {
            // The operating system closes its files.
            0 => other.kill(),
            _ => assert_eq!(other.ask("close"), "closed"),
        }
        assert_eq!(lock_file.exists(), session % 3 == 0);
        let database = unflushed().open(&path).unwrap();
        assert!(matches!(database.info().recovery, Recovery::Killed { .. }));
        assert_eq!(get(&database, "last").unwrap(), Some(last));
        for number in 1..=last {
            let found = get(&database, &number.to_string()).unwrap();
            assert_eq!(found, Some(number));
        }
        assert_clean(&database);
        last += 1;
        put(&database, "lazy", "last", last).unwrap();
        put(&database, "lazy", &last.to_string(), last).unwrap();
    }
    let database = Database::open(&path).unwrap();
    assert_eq!(get(&database, "last").unwrap(), Some(last));
    database.close().unwrap();
    assert_eq!(
        Database::open(&path).unwrap().info().recovery,
        Recovery::Clean
    );
}

#[test]
fn a_lock_file_that_is_not_removed_serves_the_next_process() {
    let (_directory, path) = temporary_path();
    let lock_file = path.with_file_name("some.teak-lock");
    let keeping = Options::new().remove_lock_file(false);
    for session in 0..4 {
        let database = keeping.open(&path).unwrap();
        assert_eq!(database.info().recovery, Recovery::Clean);
        put(&database, "durable", "a", session).unwrap();
        let reader = database.begin_read().unwrap();
        let mut other = Other::start(&path);
        assert_eq!(other.ask("open"), "Joined");
        assert_eq!(other.ask("get a"), format!("Some({session})"));
        if session % 2 == 0 {
            assert_eq!(other.ask("close"), "closed");
        } else {
            other.kill();
        }
        drop(reader);
        database.close().unwrap();
        assert!(lock_file.exists());
    }
    // The last process decides.
    let mut other = Other::start(&path);
    assert_eq!(other.ask("open"), "Clean");
    let database = keeping.open(&path).unwrap();
    database.close().unwrap();
    assert_eq!(other.ask("close"), "closed");
    assert!(!lock_file.exists());
}

#[test]
fn a_reader_of_another_process_keeps_its_state() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("begin-read");
    for round in 0..500 {
        put(&database, "lazy", &format!("key {round}"), round).unwrap();
    }
    put(&database, "durable", "a", 2).unwrap();
    let readers = database.readers().unwrap();
    assert_eq!(readers.len(), 1);
    assert_eq!(readers[0].process, Some(other.process.id()));
    assert_eq!(readers[0].lag, 501);
    assert!(
        readers[0].kept_pages >= 2 && readers[0].kept_pages < 10,
        "{readers:?}"
    );
    assert!(readers[0].age < std::time::Duration::from_secs(60));
    assert_eq!(other.ask("read a"), "Some(1)");
    assert_eq!(other.ask("get a"), "Some(2)");
    assert_eq!(database.stat().unwrap().readers, 1);
    other.kill();
    assert_clean(&database);
    // Resources of the dead process are released when a writer needs space.
    let numbers = table(&database);
    for round in 0..2000 {
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(Durability::Lazy);
        numbers.insert(&mut txn, "a", round).unwrap();
        txn.commit().unwrap();
        if database.stat().unwrap().readers == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(database.stat().unwrap().readers, 0);
    assert_clean(&database);
}

#[test]
fn sixty_four_thousand_readers_of_sixty_four_processes() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut others: Vec<_> = (0..64).map(|_| Other::start(&path)).collect();
    for (round, other) in others.iter_mut().enumerate() {
        assert_eq!(other.ask("open"), "Joined");
        assert_eq!(other.ask("hold 1000"), "1000");
        put(&database, "lazy", "a", round as u64).unwrap();
    }
    assert_eq!(database.stat().unwrap().readers, 64_000);
    for round in 0..100 {
        put(&database, "lazy", "a", round).unwrap();
    }
    others.iter_mut().for_each(Other::kill);
    let wait = std::time::Instant::now();
    while database.stat().unwrap().readers > 0 {
        put(&database, "lazy", "a", 7).unwrap();
        assert!(wait.elapsed() < std::time::Duration::from_secs(60));
    }
    assert_clean(&database);
}

#[test]
fn the_next_writer_follows_a_dead_one() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    assert_eq!(other.ask("begin-write"), "begun");
    let began = std::time::Instant::now();
    let waits = std::thread::spawn({
        let database = database.clone();
        move || put(&database, "durable", "a", 2).unwrap()
    });
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!waits.is_finished(), "there is one writer");
    other.kill();
    waits.join().unwrap();
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(get(&database, "a").unwrap(), Some(2));
    assert_clean(&database);
}

#[test]
fn a_killed_process_is_followed_by_another() {
    if !crate::can("id of a boot", |abilities| abilities.boot_id) {
        return;
    }
    let (_directory, path) = temporary_path();
    for round in 0..5 {
        let mut other = Other::start(&path);
        let recovery = other.ask("open");
        assert!(round == 0 || recovery.starts_with("Killed"), "{recovery}");
        if round > 0 {
            assert_eq!(other.ask("get a"), format!("Some({})", round - 1));
        }
        other.ask(&format!("put lazy a {round}"));
        other.kill();
    }
    let database = Database::open(&path).unwrap();
    assert_eq!(get(&database, "a").unwrap(), Some(4));
    assert_clean(&database);
}

#[test]
fn one_process_flushes_for_the_other() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("put lazy a 2");
    let newest = database.begin_read().unwrap().id();
    assert!(database.stat().unwrap().durable_transaction < newest);
    database.sync().unwrap();
    assert!(database.stat().unwrap().durable_transaction >= newest);
    put(&database, "lazy", "a", 3).unwrap();
    let ticket = database
        .ticket(database.begin_read().unwrap().id())
        .unwrap();
    assert_eq!(other.ask("sync"), "synced");
    ticket.wait().unwrap();
}

#[test]
fn a_database_that_is_opened_again_is_the_same_one() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let again = Database::open(&path).unwrap();
    let writer = again.begin_write().unwrap();
    assert!(
        database
            .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
            .unwrap()
            .is_none()
    );
    drop(writer);
    put(&again, "lazy", "a", 2).unwrap();
    assert_eq!(get(&database, "a").unwrap(), Some(2));
    database.close().unwrap();
    assert_eq!(get(&again, "a").unwrap(), Some(2));
    let reader = Options::new().read_only(true).open(&path).unwrap();
    assert!(matches!(reader.begin_write(), Err(Error::ReadOnly)));
    assert_eq!(get(&reader, "a").unwrap(), Some(2));
    let clone = again.clone();
    again.close().unwrap();
    assert!(clone.begin_read().is_err(), "closing applies to clones too");
    assert_eq!(get(&reader, "a").unwrap(), Some(2));
    drop((clone, reader));
    let database = Database::open(&path).unwrap();
    assert_eq!(database.info().recovery, Recovery::Clean);
}

#[test]
fn conflicting_openings_are_refused_with_the_reason() {
    let (_directory, path) = temporary_path();
    let database = Options::new()
        .durability(Durability::Lazy)
        .open(&path)
        .unwrap();
    let refused = |options: Options| match options.open(&path) {
        Err(Error::OptionsDiffer { option }) => option,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(Options::new().durability(Durability::Durable)),
        "durability"
    );
    assert_eq!(
        refused(Options::new().verification(Verification::Always)),
        "verification"
    );
    assert_eq!(
        refused(Options::new().size_limit_bytes(Some(1 << 30))),
        "size_limit_bytes"
    );
    let same = Options::new()
        .durability(Durability::Lazy)
        .open(&path)
        .unwrap();
    assert!(matches!(
        Options::new().create(Create::New).open(&path),
        Err(Error::AlreadyExists(_))
    ));
    drop((database, same));
    let reader = Options::new().read_only(true).open(&path).unwrap();
    assert_eq!(refused(Options::new()), "read_only");
    drop(reader);
}

#[test]
fn exclusive_access_excludes_others() {
    let (_directory, path) = temporary_path();
    let exclusive = || Options::new().sharing(Sharing::Alone).open(&path);
    let database = exclusive().unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    let refused = other.ask("open");
    assert!(
        refused.starts_with("error") && refused.contains("in use"),
        "{refused}"
    );
    drop(database);
    assert_eq!(other.ask("open"), "Clean");
    assert!(matches!(exclusive(), Err(Error::InUse(_))));
    other.ask("close");
    let shared = Database::open(&path).unwrap();
    assert!(matches!(
        exclusive(),
        Err(Error::OptionsDiffer { option: "sharing" })
    ));
    drop(shared);
}

#[test]
fn a_database_is_opened_again_while_its_old_reader_lives() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let reader = database.begin_read().unwrap();
    drop(database);
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 2).unwrap();
    assert_eq!(get_in(&reader, "a").unwrap(), Some(1));
    assert_eq!(get(&database, "a").unwrap(), Some(2));
}

/// Forks. The child runs `child` and returns its result as the exit code.
#[cfg(unix)]
fn in_child(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs `child` and ends, without unwinding into the test runner. Threads
    // of other tests may hold locks of the allocator, which the C library handles, and of the
    // standard library, which the child does not need.
    match unsafe { libc::fork() } {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(i32::from(!done.unwrap_or(false))) }
        }
        pid => {
            assert!(pid > 0, "the system forks");
            let mut status = 0;
            // SAFETY: waits for the child that was just started.
            let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
            waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

#[cfg(unix)]
#[test]
fn a_forked_child_is_refused_and_harms_no_other_process() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let numbers = table(&database);
    let reader = database.begin_read().unwrap();
    let ticket = database.ticket(reader.id()).unwrap();
    let mut writer = database.begin_write().unwrap();
    numbers.insert(&mut writer, "b", 2).unwrap();
    fn is_refused<T>(result: teak::Result<T>) -> bool {
        matches!(result, Err(Error::Forked))
    }
    assert!(in_child(|| {
        let refused = [
            is_refused(database.begin_read()),
            is_refused(database.begin_write()),
            is_refused(database.sync()),
            is_refused(database.stat()),
            is_refused(database.begin_sync()),
            is_refused(numbers.get(&reader, "a")),
            is_refused(numbers.get(&writer, "b")),
            is_refused(numbers.insert(&mut writer, "c", 3)),
            is_refused(ticket.wait()),
            is_refused(database.begin_write_with(WriteOptions::new().at(&reader))),
            is_refused(database.begin_write_with(WriteOptions::new().timeout(Duration::ZERO))),
            is_refused(reader.clone().refresh()),
            is_refused(reader.info()),
            is_refused(writer.checkpoint()),
            is_refused(writer.roll_back()),
            is_refused(writer.set_marks([1; 3])),
            is_refused(numbers.draw_sequence(&mut writer, 1)),
            is_refused(writer.commit()),
            is_refused(database.clone().close()),
        ];
        drop((reader.clone(), database.clone()));
        refused.iter().all(|is_refused| *is_refused)
    }));
    // Only the child dropped `writer` with the closure: the parent still has its own.
    assert_eq!(numbers.get(&reader, "a").unwrap(), Some(1));
    drop(reader);
    put(&database, "durable", "d", 4).unwrap();
    assert_clean(&database);
}

#[cfg(unix)]
#[test]
fn a_forked_child_cannot_continue_from_a_commit() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let numbers = table(&database);
    let mut writer = Some(database.begin_write().unwrap());
    numbers.insert(writer.as_mut().unwrap(), "b", 2).unwrap();
    assert!(in_child(|| {
        let txn = writer.take().unwrap();
        matches!(txn.commit_and_read(), Err(Error::Forked))
    }));
    let txn = writer.take().unwrap();
    let reader = txn.commit_and_read().unwrap();
    assert_eq!(numbers.get(&reader, "b").unwrap(), Some(2));
    let mut begun = Some(database.begin_write().unwrap());
    assert!(in_child(|| {
        let refused = begun.take().unwrap().commit();
        matches!(refused, Err(Error::Forked))
    }));
    let mut txn = begun.take().unwrap();
    numbers.insert(&mut txn, "c", 3).unwrap();
    txn.commit().unwrap();
    assert_clean(&database);
}

#[test]
fn checkpoints_are_visible_to_another_process_that_cannot_write_in_between() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = {
        put(&database, "durable", "a", 1000).unwrap();
        table(&database)
    };
    let mut other = Other::start(&path);
    other.ask("open");
    let mut txn = database.begin_write().unwrap();
    let first = txn.id().0;
    other.send("put lazy b 1");
    for round in 0..30 {
        txn.set_durability(durability_of(
            ["durable", "async", "lazy"][round as usize % 3],
        ));
        numbers.insert(&mut txn, "a", round).unwrap();
        assert_eq!(txn.checkpoint().unwrap().0, first + round);
        assert_eq!(get(&database, "a").unwrap(), Some(round));
    }
    numbers.insert(&mut txn, "a", 99).unwrap();
    drop(txn);
    assert_eq!(other.answer(), (first + 30).to_string());
    assert_eq!(other.ask("get a"), "Some(29)");
    // And in the other direction.
    other.ask("begin-write");
    for round in 0..30 {
        other.ask(&format!("write a {round}"));
        let durability = ["durable", "async", "lazy"][round as usize % 3];
        let id = other.ask(&format!("checkpoint {durability}"));
        assert_eq!(id, (first + 31 + round).to_string());
        assert_eq!(get(&database, "a").unwrap(), Some(round));
        assert!(
            database
                .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
                .unwrap()
                .is_none()
        );
    }
    other.ask("write a 98");
    assert_eq!(other.ask("roll-back"), "rolled back");
    assert!(
        database
            .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
            .unwrap()
            .is_none()
    );
    other.ask("write b 7");
    other.ask("commit");
    let txn = database.begin_read().unwrap();
    assert_eq!(get_in(&txn, "a").unwrap(), Some(29));
    assert_eq!(get_in(&txn, "b").unwrap(), Some(7));
    assert_clean(&database);
}

/// A process that dies after checkpoints leaves their state, and releases the lock.
#[test]
fn a_process_killed_after_a_checkpoint_leaves_its_state() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 0).unwrap();
    for round in 1..10 {
        let mut other = Other::start(&path);
        other.ask("open");
        other.ask("begin-write");
        other.ask(&format!("write a {round}"));
        let durability = ["durable", "async", "lazy"][round as usize % 3];
        other.ask(&format!("checkpoint {durability}"));
        other.ask("write a 99");
        other.kill();
        put(&database, "lazy", "b", round).unwrap();
        assert_eq!(get(&database, "a").unwrap(), Some(round));
    }
    assert_clean(&database);
}

#[test]
fn beginning_on_a_reader_is_refused_after_a_commit_of_another_process() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1000).unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    let mut reader = database.begin_read().unwrap();
    other.ask("begin-read");
    for round in 0..30 {
        let durability = ["durable", "async", "lazy"][round as usize % 3];
        // One of the two is faster.
        if round % 2 == 0 {
            assert_eq!(other.ask("begin-write-at"), "begun");
            assert!(
                database
                    .begin_write_with(WriteOptions::new().at(&reader).timeout(Duration::ZERO))
                    .unwrap()
                    .is_none()
            );
            other.ask(&format!("write a {round}"));
            let id = other.ask(&format!("commit-and-read {durability}"));
            let refused = database
                .begin_write_with(WriteOptions::new().at(&reader))
                .map(drop);
            let Err(Error::SnapshotStale { held, newest }) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!((held, newest.to_string()), (reader.id(), id));
            // It reads exactly its own commit, however many commits follow.
            put(&database, "lazy", "b", round).unwrap();
            put(&database, "durable", "a", 1000).unwrap();
            assert_eq!(other.ask("read a"), format!("Some({round})"));
        } else {
            let begun = database.begin_write_with(WriteOptions::new().at(&reader));
            let mut txn = begun.unwrap().unwrap();
            let numbers = table(&database);
            numbers.insert(&mut txn, "a", round).unwrap();
            txn.set_durability(durability_of(durability));
            let own = txn.commit_and_read().unwrap();
            let refused = other.ask("begin-write-at");
            assert!(refused.contains("refresh the reader"), "{refused}");
            other.ask("put lazy a 1000");
            assert_eq!(get_in(&own, "a").unwrap(), Some(round));
        }
        assert!(reader.refresh().unwrap());
        assert_eq!(other.ask("refresh"), "true");
        assert_eq!(get_in(&reader, "a").unwrap(), Some(1000));
        assert_eq!(other.ask("read a"), "Some(1000)");
    }
    assert_clean(&database);
}

#[cfg(unix)]
#[test]
fn a_failed_write_of_one_process_is_known_to_all() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    for round in 0..50 {
        put(&database, "durable", &format!("key {round}"), round).unwrap();
    }
    put(&database, "durable", "a", 1).unwrap();
    let (mut failing, mut third) = (Other::start(&path), Other::start(&path));
    failing.ask("open");
    third.ask("open");
    failing.ask("begin-read");
    failing.ask("limit-files");
    // A commit that only writes its record. With pages to be built, it would store those in place.
    let failed = failing.ask("mark lazy");
    assert!(failed.starts_with("error"), "{failed}");
    let refused = |answer: String| assert!(answer.contains("an earlier write"), "{answer}");
    refused(third.ask("put lazy a 3"));
    assert!(matches!(
        database.begin_write(),
        Err(Error::Poisoned { .. })
    ));
    // All processes still read, and none sees the failed commit.
    assert_eq!(third.ask("get a"), "Some(1)");
    assert_eq!(get(&database, "a").unwrap(), Some(1));
    // A process that reopens it, while the others still have it open, finds the valid state, and
    // continues.
    drop(database);
    let database = Database::open(&path).unwrap();
    assert!(!matches!(
        database.info().recovery,
        Recovery::Joined | Recovery::Clean
    ));
    for round in 4..50 {
        put(&database, ["durable", "lazy"][round % 2], "a", round as u64).unwrap();
    }
    assert_clean(&database);
    // For processes that were attached when it failed, it stays closed for writing, and open for
    // reading.
    refused(third.ask("put lazy a 3"));
    assert_eq!(third.ask("get a"), "Some(49)");
    assert_eq!(failing.ask("read a"), "Some(1)");
    failing.ask("end-read");
    third.ask("close");
    assert_eq!(third.ask("open"), "Joined");
    assert!(!third.ask("put durable a 50").starts_with("error"));
    assert_eq!(get(&database, "a").unwrap(), Some(50));
    drop(failing);
    put(&database, "durable", "a", 51).unwrap();
    assert_clean(&database);
}

/// The cached slot of a thread kept a database open that had been reopened.
#[test]
fn a_database_that_was_opened_again_is_closed_with_its_last_handle() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    get(&database, "a").unwrap();
    let reader = database.begin_read().unwrap();
    drop(database);
    let again = Database::open(&path).unwrap();
    drop(reader);
    put(&again, "lazy", "a", 2).unwrap();
    drop(again);
    assert!(!path.with_file_name("some.teak-lock").exists());
    let database = Database::open(&path).unwrap();
    assert_eq!(database.info().recovery, Recovery::Clean);
}

/// A child that closed inherited descriptors lost its own locks on the lock file, by the rules of
/// POSIX locks, so that others considered it dead.
#[cfg(unix)]
#[test]
fn a_child_that_drops_inherited_handles_still_counts_as_alive() {
    let (_directory, path) = temporary_path();
    let mut database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    assert!(in_child(|| {
        database = Database::open(&path).unwrap();
        let writer = database.begin_write().unwrap();
        other.send("put durable a 2");
        std::thread::sleep(std::time::Duration::from_millis(200));
        let is_waiting = database.begin_read().unwrap().id().next() == writer.id();
        drop(writer);
        is_waiting
    }));
    assert!(!other.answer().starts_with("error"));
}

/// A process that found a database closed, but its process still reading, treated pages of the
/// reader as free.
#[test]
fn a_closed_database_keeps_the_snapshots_of_its_readers() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    for key in 0..500 {
        put(&database, "lazy", &format!("key {key}"), 1).unwrap();
    }
    let reader = database.begin_read().unwrap();
    let numbers = table(&database);
    for key in 0..500 {
        put(&database, "lazy", &format!("key {key}"), 2).unwrap();
    }
    database.close().unwrap();
    let mut other = Other::start(&path);
    assert!(!other.ask("open").starts_with("error"));
    for key in 0..500 {
        other.ask(&format!("put lazy key-{key} 3"));
    }
    for key in 0..500 {
        let key = format!("key {key}");
        assert_eq!(
            numbers.get(&reader, key.as_str()).unwrap(),
            Some(1),
            "{key}"
        );
    }
}

/// A file that replaced one in use was attached to the shared memory of the other one.
#[test]
fn a_replaced_file_is_not_shared() {
    let (_directory, path) = temporary_path();
    let backup = path.with_file_name("backup.teak");
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    database.close().unwrap();
    std::fs::copy(&path, &backup).unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    std::fs::rename(&backup, &path).unwrap();
    assert!(matches!(Database::open(&path), Err(Error::InUse(_))));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Database::open(&path), Err(Error::InUse(_))));
    other.ask("close");
    Database::open(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn a_forked_child_opens_the_database_itself() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "durable", "a", 1).unwrap();
    assert!(in_child(|| {
        let own = Database::open(&path).unwrap();
        put(&own, "durable", "a", 2).unwrap();
        get(&own, "a").unwrap() == Some(2)
    }));
    assert_eq!(get(&database, "a").unwrap(), Some(2));
    put(&database, "lazy", "a", 3).unwrap();
    assert_clean(&database);
}

#[test]
fn a_reader_of_another_process_is_cancelled() {
    let (_directory, path) = temporary_path();
    let database = Options::new()
        .on_slow_reader(|_| SlowReaderChoice::Cancel)
        .open(&path)
        .unwrap();
    put(&database, "durable", "a", 1).unwrap();
    let mut other = Other::start(&path);
    other.ask("open");
    let lost = Error::SnapshotLost.to_string();

    other.ask("begin-read");
    let readers = database.readers().unwrap();
    assert_eq!(readers[0].process, Some(other.process.id()));
    assert!(database.cancel_reader(&readers[0]).unwrap());
    assert_eq!(other.ask("read a"), format!("error: {lost}"));
    assert_eq!(other.ask("read-on a"), format!("{lost}, Some(1)"));
    assert!(!database.cancel_reader(&readers[0]).unwrap());
    assert_eq!(other.ask("read a"), "Some(1)");

    // A writer that needs its pages cancels it automatically.
    fill(&database, 2000).unwrap();
    other.ask("end-read");
    other.ask("begin-read");
    for round in 0..3 {
        put(&database, "durable", "a", round).unwrap();
        let mut txn = database.begin_write().unwrap();
        txn.drop_table("filler").unwrap();
        txn.commit().unwrap();
        if round == 0 {
            other.send("read-on a");
        }
        fill(&database, 2000).unwrap();
    }
    assert_eq!(other.answer(), format!("{lost}, Some(0)"));
    // Remains of a dead process are not inherited by the next owner of its slots.
    assert!(
        database
            .cancel_reader(&database.readers().unwrap()[0])
            .unwrap()
    );
    other.kill();
    let mut next = Other::start(&path);
    next.ask("open");
    next.ask("begin-read");
    assert_eq!(next.ask("read a"), "Some(2)");
    assert_clean(&database);
}
