//! The engines, with the few calls that the campaign makes.

mod connection;
mod engine;
mod lmdb;
mod mdbx;

pub(crate) use connection::{Change, Peer};
pub(crate) use engine::{Engine, Expectation, Promise};

use anyhow::Result;
use std::path::Path;

impl Engine {
    pub(crate) fn open(self, path: &Path) -> Result<Box<dyn Peer>> {
        Ok(match self {
            Self::Lmdb | Self::LmdbNometasync | Self::LmdbNosync => {
                Box::new(lmdb::LmdbEnvironment::open(path, self)?)
            }
            Self::Mdbx | Self::MdbxNometasync | Self::MdbxSafeNosync => {
                Box::new(mdbx::MdbxEnvironment::open(path, self)?)
            }
        })
    }
}
