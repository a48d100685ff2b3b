//! Creation of access tokens.

use foxwedge_upstream::SecretText;

/// Why no token can be created.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct TokenError(#[source] getrandom::Error);

/// A new token: `fw_` and 32 random bytes.
///
/// # Errors
/// If the system provides no random bytes.
pub fn new_token() -> Result<SecretText, TokenError> {
    let mut bytes = zeroize::Zeroizing::new([0_u8; 32]);
    getrandom::fill(bytes.as_mut_slice()).map_err(TokenError)?;
    let mut text = String::with_capacity(3 + 64);
    text.push_str("fw_");
    for byte in bytes.iter() {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
    Ok(SecretText::new(text))
}

/// Whether a text has the form of a foxwedge token.
pub(super) fn is_foxwedge_token(text: &str) -> bool {
    let digits = text.strip_prefix("fw_").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_differ() {
        let (first, second) =
            (new_token().expect("random bytes"), new_token().expect("random bytes"));
        assert!(
            is_foxwedge_token(first.reveal())
                && is_foxwedge_token(second.reveal())
                && first != second
        );
        assert!(
            !is_foxwedge_token("fw_")
                && !is_foxwedge_token("sk-1")
                && !is_foxwedge_token(&"f".repeat(67))
        );
    }
}
