//! Geometries for small databases: most are cut often, and their pages move.

use fastrand::Rng;
use teak::Geometry;

/// A random geometry without limits.
pub(crate) fn draw(rng: &mut Rng, page_size: usize) -> Geometry {
    let pages = |count: u64| count * page_size as u64;
    let small = |rng: &mut Rng, most: u64| match rng.u8(0..3) {
        0 => 0,
        _ => pages(rng.u64(1..most)),
    };
    Geometry {
        growth_step_bytes: small(rng, 16),
        shrink_threshold_bytes: small(rng, 16),
        ..Geometry::default()
    }
}
