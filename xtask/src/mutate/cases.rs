//! The damaged files: which file is damaged in which way, for each seed and index.

use super::{
    kinds::MutationKind,
    seeds::{self, Seed},
};
use crate::{Result, campaign::draw};

/// All damaged files of a campaign.
pub(super) struct MutationCases {
    seed: u64,
    seeds: Vec<Seed>,
    kinds: Vec<MutationKind>,
}

/// A damaged file.
pub(super) struct MutationCase<'c> {
    pub(super) seed: &'c Seed,
    pub(super) kind: MutationKind,
    /// `None` if the seed has nothing to damage in this way.
    pub(super) image: Option<Vec<u8>>,
}

impl MutationCases {
    pub(super) fn new(seed: u64) -> Result<Self> {
        Ok(Self {
            seed,
            seeds: seeds::all()?,
            kinds: MutationKind::all(),
        })
    }

    pub(super) fn kinds(&self) -> &[MutationKind] {
        &self.kinds
    }

    pub(super) fn kind(&self, index: u64) -> MutationKind {
        self.kinds[(index % self.kinds.len() as u64) as usize]
    }

    /// Kinds and seeds take turns.
    pub(super) fn case(&self, index: u64) -> MutationCase<'_> {
        let round = index / self.kinds.len() as u64;
        let seed = &self.seeds[(round % self.seeds.len() as u64) as usize];
        let kind = self.kind(index);
        let mut rng = draw::episode(self.seed, index);
        MutationCase {
            seed,
            kind,
            image: kind.mutate(seed, &mut rng),
        }
    }
}
