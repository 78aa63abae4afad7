//! All operations that copy a database.

use super::collector::FindingCollector;
use crate::seeds::options;
use std::{
    fs::File,
    io::{self, Write},
    ops::ControlFlow,
    path::Path,
};
use teak::{Database, Error};
use tempfile::TempDir;

/// A sink with a limited number of bytes.
struct LimitedSink {
    bytes: Vec<u8>,
    max: usize,
}

impl Write for LimitedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        match self.bytes.len() > self.max {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Backups, incremental backups, compacted copies, and databases restored from them.
pub(super) fn all(
    collector: &mut FindingCollector<'_>,
    database: &Database,
    directory: Option<&TempDir>,
) {
    let Some(txn) = collector.note("a reader", database.begin_read()) else {
        return;
    };
    // Named states may be as long as the file, and so may its growth.
    let sink = || LimitedSink {
        bytes: Vec::new(),
        max: 2 * collector.records_max + (8 << 20),
    };
    let (mut full, mut increment) = (sink(), sink());
    let go_on = &mut |_| ControlFlow::Continue(());
    let copied = txn.write_backup(&mut full, None, go_on);
    let snapshots = database.snapshots().unwrap_or_default();
    let older = snapshots
        .first()
        .and_then(|s| database.open_snapshot(&s.name).ok());
    let since = older.map(|older| txn.write_backup(&mut increment, Some(&older), go_on));
    if full.bytes.len().max(increment.bytes.len()) > full.max {
        collector.find("a backup is far longer than the file".to_owned());
    }
    collector.note("a backup", copied);
    since.map(|since| collector.note("an incremental backup", since));
    let Some(directory) = directory else {
        return;
    };
    let target = |name: &str| directory.path().join(name);
    let copied = database.backup(target("backup"), None, go_on);
    if collector.note("a backup", copied).is_some() {
        expect_sound(collector, "a backup", &target("backup"));
    }
    let newest = database.begin_read();
    let copied =
        newest.and_then(|txn| txn.copy_dense(target("dense"), &mut |_| ControlFlow::Continue(())));
    if collector.note("a dense copy", copied).is_some() {
        expect_any(collector, "a dense copy", &target("dense"));
    }
    if increment.bytes.is_empty() {
        return;
    }
    let restored = teak::restore(
        &mut &full.bytes[..],
        &mut [&mut &increment.bytes[..]],
        &[],
        target("restored"),
        &mut |_| ControlFlow::Continue(()),
    );
    let _ = restored;
    let _ = File::open(target("backup")).map(|mut file| {
        teak::restore(
            &mut file,
            &mut [],
            &[],
            target("restored again"),
            &mut |_| ControlFlow::Continue(()),
        )
    });
    let _ = std::fs::remove_file(target("backup"));
    let _ = std::fs::remove_file(target("dense"));
}

/// A copy of a valid database must be valid.
fn expect_any(collector: &mut FindingCollector<'_>, description: &str, path: &Path) {
    if collector.is_clean {
        expect_sound(collector, description, path);
    }
}

/// Checks the result of an operation on a forged file.
pub(super) fn expect_sound(collector: &mut FindingCollector<'_>, description: &str, path: &Path) {
    let report = options()
        .open(path)
        .and_then(|database| database.check(&mut |_| ControlFlow::Continue(())));
    if matches!(report, Err(Error::Io { .. })) {
        // Memory or space is exhausted.
        return;
    }
    let is_sound = report.as_ref().is_ok_and(|report| report.is_clean());
    if !is_sound && (collector.is_clean || description == "the salvaged database") {
        collector.find(format!("{description} is damaged: {report:?}"));
    }
}
