//! Random choices.

use fastrand::Rng;
use teak::Geometry;

/// The random number generator of the episode `number`. Episodes are independent of each other,
/// also for neighbouring numbers and seeds.
pub(crate) fn episode(seed: u64, number: u64) -> Rng {
    let mut seeds = Rng::with_seed(seed);
    Rng::with_seed(seeds.u64(..) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// One of the items, with a probability proportional to its weight.
pub(crate) fn weighted<T: Copy>(rng: &mut Rng, weights: &[(T, u32)]) -> Option<T> {
    let mut rest = rng.u32(0..weights.iter().map(|(_, weight)| weight).sum());
    weights.iter().find_map(|&(item, weight)| {
        let is_drawn = rest < weight;
        rest = rest.saturating_sub(weight);
        is_drawn.then_some(item)
    })
}

/// A random geometry without limits. Most small databases are truncated often and move pages.
pub(crate) fn geometry(rng: &mut Rng, page_size: usize) -> Geometry {
    let pages = |count: u64| count * page_size as u64;
    let small = |rng: &mut Rng, most: u64| match rng.u8(0..3) {
        0 => 0,
        _ => pages(rng.u64(1..most)),
    };
    Geometry::new()
        .growth_step_bytes(small(rng, 16))
        .shrink_threshold_bytes(small(rng, 16))
}
