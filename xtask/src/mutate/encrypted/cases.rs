//! The damaged encrypted files: which file is damaged in which way, for each seed and index.

use super::kinds::EncryptedKind;
use crate::{
    Result,
    campaign::draw,
    mutate::{
        kinds::Damage,
        seeds::{self, EncryptedSeed},
    },
};
use std::{fs, path::Path};

/// From this index on, files are damaged in all ways. Before it, one bit is flipped.
pub(super) const ALL_KINDS_FROM: u64 = 1 << 40;

/// All damaged encrypted files of a campaign.
pub(super) struct EncryptedCases {
    seed: u64,
    seeds: Vec<EncryptedSeed>,
    kinds: Vec<EncryptedKind>,
}

/// A damaged encrypted file.
pub(super) struct EncryptedCase<'c> {
    pub(super) seed: &'c EncryptedSeed,
    pub(super) kind: EncryptedKind,
    pub(super) image: Vec<u8>,
}

impl EncryptedCases {
    /// Makes the databases. Their contents depend on nothing, but their keys are random.
    pub(super) fn new(seed: u64) -> Result<Self> {
        Ok(Self {
            seed,
            seeds: seeds::encrypted()?,
            kinds: EncryptedKind::all(),
        })
    }

    /// Writes the files of the databases to a directory.
    pub(super) fn save(&self, directory: &Path) -> Result {
        for (number, seed) in self.seeds.iter().enumerate() {
            for (name, bytes) in seed.files() {
                fs::write(directory.join(format!("{number}-{name}")), bytes)?;
            }
        }
        Ok(())
    }

    /// Replaces the files of the databases by those in a directory.
    pub(super) fn load(&mut self, directory: &Path) -> Result {
        for (number, seed) in self.seeds.iter_mut().enumerate() {
            for (name, bytes) in seed.files_mut() {
                *bytes = fs::read(directory.join(format!("{number}-{name}")))?;
            }
        }
        Ok(())
    }

    pub(super) fn kind(&self, index: u64) -> EncryptedKind {
        match index.checked_sub(ALL_KINDS_FROM) {
            Some(index) => self.kinds[(index % self.kinds.len() as u64) as usize],
            None => EncryptedKind::Damage(Damage::BitFlip),
        }
    }

    /// Seeds take turns, and kinds.
    pub(super) fn case(&self, index: u64) -> EncryptedCase<'_> {
        let round = match index.checked_sub(ALL_KINDS_FROM) {
            Some(index) => index / self.kinds.len() as u64,
            None => index,
        };
        let seed = &self.seeds[(round % self.seeds.len() as u64) as usize];
        let kind = self.kind(index);
        let mut rng = draw::episode(self.seed, index);
        EncryptedCase {
            seed,
            kind,
            image: kind.mutate(seed, &mut rng),
        }
    }
}
