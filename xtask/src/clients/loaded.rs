//! The shared libraries that programs have loaded, as the dynamic linker reports them.

use crate::Result;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// Precedes the path of each library in a report.
const MARK: &str = "calling init: ";

/// Reports about programs and their children, a file for each process.
#[derive(Debug)]
pub(crate) struct LoadReports(TempDir);

impl LoadReports {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    /// Has the dynamic linker report what a program loads.
    pub(crate) fn request(&self, command: &mut Command) {
        command
            .env("LD_DEBUG", "libs")
            .env("LD_DEBUG_OUTPUT", self.0.path().join("report"));
    }

    /// Refuses programs of which none has loaded the library in `directory` whose name begins with
    /// `name`, or one has loaded it from elsewhere.
    pub(crate) fn expect(&self, name: &str, directory: &Path) -> Result {
        let mut count = 0;
        for entry in fs::read_dir(self.0.path())? {
            let report = fs::read(entry?.path())?;
            for path in loaded(&String::from_utf8_lossy(&report), name) {
                ensure!(
                    path.starts_with(directory),
                    "{} was loaded instead of {name} in {}",
                    path.display(),
                    directory.display()
                );
                count += 1;
            }
        }
        ensure!(count > 0, "no program has loaded {name}");
        Ok(())
    }
}

/// The libraries of a report whose names begin with `name`.
fn loaded(report: &str, name: &str) -> Vec<PathBuf> {
    let paths = report.lines().filter_map(|line| line.split_once(MARK));
    let paths = paths.map(|(_, path)| PathBuf::from(path.trim()));
    let is_wanted = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default();
        file.to_string_lossy().starts_with(name)
    };
    paths.filter(is_wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::{LoadReports, loaded};
    use crate::commands;
    use std::{path::Path, process::Command};

    #[test]
    fn libraries_are_found_in_a_report() {
        let report = "7:\t find library=libx.so.1 [0]; searching\n7:\t calling init: /a/libx.so.1\n\
            7:\t\n7:\t calling init: /lib/libc.so.6\n";
        assert_eq!(loaded(report, "libx.so"), [Path::new("/a/libx.so.1")]);
    }

    #[test]
    fn a_library_from_elsewhere_is_refused() {
        let reports = LoadReports::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "ls /"]);
        reports.request(&mut command);
        commands::output(&mut command).unwrap();
        reports.expect("libc.so", Path::new("/")).unwrap();
        let elsewhere = reports.expect("libc.so", Path::new("/elsewhere"));
        assert!(elsewhere.unwrap_err().0.contains("was loaded instead"));
        let other = reports.expect("libleveldb.so", Path::new("/"));
        assert!(other.unwrap_err().0.contains("no program has loaded"));
    }
}
