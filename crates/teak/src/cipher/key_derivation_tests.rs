use super::*;

const CHEAP: Argon2Cost = Argon2Cost {
    memory_kib: 32,
    passes: 1,
    lanes: 1,
};

#[test]
fn a_passphrase_is_stretched_as_argon2id_does() {
    let mut expected = [0; KEY_LEN];
    let params = Params::new(32, 1, 1, Some(KEY_LEN)).unwrap();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(b"correct horse", &[9; 16], &mut expected)
        .unwrap();
    let key = stretch(b"correct horse", &[9; 16], CHEAP).unwrap();
    assert_eq!(*key, expected);
    assert_ne!(
        *stretch(b"correct horse", &[8; 16], CHEAP).unwrap(),
        expected
    );
    assert_ne!(
        *stretch(b"correct house", &[9; 16], CHEAP).unwrap(),
        expected
    );
}

#[test]
fn only_affordable_costs_are_accepted() {
    let cost = |memory_kib, passes, lanes| Argon2Cost {
        memory_kib,
        passes,
        lanes,
    };
    assert!(DEFAULT_COST.is_affordable() && CHEAP.is_affordable());
    assert!(
        cost(2 << 20, 1, 4).is_affordable(),
        "the first option of RFC 9106"
    );
    for refused in [
        cost(0, 1, 1),
        cost(7, 1, 1),
        cost(31, 1, 4),
        cost(32, 0, 1),
        cost(32, 1, 0),
        cost(1 << 20, 1, 17),
        cost((2 << 20) + 1, 1, 1),
        cost(u32::MAX, 1, 1),
        cost(1 << 20, 5, 1),
        cost(32, u32::MAX, 1),
        cost(32, 1, u32::MAX),
    ] {
        assert!(!refused.is_affordable(), "{refused:?}");
    }
}
