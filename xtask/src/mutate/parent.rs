//! The process that lets others open damaged files, and counts the results.

use super::{
    classes::ReadClass,
    processes::{self, FileLine},
    tally::{MutationTally, Verdict},
};
use crate::Result;
use clap::ValueEnum;
use std::{env, ops::Range, process::Command};

/// A file that was not handled safely.
pub(super) struct MutationViolation {
    pub(super) index: u64,
    pub(super) text: String,
}

/// Lets a child process open the files of a range, and counts them.
pub(super) fn run(
    seed: u64,
    files: Range<u64>,
    tally: &mut MutationTally,
) -> Result<Vec<MutationViolation>> {
    let mut violations = Vec::new();
    let to = files.end;
    let command = |from: u64| {
        let mut command = Command::new(env::current_exe()?);
        command
            .arg("mutate")
            .args(["--seed", &seed.to_string()])
            .args(["--child-from", &from.to_string()])
            .args(["--child-to", &to.to_string()]);
        Ok(command)
    };
    processes::open(files, command, |line| {
        violations.extend(take(&line, tally));
        Ok(())
    })?;
    Ok(violations)
}

fn take(line: &FileLine<'_>, tally: &mut MutationTally) -> Option<MutationViolation> {
    let FileLine { word, index, text } = *line;
    let text = match word {
        "end" => {
            let verdict = tally.count(index, ReadClass::from_str(text, false).ok()?);
            if verdict == Verdict::Fair {
                return None;
            }
            "wrong data were read without an error".to_owned()
        }
        "panic" | "died" => {
            tally.files += 1;
            text.to_owned()
        }
        _ => return None,
    };
    Some(MutationViolation { index, text })
}
