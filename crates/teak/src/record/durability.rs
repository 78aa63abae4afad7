//! When a commit reaches the disk.

/// When a commit is on disk. Killing a process loses no commit of any durability. A power failure
/// may lose the newest commits that are not on disk yet. It never loses a part of a commit. Commits
/// are lost from the newest backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// On disk when the commit returns. Readers see it then, or when a later visible commit builds
    /// on it. Threads that commit at the same time share flushes.
    #[default]
    Durable,
    /// On disk soon after the commit returns, without further calls; a [`Ticket`](crate::Ticket)
    /// reports when. Readers see it when it returns.
    Async,
    /// On disk when the operating system writes it, or a later durable commit, or the limits
    /// [`Options::flush_after`](crate::Options::flush_after) and
    /// [`Options::flush_after_bytes`](crate::Options::flush_after_bytes) cause a flush. Readers see
    /// it when it returns.
    Lazy,
}

impl Durability {
    /// Whether readers see a commit before it is on disk.
    pub(crate) fn is_seen_at_once(self) -> bool {
        self != Self::Durable
    }

    /// The byte that represents it in a commit record.
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Durable => 0,
            Self::Lazy => 1,
            Self::Async => 2,
        }
    }

    /// Decodes a byte of a commit record. An unknown value, written by a later version, means the
    /// safest durability.
    pub(crate) fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::Lazy,
            2 => Self::Async,
            _ => Self::Durable,
        }
    }
}
