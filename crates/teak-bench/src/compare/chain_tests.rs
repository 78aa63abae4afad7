use super::{AGES, Chain, Coin, DAY, MONTH, age_at, spent_within};
use std::collections::HashSet;

#[test]
fn ages_are_as_they_were_counted() {
    for (age, share) in [(1.0, 0.0), (DAY, 0.80), (MONTH, 0.95), (AGES as f64, 1.0)] {
        assert!((spent_within(age) - share).abs() < 1e-9);
        assert!((age_at(share) / age - 1.0).abs() < 1e-9);
    }
}

#[test]
fn blocks_have_the_counted_shape_and_spend_existing_coins() {
    let mut chain = Chain::new(300_000);
    let mut live: HashSet<Coin> = chain.coins().collect();
    assert_eq!(live.len(), 300_000);
    let (mut spent, mut created) = (0, 0);
    for _ in 0..20 {
        let block = chain.next_block();
        for coin in &block.spent {
            assert!(live.remove(coin));
        }
        for coin in &block.created {
            assert!(live.insert(*coin));
        }
        spent += block.spent.len();
        created += block.created.len();
    }
    // The block that was counted: 6,190 of 6,517 inputs, and 5,665 of 5,992 outputs.
    assert!((5000..7500).contains(&(spent / 20)), "{}", spent / 20);
    assert!((4800..7000).contains(&(created / 20)), "{}", created / 20);
    assert_eq!(live, chain.coins().collect());
}

#[test]
fn keys_differ_and_sizes_are_those_of_a_node() {
    let chain = Chain::new(5000);
    let mut seen = HashSet::new();
    for coin in chain.coins() {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        coin.add_key(&mut key);
        coin.add_value(&mut value);
        assert_eq!(key.len(), 34);
        assert!((26..=44).contains(&value.len()));
        assert!(seen.insert(key));
    }
    let mut key = Vec::new();
    let coin = Coin::new(1, 0x80);
    coin.add_key(&mut key);
    assert_eq!(key[33..], [0x80, 0]);
}
