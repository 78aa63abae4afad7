//! How soon a commit reaches the disk.

/// When a commit is on the disk. A process that is killed loses nothing of any; a power cut may
/// take the newest commits that are not on the disk yet, never a part of one, and never one without
/// those behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// When it returns. Readers see it then, or when a later commit that is seen builds on it.
    /// Threads that commit at the same time share flushes.
    #[default]
    Durable,
    /// Soon after it returns, without anybody's doing; a [`Ticket`](crate::Ticket) tells when.
    /// Readers see it when it returns.
    Async,
    /// When the operating system, a later durable commit, or the limits
    /// [`Options::flush_after`](crate::Options::flush_after) and
    /// [`Options::flush_after_bytes`](crate::Options::flush_after_bytes) have it written. Readers
    /// see it when it returns.
    Lazy,
}

impl Durability {
    /// Whether readers see a commit before it is on the disk.
    pub(crate) fn is_seen_at_once(self) -> bool {
        self != Self::Durable
    }

    /// The byte that stands for it in a commit record.
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Durable => 0,
            Self::Lazy => 1,
            Self::Async => 2,
        }
    }

    /// What a byte of a commit record says. One that a later version wrote means the safest.
    pub(crate) fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::Lazy,
            2 => Self::Async,
            _ => Self::Durable,
        }
    }
}
