use super::*;

#[test]
fn all_commits_with_names_are_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let [unnamed, named] = run_slices(20, 2, directory.path()).expect("it runs");
    assert!(unnamed.names == 0 && unnamed.naming.is_none());
    assert_eq!(named.naming.expect("names were given").count, 20);
    for figure in [unnamed.lazy, named.lazy] {
        assert_eq!(figure.count, LAZY as u64);
    }
    for figure in [unnamed.durable, named.durable] {
        assert_eq!(figure.count, DURABLE as u64);
    }
}
