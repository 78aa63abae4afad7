//! Directories of LevelDB, each damaged in a way that a seed and an index determine.

use super::{
    bytes::{change, flip},
    log, table,
};
use crate::{Result, built};
use clap::ValueEnum;
use fastrand::Rng;
use std::{collections::BTreeMap, fs, path::Path};

/// The stored directories.
const STORED: [&str; 4] = ["leveldb", "leveldb-long", "leveldb-order", "leveldb-zstd"];

/// The files of a directory, by their names.
pub(super) type DirectoryFiles = BTreeMap<String, Vec<u8>>;

/// The kinds of damage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum DirectoryDamage {
    /// Some bits of a table.
    TableBits,
    /// The end of a table.
    TableEnd,
    /// Some bits of a log, a manifest or `CURRENT`.
    OtherBits,
    /// The end of one of these.
    OtherEnd,
    /// Bytes of one file in another.
    Splice,
    /// Two files have each other's names.
    Swap,
    /// A file is missing.
    Missing,
    /// Any change of a file.
    Change,
    /// Records of a manifest with correct checksums.
    Manifest,
    /// Records of a log with correct checksums.
    Log,
    /// Blocks of a table with correct checksums.
    Table,
}

impl DirectoryDamage {
    /// Whether checksums and lengths show the damage.
    pub(super) fn is_noticed(self) -> bool {
        matches!(self, Self::TableBits | Self::TableEnd)
    }

    fn of(index: u64) -> Self {
        let all = Self::value_variants();
        // Those that no checksum shows are half of all.
        let forged = &all[all.len() - 3..];
        let round = index / 2;
        let kinds = if index.is_multiple_of(2) { all } else { forged };
        kinds[(round % kinds.len() as u64) as usize]
    }
}

/// A damaged directory.
pub(super) struct DirectoryCase {
    pub(super) name: &'static str,
    pub(super) damage: DirectoryDamage,
    /// `None` if there is nothing to damage in this way.
    pub(super) files: Option<DirectoryFiles>,
}

/// A directory that was not handled safely.
pub(super) struct DirectoryViolation {
    pub(super) index: u64,
    pub(super) text: String,
}

/// All damaged directories of a seed.
pub(super) struct DirectoryCases {
    seed: u64,
    stored: Vec<(&'static str, DirectoryFiles)>,
}

impl DirectoryCases {
    pub(super) fn new(seed: u64) -> Result<Self> {
        let data = built::workspace().join("crates/teak-foreign/tests/data");
        let stored = STORED
            .iter()
            .map(|name| Ok((*name, read(&data.join(name))?)));
        Ok(Self {
            seed,
            stored: stored.collect::<Result<_>>()?,
        })
    }

    /// The undamaged directories.
    pub(super) fn undamaged(&self) -> impl Iterator<Item = (&'static str, &DirectoryFiles)> {
        self.stored.iter().map(|(name, files)| (*name, files))
    }

    pub(super) fn case(&self, index: u64) -> DirectoryCase {
        let mut rng = Rng::with_seed(self.seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let damage = DirectoryDamage::of(index);
        let (name, files) = &self.stored[rng.usize(0..self.stored.len())];
        let mut files = files.clone();
        let is_damaged = apply(damage, &mut files, &mut rng).is_some();
        DirectoryCase {
            name,
            damage,
            files: is_damaged.then_some(files),
        }
    }
}

/// Writes the files of a directory in place of those that it has.
pub(super) fn write(files: &DirectoryFiles, directory: &Path) -> Result {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir(directory)?;
    for (name, content) in files {
        fs::write(directory.join(name), content)?;
    }
    Ok(())
}

/// Reads all files of a directory.
fn read(directory: &Path) -> Result<DirectoryFiles> {
    let mut files = DirectoryFiles::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(files)
}

fn apply(damage: DirectoryDamage, files: &mut DirectoryFiles, rng: &mut Rng) -> Option<()> {
    let is_table = |name: &str| name.ends_with(".ldb");
    let is_any = |_: &str| true;
    match damage {
        DirectoryDamage::TableBits => flip_some(pick(files, rng, is_table)?, rng),
        DirectoryDamage::TableEnd => cut(pick(files, rng, is_table)?, rng),
        DirectoryDamage::OtherBits => flip_some(pick(files, rng, |name| !is_table(name))?, rng),
        DirectoryDamage::OtherEnd => cut(pick(files, rng, |name| !is_table(name))?, rng),
        DirectoryDamage::Splice => {
            let source = pick(files, rng, is_any)?.clone();
            let start = rng.usize(0..source.len());
            let len = rng.usize(0..=(source.len() - start).min(5000));
            let target = pick(files, rng, is_any)?;
            let at = rng.usize(0..target.len());
            let end = match rng.bool() {
                true => at,
                false => (at + len).min(target.len()),
            };
            target.splice(at..end, source[start..start + len].iter().copied());
        }
        DirectoryDamage::Swap => {
            let names: Vec<String> = files.keys().cloned().collect();
            let [a, b] = [0; 2].map(|_| names[rng.usize(0..names.len())].clone());
            let of_a = files.insert(a, files.get(&b)?.clone())?;
            files.insert(b, of_a);
        }
        DirectoryDamage::Missing => {
            let names: Vec<String> = files.keys().cloned().collect();
            files.remove(&names[rng.usize(0..names.len())]);
        }
        DirectoryDamage::Change => change(pick(files, rng, is_any)?, rng),
        DirectoryDamage::Manifest => {
            let manifest = pick(files, rng, |name| name.starts_with("MANIFEST"))?;
            *manifest = log::forge(manifest, rng)?;
        }
        DirectoryDamage::Log => {
            let found = pick(files, rng, |name| name.ends_with(".log"))?;
            *found = log::forge(found, rng)?;
        }
        DirectoryDamage::Table => forge_table(files, rng)?,
    }
    Some(())
}

/// One of the files with such names that are not empty.
fn pick<'f>(
    files: &'f mut DirectoryFiles,
    rng: &mut Rng,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<&'f mut Vec<u8>> {
    let wanted = files.iter_mut();
    let wanted = wanted.filter(|(name, content)| is_wanted(name) && !content.is_empty());
    let mut wanted: Vec<_> = wanted.map(|(_, content)| content).collect();
    match wanted.len() {
        0 => None,
        count => Some(wanted.swap_remove(rng.usize(0..count))),
    }
}

fn flip_some(bytes: &mut [u8], rng: &mut Rng) {
    for _ in 0..rng.usize(1..=3) {
        flip(bytes, rng);
    }
}

fn cut(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let len = match rng.bool() {
        true => rng.usize(0..bytes.len()),
        false => bytes.len() - rng.usize(1..=bytes.len().min(60)),
    };
    bytes.truncate(len);
}

/// Forges a table, and the length that the manifest has for it.
fn forge_table(files: &mut DirectoryFiles, rng: &mut Rng) -> Option<()> {
    let table = pick(files, rng, |name| name.ends_with(".ldb"))?;
    let old_len = table.len() as u64;
    *table = table::forge(table, rng)?;
    let new_len = table.len() as u64;
    let manifest = pick(files, rng, |name| name.starts_with("MANIFEST"))?;
    *manifest = log::replace_number(manifest, old_len, new_len);
    Some(())
}
