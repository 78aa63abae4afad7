//! Salvage with options: of encrypted databases.

use super::{Create, Options};
use crate::{
    Error, Result,
    admin::salvage::DamagedFile,
    api::{
        backup,
        permissions::restrict,
        salvage::{SalvageProgress, SalvageReport, salvage_into},
        unfinished_file::UnfinishedFile,
    },
    share::names::refuse_lock_name,
};
use std::{fs, ops::ControlFlow, path::Path, time::SystemTime};

impl Options {
    /// Like [`salvage`](crate::salvage()), for an encrypted database too: the new one has the same
    /// key. Of the options only the key and custom orders matter.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`]; any error of [`salvage`](crate::salvage()).
    pub fn salvage(
        &self,
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        progress: &mut dyn FnMut(SalvageProgress) -> ControlFlow<()>,
    ) -> Result<SalvageReport> {
        let (source, target) = (source.as_ref(), target.as_ref());
        refuse_lock_name(target, &[source])?;
        let comparisons = self.settings()?.comparisons;
        let damaged_file = DamagedFile::open(source, comparisons, self.codecs())?;
        let unfinished = UnfinishedFile::new(target)?;
        let saved = self.salvage_to(damaged_file, &unfinished.path(), progress);
        let report = saved.map_err(|error| unfinished.renamed(error, target))?;
        let sources = fs::metadata(source).map_err(|error| {
            Error::io("reading the attributes of the damaged file")(error).at(source)
        })?;
        restrict(&unfinished.path(), &[sources]).map_err(|error| error.at(target))?;
        backup::name(&unfinished.path(), target)?;
        Ok(report)
    }

    fn salvage_to(
        &self,
        damaged_file: DamagedFile,
        path: &Path,
        progress: &mut dyn FnMut(SalvageProgress) -> ControlFlow<()>,
    ) -> Result<SalvageReport> {
        let (durability, limits) = damaged_file.defaults();
        let codecs = self.codecs().for_copy_of(damaged_file.mapping());
        let database = Options::new()
            .create(Create::New)
            .require_name(true)
            .page_size(damaged_file.page_size())
            .durability(durability)
            .flush_after_bytes(limits.bytes)
            .flush_after(limits.age)
            .with_comparisons_of(&self.settings()?.comparisons)
            .with_codecs_of(codecs)
            // Nothing expires while it is copied.
            .clock(|| SystemTime::UNIX_EPOCH)
            .open(path)?;
        salvage_into(damaged_file, database, progress)
    }
}
