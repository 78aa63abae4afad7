//! The constructions give the answers that their specifications list.

use super::{super::aead::AeadKey, *};
use argon2::{Algorithm, Argon2, AssociatedData, ParamsBuilder, Version};
use hkdf::Hkdf;
use sha2::Sha256;

/// Encrypts, compares, and decrypts again.
fn check(
    cipher: Cipher,
    key: &[u8],
    nonce: &[u8],
    plaintext: &[u8],
    associated: &[u8],
    ciphertext: &str,
) {
    let key = AeadKey::new(cipher, key.try_into().unwrap());
    let nonce: &[u8; NONCE_LEN] = nonce.try_into().unwrap();
    let mut bytes = plaintext.to_vec();
    let mac = key.seal(nonce, associated, &mut bytes);
    assert_eq!(hex_of(&[&bytes[..], &mac].concat()), ciphertext);
    key.open(nonce, associated, &mut bytes, &mac).unwrap();
    assert_eq!(bytes, plaintext);
}

#[test]
fn xaes_256_gcm_has_the_answers_of_c2sp() {
    // https://c2sp.org/XAES-256-GCM: the first key makes the most significant bit of L zero, the
    // second one makes it one.
    let nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX";
    let plaintext = b"XAES-256-GCM";
    check(
        Cipher::Aes256Gcm,
        &[1; 32],
        nonce,
        plaintext,
        b"",
        "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
    );
    check(
        Cipher::Aes256Gcm,
        &[3; 32],
        nonce,
        plaintext,
        b"c2sp.org/XAES-256-GCM",
        "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
    );
}

#[test]
fn aes_256_gcm_has_the_answers_of_its_proposal() {
    // McGrew and Viega, The Galois/Counter Mode of Operation, test case 16.
    use aes_gcm::{Aes256Gcm, KeyInit, aead::AeadInOut};
    let key = hex("feffe9928665731c6d6a8f9467308308 feffe9928665731c6d6a8f9467308308");
    let mut bytes = hex(
        "d9313225f88406e5a55909c5aff5269a 86a7a9531534f7da2e4c303d8a318a72
         1c3c0c95956809532fcf0e2449a6b525 b16aedf5aa0de657ba637b39",
    );
    let nonce = hex("cafebabefacedbaddecaf888");
    let associated = hex("feedfacedeadbeeffeedfacedeadbeef abaddad2");
    let mac = Aes256Gcm::new_from_slice(&key)
        .unwrap()
        .encrypt_inout_detached(
            nonce.as_slice().try_into().unwrap(),
            &associated,
            bytes.as_mut_slice().into(),
        )
        .unwrap();
    let expected = hex(
        "522dc1f099567d07f47f37a32a84427d 643a8cdcbfe5c0c97598a2bd2555d1aa
         8cb08e48590dbb3da7b08b1056828838 c5f61e6393ba7a0abcc9f662",
    );
    assert_eq!(bytes, expected);
    assert_eq!(mac.to_vec(), hex("76fc6ece0f4e1768cddf8853bb2d551b"));
}

#[test]
fn xchacha20_poly1305_has_the_answers_of_its_draft() {
    // draft-irtf-cfrg-xchacha, A.3.1.
    let key: Vec<u8> = (0x80..0xa0).collect();
    let nonce: Vec<u8> = (0x40..0x58).collect();
    check(
        Cipher::XChaCha20Poly1305,
        &key,
        &nonce,
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the \
          future, sunscreen would be it.",
        &hex("50515253c0c1c2c3c4c5c6c7"),
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb\
         731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452\
         2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9\
         21f9664c97637da9768812f615c68b13b52e\
         c0875924c1c7987947deafd8780acf49",
    );
}

#[test]
fn hkdf_has_the_answers_of_rfc_5869() {
    // Test case 1. The information comes in parts, as where subkeys are derived.
    let salt: Vec<u8> = (0..13).collect();
    let mut key = [0; 42];
    Hkdf::<Sha256>::new(Some(&salt), &[0x0b; 22])
        .expand_multi_info(&[&hex("f0f1f2f3"), &hex("f4f5f6f7f8f9")], &mut key)
        .unwrap();
    assert_eq!(
        hex_of(&key),
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    );
}

#[test]
fn argon2id_has_the_answers_of_rfc_9106() {
    // Section 5.3.
    let params = ParamsBuilder::new()
        .m_cost(32)
        .t_cost(3)
        .p_cost(4)
        .output_len(32)
        .data(AssociatedData::new(&[4; 12]).unwrap())
        .build()
        .unwrap();
    let argon2 =
        Argon2::new_with_secret(&[3; 8], Algorithm::Argon2id, Version::V0x13, params).unwrap();
    let mut key = [0; 32];
    argon2
        .hash_password_into(&[1; 32], &[2; 16], &mut key)
        .unwrap();
    assert_eq!(
        hex_of(&key),
        "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"
    );
}
