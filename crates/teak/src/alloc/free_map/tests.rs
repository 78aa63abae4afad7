//! The free map against an array of booleans.

use super::*;
use proptest::prelude::*;

const PER_BITMAP: u32 = 384;

#[derive(Clone, Debug)]
enum Step {
    SetPageCount(u64),
    Flip {
        at: u64,
        len: u32,
    },
    TakeExtent {
        want: u32,
        policy: PlacementPolicy,
    },
    TakeOutside {
        want: u32,
        policy: PlacementPolicy,
        zone: Range<u64>,
    },
    TakeWithin {
        want: u32,
        zone: Range<u64>,
        from: u64,
    },
    MakeHole {
        least: u32,
        most: u32,
    },
    OpenHole {
        least: u32,
        most: u32,
    },
    ForgetHoles(u64),
}

/// The state of a page in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    Used,
    Ready,
    InHole,
}

fn step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![
        Just(PlacementPolicy::Contiguous),
        Just(PlacementPolicy::UpTo),
        Just(PlacementPolicy::Fragmented)
    ];
    let want = || prop_oneof![1..20u32, 1..3000u32];
    let zone = || (0..40_000u64, 0..2000u64).prop_map(|(start, len)| start..start + len);
    let outside = (want(), policy.clone(), zone());
    let within = (1..20u32, zone(), 0..40_000u64);
    prop_oneof![
        1 => (0..40_000u64).prop_map(Step::SetPageCount),
        8 => (any::<u64>(), prop_oneof![1..4u32, 1..1500u32])
            .prop_map(|(at, len)| Step::Flip { at, len }),
        4 => (want(), policy).prop_map(|(want, policy)| Step::TakeExtent { want, policy }),
        3 => outside.prop_map(|(want, policy, zone)| Step::TakeOutside { want, policy, zone }),
        3 => within.prop_map(|(want, zone, from)| Step::TakeWithin { want, zone, from }),
        3 => (1..1500u32, 1..3000u32).prop_map(|(least, most)| Step::MakeHole { least, most }),
        2 => (1..900u32, 1..3000u32).prop_map(|(least, most)| Step::OpenHole { least, most }),
        1 => (0..40_000u64).prop_map(Step::ForgetHoles),
    ]
}

/// Extents of the model in a wanted state, in order.
fn model_extents(model: &[Is], wanted: impl Fn(Is) -> bool) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    for (page, _) in model.iter().enumerate().filter(|(_, is)| wanted(**is)) {
        match extents.last_mut() {
            Some(extent) if extent.end() == page as u64 => extent.len += 1,
            _ => extents.push(Extent::new(page as u32, 1)),
        }
    }
    extents
}

fn model_take(model: &[Is], want: u32, policy: PlacementPolicy) -> Option<Extent> {
    let extents = model_extents(model, |is| is == Is::Ready);
    let fitting = extents.iter().find(|extent| extent.len >= want);
    let found = match policy {
        PlacementPolicy::Contiguous => fitting,
        PlacementPolicy::Fragmented => extents.first(),
        PlacementPolicy::UpTo => {
            let longest = extents.iter().map(|extent| extent.len).max();
            fitting.or_else(|| extents.iter().find(|extent| Some(extent.len) == longest))
        }
    };
    found.map(|extent| Extent {
        len: extent.len.min(want),
        ..*extent
    })
}

/// Checks that an extent allocated outside of a zone is as requested. If none was found, at least
/// there is none before the zone.
fn check_outside(
    model: &[Is],
    found: Option<Extent>,
    want: u32,
    policy: PlacementPolicy,
    zone: &Range<u64>,
) {
    let least = match policy {
        PlacementPolicy::Contiguous => want,
        _ => 1,
    };
    let Some(extent) = found else {
        let before = model.len().min(zone.start as usize);
        let before = model_extents(&model[..before], |is| is == Is::Ready);
        assert!(before.iter().all(|extent| extent.len < least), "{before:?}");
        return;
    };
    assert!((least..=want).contains(&extent.len), "{extent:?}");
    assert!(extent.pages().all(|page| model[page.index()] == Is::Ready));
    assert!(extent.end() <= zone.start || u64::from(extent.start.0) >= zone.end);
}

fn model_within(model: &[Is], want: u32, zone: &Range<u64>, from: u64) -> Option<Extent> {
    let from = from.clamp(zone.start, zone.end);
    let mut longest: Option<Extent> = None;
    for part in [from..zone.end, zone.start..from] {
        let is_ready = |page: u64| model.get(page as usize) == Some(&Is::Ready);
        let mut start = part.start;
        while start < part.end {
            let len = (start..part.end).take_while(|page| is_ready(*page)).count() as u64;
            let extent = Extent::new(start as u32, want.min(len as u32));
            if extent.len == want {
                return Some(extent);
            }
            longest = longest
                .filter(|longest| longest.len >= extent.len)
                .or(Some(extent));
            start += len + 1;
        }
    }
    longest.filter(|extent| extent.len > 0)
}

/// Frees the allocated pages of an extent, and allocates the free ones.
fn flip(map: &mut FreeMap, model: &mut [Is], at: u64, len: u32) {
    if model.is_empty() {
        return;
    }
    let start = (at % model.len() as u64) as usize;
    let end = model.len().min(start + len as usize);
    let all_ready = model[start..end].iter().all(|is| *is == Is::Ready);
    if all_ready {
        map.take(Extent::new(start as u32, (end - start) as u32));
        model[start..end].fill(Is::Used);
        return;
    }
    let used = model[start..end].iter_mut().enumerate();
    for (index, is) in used.filter(|(_, is)| **is == Is::Used) {
        map.free(Extent::new((start + index) as u32, 1));
        *is = Is::Ready;
    }
}

