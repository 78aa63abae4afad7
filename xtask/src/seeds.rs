//! Writes the small databases that fuzzing and the test of hostile files start with: some of those
//! that the campaign `mutate` damages.
//!
//! They are stored next to the fuzz targets. Regenerate them after a change of the format.

use crate::{Result, built, mutate::seeds};
use std::fs;

/// The directory of the seeds, in the workspace.
const DIRECTORY: &str = "fuzz/seeds/open";
/// The file of each seed.
const FILES: [(&str, &str); 5] = [
    ("orders", "tables.teak"),
    ("checkpointed", "folded.teak"),
    ("lazy commits", "killed.teak"),
    ("journal", "journal.teak"),
    ("types", "types.teak"),
];

/// Makes all seeds.
pub(crate) fn run() -> Result {
    let directory = built::workspace().join(DIRECTORY);
    for seed in seeds::all()? {
        let mut files = FILES.iter();
        if let Some((_, file)) = files.find(|(name, _)| *name == seed.name) {
            fs::write(directory.join(file), &seed.image)?;
            println!("{file}: {} bytes", seed.image.len());
        }
    }
    Ok(())
}
