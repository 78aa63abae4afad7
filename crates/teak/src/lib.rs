//! Teak: an embedded, ordered, transactional key-value store.

mod api;
mod commit;
mod error;
mod page;
mod share;
mod space;
#[allow(dead_code)]
mod store;
mod tree;
mod txn;
mod types;

pub use error::{Error, Result};
pub use types::{PageNumber, Run, Tag, TransactionId};
