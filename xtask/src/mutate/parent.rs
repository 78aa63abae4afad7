//! Starts the processes that open damaged files, and learns what became of them.

use super::{
    classes::ReadClass,
    tally::{MutationTally, Verdict},
};
use crate::Failure;
use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// A file that was not survived.
pub(super) struct MutationViolation {
    pub(super) index: u64,
    pub(super) text: String,
}

/// What a process said of the file that it is at.
#[derive(Default)]
struct ChildProgress {
    /// The next file, behind all that were done with.
    next: u64,
    /// The file that was begun and not ended.
    begun: Option<u64>,
    is_slow: bool,
}

/// Has the files from one index up to another opened. Another process goes on where one has died.
pub(super) fn run(
    seed: u64,
    from: u64,
    to: u64,
    tally: &mut MutationTally,
) -> Result<Vec<MutationViolation>, Failure> {
    let mut violations = Vec::new();
    let mut next = from;
    while next < to {
        let mut child = start(seed, next, to)?;
        let mut progress = ChildProgress {
            next,
            ..ChildProgress::default()
        };
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).lines() {
                progress.read(&line?, tally, &mut violations);
            }
        }
        let status = child.wait()?;
        if status.success() {
            break;
        }
        let Some(index) = progress.begun else {
            return Err(Failure(format!("a process opens no files ({status})")));
        };
        let text = match progress.is_slow {
            true => "it takes too long".to_owned(),
            false => format!("the process died: {status}"),
        };
        tally.files += 1;
        violations.push(MutationViolation { index, text });
        next = index + 1;
    }
    Ok(violations)
}

fn start(seed: u64, from: u64, to: u64) -> Result<Child, Failure> {
    let child = Command::new(env::current_exe()?)
        .arg("mutate")
        .args(["--seed", &seed.to_string()])
        .args(["--child-from", &from.to_string()])
        .args(["--child-to", &to.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    Ok(child)
}

impl ChildProgress {
    fn read(
        &mut self,
        line: &str,
        tally: &mut MutationTally,
        violations: &mut Vec<MutationViolation>,
    ) {
        let mut words = line.splitn(3, ' ');
        let (word, index) = (
            words.next(),
            words.next().and_then(|word| word.parse().ok()),
        );
        let (Some(word), Some(index)) = (word, index) else {
            return;
        };
        let rest = words.next().unwrap_or_default();
        match word {
            "begin" => self.begun = Some(index),
            "slow" => self.is_slow = true,
            "none" => self.end(index),
            "end" => {
                if let Some(class) = ReadClass::from_name(rest)
                    && tally.count(index, class) == Verdict::Unnoticed
                {
                    let text = "wrong data were read of it, and no error came".to_owned();
                    violations.push(MutationViolation { index, text });
                }
                self.end(index);
            }
            "panic" => {
                tally.files += 1;
                let text = format!("the engine panicked: {rest}");
                violations.push(MutationViolation { index, text });
                self.end(index);
            }
            _ => {}
        }
    }

    fn end(&mut self, index: u64) {
        self.next = index + 1;
        self.begun = None;
    }
}
