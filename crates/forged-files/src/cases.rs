//! The forged files: which file is forged in which way, for each seed and index.

use crate::seeds::{self, Seed};
use fastrand::Rng;
use std::error::Error;
use teak::testing;

/// All forged files of a campaign.
pub(crate) struct Cases {
    seed: u64,
    seeds: Vec<Seed>,
}

/// A forged file.
pub(crate) struct Case<'c> {
    pub(crate) seed: &'c Seed,
    pub(crate) image: Vec<u8>,
    /// A description of the forgery.
    pub(crate) description: String,
}

impl Cases {
    pub(crate) fn new(seed: u64) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            seed,
            seeds: seeds::all()?,
        })
    }

    /// Random numbers that depend on an index and a purpose.
    pub(crate) fn rng(&self, index: u64, purpose: u64) -> Rng {
        let mut rng = Rng::with_seed(self.seed);
        Rng::with_seed(rng.u64(..) ^ (4 * index + purpose).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Forges one field, two, or the structure of a tree, in each database in turn. Sometimes
    /// combines these.
    pub(crate) fn case(&self, index: u64) -> Case<'_> {
        let seed = &self.seeds[(index % self.seeds.len() as u64) as usize];
        let mut rng = self.rng(index, 0);
        let mut image = seed.image.clone();
        let fields = [1, 1, 2, 2, 0, 0, 3][rng.usize(0..7)];
        let has_graph = fields == 0 || rng.u8(0..8) == 0;
        let mut choose = |count: usize| rng.usize(0..count.max(1));
        let mut description = Vec::new();
        if has_graph {
            description = testing::forge_graph(&mut image, &mut choose);
        }
        if fields > 0 {
            description.extend(testing::forge_fields(&mut image, fields, &mut choose));
        }
        testing::repair(&mut image);
        Case {
            seed,
            image,
            description: description.join(", "),
        }
    }
}
