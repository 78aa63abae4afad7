//! Derived codecs of keys and values.
#![allow(missing_docs)]

use std::{borrow::Cow, fmt::Debug};
use teak::{
    Database, Error, Result, Table, TeakKey, TeakValue,
    codec::{Codec, CodecOrder, EncodeAs, KeyPart, NativeU64},
};

#[derive(TeakKey, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Address {
    country: String,
    town: Vec<u8>,
    number: i16,
}

#[derive(TeakKey, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[teak(name = "tests.grid")]
struct Grid(u16, i8);

#[derive(TeakKey, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Nothing;

#[derive(TeakKey, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Number(u64);

#[derive(TeakKey, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Unknown,
    Person { name: String, born: Option<u16> },
    Business(Address, Grid),
    Number(Number),
}

#[derive(TeakKey, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Colour {
    Red,
    Blue,
}

#[derive(TeakKey, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Many {
    a: u8,
    b: String,
    c: u8,
    d: u8,
    e: String,
    f: u8,
    g: u8,
    h: String,
    i: Option<u8>,
    j: String,
}

#[derive(TeakValue, Clone, PartialEq, Debug)]
struct Job {
    command: String,
    owner: Owner,
    priority: Option<f32>,
    tail: Vec<u8>,
}

#[derive(TeakValue, Clone, PartialEq, Debug)]
enum Outcome {
    Waiting,
    Done(Job),
    Failed { attempts: u32, message: String },
}

fn bytes<T: EncodeAs<T>>(item: &T) -> Vec<u8> {
    item.encode_as().unwrap().as_ref().to_vec()
}

fn address(country: &str, town: &[u8], number: i16) -> Address {
    let (country, town) = (country.to_owned(), town.to_vec());
    Address {
        country,
        town,
        number,
    }
}

/// Compares all items with each other, alone and as a part of a tuple.
fn assert_order<T>(items: &[T])
where
    T: KeyPart + EncodeAs<T> + Clone + Ord + Debug,
    T: for<'a> Codec<Item<'a> = T, Owned = T>,
{
    for a in items {
        assert_eq!(&T::decode(&bytes(a)).unwrap(), a);
        assert!(T::LEN.is_none_or(|len| len == bytes(a).len()), "{a:?}");
        for b in items {
            assert_eq!(bytes(a).cmp(&bytes(b)), a.cmp(b), "{a:?} {b:?}");
            let tuple = |item: &T, number: u8| -> Vec<u8> {
                let tuple = (item, number);
                let encoded = EncodeAs::<(T, u8)>::encode_as(&tuple).unwrap();
                encoded.as_ref().to_vec()
            };
            assert_eq!(
                tuple(a, 2).cmp(&tuple(b, 1)),
                (a, 2).cmp(&(b, 1)),
                "{a:?} {b:?}"
            );
        }
    }
}

#[test]
fn keys_sort_as_derived_orders_do() {
    let addresses = [
        address("", b"", 0),
        address("a", b"\0", -1),
        address("a", b"", 5),
        address("a\0", b"", 5),
        address("a", b"\xff", 5),
        address("b", b"", -5),
    ];
    assert_order(&addresses);
    let grids = [Grid(0, 0), Grid(0, -1), Grid(256, 3), Grid(1, 127)];
    assert_order(&grids);
    assert_order(&[Nothing]);
    assert_order(&[Colour::Red, Colour::Blue]);
    let mut owners = vec![
        Owner::Unknown,
        Owner::Number(Number(7)),
        Owner::Number(Number(1 << 40)),
    ];
    for (address, grid) in addresses.into_iter().zip(grids) {
        owners.push(Owner::Person {
            name: address.country.clone(),
            born: Some(grid.0),
        });
        owners.push(Owner::Person {
            name: address.country.clone(),
            born: None,
        });
        owners.push(Owner::Business(address, grid));
    }
    assert_order(&owners);
    let many = |b: &str, e: &str, j: &str| Many {
        a: 1,
        b: b.into(),
        c: 2,
        d: 3,
        e: e.into(),
        f: 4,
        g: 5,
        h: e.into(),
        i: None,
        j: j.into(),
    };
    assert_order(&[
        many("", "", "x"),
        many("\0", "a", ""),
        many("", "a", "b"),
        many("", "a\0", ""),
    ]);
}

