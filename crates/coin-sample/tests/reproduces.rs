//! The sample in the repository equals the generator's output.

use std::{error::Error, fs, path::Path};

fn committed(name: &str) -> Result<String, Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    Ok(fs::read_to_string(directory.join(name))?)
}

#[test]
fn coins_are_reproduced() -> Result<(), Box<dyn Error>> {
    assert!(committed("coins-702861.dump")? == coin_sample::coins_dump()?);
    Ok(())
}

#[test]
fn spends_are_reproduced() -> Result<(), Box<dyn Error>> {
    assert!(committed("spends-702861.dump")? == coin_sample::spends_dump()?);
    Ok(())
}

#[test]
fn counts_are_those_of_the_readme() -> Result<(), Box<dyn Error>> {
    let block = coin_sample::sample_block()?;
    let (coins, spends) = (coin_sample::coins(&block)?, coin_sample::spends(&block));
    let spent_within = spends.keys().filter(|key| coins.contains_key(*key)).count();
    let text = committed("README.md")?;
    for count in [coins.len(), spends.len(), spent_within] {
        assert!(
            text.contains(&format!("| {count} |")),
            "{count} is not in the README"
        );
    }
    Ok(())
}
