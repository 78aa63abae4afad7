use super::*;

#[test]
fn the_boot_id_is_constant() {
    assert_eq!(boot_id(), boot_id());
}

#[test]
fn random_ids_differ() {
    assert_ne!(random_id().unwrap(), random_id().unwrap());
}
