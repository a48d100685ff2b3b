//! Text that must not be shown: it has no `Display`, and its `Debug` prints a placeholder.

use std::fmt;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// A key or a token. It is wiped from memory on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> SecretText {
        SecretText(Zeroizing::new(text.into()))
    }

    /// The text, for the code that has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the secret equals `other`. Compares in constant time.
    pub fn equals(&self, other: &str) -> bool {
        let (own_hash, other_hash) =
            (blake3::hash(self.0.as_bytes()), blake3::hash(other.as_bytes()));
        own_hash.as_bytes().ct_eq(other_hash.as_bytes()).into()
    }

    /// Whether the text is empty or only whitespace.
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
