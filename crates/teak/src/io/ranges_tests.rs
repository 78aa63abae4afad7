use super::*;

/// The set as bits, for comparison.
fn as_bits(ranges: &Ranges) -> u64 {
    let mut bits = 0;
    let mut previous_end = None;
    for (&start, &end) in &ranges.ends {
        assert!(start < end && previous_end.is_none_or(|last| last < start));
        previous_end = Some(end);
        (start..end).for_each(|byte| bits |= 1 << byte);
    }
    bits
}

#[test]
fn ranges_agree_with_bits() {
    let (mut ranges, mut bits) = (Ranges::default(), 0u64);
    let mut seed = 1u64;
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let start = seed >> 40 & 31;
        let end = start + (seed >> 50 & 15);
        let mask = (start..end).fold(0, |mask, byte| mask | 1 << byte);
        assert_eq!(ranges.covers(&(start..end)), bits & mask == mask);
        assert_eq!(ranges.touches(&(start..end)), bits & mask != 0);
        if seed >> 60 & 1 == 0 {
            ranges.insert(start..end);
            bits |= mask;
        } else {
            ranges.remove(start..end);
            bits &= !mask;
        }
        assert_eq!(as_bits(&ranges), bits);
    }
}
