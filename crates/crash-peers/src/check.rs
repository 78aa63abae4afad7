//! Opens images with the engine, in a process of its own, because the contents may kill it.
//!
//! Both sides exchange lines: the parent writes a file and announces it, the child answers with its
//! findings.

use crate::{
    peer::{Change, Engine, Peer},
    workload::{Records, apply, digest},
};
use anyhow::{Result, bail, ensure};
use std::os::unix::process::ExitStatusExt;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// The time limit for an image; after that the engine counts as hanging.
const PATIENCE: Duration = Duration::from_secs(10);

/// More records than any state has. A longer scan is an endless loop.
const RECORDS_MAX: usize = 10_000;

/// The result of inspecting an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Finding {
    /// It opened, has records with this digest, and took another transaction.
    Records(u128),
    /// It does not open.
    NotOpened(String),
    /// It opens, but a later operation fails.
    Unusable(String),
    /// The process was killed by this signal.
    Signal(i32),
    Hangs,
}

/// The child: inspects the image whenever it gets a line.
pub(crate) fn serve(engine: Engine, path: &Path) -> Result<()> {
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        line?;
        let answer = match inspect(engine, path) {
            Finding::Records(digest) => format!("records {digest}"),
            Finding::NotOpened(text) => format!("not-opened {}", text.replace('\n', " ")),
            Finding::Unusable(text) => format!("unusable {}", text.replace('\n', " ")),
            Finding::Signal(_) | Finding::Hangs => bail!("a process cannot detect its own end"),
        };
        writeln!(output, "{answer}")?;
    }
    Ok(())
}

fn inspect(engine: Engine, path: &Path) -> Finding {
    let peer = match engine.open(path) {
        Ok(peer) => peer,
        Err(error) => return Finding::NotOpened(error.to_string()),
    };
    match read_and_write(&*peer) {
        Ok(digest) => Finding::Records(digest),
        Err(error) => Finding::Unusable(error.to_string()),
    }
}

/// The digest of all records. Afterwards a transaction is committed and read.
fn read_and_write(peer: &dyn Peer) -> Result<u128> {
    let mut records = read(peer)?;
    let found = digest(&records);
    let mut changes = vec![Change::Put(b"later".to_vec(), vec![7; 2000])];
    changes.extend(records.keys().next().cloned().map(Change::Delete));
    peer.commit(&changes)?;
    apply(&mut records, &changes);
    ensure!(
        read(peer)? == records,
        "the records are wrong after another transaction"
    );
    Ok(found)
}

fn read(peer: &dyn Peer) -> Result<Records> {
    let mut records = Records::new();
    let mut newest: Option<Vec<u8>> = None;
    peer.visit(&mut |key, value| {
        ensure!(
            records.len() < RECORDS_MAX,
            "the scan of records does not end"
        );
        ensure!(
            newest.as_deref().is_none_or(|newest| newest < key),
            "the records are not in order"
        );
        newest = Some(key.to_vec());
        records.insert(key.to_vec(), value.to_vec());
        Ok(())
    })?;
    Ok(records)
}

/// The parent's side: a child, which is restarted when it has died.
pub(crate) struct Inspector {
    engine: Engine,
    path: PathBuf,
    child: Option<RunningChild>,
}

struct RunningChild {
    process: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Inspector {
    /// Images are put into this directory.
    pub(crate) fn new(engine: Engine, directory: &Path) -> Self {
        Self {
            engine,
            path: directory.join("image"),
            child: None,
        }
    }

    /// The engine's result for an image. A failure is inspected again in a new process, which has
    /// seen no other image.
    pub(crate) fn inspect(&mut self, image: &[u8]) -> Result<Finding> {
        let first = self.inspect_once(image)?;
        if matches!(first, Finding::Records(_)) {
            return Ok(first);
        }
        self.end();
        let second = self.inspect_once(image)?;
        self.end();
        Ok(second)
    }

    /// Ends the child, so that the next image is inspected by a new one.
    pub(crate) fn end(&mut self) {
        if let Some(mut running) = self.child.take() {
            // Neither fails for a process that was started here and not waited for.
            let _ = running.process.kill();
            let _ = running.process.wait();
        }
    }

    fn inspect_once(&mut self, image: &[u8]) -> Result<Finding> {
        fs::write(&self.path, image)?;
        let mut locks = self.path.clone().into_os_string();
        locks.push(self.engine.lock_suffix());
        // Locks do not outlive the machine; they may be missing.
        let _ = fs::remove_file(locks);
        let mut running = match self.child.take() {
            Some(running) => running,
            None => self.start()?,
        };
        // A child that has died does not answer either.
        let _ = running.input.write_all(b"\n");
        match running.answers.recv_timeout(PATIENCE) {
            Ok(answer) => {
                self.child = Some(running);
                finding_of(&answer)
            }
            Err(RecvTimeoutError::Timeout) => {
                running.process.kill()?;
                running.process.wait()?;
                Ok(Finding::Hangs)
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = running.process.wait()?;
                match status.signal() {
                    Some(signal) => Ok(Finding::Signal(signal)),
                    None => Ok(Finding::Unusable(format!("the process died: {status}"))),
                }
            }
        }
    }

    fn start(&self) -> Result<RunningChild> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["check", "--engine", &self.engine.name(), "--path"])
            .arg(&self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            bail!("the process has no pipes");
        };
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(RunningChild {
            process,
            input,
            answers,
        })
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.end();
    }
}

fn finding_of(answer: &str) -> Result<Finding> {
    Ok(match answer.split_once(' ') {
        Some(("records", digest)) => Finding::Records(digest.parse()?),
        Some(("not-opened", text)) => Finding::NotOpened(text.to_owned()),
        Some(("unusable", text)) => Finding::Unusable(text.to_owned()),
        _ => bail!("the process said: {answer}"),
    })
}
