use super::*;

#[test]
fn what_is_said_to_be_beside_commits_is_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let pages = 6000;
    let figures = run(pages, directory.path()).expect("it runs");
    let names: Vec<&str> = figures.iter().map(|figure| figure.beside).collect();
    let [first, pending, freed, second, free] = &figures[..] else {
        panic!("{names:?}");
    };
    assert_eq!([first.beside, second.beside], ["nothing"; 2]);
    assert!(pending.pending_pages >= pages, "{pending:?}");
    assert!(freed.pending_pages < SETTLED_PAGES, "{freed:?}");
    assert!(freed.free_pages >= pages, "{freed:?}");
    // Small commits take some of them, and leave others.
    assert!(free.free_runs > pages / 2, "{free:?}");
    assert!(first.free_pages < pages / 2 && second.free_pages < pages / 2);
}
