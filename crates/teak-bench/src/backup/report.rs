//! The table on the terminal.

use super::{BackupFigure, BackupState};
use crate::{
    arguments::BackupArguments,
    data::{KEY_LEN, RECORD_LEN, VALUE_LEN},
    engines::Copying,
    report::{align_right, megabytes, plain_table},
};
use comfy_table::Table;

/// A line that describes the run.
pub(crate) fn describe_run(backup: &BackupArguments) -> String {
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
    align_right(table, 3)
}
