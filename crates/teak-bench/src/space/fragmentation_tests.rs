use super::*;

#[test]
fn what_is_said_to_be_beside_commits_is_there() {
    let pages = 6000;
    for kind in EngineKind::usual_except_quick() {
        let directory = tempfile::tempdir().expect("a directory");
        let figures = run_engine(kind, pages, 2, directory.path()).expect("it runs");
        let [first, seen, freed, second, free] = &figures[..] else {
            panic!("{figures:?}");
        };
        for alone in [first, second] {
            assert_eq!(alone.beside, "nothing");
            assert!(alone.dead_pages.count < pages / 2, "{alone:?}");
        }
        // Small commits take some of the pages, and leave others.
        for beside in [seen, freed, free] {
            assert!(beside.dead_pages.count >= pages * 9 / 10, "{beside:?}");
        }
        if kind == EngineKind::Teak {
            assert!(seen.dead_pages.pending >= Some(pages), "{seen:?}");
            for freed in [freed, free] {
                assert!(freed.dead_pages.pending < Some(SETTLED_PAGES), "{freed:?}");
            }
        }
    }
}
