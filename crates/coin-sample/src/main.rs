//! Writes the sample: `cargo run --package coin-sample`.

use std::{error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    for (name, text) in [
        ("coins-702861.dump", coin_sample::coins_dump()?),
        ("spends-702861.dump", coin_sample::spends_dump()?),
    ] {
        fs::write(directory.join(name), &text)?;
        println!(
            "{name}: {} records, {} bytes",
            (text.lines().count() - 6) / 2,
            text.len()
        );
    }
    Ok(())
}
