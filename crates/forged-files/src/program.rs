//! Runs the program `teak` on forged files.

use crate::{cases::Case, locks, scratch, watchdog::PATIENCE};
use fastrand::Rng;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use std::{
    fs,
    io::{self, Read},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Commands, with `DB` for the database, `NEW` for a new file, `TEXT` for a file with records, and
/// names that exist in the databases.
const COMMANDS: &[&str] = &[
    "check DB",
    "check DB --json",
    "tables DB",
    "stat DB",
    "stat DB --fill",
    "stat DB --json",
    "scan DB --table bytes",
    "scan DB --table any",
    "dump DB --all",
    "dump DB --all --format tsv",
    "dump DB --table eight -o NEW",
    "dump DB --all --snapshot three",
    "get DB key --table bytes",
    "put DB key value --table bytes",
    "del DB key --table bytes",
    "table drop DB bytes",
    "table clear DB bytes",
    "table rename DB bytes other",
    "readers DB",
    "snapshot list DB",
    "snapshot create DB name",
    "snapshot drop DB 000",
    "snapshot rollback DB 000",
    "snapshot rollback DB three",
    "diff DB 000",
    "diff DB 000 016 --count",
    "backup DB NEW",
    "backup DB NEW --compact",
    "backup DB NEW --since 000",
    "compact DB",
    "compact DB --until-bytes 16384",
    "salvage DB NEW",
    "page DB 4",
    "page DB 9",
    "load TEXT DB --table loaded --format tsv",
    "restore DB NEW",
    "import DB NEW",
];

/// The input of `load`.
const RECORDS: &str = "a\t1\nb\t2\nc\t3\n";
/// The number of bytes that a command may print.
const OUTPUT_MAX: u64 = 64 << 20;
/// The processor time of a command in seconds.
const SECONDS_MAX: u64 = 10;

/// Runs up to two random commands. Returns a finding, if there is one.
pub(crate) fn run(program: &Path, case: &Case<'_>, rng: &mut Rng) -> io::Result<Vec<String>> {
    let mut findings = Vec::new();
    // Starting a process takes as long as all other work together.
    let count = [0, 1, 1, 2][rng.usize(0..4)];
    if count == 0 {
        return Ok(findings);
    }
    let directory = scratch::directory()?;
    let path = directory.path().join("forged");
    let text = directory.path().join("text");
    fs::write(&path, &case.image)?;
    fs::write(&text, RECORDS)?;
    if rng.u8(0..8) == 0
        && let Ok(lock_file) = teak::lock_file_of(&path)
    {
        locks::replace_lock_file(rng, &lock_file)?;
    }
    for number in 0..count {
        let command = COMMANDS[rng.usize(0..COMMANDS.len())];
        let words = command.split(' ').map(|word| match word {
            "DB" => path.clone().into_os_string(),
            "TEXT" => text.clone().into_os_string(),
            "NEW" => directory.path().join(format!("new {number}")).into(),
            word => word.into(),
        });
        let mut process = Command::new(program);
        process.args(words);
        if let Some(finding) = limited(process)? {
            findings.push(format!("teak {command}: {finding}"));
        }
    }
    Ok(findings)
}

/// Runs a command under limits. Returns a finding, if there is one.
fn limited(mut command: Command) -> io::Result<Option<String>> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let limit = Rlimit {
        current: Some(SECONDS_MAX),
        maximum: Some(SECONDS_MAX + 2),
    };
    // It may have ended by now.
    let _ = prlimit(Some(Pid::from_child(&child)), Resource::Cpu, limit);
    let output = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = output.map(|output| output.take(OUTPUT_MAX + 1).read_to_end(&mut bytes));
        bytes.len() as u64
    });
    let errors = child.stderr.take();
    let complaints = thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.map(|errors| errors.take(1 << 16).read_to_string(&mut text));
        text
    });
    let end = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if end < Instant::now() {
            child.kill()?;
            child.wait()?;
            return Ok(Some("it did not end".to_owned()));
        }
        thread::sleep(Duration::from_millis(1));
    };
    let printed = reader.join().unwrap_or(0);
    let complaints = complaints.join().unwrap_or_default();
    Ok(if printed > OUTPUT_MAX {
        Some("it prints far more than the database has".to_owned())
    } else if complaints.contains("panicked") {
        Some(complaints)
    } else {
        status.signal().map(|signal| match signal {
            signal if signal == Signal::XCPU.as_raw() => "it took too long".to_owned(),
            signal => format!("it died of signal {signal}: {complaints}"),
        })
    })
}
