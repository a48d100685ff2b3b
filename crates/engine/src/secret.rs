//! A text that nobody may see: it has no `Display`, and its `Debug` says nothing.

use std::fmt;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// A key or a token. It is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Keeps a text.
    pub fn new(text: impl Into<String>) -> SecretText {
        SecretText(Zeroizing::new(text.into()))
    }

    /// The text, for the one place that has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether it is that text. The time it takes does not depend on where they differ.
    pub fn equals(&self, other: &str) -> bool {
        let (one, two) = (blake3::hash(self.0.as_bytes()), blake3::hash(other.as_bytes()));
        one.as_bytes().ct_eq(two.as_bytes()).into()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_compared_and_never_shown() {
        let secret = SecretText::new("sk-canary");
        assert!(secret.equals("sk-canary") && !secret.equals("sk-canarz") && !secret.equals(""));
        assert_eq!(format!("{secret:?}"), "[secret]");
    }
}
