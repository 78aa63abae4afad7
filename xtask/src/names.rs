//! Names of values on the command line.

use clap::ValueEnum;

/// The name of a value on the command line.
pub(crate) fn value_name(value: impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
