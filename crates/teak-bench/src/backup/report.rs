//! The table on the terminal.

use super::{BackupFigure, BackupState};
use crate::{
    arguments::BackupRun,
    data::{KEY_LEN, RECORD_LEN, VALUE_LEN},
    engines::Copying,
    report::plain_table,
};
use comfy_table::{CellAlignment, Table};

/// What this run does, in a line.
pub(crate) fn describe_run(backup: &BackupRun) -> String {
    format!(
        "{} records ({KEY_LEN}-byte keys, {VALUE_LEN}-byte values), {} of a thousand changed\n",
        backup.bytes / RECORD_LEN as u64,
        backup.changed_permille
    )
}

/// A line for each copy.
pub(crate) fn table(figures: &[BackupFigure]) -> Table {
    let header = [
        "engine",
        "of what was",
        "copy",
        "seconds",
        "read MB",
        "written MB",
        "source MB",
        "copy MB",
        "copy allocated MB",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let state = match figure.state {
            BackupState::Loaded => "loaded",
            BackupState::Changed => "changed",
        };
        let copying = match figure.copying {
            Copying::Plain => "plain",
            Copying::Compact => "compact",
            Copying::Increment => "increment",
        };
        table.add_row([
            figure.engine.to_string(),
            state.to_owned(),
            copying.to_owned(),
            format!("{:.2}", figure.seconds),
            megabytes(figure.traffic.read_bytes()),
            megabytes(figure.traffic.written_bytes()),
            megabytes(figure.source.file_bytes),
            megabytes(figure.copy.file_bytes),
            megabytes(figure.copy.allocated_bytes),
        ]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}
