use super::{
    super::tests::{golden_tests::assert_golden, *},
    *,
};
use crate::error::samples::documented;

fn wrong_key_reason<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    match result {
        Err(Error::WrongKey { path: None, reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Whether both ciphers have the same keys.
fn are_alike(a: &PageCipher, b: &PageCipher) -> bool {
    let mut page = vec![1; 512];
    a.seal_page(4, 5, &mut page);
    b.open_page(4, &mut page).is_ok()
}

#[test]
fn a_block_reads_back() {
    for cipher in CIPHERS {
        let (block, _) = new_database(cipher);
        assert_eq!(KeyBlock::decode(&block.encode()), Ok(block));
        assert_eq!((block.cipher(), block.current_id()), (cipher, 1));
        assert_eq!(block.derivation(), KeyDerivation::Given);
        let (next, _) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
        assert_eq!(KeyBlock::decode(&next.encode()), Ok(next));
        assert_eq!(next.current_id(), 2);
        assert!(next.has_previous_data_key() && !block.has_previous_data_key());
    }
}

#[test]
fn the_key_opens_the_block() {
    for cipher in CIPHERS {
        let (block, created) = new_database(cipher);
        assert!(are_alike(
            &created,
            &block.open(&key(), DATABASE_ID).unwrap()
        ));
        let callback = EncryptionKey::from_callback(|request| {
            assert_eq!(request.database_id, DATABASE_ID);
            Ok([5; 32])
        });
        assert!(are_alike(
            &created,
            &block.open(&callback, DATABASE_ID).unwrap()
        ));
    }
}

#[test]
fn another_key_is_refused_with_its_reason() {
    let (block, _) = new_database(Cipher::Aes256Gcm);
    let other = EncryptionKey::from_bytes([6; 32]);
    let reason = wrong_key_reason(block.open(&other, DATABASE_ID));
    assert!(documented("WrongKey")[1].contains(reason), "{reason}");
    assert_eq!(wrong_key_reason(block.open(&key(), [1; 16])), reason);
    assert_eq!(
        wrong_key_reason(block.rewrap(&other, &key(), DATABASE_ID)),
        reason
    );
    assert_eq!(
        wrong_key_reason(block.with_new_data_key(&other, DATABASE_ID)),
        reason
    );
    let passphrase = EncryptionKey::from_passphrase("words");
    let reason = wrong_key_reason(block.open(&passphrase, DATABASE_ID));
    assert_eq!(
        reason,
        "it is encrypted with a key, and a passphrase was given"
    );
    let failing = EncryptionKey::from_callback(|_| Err("the service is down".into()));
    let error = block.open(&failing, DATABASE_ID).unwrap_err().to_string();
    assert!(
        error.contains("the callback failed: the service is down"),
        "{error}"
    );
}

#[test]
fn a_passphrase_opens_the_block() {
    let passphrase = EncryptionKey::from_passphrase("six words drawn by dice");
    let (block, created) =
        KeyBlock::create(Cipher::XChaCha20Poly1305, &passphrase, DATABASE_ID).unwrap();
    let stored = KeyBlock::decode(&block.encode()).unwrap();
    let KeyDerivation::Argon2id(cost) = stored.derivation() else {
        panic!("{stored:?}");
    };
    assert_eq!((cost.memory_kib, cost.passes, cost.lanes), (65536, 3, 4));
    assert!(are_alike(
        &created,
        &stored.open(&passphrase, DATABASE_ID).unwrap()
    ));
    let reason = wrong_key_reason(stored.open(&key(), DATABASE_ID));
    assert_eq!(
        reason,
        "it is encrypted with a passphrase, and a key was given"
    );
    let other = EncryptionKey::from_passphrase("six words drawn by lots");
    let reason = wrong_key_reason(stored.open(&other, DATABASE_ID));
    assert_eq!(reason, "its data keys are encrypted with another key");
    let empty = EncryptionKey::from_passphrase("");
    let error = KeyBlock::create(Cipher::Aes256Gcm, &empty, DATABASE_ID).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
}

#[test]
fn the_key_changes_and_the_data_keys_stay() {
    for cipher in CIPHERS {
        let (block, created) = new_database(cipher);
        let new = EncryptionKey::from_bytes([6; 32]);
        let rewrapped = block.rewrap(&key(), &new, DATABASE_ID).unwrap();
        assert!(are_alike(
            &created,
            &rewrapped.open(&new, DATABASE_ID).unwrap()
        ));
        wrong_key_reason(rewrapped.open(&key(), DATABASE_ID));
        // While the data key changes, both are wrapped.
        let (two_keys, _) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
        let rewrapped = two_keys.rewrap(&key(), &new, DATABASE_ID).unwrap();
        let opened = rewrapped.open(&new, DATABASE_ID).unwrap();
        let mut page = vec![1; 512];
        created.seal_page(4, 5, &mut page);
        assert_eq!(opened.open_page(4, &mut page), Ok(5));
    }
}

#[test]
fn only_one_data_key_is_replaced_at_a_time() {
    let (block, _) = new_database(Cipher::Aes256Gcm);
    let (block, _) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
    let error = block.with_new_data_key(&key(), DATABASE_ID).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    let block = block.without_previous_data_key();
    let (block, _) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
    assert_eq!(block.current_id(), 3);
    let last = KeyBlock {
        current: WrappedKey {
            id: u32::MAX,
            ..block.current
        },
        ..block
    };
    // The id is bound to the encrypted key.
    wrong_key_reason(last.with_new_data_key(&key(), DATABASE_ID));
}

#[test]
fn fields_that_are_out_of_range_are_refused() {
    let (block, _) = new_database(Cipher::Aes256Gcm);
    let (two_keys, _) = block.with_new_data_key(&key(), DATABASE_ID).unwrap();
    let (block, two_keys) = (block.encode(), two_keys.encode());
    for len in [0, 1, 191] {
        assert!(KeyBlock::decode(&block[..len]).is_err());
    }
    assert!(KeyBlock::decode(&[0; KEY_BLOCK_LEN]).is_err());
    let refused = |bytes: &[u8; KEY_BLOCK_LEN], changes: &[(usize, u8)]| {
        let mut changed = *bytes;
        changes.iter().for_each(|(at, byte)| changed[*at] = *byte);
        KeyBlock::decode(&changed).unwrap_err()
    };
    assert_eq!(
        refused(&block, &[(0, 2)]),
        "its key block has an unknown version"
    );
    assert_eq!(refused(&block, &[(1, 0)]), "its cipher is unknown");
    assert_eq!(refused(&block, &[(1, 3)]), "its cipher is unknown");
    assert_eq!(
        refused(&block, &[(2, 2)]),
        "the derivation of its key is unknown"
    );
    let out_of_range = "the parameters of its passphrase are out of range";
    assert_eq!(
        refused(&block, &[(5, 1)]),
        out_of_range,
        "parameters without a passphrase"
    );
    assert_eq!(refused(&block, &[(2, 1)]), out_of_range, "no parameters");
    // 1 TiB of memory.
    let forged = [(2, 1), (7, 0x40), (8, 1), (12, 1)];
    assert_eq!(refused(&block, &forged), out_of_range);
    let count = "its data keys are not one or two";
    assert_eq!(refused(&block, &[(3, 0)]), count);
    assert_eq!(refused(&block, &[(3, 3)]), count);
    assert_eq!(
        refused(&two_keys, &[(3, 1)]),
        count,
        "a key that does not count"
    );
    let ids = "the ids of its data keys are impossible";
    assert_eq!(refused(&block, &[(3, 2)]), ids, "a key of zeros");
    assert_eq!(refused(&block, &[(32, 2)]), ids);
    assert_eq!(refused(&block, &[(32, 0), (40, 0)]), ids);
    assert_eq!(refused(&block, &[(36, 1)]), ids, "bytes that are zero");
    assert_eq!(refused(&two_keys, &[(116, 2)]), ids, "twice the same id");
}

#[test]
fn debug_output_has_no_secrets() {
    let secret = Zeroizing::new(*b"secret! secret! secret! secret! ");
    let block =
        KeyBlock::wrap(Cipher::Aes256Gcm, &key(), &DATABASE_ID, (1, &secret), None).unwrap();
    let cipher = block.open(&key(), DATABASE_ID).unwrap();
    assert_eq!(
        format!("{cipher:?}"),
        "PageCipher { current_id: 1, previous_id: None, .. }"
    );
    let shown = format!("{block:?}").replace(' ', "");
    let secret = format!("{:?}", *secret).replace(' ', "");
    assert!(!shown.contains(secret.trim_matches(['[', ']'])), "{shown}");
}

/// The keys of `fixed_cipher`, wrapped with fixed randomness.
fn fixed_block(cipher: Cipher, key: &EncryptionKey, derivation: KeyDerivation) -> KeyBlock {
    let [current, previous] = [0x22, 0x11].map(|byte| Zeroizing::new([byte; KEY_LEN]));
    let randomness = WrapRandomness {
        salt: [0x44; 16],
        nonces: [[0x55; NONCE_LEN], [0x66; NONCE_LEN]],
    };
    let subject = (cipher, derivation, &DATABASE_ID);
    let previous = Some((1, &previous));
    KeyBlock::wrap_with(key, subject, (2, &current), previous, randomness).unwrap()
}

#[test]
fn blocks_stay_readable() {
    let passphrase = EncryptionKey::from_passphrase("six words drawn by dice");
    let cost = Argon2Cost {
        memory_kib: 64,
        passes: 2,
        lanes: 2,
    };
    for cipher in CIPHERS {
        let keys = fixed_block(cipher, &key(), KeyDerivation::Given);
        assert_golden("keys", cipher, &keys.encode());
        let opened = keys.open(&key(), DATABASE_ID).unwrap();
        assert!(are_alike(&fixed_cipher(cipher, DATABASE_ID), &opened));
        let keys = fixed_block(cipher, &passphrase, KeyDerivation::Argon2id(cost));
        assert_golden("passphrase", cipher, &keys.encode());
        let opened = keys.open(&passphrase, DATABASE_ID).unwrap();
        assert!(are_alike(&fixed_cipher(cipher, DATABASE_ID), &opened));
    }
}
