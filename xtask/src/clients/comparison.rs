//! A program that runs on the original engine and on the library, and must print the same.

use super::{Side, WorkArea};
use crate::{Failure, Result};
use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    process::Command,
};

/// The first bytes of each file that the library writes.
const TEAK_MAGIC: &[u8] = b"TeakRec";

/// Runs the programs that `command` returns, each in an empty directory, and compares their output.
pub(crate) fn compare(
    area: &WorkArea,
    name: &str,
    command: impl Fn(Side, &Path) -> Result<Command>,
) -> Result {
    let logs = area.directory.join(name);
    fs::create_dir_all(&logs)?;
    let [theirs, own] = Side::BOTH.map(|side| -> Result<String> {
        let directory = tempfile::tempdir()?;
        let log = logs.join(side.name()).with_extension("log");
        let mut command = command(side, directory.path())?;
        command.current_dir(directory.path());
        let (ended, printed) = area.run(&mut command, &log)?;
        let (name, log) = (side.name(), log.display());
        if !ended.is_some_and(|status| status.success()) {
            bail!("it has failed on {name}: see {log}");
        }
        if has_teak_file(directory.path())? != (side == Side::Teak) {
            bail!("it has not used {name}: see {log}");
        }
        Ok(without_directory(&printed, directory.path()))
    });
    let (theirs, own) = (theirs?, own?);
    refuse_difference(name, &theirs, &own)?;
    ensure!(!own.trim().is_empty(), "it prints nothing on either side");
    println!("{name}: the same, {} lines", own.lines().count());
    Ok(())
}

/// Whether the library has written a file in the directory.
pub(crate) fn has_teak_file(directory: &Path) -> Result<bool> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let is_found = if kind.is_dir() {
            has_teak_file(&entry.path())?
        } else if kind.is_file() {
            let mut magic = Vec::new();
            File::open(entry.path())?
                .take(TEAK_MAGIC.len() as u64)
                .read_to_end(&mut magic)?;
            magic == TEAK_MAGIC
        } else {
            false
        };
        if is_found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses output that is not the same, and names the first line that differs.
pub(crate) fn refuse_difference(name: &str, theirs: &str, own: &str) -> Result {
    if theirs == own {
        return Ok(());
    }
    let lines = theirs.lines().zip(own.lines()).enumerate();
    let mut differing = lines.filter(|(_, (theirs, own))| theirs != own);
    Err(Failure(match differing.next() {
        Some((index, (theirs, own))) => {
            let line = index + 1;
            format!("{name}, line {line}: the original has {theirs:?}, Teak {own:?}")
        }
        None => format!(
            "{name}: the original has {} lines, Teak {}",
            theirs.lines().count(),
            own.lines().count()
        ),
    }))
}

/// Output without the name of the directory, which differs from run to run.
fn without_directory(printed: &str, directory: &Path) -> String {
    printed.replace(&*directory.to_string_lossy(), "DIRECTORY")
}

#[cfg(test)]
mod tests {
    use super::{has_teak_file, refuse_difference, without_directory};
    use std::fs;

    #[test]
    fn files_of_the_library_are_recognised() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("a");
        fs::create_dir(&below).unwrap();
        fs::write(below.join("short"), "Teak").unwrap();
        assert!(!has_teak_file(directory.path()).unwrap());
        fs::write(below.join("data.mdb"), b"TeakRec\x01 and more").unwrap();
        assert!(has_teak_file(directory.path()).unwrap());
    }

    #[test]
    fn the_directory_is_not_compared() {
        let printed = without_directory("opened /tmp/x1/data", "/tmp/x1".as_ref());
        assert_eq!(printed, "opened DIRECTORY/data");
    }

    #[test]
    fn a_difference_is_reported_with_its_line() {
        assert!(refuse_difference("x", "a\nb", "a\nb").is_ok());
        let message = refuse_difference("x", "a\nb", "a\nc").unwrap_err().0;
        assert!(message.contains("line 2"), "{message}");
        assert!(refuse_difference("x", "a\nb", "a").is_err());
    }
}
