//! Counters of the database in the text format of Prometheus.

use std::fmt::Write;
use teak::Database;

pub(crate) fn text(database: &Database) -> teak::Result<String> {
    let metrics = database.metrics();
    let readers = database.readers()?.len() as u64;
    let values = [
        ("commits_total", "counter", metrics.commits),
        ("flushes_total", "counter", metrics.flushes),
        ("flushed_bytes_total", "counter", metrics.flushed_bytes),
        ("copied_pages_total", "counter", metrics.copied_pages),
        ("readers", "gauge", readers),
    ];
    let mut text = String::new();
    for (name, kind, value) in values {
        // Writing to a text does not fail.
        let _ = writeln!(text, "# TYPE teak_{name} {kind}\nteak_{name} {value}");
    }
    Ok(text)
}
