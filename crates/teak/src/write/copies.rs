//! Copies of bytes that a transaction lends.

use std::sync::OnceLock;

/// Copies of values, which stay where they are as long as this lives.
#[derive(Default, Debug)]
pub(super) struct Copies(OnceLock<Box<Copied>>);

#[derive(Debug)]
struct Copied {
    bytes: Box<[u8]>,
    next: Copies,
}

impl Copies {
    /// Copies bytes.
    pub(super) fn add(&self, bytes: &[u8]) -> &[u8] {
        let mut copy = Box::new(Copied {
            bytes: bytes.into(),
            next: Self::default(),
        });
        let mut cell = &self.0;
        loop {
            match cell.set(copy) {
                Ok(()) => {
                    return cell.get().map_or(&[], |copy| &copy.bytes);
                }
                Err(refused) => {
                    copy = refused;
                    if let Some(taken) = cell.get() {
                        cell = &taken.next.0;
                    }
                }
            }
        }
    }
}
