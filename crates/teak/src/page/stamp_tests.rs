use super::{
    AFTER_BY_AGE, BY_AGE, BY_TIME, ExpirySettings, NEVER, SETTINGS_KEY, SETTINGS_LEN, STAMP_LEN,
    Stamp,
};

const STAMP: Stamp = Stamp {
    expires_ms: 0x0102_0304_0506,
    number: 7,
};

#[test]
fn a_stored_value_is_its_stamp_and_the_value() {
    let stored = STAMP.join(b"value");
    assert_eq!(stored.len(), STAMP_LEN + 5);
    assert_eq!(Stamp::split(&stored), Ok((STAMP, &b"value"[..])));
    assert!(Stamp::split(&stored[..STAMP_LEN - 1]).is_err());
}

#[test]
fn a_record_is_expired_from_its_expiry_on() {
    assert!(!STAMP.is_expired(STAMP.expires_ms - 1));
    assert!(STAMP.is_expired(STAMP.expires_ms));
    let never = Stamp {
        expires_ms: NEVER,
        number: 0,
    };
    assert!(!never.is_expired(u64::MAX));
    assert_eq!(never.time_key(), None);
}

#[test]
fn entries_sort_by_their_part_and_their_number() {
    let key = STAMP.time_key().expect("it expires");
    assert_eq!(Stamp::of_time_key(&key), Ok(STAMP));
    assert!(Stamp::of_time_key(&key[1..]).is_err());
    assert!(Stamp::of_time_key(&[2; 17]).is_err());
    let later = Stamp {
        expires_ms: STAMP.expires_ms + 1,
        number: 0,
    };
    let keys = [
        SETTINGS_KEY.to_vec(),
        BY_TIME.to_vec(),
        key.to_vec(),
        Stamp::first_live(STAMP.expires_ms),
        later.time_key().expect("it expires").to_vec(),
        BY_AGE.to_vec(),
        later.age_key().to_vec(),
        STAMP.age_key().to_vec(),
        AFTER_BY_AGE.to_vec(),
    ];
    assert!(keys.is_sorted());
}

#[test]
fn settings_are_decoded_as_they_were_encoded() {
    let settings = ExpirySettings {
        ttl_ms: 1,
        max_records: 2,
        max_bytes: 3,
        removed_expired: 4,
        removed_oldest: 5,
        expired_until_ms: 6,
    };
    let bytes = settings.encode();
    assert_eq!(ExpirySettings::decode(&bytes), Ok(settings));
    assert!(ExpirySettings::decode(&bytes[..SETTINGS_LEN - 1]).is_err());
    assert!(settings.has_limits());
    assert!(!ExpirySettings::default().has_limits());
}
