//! The commit record: what a commit leaves at the head of the file, and how it is found again.

pub(crate) mod record;
