use super::*;

#[test]
fn reported_dead_pages_exist_during_commits() {
    let pages = 6000;
    for kind in EngineKind::usual_except_quick() {
        let directory = tempfile::tempdir().expect("a directory");
        let figures = run_engine(kind, pages, 2, directory.path()).expect("it runs");
        let [first, seen, freed, second, free] = &figures[..] else {
            panic!("{figures:?}");
        };
        for alone in [first, second] {
            assert_eq!(alone.state, "nothing");
            assert!(alone.dead_pages.count < pages / 2, "{alone:?}");
        }
        // Small commits use some of the pages and leave others.
        for fragmented in [seen, freed, free] {
            assert!(
                fragmented.dead_pages.count >= pages * 9 / 10,
                "{fragmented:?}"
            );
        }
        if kind == EngineKind::Teak {
            assert!(seen.dead_pages.pending >= Some(pages), "{seen:?}");
            for freed in [freed, free] {
                assert!(freed.dead_pages.pending < Some(SETTLED_PAGES), "{freed:?}");
            }
        }
    }
}
