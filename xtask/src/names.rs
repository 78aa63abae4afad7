//! Names of values on the command line.

use clap::ValueEnum;

pub(crate) trait Named {
    /// The name of the value on the command line.
    fn name(self) -> String;
}

impl<T: ValueEnum> Named for T {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
