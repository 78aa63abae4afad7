//! Processes that open files. If a file kills a process, another one continues after that file.

use crate::Result;
use std::{
    io::{BufRead, BufReader},
    ops::Range,
    process::{Command, Stdio},
};

/// A line that a process printed: `WORD INDEX TEXT`.
pub(super) struct FileLine<'l> {
    /// `begin` and `end` of a file, or lines between them. `died` after the death of the process,
    /// with the reason as its text.
    pub(super) word: &'l str,
    pub(super) index: u64,
    pub(super) text: &'l str,
}

/// Lets processes open the files of a range, one process after another. `command` returns the
/// process for the files from an index on, and `take` receives its lines.
pub(super) fn open(
    files: Range<u64>,
    command: impl Fn(u64) -> Result<Command>,
    mut take: impl FnMut(FileLine<'_>) -> Result,
) -> Result {
    let mut next = files.start;
    while next < files.end {
        let mut child = command(next)?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let (mut begun, mut is_slow) = (None, false);
        let output = child.stdout.take().map(BufReader::new);
        for line in output.into_iter().flat_map(BufRead::lines) {
            let line = line?;
            let mut words = line.splitn(3, ' ');
            let word = words.next().unwrap_or_default();
            let Some(Ok(index)) = words.next().map(str::parse) else {
                continue;
            };
            match word {
                "begin" => begun = Some(index),
                "slow" => is_slow = true,
                "end" | "none" | "panic" => begun = None,
                _ => {}
            }
            let text = words.next().unwrap_or_default();
            take(FileLine { word, index, text })?;
        }
        let status = child.wait()?;
        if status.success() {
            break;
        }
        let Some(index) = begun else {
            bail!("a process opens no files ({status})");
        };
        let reason = match is_slow {
            true => "it takes too long".to_owned(),
            false => format!("the process died: {status}"),
        };
        take(FileLine {
            word: "died",
            index,
            text: &reason,
        })?;
        next = index + 1;
    }
    Ok(())
}
