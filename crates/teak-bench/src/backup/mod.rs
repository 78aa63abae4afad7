//! Copies of a whole open database: the bytes read and written, before and after few records were
//! changed.
//!
//! Before each copy the database is closed, dropped from the system's memory and opened again, so
//! that reads come from the disk. The clock stops when the copy is on the disk. Each copy is opened
//! and a sample of its records compared.

mod report;

pub(crate) use report::{describe_run, table};

use crate::{
    arguments::BackupArguments,
    bench::{BenchContender, settle},
    data::{DataSet, Key, RECORD_LEN, Record},
    engines::{self, Copying, Durability, EngineKind, Insertion},
    process::{Traffic, forget_cached},
};
use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde::Serialize;
use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Instant,
};

/// Records per transaction, in the load and in the changes.
const LOADED_AT_ONCE: usize = 10_000;
const CHANGED_AT_ONCE: usize = 100;
/// Records of each kind that are compared in each copy.
const COMPARED: usize = 1000;
const SEED: u64 = 0x636f_7079;

/// The copies of a state, in this order.
fn copyings(kind: EngineKind, state: BackupState) -> &'static [Copying] {
    match (kind, state) {
        (EngineKind::Teak, BackupState::Changed) => {
            &[Copying::Increment, Copying::Plain, Copying::Compact]
        }
        _ => &[Copying::Plain, Copying::Compact],
    }
}

/// The state of a database before a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum BackupState {
    Loaded,
    Changed,
}

/// The length of a file, and the space allocated for it.
#[derive(Clone, Copy, Debug, Serialize)]
struct FileLength {
    file_bytes: u64,
    allocated_bytes: u64,
}

/// The figures of one copy.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BackupFigure {
    work: &'static str,
    engine: EngineKind,
    state: BackupState,
    copying: Copying,
    data_bytes: u64,
    /// Records that were changed since the first copy.
    changed_records: u64,
    source: FileLength,
    copy: FileLength,
    #[serde(flatten)]
    traffic: Traffic,
    seconds: f64,
}

/// One engine's database and its records.
struct BackupSource<'d> {
    contender: BenchContender,
    data: &'d DataSet,
    /// Keys whose values have changed since the load.
    changed: Vec<Key>,
    /// The directory for copies.
    target: PathBuf,
    /// The first copy, on which increments are based.
    first: PathBuf,
}

/// Runs `backup` with databases below `directory`.
pub(crate) fn run(backup: &BackupArguments, directory: &Path) -> Result<Vec<BackupFigure>> {
    let data = DataSet::new(usize::try_from(backup.bytes)? / RECORD_LEN);
    let mut figures = Vec::new();
    for &kind in &backup.engines {
        eprintln!("{kind}");
        let mut source = BackupSource {
            contender: BenchContender::new(kind, directory.join(kind.name())),
            data: &data,
            changed: Vec::new(),
            target: directory.join("copy"),
            first: directory.join("first"),
        };
        let copied = source.run(backup);
        let _ = fs::remove_dir_all(&source.first);
        figures.extend(copied.with_context(|| format!("{kind} failed"))?);
        source.contender.discard()?;
    }
    Ok(figures)
}

impl BackupSource<'_> {
    fn run(&mut self, backup: &BackupArguments) -> Result<Vec<BackupFigure>> {
        self.load()?;
        let mut figures = self.copy_all(BackupState::Loaded)?;
        self.change(backup.changed_permille)?;
        figures.extend(self.copy_all(BackupState::Changed)?);
        Ok(figures)
    }

    fn load(&mut self) -> Result<()> {
        self.contender.recreate(self.data)?;
        for keys in self.data.keys.chunks(LOADED_AT_ONCE) {
            let records: Vec<_> = keys.iter().map(|key| Record::new(*key, 0)).collect();
            self.contender.engine()?.write(&records, Insertion::Batch)?;
        }
        Ok(())
    }

    /// Gives random records new values.
    fn change(&mut self, permille: f64) -> Result<()> {
        let mut rng = Rng::with_seed(SEED);
        let count = (self.data.keys.len() as f64 * permille / 1000.0).round() as usize;
        let mut changed = rng.choose_multiple(self.data.keys.iter().copied(), count);
        rng.shuffle(&mut changed);
        for keys in changed.chunks(CHANGED_AT_ONCE) {
            let records: Vec<_> = keys.iter().map(|key| Record::new(*key, 1)).collect();
            self.contender
                .engine()?
                .write(&records, Insertion::Single)?;
        }
        self.changed = changed;
        Ok(())
    }

    fn copy_all(&mut self, state: BackupState) -> Result<Vec<BackupFigure>> {
        let copyings = copyings(self.contender.kind, state);
        let copy = |copying: &Copying| self.copy(state, *copying);
        copyings.iter().map(copy).collect()
    }

    /// Makes one copy, compares it and removes it.
    fn copy(&mut self, state: BackupState, copying: Copying) -> Result<BackupFigure> {
        self.contender.close()?;
        settle(self.contender.directory())?;
        forget_cached(self.contender.directory())?;
        self.contender.reopen(Durability::Durable, self.data)?;
        fs::create_dir_all(&self.target)?;
        let before = Traffic::now();
        let begin = Instant::now();
        self.contender.engine()?.copy(copying, &self.target)?;
        File::open(largest(&self.target)?)?.sync_all()?;
        let seconds = begin.elapsed().as_secs_f64();
        let traffic = Traffic::now().since(before);
        let figure = BackupFigure {
            work: "backup",
            engine: self.contender.kind,
            state,
            copying,
            data_bytes: self.data.bytes(),
            changed_records: self.changed.len() as u64,
            source: length(self.contender.directory())?,
            copy: length(&self.target)?,
            traffic,
            seconds,
        };
        if copying == Copying::Increment {
            engines::teak::apply_increment(&self.first, &self.target)?;
        }
        let mut copy = BenchContender::new(self.contender.kind, self.target.clone());
        copy.reopen(Durability::Durable, self.data)?;
        self.compare(&mut copy).context("a copy is not whole")?;
        match (state, copying) {
            (BackupState::Loaded, Copying::Plain) => {
                copy.close()?;
                fs::rename(&self.target, &self.first)?;
            }
            _ => copy.discard()?,
        }
        Ok(figure)
    }

    /// Compares a sample of the changed and of the unchanged records.
    fn compare(&self, copy: &mut BenchContender) -> Result<()> {
        let engine = copy.engine()?;
        let sample = |keys: &[Key]| {
            let every = keys.len().div_ceil(COMPARED).max(1);
            keys.iter().step_by(every).copied().collect::<Vec<Key>>()
        };
        for key in sample(&self.changed) {
            let value = Record::new(key, 1).value;
            ensure!(engine.value(&key)?.as_deref() == Some(&value[..]));
        }
        for key in sample(&self.data.keys) {
            if !self.changed.contains(&key) {
                let value = Record::new(key, 0).value;
                ensure!(engine.value(&key)?.as_deref() == Some(&value[..]));
            }
        }
        Ok(())
    }
}

fn length(directory: &Path) -> Result<FileLength> {
    let metadata = fs::metadata(largest(directory)?)?;
    Ok(FileLength {
        file_bytes: metadata.len(),
        allocated_bytes: metadata.blocks() * 512,
    })
}

/// The largest file of a directory, which is the data file.
fn largest(directory: &Path) -> Result<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        files.push((entry.metadata()?.len(), entry.path()));
    }
    let largest = files.into_iter().max();
    Ok(largest.context("there is no file of the data")?.1)
}