#[test]
fn structs_are_tuples_and_variants_have_numbers() {
    assert_eq!(bytes(&Grid(1, -1)), [0, 1, 127]);
    assert_eq!(bytes(&address("a", b"b", 0)), *b"a\0\0b\0\0\x80\0");
    assert_eq!(bytes(&Colour::Blue), [1]);
    assert_eq!(
        bytes(&Owner::Number(Number(3))),
        [3, 0, 0, 0, 0, 0, 0, 0, 3]
    );
    assert_eq!(
        (Grid::LEN, Number::LEN, Colour::LEN),
        (Some(3), Some(8), Some(1))
    );
    assert_eq!(
        (Address::LEN, Owner::LEN, Nothing::LEN),
        (None, None, Some(0))
    );
}

#[test]
fn names_are_those_of_the_package_and_the_type_unless_they_are_set() {
    assert_eq!(Address::name(), "teak.Address");
    assert_eq!(Grid::name(), "tests.grid");
    assert_eq!(Job::name(), "teak.Job");
}

#[test]
fn keys_have_an_order_and_values_have_none() {
    #[derive(TeakKey)]
    struct Native(NativeCodec);
    assert_eq!(Address::ORDER, CodecOrder::Bytes);
    assert_eq!(Owner::ORDER, CodecOrder::Bytes);
    assert_eq!(Native::ORDER, CodecOrder::Integer);
    assert_eq!(Job::ORDER, CodecOrder::Unordered);
}

/// A type with the codec of integers of the machine.
struct NativeCodec(u64);

impl Codec for NativeCodec {
    type Item<'a> = Self;
    type Owned = Self;
    const ORDER: CodecOrder = NativeU64::ORDER;

    fn name() -> Cow<'static, str> {
        "tests.native".into()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        NativeU64::decode(bytes).map(Self)
    }

    fn to_owned(item: Self) -> Self {
        item
    }
}

impl EncodeAs<NativeCodec> for NativeCodec {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok(self.0.to_le_bytes())
    }
}

impl KeyPart for NativeCodec {
    type Part<'a> = Self;
    const LEN: Option<usize> = NativeU64::LEN;

    fn decode_part(bytes: Cow<'_, [u8]>) -> Result<Self> {
        Self::decode(&bytes)
    }

    fn part_to_owned(part: Self) -> Self {
        part
    }
}

#[test]
fn keys_and_values_are_stored_and_read() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak"))?;
    let mut txn = database.begin_write()?;
    let jobs: Table<(Owner, u8), Outcome> = txn.create_table("jobs")?;
    let job = Job {
        command: "x".repeat(1000),
        owner: Owner::Business(address("a", b"b", 1), Grid(1, 2)),
        priority: Some(0.5),
        tail: vec![1, 2, 3],
    };
    let outcomes = [
        Outcome::Waiting,
        Outcome::Done(job),
        Outcome::Failed {
            attempts: 300,
            message: "no such file".into(),
        },
    ];
    for (number, outcome) in (0..).zip(&outcomes) {
        jobs.insert(&mut txn, (&Owner::Unknown, number), outcome)?;
    }
    let stored: Vec<Outcome> = jobs.range(..).values(&txn)?.collect::<Result<_>>()?;
    assert_eq!(stored, outcomes);
    let refused = txn.create_multi_table::<Owner, Outcome>("pairs");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    Ok(())
}

#[test]
fn any_bytes_are_decoded_or_refused() {
    let encoded = bytes(&Outcome::Failed {
        attempts: 300,
        message: "no".into(),
    });
    for len in 0..encoded.len() - 2 {
        assert!(
            matches!(Outcome::decode(&encoded[..len]), Err(Error::Decode { .. })),
            "{len}"
        );
    }
    assert!(Outcome::decode(&[0, 0]).is_err() && Outcome::decode(&[9]).is_err());
    assert!(Outcome::decode(&[2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).is_err());
    for seed in 0..2000u32 {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            [0, 1, 2, 3, 255, 128][(state >> 16) as usize % 6]
        };
        let bytes: Vec<u8> = (0..seed % 20).map(|_| next()).collect();
        if let Ok(owner) = Owner::decode(&bytes) {
            assert_eq!(self::bytes(&owner), bytes, "{owner:?}");
        }
        let _ = Outcome::decode(&bytes);
    }
}
