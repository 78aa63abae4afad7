//! Which file is damaged how: all that follows from a seed and an index.

use super::{
    kinds::Kind,
    seeds::{self, Seed},
};
use crate::Failure;
use fastrand::Rng;

/// All damaged files of a campaign.
pub(super) struct Cases {
    seed: u64,
    seeds: Vec<Seed>,
    kinds: Vec<Kind>,
}

/// A damaged file.
pub(super) struct Case<'c> {
    pub(super) seed: &'c Seed,
    pub(super) kind: Kind,
    /// None if the seed has nothing to damage in this way.
    pub(super) image: Option<Vec<u8>>,
}

impl Cases {
    pub(super) fn new(seed: u64) -> Result<Self, Failure> {
        Ok(Self {
            seed,
            seeds: seeds::all()?,
            kinds: Kind::all(),
        })
    }

    pub(super) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    pub(super) fn kind(&self, index: u64) -> Kind {
        self.kinds[(index % self.kinds.len() as u64) as usize]
    }

    /// Kinds and seeds take turns.
    pub(super) fn case(&self, index: u64) -> Case<'_> {
        let round = index / self.kinds.len() as u64;
        let seed = &self.seeds[(round % self.seeds.len() as u64) as usize];
        let kind = self.kind(index);
        let mut rng = Rng::with_seed(self.seed);
        let mut rng = Rng::with_seed(rng.u64(..) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Case {
            seed,
            kind,
            image: kind.mutate(seed, &mut rng),
        }
    }
}
