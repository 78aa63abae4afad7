use super::Small;
use crate::{Database, Error, Transaction, codec::Raw};
use std::collections::HashMap;

/// One byte more than what is stored in place.
const LONG: usize = 33;

#[test]
fn it_is_the_text_that_it_was_made_of() {
    for len in 0..=LONG {
        let text = "teak".repeat(len)[..len].to_owned();
        let small = Small::from(&*text);
        assert_eq!(small, text);
        assert_eq!(text, small);
        assert_eq!(small, *text);
        assert_eq!(small.clone(), small);
        assert_eq!(small.to_string(), text);
        assert_eq!(format!("{small:?}"), format!("{text:?}"));
        assert_eq!(String::from(Small::from(text.clone())), text);
        let bytes = Small::from(text.as_bytes());
        assert!(bytes == text.as_bytes() && bytes == text.clone().into_bytes());
        assert_eq!(Vec::from(Small::from(text.clone().into_bytes())), bytes);
        assert_eq!(HashMap::from([(small, len)]).get(&*text), Some(&len));
    }
    let (first, second) = (Small::from("a"), Small::from("b"));
    assert!(first < second);
    let bytes = Small::from(b"ab");
    assert_eq!(bytes, *b"ab");
}

/// A value is 40 bytes long, so that iterators return it quickly.
#[test]
fn it_is_short() {
    assert_eq!(size_of::<Option<Small<str>>>(), 40);
    assert_eq!(size_of::<Small<[u8]>>(), 40);
}

#[test]
fn records_of_every_length_are_read() -> Result<(), Error> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let texts = txn.create_table::<&str, u64>("texts")?;
    let pairs = txn.create_multi_table::<(&str, u8), &[u8]>("pairs")?;
    let keys: Vec<String> = (1..2 * LONG).map(|len| "a".repeat(len)).collect();
    for (key, value) in keys.iter().zip(0..) {
        texts.insert(&mut txn, key, value)?;
        pairs.insert(&mut txn, (key, 7), key.as_bytes())?;
    }
    let found: Vec<_> = texts.range(..).keys(&txn)?.collect::<Result<_, _>>()?;
    assert_eq!(found, keys);
    for (record, key) in pairs.range(..).rev(&txn)?.zip(keys.iter().rev()) {
        assert_eq!(record?, ((Small::from(&**key), 7), key.as_bytes().into()));
    }
    Ok(())
}

#[test]
fn keys_that_are_not_text_are_refused() -> Result<(), Error> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let texts = txn.create_table::<&str, u64>("texts")?;
    let raw = txn.open_table::<Raw, Raw>("texts")?;
    raw.insert(&mut txn, b"about forty bytes of text, but not \xff", [0; 8])?;
    raw.insert(&mut txn, b"some \xff", [0; 8])?;
    let mut keys = texts.range(..).keys(&txn)?;
    assert!(matches!(keys.next(), Some(Err(Error::Decode { .. }))));
    let mut keys = texts.range("b"..).keys(&txn)?;
    assert!(matches!(keys.next(), Some(Err(Error::Decode { .. }))));
    Ok(())
}
