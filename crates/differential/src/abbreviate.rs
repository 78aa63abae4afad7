//! Abbreviated operations and answers.

use std::fmt::Debug;

/// The output of `{:?}`, with equal consecutive numbers abbreviated: `97 x 40`.
pub fn abbreviate(description: &impl Debug) -> String {
    let whole = format!("{description:?}");
    let mut words = whole.split(", ").peekable();
    let mut parts = Vec::new();
    while let Some(word) = words.next() {
        let mut count = 1;
        while is_number(word) && words.next_if_eq(&word).is_some() {
            count += 1;
        }
        parts.push(match count {
            1 => word.to_owned(),
            count => format!("{word} x {count}"),
        });
    }
    parts.join(", ")
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_consecutive_numbers_are_abbreviated() {
        assert_eq!(abbreviate(&[1, 7, 7, 7, 2, 2, 3]), "[1, 7 x 3, 2 x 2, 3]");
        assert_eq!(abbreviate(&Some(5)), "Some(5)");
    }
}
