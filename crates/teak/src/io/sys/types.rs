//! The types that all systems share.

/// Identity of a file, independent of its name: device and inode, or what corresponds to them. It
/// is compared and stored, and nothing else.
pub(crate) type FileId = (u64, u64);

/// The kind of access to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Reading only.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// The meaning of a symbolic link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Links {
    /// It stands for the file that it leads to.
    Follow,
    /// It is itself what the path names, and cannot be opened.
    Refuse,
}

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileKind {
    Regular,
    Directory,
    Link,
    /// A pipe or a socket.
    Pipe,
    Device,
}

/// Attributes of an open file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileAttributes {
    pub(crate) id: FileId,
    /// Bytes.
    pub(crate) len: u64,
    /// Number of names.
    pub(crate) links: u32,
}

/// Permissions of a file in the form of Unix, and its user and group if the system has such.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FilePermissions {
    pub(crate) bits: u32,
    pub(crate) owner: Option<(u32, u32)>,
}

/// The part of a file that a flush brings to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushExtent {
    /// Its content and its length.
    Data,
    /// All attributes, too.
    All,
}

/// How blocks are allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allocate {
    /// If the bytes reach past the end of the file, it becomes longer.
    Grow,
    /// The length stays.
    Keep,
    /// The length stays. Blocks that the file shares with a copy become its own.
    Unshare,
}

/// Whether a file system overwrites a block where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code)] // No system has all of them.
pub(crate) enum Overwrite {
    Always,
    /// Except for blocks that are shared with a copy of the file.
    Unshared,
    /// Overwriting may need space. Such files are not mapped for writing.
    Never,
}

/// Properties of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileSystem {
    pub(crate) overwrite: Overwrite,
    /// Whether a file may be copied to another layer when it is first opened for writing.
    pub(crate) is_overlay: bool,
    /// Whether each write walks all blocks of the large folio that it goes to.
    pub(crate) walks_folios: bool,
}

impl FileSystem {
    /// One that promises nothing.
    #[allow(dead_code)] // Not all systems have such.
    pub(crate) const UNKNOWN: Self = Self {
        overwrite: Overwrite::Never,
        is_overlay: false,
        walks_folios: false,
    };
}

/// The coming use of mapped memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    /// In any order: read ahead as usual.
    Normal,
    /// Here and there: do not read ahead.
    Random,
    /// Not soon. The advice splits a large folio.
    Cold,
    /// Not soon: unmap the pages.
    NotNeeded,
}

/// The purpose of an open directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DirectoryUse {
    /// Names in it are used. This needs no permission to list it.
    Names,
    /// It is flushed, too.
    Flush,
}

/// How a whole file is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileSharing {
    /// No other process.
    Exclusive,
    /// Processes that know of each other, or that only read.
    Shared,
}

/// The owner of locks on bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockOwner {
    /// The open file description, or handle.
    Description,
    /// The process, which loses the locks when it closes any descriptor of the file.
    Process,
}

/// Another holder of a lock on bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    /// The process with this id. Its lock is one of [`LockOwner::Process`].
    Process(u32),
    Unknown,
}

/// The first of the bytes that are only locked. No file has content there.
pub(crate) const LOCKS: u64 = 1 << 62;

/// A limit of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    /// Bytes of a file that it writes.
    FileLen,
    /// Bytes of address space.
    AddressSpace,
    OpenFiles,
    /// Processes and threads of the user.
    Threads,
    /// Bytes that it locks in memory.
    LockedMemory,
}

impl Limit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FileLen => "RLIMIT_FSIZE",
            Self::AddressSpace => "RLIMIT_AS",
            Self::OpenFiles => "RLIMIT_NOFILE",
            Self::Threads => "RLIMIT_NPROC",
            Self::LockedMemory => "RLIMIT_MEMLOCK",
        }
    }
}

/// Why a system refuses something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    NotFound,
    /// The permissions of the file or of its directory.
    Denied,
    /// This user may not do it, or not to such a file.
    NotAllowed,
    ReadOnly,
    DiskFull,
    Quota,
    FileTooLong,
    NoMemory,
    /// Too many files are open in this process, and (below) in the system.
    ProcessFiles,
    SystemFiles,
    NameTooLong,
    LinkLoop,
    Exists,
    NotDirectory,
    IsDirectory,
    DiskFailed,
    NoLocks,
    /// Something is short for now, as the number of threads.
    TryAgain,
}
