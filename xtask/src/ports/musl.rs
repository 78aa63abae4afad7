//! A static program with musl: in a root that has nothing else, and beside programs of glibc.

use super::{
    end::{PortEnd, require},
    main_job, targets,
};
use crate::{Context, Failure, Result, campaign::scratch, commands};
use rustix::process::geteuid;
use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use teak::{Database, Table, testing::is_writer_awaited};

const TARGET: &str = "x86_64-unknown-linux-musl";
/// Rounds in which each side writes a record that the other one reads.
const ROUNDS: u32 = 40;
/// The longest time until a program waits for the lock.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run() -> Result<PortEnd> {
    require!(targets::missing(TARGET));
    let program = targets::program(TARGET)?;
    let scratch = scratch::directory(None)?;
    let root = scratch.path().join("root");
    fs::create_dir(&root)?;
    fs::copy(&program, root.join("teak"))?;
    commands::output(Command::new(&program).arg("--version"))?;
    // Only root may change it everywhere.
    let obstacle = match commands::output(in_root(&root).arg("--version")) {
        Err(Failure(why)) if !geteuid().is_root() => Some(why),
        _ => None,
    };
    let job = match obstacle {
        None => {
            main_job::run(&root, "/", || in_root(&root))?;
            "main job in an empty root".to_owned()
        }
        Some(why) => format!("NOT RUN in an empty root: {why}"),
    };
    share(&program, &scratch.path().join("shared.teak"))?;
    Ok(PortEnd::Passed(format!(
        "{job}; {ROUNDS} records each way between programs of musl and glibc, and {ROUNDS} waits"
    )))
}

/// The program in a root with nothing but itself.
fn in_root(root: &Path) -> Command {
    let mut command = match geteuid().is_root() {
        true => Command::new("chroot"),
        false => {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--root"]);
            command
        }
    };
    command.arg(root).arg("/teak");
    command
}

/// Has this program, which uses glibc unless it was built otherwise, and the one with musl write to
/// a database in turns, while both have it open.
fn share(program: &Path, path: &Path) -> Result {
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let table: Table<String, String> = txn.create_table("main")?;
    txn.commit()?;
    let teak = |words: &[&str]| {
        let mut command = Command::new(program);
        command.arg(words[0]).arg(path).args(&words[1..]);
        command
    };
    for round in 0..ROUNDS {
        let value = round.to_string();
        let mut txn = database.begin_write()?;
        table.insert(&mut txn, "glibc", &value)?;
        ensure!(!is_writer_awaited(&database), "nobody waits yet");
        // It waits for this transaction, and is woken by its end.
        let mut writer = teak(&["put", "musl", &value]).spawn()?;
        let begin = Instant::now();
        while !is_writer_awaited(&database) {
            ensure!(writer.try_wait()?.is_none(), "a writer did not wait");
            ensure!(begin.elapsed() < PATIENCE, "a writer never came");
            thread::sleep(Duration::from_millis(1));
        }
        txn.commit()?;
        ensure!(writer.wait()?.success(), "the program of musl failed");
        let read = commands::output(&mut teak(&["get", "glibc"]))?;
        ensure!(read == value, "musl reads {read:?} and not {value:?}");
        let txn = database.begin_read()?;
        let read = table.get(&txn, "musl")?.context("musl wrote nothing")?;
        ensure!(*read == *value, "glibc reads {read:?} and not {value:?}");
    }
    Ok(())
}
