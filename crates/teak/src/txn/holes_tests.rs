use super::*;

const PAGE: u64 = 4096;
const MIB_PAGES: u64 = (1 << 20) / PAGE;

fn kept(punching: &mut Punching, page_count: u64, used: u64) -> u64 {
    let aim = punching.aim(&Geometry::default(), PAGE, page_count, used);
    aim.unwrap().kept
}

#[test]
fn what_was_in_use_lately_keeps_its_blocks() {
    let (mut punching, full, empty) = (Punching::default(), 100_000, 10_000);
    for _ in 0..100 {
        assert!(kept(&mut punching, full, full) < full / 8);
        assert!(kept(&mut punching, full, empty) > full - empty);
    }
    let turns = (0..).find(|_| kept(&mut punching, full, empty) < (full - empty) / 2);
    assert!((20..200).contains(&turns.unwrap()), "{turns:?}");
}

#[test]
fn what_the_file_is_opened_with_counts_as_in_use() {
    assert!(kept(&mut Punching::default(), 100_000, 1000) > 98_000);
}

#[test]
fn limits_of_the_geometry_are_kept() {
    let aim = |geometry| Punching::default().aim(&geometry, PAGE, 1000, 1000);
    let never = Geometry {
        shrink_threshold_bytes: u64::MAX,
        ..Geometry::default()
    };
    assert_eq!(aim(never), None);
    let little = Geometry {
        shrink_threshold_bytes: 2 * PAGE,
        ..Geometry::default()
    };
    assert_eq!(
        aim(little),
        Some(Aim {
            kept: 2 + 62,
            least: 2
        })
    );
    let long = Geometry {
        lower_limit_bytes: 5000 * PAGE,
        ..Geometry::default()
    };
    assert_eq!(
        aim(long),
        Some(Aim {
            kept: 4000,
            least: MIB_PAGES
        })
    );
}
