//! The other engines, and their promises.

use clap::ValueEnum;

/// An engine and the mode it commits in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Engine {
    /// LMDB with its default settings
    Lmdb,
    /// LMDB with `MDB_NOMETASYNC`
    LmdbNometasync,
    /// LMDB with `MDB_NOSYNC`
    LmdbNosync,
    /// libmdbx with its default settings
    Mdbx,
    /// libmdbx with `MDBX_NOMETASYNC`
    MdbxNometasync,
    /// libmdbx with `MDBX_SAFE_NOSYNC`
    MdbxSafeNosync,
}

/// The commits that are certainly on the disk, according to the engine's documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promise {
    /// Every commit that returned.
    Returned,
    /// Every commit that returned except the last.
    ReturnedButOne,
    /// Commits before a sync that has returned.
    Synced,
}

/// The violations that the campaign must find to prove that it works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expectation {
    None,
    Some,
    /// Violations are possible but not required.
    Open,
}

impl Engine {
    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(crate) fn promise(self) -> Promise {
        match self {
            Self::Lmdb | Self::Mdbx => Promise::Returned,
            Self::LmdbNometasync | Self::MdbxNometasync => Promise::ReturnedButOne,
            Self::LmdbNosync | Self::MdbxSafeNosync => Promise::Synced,
        }
    }

    pub(crate) fn expectation(self) -> Expectation {
        match self {
            Self::Lmdb => Expectation::None,
            Self::LmdbNosync | Self::MdbxSafeNosync => Expectation::Some,
            Self::LmdbNometasync | Self::Mdbx | Self::MdbxNometasync => Expectation::Open,
        }
    }

    /// Whether it trusts unflushed data while the boot id is unchanged.
    pub(crate) fn reads_boot_id(self) -> bool {
        matches!(
            self,
            Self::Mdbx | Self::MdbxNometasync | Self::MdbxSafeNosync
        )
    }

    /// The first bytes of a file, where the engine has its roots.
    pub(crate) fn head_len(self) -> u64 {
        if self.reads_boot_id() {
            3 * 4096
        } else {
            2 * 4096
        }
    }

    /// The suffix of its lock file.
    pub(crate) fn lock_suffix(self) -> &'static str {
        if self.reads_boot_id() {
            "-lck"
        } else {
            "-lock"
        }
    }
}
