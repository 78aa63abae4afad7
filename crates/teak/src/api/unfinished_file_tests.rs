use super::*;

/// Elsewhere directories cannot be locked, and none are removed.
#[cfg(unix)]
#[test]
fn only_abandoned_directories_are_removed() {
    let parent = tempfile::tempdir().unwrap();
    let path = |name: &str| parent.path().join(name);
    let working = UnfinishedFile::new(&path("a")).unwrap();
    fs::write(working.path(), b"half").unwrap();
    let left = path(".teak-backup-kiLLed");
    let (foreign, other) = (path(".teak-backup-friday"), path(".teak-backup-old"));
    for (directory, file) in [(&left, "copy"), (&foreign, "mine"), (&other, "copy")] {
        fs::create_dir(directory).unwrap();
        fs::write(directory.join(file), b"something").unwrap();
    }
    fs::write(left.join("copy-lock"), b"").unwrap();
    let next = UnfinishedFile::new(&path("b")).unwrap();
    assert!(!left.exists());
    assert!(foreign.join("mine").exists() && other.join("copy").exists());
    assert_eq!(fs::read(working.path()).unwrap(), b"half");
    let directories = [working.path(), next.path()];
    drop((working, next));
    for file in directories {
        assert!(!file.parent().unwrap().exists());
    }
    assert!(matches!(
        UnfinishedFile::new(&foreign),
        Err(Error::AlreadyExists(_))
    ));
}

#[test]
fn the_directory_of_a_relative_target_has_an_absolute_path() {
    let name = format!(
        "absolute-{:032x}",
        u128::from_le_bytes(random_id().unwrap())
    );
    let unfinished = UnfinishedFile::new(Path::new(&name)).unwrap();
    assert!(unfinished.path().is_absolute());
    assert!(unfinished.path().parent().unwrap().is_dir());
}
