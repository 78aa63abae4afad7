use super::*;

#[test]
fn is_unlocked_despite_an_open_copy_of_the_descriptor() {
    let named = tempfile::NamedTempFile::new().unwrap();
    let locked = LockedFile::new(
        named.reopen().unwrap(),
        Access::ReadWrite,
        FileSharing::Exclusive,
    )
    .unwrap();
    // A duplicate shares the lock, as the descriptor of a forked child does.
    let _inherited = locked.try_clone().unwrap();
    let other = || {
        LockedFile::new(
            named.reopen().unwrap(),
            Access::ReadWrite,
            FileSharing::Shared,
        )
    };
    assert!(matches!(other(), Err(TryLockError::WouldBlock)));
    drop(locked);
    other().unwrap();
}

#[test]
fn a_child_does_not_unlock_its_parents_file() {
    let named = tempfile::NamedTempFile::new().unwrap();
    let mut locked = LockedFile::new(
        named.reopen().unwrap(),
        Access::ReadWrite,
        FileSharing::Exclusive,
    )
    .unwrap();
    let _parents = locked.try_clone().unwrap();
    locked.owner_process += 1;
    drop(locked);
    let other = LockedFile::new(
        named.reopen().unwrap(),
        Access::ReadWrite,
        FileSharing::Shared,
    );
    assert!(matches!(other, Err(TryLockError::WouldBlock)));
}
