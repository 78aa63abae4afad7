//! The specialities of a system, for tests that need one of them.

use super::{
    file::temporary_file,
    sys::{self, Access, Allocate, Directory, DirectoryUse, LockOwner, Overwrite, system_page_len},
};
use std::{fs::File, io, path::Path};

/// The specialities of the system and of the file system of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Abilities {
    /// Locks on bytes belong to open file descriptions, so that one process can be several.
    pub locks_of_descriptions: bool,
    /// A file can be created without a name.
    pub unnamed_files: bool,
    /// An open file can be opened again.
    pub reopening: bool,
    /// A mapped page keeps the locks of a file whose descriptor was closed.
    pub anchors: bool,
    /// Blocks can be allocated.
    pub allocation: bool,
    /// Blocks can be given back.
    pub holes: bool,
    /// Pages can be built in the mapped file.
    pub mapped_writes: bool,
    /// The present path of an open file is known.
    pub present_paths: bool,
    /// Pages can be brought into memory without reading the file by calls.
    pub population: bool,
    /// The boot of the machine is known.
    pub boot_id: bool,
    /// A mapped file can become shorter. If not, opening a closed database does that.
    pub truncates_mapped: bool,
    /// Files of the directory may be copied to another layer, and that is noticed.
    pub overlay: bool,
}

impl Abilities {
    /// Tries all of them with a temporary file in `directory`.
    ///
    /// ```
    /// let abilities = teak::testing::Abilities::of(&std::env::temp_dir())?;
    /// assert!(abilities.mapped_writes <= abilities.allocation);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn of(directory: &Path) -> io::Result<Self> {
        let file = temporary_file(directory)?;
        let page = 0..system_page_len() as u64;
        let file_system = sys::file_system(&file)?;
        let allocation = sys::allocate(&file, page.clone(), Allocate::Grow)?;
        file.set_len(page.end)?;
        let mapped = sys::Mapped::file(&file, 0, system_page_len(), Access::ReadOnly)?;
        let names = Directory::open(directory, DirectoryUse::Names)?;
        Ok(Self {
            locks_of_descriptions: sys::byte_locks(&file).owner() == LockOwner::Description,
            unnamed_files: sys::create_unnamed(&names, 0o600)?.is_some(),
            reopening: sys::reopen(&file, Access::ReadWrite).is_some(),
            anchors: has_anchor(&file),
            allocation,
            holes: sys::punch(&file, page)?,
            mapped_writes: file_system.overwrite != Overwrite::Never,
            present_paths: sys::path_of(&file).is_some(),
            population: sys::populate(&mapped, 0..system_page_len())?,
            boot_id: sys::boot_id().is_some(),
            truncates_mapped: sys::truncate(&file, 0)?,
            overlay: file_system.is_overlay,
        })
    }
}

fn has_anchor(file: &File) -> bool {
    let anchor = sys::anchor(file);
    if let Some(anchor) = anchor {
        // SAFETY: the page was mapped just now, and nobody uses it.
        unsafe { sys::drop_anchor(anchor) };
    }
    anchor.is_some()
}

/// Whether a test can run that needs a speciality of the system, which the function names. Says so
/// if not.
#[cfg(test)]
pub(crate) fn can(name: &str, ability: impl Fn(&Abilities) -> bool) -> bool {
    let abilities = Abilities::of(&std::env::temp_dir()).expect("a temporary file");
    let is_possible = ability(&abilities);
    if !is_possible {
        eprintln!("not run: the system has no {name}");
    }
    is_possible
}
