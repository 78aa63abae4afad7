//! Records the changes that a committing program makes to its file.

use crate::{
    peer::{Engine, Promise},
    trace::{self, STRACE_ARGUMENTS, TraceRecord},
    workload::ProgressMark,
};
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};
use teak::testing::DiskEvent;

/// Runs an episode under `strace`, with its file in this directory. It must not be in memory,
/// because libmdbx does not sync such files.
pub(crate) fn record(
    engine: Engine,
    seed: u64,
    episode: u64,
    directory: &Path,
) -> Result<TraceRecord> {
    let directory = tempfile::tempdir_in(directory)?;
    let (data, calls) = (
        directory.path().join("data"),
        directory.path().join("calls"),
    );
    let status = Command::new("strace")
        .args(STRACE_ARGUMENTS)
        .arg("-o")
        .arg(&calls)
        .arg(std::env::current_exe()?)
        .args(["perform", "--engine", &engine.name()])
        .args(["--seed", &seed.to_string()])
        .args(["--episode", &episode.to_string(), "--path"])
        .arg(&data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .context("strace cannot be started")?;
    ensure!(
        status.success(),
        "the program that commits failed: {status}"
    );
    let record = trace::read(&fs::read_to_string(&calls)?, &data)?;
    ensure!(
        replay(&record) == fs::read(&data)?,
        "replaying the record gives another file than the program's"
    );
    let is_flush = |event: &DiskEvent| matches!(event, DiskEvent::Flush | DiskEvent::Synced { .. });
    ensure!(
        engine.promise() != Promise::Returned || record.events.iter().any(|event| is_flush(event)),
        "nothing was synced; perhaps {} is in memory, where libmdbx does not sync",
        directory.path().display()
    );
    Ok(record)
}

/// The file after all events.
fn replay(record: &TraceRecord) -> Vec<u8> {
    let mut file = Vec::new();
    for event in &record.events {
        match &**event {
            DiskEvent::SetLen { bytes } => file.resize(*bytes as usize, 0),
            DiskEvent::Write { offset, bytes } => {
                file[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            _ => {}
        }
    }
    file
}

/// The state of the commits at a point of the record.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct KnownCommits {
    /// The state that must not be lost; `None` before the first promise.
    pub(crate) oldest: Option<usize>,
    /// The newest state that may have left anything in the file.
    pub(crate) newest: usize,
}

impl TraceRecord {
    /// The state after the first `event_index` events.
    pub(crate) fn known_at(&self, event_index: usize, promise: Promise) -> KnownCommits {
        let mut known = KnownCommits::default();
        let after = self
            .marks
            .iter()
            .take_while(|(index, _)| *index <= event_index);
        for (_, mark) in after {
            match (*mark, promise) {
                (ProgressMark::Begun(number), _) => known.newest = number,
                (ProgressMark::Returned(number), Promise::Returned)
                | (ProgressMark::Synced(number), Promise::Synced) => known.oldest = Some(number),
                // The state before the first commit is not promised.
                (ProgressMark::Returned(number @ 2..), Promise::ReturnedButOne) => {
                    known.oldest = Some(number - 1);
                }
                _ => {}
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_come_from_earlier_marks() {
        let marks = [
            (1, ProgressMark::Begun(1)),
            (4, ProgressMark::Returned(1)),
            (4, ProgressMark::Begun(2)),
            (6, ProgressMark::Returned(2)),
            (8, ProgressMark::Synced(2)),
        ];
        let record = TraceRecord {
            events: Vec::new(),
            marks: marks.to_vec(),
        };
        let known = |event_index, promise| {
            let known = record.known_at(event_index, promise);
            (known.oldest, known.newest)
        };
        assert_eq!(known(0, Promise::Returned), (None, 0));
        assert_eq!(known(3, Promise::Returned), (None, 1));
        assert_eq!(known(4, Promise::Returned), (Some(1), 2));
        assert_eq!(known(4, Promise::ReturnedButOne), (None, 2));
        assert_eq!(known(6, Promise::ReturnedButOne), (Some(1), 2));
        assert_eq!(known(7, Promise::Synced), (None, 2));
        assert_eq!(known(8, Promise::Synced), (Some(2), 2));
    }
}
