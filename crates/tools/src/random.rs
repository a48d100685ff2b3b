//! Random names.

use std::{fmt::Write as _, io};

/// 32 random hexadecimal digits.
///
/// # Errors
///
/// If the system has no random source.
pub(crate) fn random_digits() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}
