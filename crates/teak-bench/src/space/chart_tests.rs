use super::*;
use crate::space::Removal;

fn figure(work: &'static str, engine: &str, bytes: [u64; 3]) -> SpaceFigure {
    SpaceFigure {
        work,
        engine: engine.to_owned(),
        bytes: (0..).step_by(1000).zip(bytes).collect(),
        longest_us: 1.0,
        removal: None,
    }
}

#[test]
fn each_engine_has_its_lines() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("chart.svg");
    let mut removal = figure("removal", "of another work", [1, 1, 1]);
    removal.removal = Some(Removal {
        fresh_bytes: 1,
        removal_seconds: 1.0,
        verified_in_removal: 1,
        verified_in_commits: 1,
    });
    let figures = [
        figure("alone", "teak", [20_000_000, 18_000_000, 18_000_000]),
        figure("reader", "teak", [20_000_000, 36_000_000, 36_000_000]),
        figure("alone", "lmdb", [48_000_000, 48_000_000, 48_000_000]),
        figure("reader", "lmdb", [48_000_000, 2_400_000_000, 4_800_000_000]),
        removal,
    ];
    draw(&figures, 500, &path).expect("it draws");
    let text = fs::read_to_string(&path).expect("it is there");
    assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
    for label in ["teak, alone", "lmdb, with a reader", "2000", "500 records"] {
        assert!(text.contains(label), "{label}");
    }
    assert!(!text.contains("another work"));
    assert!(
        draw(&figures[4..], 500, &path).is_err(),
        "there is nothing to draw"
    );
}
