//! The free map against a row of booleans.

use super::*;
use proptest::prelude::*;

const PER_BITMAP: u32 = 384;

#[derive(Clone, Debug)]
enum Step {
    SetPageCount(u64),
    Flip { at: u64, len: u32 },
    TakeRun { want: u32, policy: Policy },
}

fn step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![
        Just(Policy::Contiguous),
        Just(Policy::UpTo),
        Just(Policy::Crumbs)
    ];
    let want = prop_oneof![1..20u32, 1..3000u32];
    prop_oneof![
        1 => (0..40_000u64).prop_map(Step::SetPageCount),
        8 => (any::<u64>(), prop_oneof![1..4u32, 1..1500u32])
            .prop_map(|(at, len)| Step::Flip { at, len }),
        4 => (want, policy).prop_map(|(want, policy)| Step::TakeRun { want, policy }),
    ]
}

/// Free runs of the model, in order.
fn model_runs(model: &[bool]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (page, _) in model.iter().enumerate().filter(|(_, free)| **free) {
        match runs.last_mut() {
            Some(run) if run.end() == page as u64 => run.len += 1,
            _ => runs.push(Run::new(page as u32, 1)),
        }
    }
    runs
}

fn model_take(model: &[bool], want: u32, policy: Policy) -> Option<Run> {
    let runs = model_runs(model);
    let fitting = runs.iter().find(|run| run.len >= want);
    let found = match policy {
        Policy::Contiguous => fitting,
        Policy::Crumbs => runs.first(),
        Policy::UpTo => {
            let longest = runs.iter().map(|run| run.len).max();
            fitting.or_else(|| runs.iter().find(|run| Some(run.len) == longest))
        }
    };
    found.map(|run| Run {
        len: run.len.min(want),
        ..*run
    })
}

/// Frees the pages of a run that are taken, and takes those that are free.
fn flip(map: &mut FreeMap, model: &mut [bool], at: u64, len: u32) {
    if model.is_empty() {
        return;
    }
    let start = (at % model.len() as u64) as usize;
    let end = model.len().min(start + len as usize);
    let all_free = model[start..end].iter().all(|free| *free);
    let run = Run::new(start as u32, (end - start) as u32);
    if all_free {
        map.take(run);
    } else {
        for (page, _) in (start..end)
            .zip(&model[start..end])
            .filter(|(_, free)| !**free)
        {
            map.free(Run::new(page as u32, 1));
        }
    }
    model[start..end].fill(!all_free);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn behaves_like_a_row_of_booleans(steps in prop::collection::vec(step(), 1..120)) {
        let mut map = FreeMap::new(PER_BITMAP, 0);
        let mut model: Vec<bool> = Vec::new();
        for step in steps {
            match step {
                Step::SetPageCount(count) => {
                    map.set_page_count(count);
                    model.resize(count as usize, true);
                }
                Step::Flip { at, len } => flip(&mut map, &mut model, at, len),
                Step::TakeRun { want, policy } => {
                    let expected = model_take(&model, want, policy);
                    prop_assert_eq!(map.take_run(want, policy), expected);
                    for page in expected.into_iter().flat_map(Run::pages) {
                        model[page.index()] = false;
                    }
                }
            }
            let free = model.iter().filter(|free| **free).count() as u64;
            prop_assert_eq!(map.free_count(), free);
            let trailing = model.iter().rev().take_while(|free| **free).count() as u64;
            prop_assert_eq!(map.trailing_free(), trailing);
        }
        prop_assert_eq!(map.runs().collect::<Vec<_>>(), model_runs(&model));
    }
}

#[test]
fn bitmaps_say_that_pages_behind_the_end_are_free() {
    let mut map = FreeMap::new(PER_BITMAP, 0);
    map.set_page_count(400);
    map.take(Run::new(380, 15));
    let words = map.bitmap_words(1, &[Run::new(390, 1)]);
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
    let last = Run::new(u32::MAX, 1);
    map.free(last);
    assert_eq!(map.trailing_free(), 1);
    assert_eq!(map.take_run(5, Policy::UpTo), Some(last));
    assert_eq!(map.take_run(1, Policy::Crumbs), None);
}