/// Applies to the model what the map did with an extent.
fn set(model: &mut [Is], extent: Option<Extent>, is: Is) {
    for page in extent.into_iter().flat_map(Extent::pages) {
        model[page.index()] = is;
    }
}

/// The expected result of [`Step::MakeHole`].
fn model_highest(model: &[Is], least: u32, most: u32) -> Option<(u64, u32)> {
    let extents = model_extents(model, |is| is == Is::Ready);
    let extent = extents.iter().rfind(|extent| extent.len >= least)?;
    Some((extent.end(), extent.len.min(most)))
}

fn model_lowest_hole(model: &[Is], least: u32, most: u32) -> Option<Extent> {
    let extents = model_extents(model, |is| is == Is::InHole);
    let extent = extents.iter().find(|extent| extent.len >= least)?;
    Some(Extent::new(extent.start.0, extent.len.min(most.max(least))))
}

/// Makes one step with the map and the model.
fn make(map: &mut FreeMap, model: &mut Vec<Is>, step: Step) {
    match step {
        Step::SetPageCount(count) => {
            map.set_page_count(count);
            model.resize(count as usize, Is::Ready);
        }
        Step::Flip { at, len } => flip(map, model, at, len),
        Step::TakeExtent { want, policy } => {
            let expected = model_take(model, want, policy);
            assert_eq!(map.take_extent(want, policy), expected);
            set(model, expected, Is::Used);
        }
        Step::TakeOutside { want, policy, zone } => {
            let found = map.take_outside(want, policy, &zone);
            check_outside(model, found, want, policy, &zone);
            set(model, found, Is::Used);
        }
        Step::TakeWithin { want, zone, from } => {
            let expected = model_within(model, want, &zone, from);
            assert_eq!(map.take_within(want, &zone, from), expected);
            set(model, expected, Is::Used);
        }
        Step::MakeHole { least, most } => {
            let found = map.highest(least, most);
            let expected = model_highest(model, least, most);
            assert_eq!(found.map(Extent::end), expected.map(|(end, _)| end));
            if let (Some(extent), Some((_, len))) = (found, expected) {
                assert!(
                    (len..len + 64).contains(&extent.len),
                    "{extent:?} for {len}"
                );
                map.add_hole(extent);
            }
            set(model, found, Is::InHole);
        }
        Step::OpenHole { least, most } => {
            let expected = model_lowest_hole(model, least, most);
            assert_eq!(map.open_hole(least, most), expected);
            set(model, expected, Is::Ready);
        }
        Step::ForgetHoles(end) => {
            map.forget_holes(end);
            let below = model.iter_mut().take(end as usize);
            below
                .filter(|is| **is == Is::InHole)
                .for_each(|is| *is = Is::Ready);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_array_behaves_like_a_vector_of_pages(steps in prop::collection::vec(step(), 1..120)) {
        let mut map = FreeMap::new(PER_BITMAP, 0);
        let mut model: Vec<Is> = Vec::new();
        for step in steps {
            make(&mut map, &mut model, step);
            let count = |wanted: Is| model.iter().filter(|is| **is == wanted).count() as u64;
            prop_assert_eq!(map.ready_count(), count(Is::Ready));
            prop_assert_eq!(map.free_count(), count(Is::Ready) + count(Is::InHole));
            let trailing = model.iter().rev().take_while(|is| **is != Is::Used).count() as u64;
            prop_assert_eq!(map.trailing_free(), trailing);
        }
        let is_free = |is| is != Is::Used;
        prop_assert_eq!(map.extents(), model_extents(&model, is_free));
        for bitmap in 0..(model.len() as u32).div_ceil(PER_BITMAP) {
            let words = map.bitmap_words(bitmap, &[]);
            for bit in 0..PER_BITMAP {
                let page = (bitmap * PER_BITMAP + bit) as usize;
                let expected = model.get(page).is_none_or(|is| is_free(*is));
                prop_assert_eq!(words[bit as usize / 64] >> (bit % 64) & 1 == 1, expected);
            }
        }
    }
}

#[test]
fn bitmaps_mark_pages_after_the_end_as_free() {
    let mut map = FreeMap::new(PER_BITMAP, 0);
    map.set_page_count(400);
    map.take(Extent::new(380, 15));
    let words = map.bitmap_words(1, &[Extent::new(390, 1)]);
    assert_eq!(words[0], u64::MAX << 11 | 1 << 6);
    assert!(words[1..].iter().all(|word| *word == u64::MAX));

    map.set_page_count(390);
    map.replace_words(1, [u64::MAX].into_iter());
    map.replace_words(2, [u64::MAX].into_iter());
    assert_eq!(map.free_count(), 386);
}

#[test]
fn the_last_page_number_can_be_taken() {
    let mut map = FreeMap::new(PER_BITMAP, 1 << 32);
    let last = Extent::new(u32::MAX, 1);
    map.free(last);
    assert_eq!(map.trailing_free(), 1);
    assert_eq!(map.take_extent(5, PlacementPolicy::UpTo), Some(last));
    assert_eq!(map.take_extent(1, PlacementPolicy::Fragmented), None);
}

#[test]
fn the_highest_extent_of_a_map_of_any_size_is_found() {
    for count in [600, 8192, 8704, 3 * 8192 + 512, 131_072 + 5120, 200_000] {
        let mut map = FreeMap::new(32_512, 4);
        map.set_page_count(count);
        let extent = map.highest(700.min(count as u32 - 4), 64).unwrap();
        assert_eq!(extent.end(), count);
        map.take(Extent::new(count as u32 - 1, 1));
        assert_eq!(map.highest(64, 64).unwrap().end(), count - 1);
    }
}
