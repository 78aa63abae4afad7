//! A run of the program: its arguments, and their effect on the database.

use super::records::{ExpectedRecords, TABLE, read};
use crate::{Result, dump};
use fastrand::Rng;
use std::{
    fs,
    path::{Path, PathBuf},
};

const DATABASE: &str = "limited.teak";
const INPUT: &str = "input.dump";
const OUTPUT: &str = "output.teak";
const DUMP: &str = "out.dump";
const COPY: &str = "copy.teak";
/// The maximum length of a value on the command line.
const VALUE_LEN_MAX: usize = 100_000;

/// The work of a run.
pub(super) enum ProgramStep {
    /// Reads, or writes output that is not checked.
    Read(&'static [&'static str]),
    /// Makes another database with the same records, sometimes from a copy made before.
    Copy {
        words: &'static [&'static str],
        is_of_copy: bool,
    },
    Compact,
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Clear,
    Load {
        records: dump::DumpRecords,
        batch: usize,
    },
}

/// Files with unpredictable names that a run may leave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftoverFiles {
    Nothing,
    /// Leaves the database like a killed program.
    Anything,
}

const READS: &[&[&str]] = &[
    &["get", DATABASE, "key-7"],
    &["scan", DATABASE],
    &["check", DATABASE],
    &["stat", DATABASE],
    &["tables", DATABASE],
    &["readers", DATABASE],
    &["dump", DATABASE, "-o", DUMP],
];
const COPIES: &[(&[&str], bool)] = &[
    (&["backup", DATABASE, OUTPUT], false),
    (&["backup", "--compact", DATABASE, OUTPUT], false),
    (&["salvage", DATABASE, OUTPUT], false),
    (&["restore", COPY, OUTPUT], true),
];

/// The records of a new database.
pub(super) fn base(rng: &mut Rng) -> ExpectedRecords {
    let count = [10, 300, 3000][rng.usize(..3)];
    let mut records: ExpectedRecords = (0..count).map(|number| record(rng, number)).collect();
    // Space that is free from the beginning.
    let gone = rng.usize(1..4);
    let mut number = 0;
    records.retain(|_, _| {
        number += 1;
        number % gone == 0
    });
    records
}

fn record(rng: &mut Rng, number: usize) -> (Vec<u8>, Vec<u8>) {
    let len = match rng.u8(..40) {
        0 => rng.usize(..VALUE_LEN_MAX),
        1..4 => rng.usize(..6000),
        _ => rng.usize(..200),
    };
    let letter = rng.lowercase() as u8;
    (format!("key-{number}").into_bytes(), vec![letter; len])
}

impl ProgramStep {
    pub(super) fn random(rng: &mut Rng, records: &ExpectedRecords) -> Self {
        let any = |rng: &mut Rng| {
            let number = rng.usize(..4000);
            record(rng, number)
        };
        match rng.u8(..12) {
            0..3 => Self::Read(READS[rng.usize(..READS.len())]),
            3..6 => {
                let (words, is_of_copy) = COPIES[rng.usize(..COPIES.len())];
                Self::Copy { words, is_of_copy }
            }
            6 | 7 => Self::Compact,
            8 | 9 => {
                let (key, value) = any(rng);
                Self::Put(key, value)
            }
            10 => match records.keys().nth(rng.usize(..records.len().max(1))) {
                Some(key) if rng.u8(..4) > 0 => Self::Delete(key.clone()),
                _ => Self::Clear,
            },
            _ => {
                let count = rng.usize(1..2000);
                Self::Load {
                    // No key occurs twice, because a failed run may leave a part of the input.
                    records: (0..count)
                        .map(|_| any(rng))
                        .collect::<ExpectedRecords>()
                        .into_iter()
                        .collect(),
                    batch: [1, 100, 10_000][rng.usize(..3)].max(count / 20),
                }
            }
        }
    }

    /// The command line as typed, with long values truncated.
    pub(super) fn command_line(&self) -> String {
        let words = self.arguments();
        let mut text = "teak".to_owned();
        for word in words {
            let end = word.char_indices().nth(40).map_or(word.len(), |(at, _)| at);
            text.push(' ');
            text.push_str(&word[..end]);
        }
        text
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Self::Read(words) | Self::Copy { words, .. } => owned(words),
            Self::Compact => owned(&["compact", DATABASE]),
            Self::Put(key, value) => {
                let mut words: Vec<String> = owned(&["put", DATABASE]);
                words.extend([text(key), text(value)]);
                words
            }
            Self::Delete(key) => {
                let mut words: Vec<String> = owned(&["del", DATABASE]);
                words.push(text(key));
                words
            }
            Self::Clear => owned(&["table", "clear", DATABASE, TABLE]),
            Self::Load { batch, .. } => {
                let mut words: Vec<String> = owned(&["load", INPUT, DATABASE, "--batch"]);
                words.push(batch.to_string());
                words
            }
        }
    }

    /// Makes the inputs of the run, without a limit.
    pub(super) fn prepare(&self, directory: &Path) -> Result {
        match self {
            Self::Load { records, .. } => {
                fs::write(directory.join(INPUT), dump::write(TABLE, records)?)?;
            }
            Self::Copy {
                is_of_copy: true, ..
            } => {
                fs::copy(directory.join(DATABASE), directory.join(COPY))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The records after a successful run.
    pub(super) fn after(&self, before: &ExpectedRecords) -> ExpectedRecords {
        let mut after = before.clone();
        match self {
            Self::Read(_) | Self::Copy { .. } | Self::Compact => {}
            Self::Put(key, value) => drop(after.insert(key.clone(), value.clone())),
            Self::Delete(key) => drop(after.remove(key)),
            Self::Clear => after.clear(),
            Self::Load { records, .. } => after.extend(records.iter().cloned()),
        }
        after
    }

    /// Checks the other files that the run made, and removes them. It may leave no temporary files.
    pub(super) fn check_output(
        &self,
        directory: &Path,
        records: &ExpectedRecords,
        is_success: bool,
        left: LeftoverFiles,
    ) -> Result {
        let output = directory.join(OUTPUT);
        if matches!(self, Self::Copy { .. }) {
            match output.exists() {
                true if read(&output)? != *records => {
                    bail!("the copy has different records");
                }
                false if is_success => bail!("there is no copy"),
                _ => {}
            }
        }
        for entry in fs::read_dir(directory)? {
            let path: PathBuf = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_known = [INPUT, OUTPUT, COPY, DUMP];
            match is_known.iter().any(|known| name.starts_with(known)) {
                true => fs::remove_file(&path)?,
                false if name.starts_with(DATABASE) => {}
                false if left == LeftoverFiles::Anything => remove(&path)?,
                false => bail!("it left the file {name}"),
            }
        }
        Ok(())
    }
}

fn remove(path: &Path) -> Result {
    match path.is_dir() {
        true => fs::remove_dir_all(path)?,
        false => fs::remove_file(path)?,
    }
    Ok(())
}
