//! Tests of the model's parts, and a short campaign.

use super::{
    ModelArguments,
    oracle::{TableKind, TableModel},
    run,
    shape::{KeyShape, ValueSizes, sort_form},
};
use crate::campaign::{CampaignArguments, EncodingArguments, ScratchArguments};
use fastrand::Rng;
use std::ops::Bound;
use teak::KeyOrder;

fn table(order: KeyOrder, shape: KeyShape) -> TableModel {
    TableModel::new(TableKind {
        order,
        share_prefixes: true,
        counted: false,
        value_align: 1,
        shape,
    })
}

#[test]
fn a_key_depends_only_on_its_number() {
    let mut rng = Rng::with_seed(3);
    for _ in 0..100 {
        let shape = KeyShape::draw(&mut rng, KeyOrder::Bytes, 1000);
        for number in 0..100 {
            assert_eq!(shape.key(number), shape.key(number));
            assert!(shape.key(number).len() <= 1000);
        }
    }
}

#[test]
fn integers_sort_as_numbers() {
    let form = |number: u64| sort_form(KeyOrder::Integer, &number.to_ne_bytes());
    assert!(form(255) < form(256));
    assert!(form(u64::MAX - 1) < form(u64::MAX));
}

#[test]
fn reversed_keys_sort_from_their_end() {
    let mut rng = Rng::with_seed(1);
    let mut model = table(KeyOrder::ReverseBytes, KeyShape::Random);
    for key in [b"ab".as_slice(), b"ba", b"ca", b"a"] {
        model.insert(key, ValueSizes::Tiny.value(&mut rng));
    }
    let keys: Vec<_> = model
        .range(&(Bound::Unbounded, Bound::Unbounded))
        .map(|(key, _)| key.to_vec())
        .collect();
    assert_eq!(
        keys,
        [
            b"a".to_vec(),
            b"ba".to_vec(),
            b"ca".to_vec(),
            b"ab".to_vec()
        ]
    );
}

#[test]
fn a_range_that_ends_before_it_starts_is_empty() {
    let mut model = table(KeyOrder::Bytes, KeyShape::Random);
    model.insert(b"b", ValueSizes::Tiny.value(&mut Rng::with_seed(1)));
    let range = (
        Bound::Included(b"c".to_vec().into()),
        Bound::Excluded(b"a".to_vec().into()),
    );
    assert_eq!(model.range(&range).count(), 0);
    let range = (
        Bound::Excluded(b"b".to_vec().into()),
        Bound::Excluded(b"b".to_vec().into()),
    );
    assert_eq!(model.remove_range(&range), 0);
}

#[test]
fn bytes_of_values_are_counted() {
    let mut rng = Rng::with_seed(5);
    let mut model = table(KeyOrder::Bytes, KeyShape::Tiny);
    for number in 0..1000 {
        let key = model.kind.shape.key(number % 50);
        if number % 3 == 0 {
            model.remove(&key);
        } else {
            model.insert(&key, ValueSizes::Small.value(&mut rng));
        }
    }
    let sum: usize = model
        .range(&(Bound::Unbounded, Bound::Unbounded))
        .map(|(_, value)| value.len())
        .sum();
    assert_eq!(model.value_bytes(), sum);
}

#[test]
fn a_short_campaign_has_no_violations() {
    play(|arguments| arguments);
}

#[test]
fn a_short_campaign_with_encryption_has_no_violations() {
    let encoding = EncodingArguments {
        encrypted: true,
        compressed: false,
    };
    play(|arguments| ModelArguments {
        encoding,
        ..arguments
    });
}

#[test]
fn a_short_campaign_with_expiring_tables_has_no_violations() {
    play(|arguments| ModelArguments {
        expiring: true,
        ..arguments
    });
}

fn play(change: impl FnOnce(ModelArguments) -> ModelArguments) {
    let arguments = change(ModelArguments {
        ops: 3_000,
        campaign: CampaignArguments {
            seed: 42,
            results: None,
        },
        episode: None,
        expiring: false,
        encoding: EncodingArguments {
            encrypted: false,
            compressed: false,
        },
        scratch: ScratchArguments { dir: None },
    });
    assert!(run(&arguments).is_ok());
}
