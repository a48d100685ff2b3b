//! Parses token counts (`32000`, `32k`, `1.5m`) and shares between 0 and 1 from flags.

use foxwedge_local::output::{HelpfulError, clean, cut};

/// Max token count of a flag: more than any model takes.
const MAX_TOKENS: u64 = 1_000_000_000_000;

/// Parses the token count of a flag.
pub(crate) fn parse_tokens(flag: &str, typed: &str) -> Result<u64, HelpfulError> {
    match parse_number(typed.trim()) {
        Ok(0) => Err(token_count_error(flag, typed, "nothing fits into 0 tokens")),
        Ok(tokens) if tokens > MAX_TOKENS => {
            Err(token_count_error(flag, typed, "no model takes that many tokens"))
        }
        Ok(tokens) => Ok(tokens),
        Err(reason) => Err(token_count_error(flag, typed, reason)),
    }
}

/// Parses the share of a flag.
pub(crate) fn parse_share(flag: &str, typed: &str) -> Result<f64, HelpfulError> {
    let share = typed.trim().parse::<f64>().ok();
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
        let shown = cut(&clean(typed), 40);
        HelpfulError::new(format!("--{flag} {shown}: not a share"))
            .help(format!("a share is a number from 0 to 1: `--{flag} 0.5` is half"))
    })
}

/// Parses digits with an optional fraction and an optional `k` or `m`.
fn parse_number(typed: &str) -> Result<u64, &'static str> {
    const NOT_A_NUMBER: &str = "not a number of tokens";
    if typed.starts_with('-') {
        return Err("a number of tokens cannot be negative");
    }
    let (digits, unit) = match typed.char_indices().last() {
        Some((at, 'k' | 'K')) => (typed.get(..at).unwrap_or(""), 1_000),
        Some((at, 'm' | 'M')) => (typed.get(..at).unwrap_or(""), 1_000_000),
        _ => (typed, 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(part) || digits.ends_with('.') {
        return Err(NOT_A_NUMBER);
    }
    // A fraction of a token is dropped.
    let mut tokens = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit));
    let mut worth = unit;
    for digit in part.bytes() {
        worth /= 10;
        tokens = tokens.and_then(|tokens| tokens.checked_add(u64::from(digit - b'0') * worth));
    }
    if !part.is_empty() && unit == 1 {
        return Err("the number of tokens must be whole");
    }
    tokens.ok_or("no model takes that many tokens")
}

fn token_count_error(flag: &str, typed: &str, reason: &str) -> HelpfulError {
    let shown = cut(&clean(typed), 40);
    HelpfulError::new(format!("--{flag} {shown}: {reason}"))
        .help(format!("write tokens as 32000, 32k or 1.5m: `--{flag} 32k`"))
}

/// Formats a number with a space between groups of three digits.
pub(crate) fn format_spaced(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_are_parsed() {
        let table = [
            ("32000", Ok(32_000)),
            ("32k", Ok(32_000)),
            ("32K", Ok(32_000)),
            ("1.5m", Ok(1_500_000)),
            ("1.23456789k", Ok(1_234)),
            (" 7 ", Ok(7)),
            ("1000000000000", Ok(1_000_000_000_000)),
            ("0", Err("nothing fits into 0 tokens")),
            ("0.0k", Err("nothing fits into 0 tokens")),
            ("-5", Err("a number of tokens cannot be negative")),
            ("1.5", Err("the number of tokens must be whole")),
            ("1.", Err("not a number of tokens")),
            (".5k", Err("not a number of tokens")),
            ("", Err("not a number of tokens")),
            ("k", Err("not a number of tokens")),
            ("12kk", Err("not a number of tokens")),
            ("1e9", Err("not a number of tokens")),
            ("NaN", Err("not a number of tokens")),
            ("٣", Err("not a number of tokens")),
            ("99999999m", Err("no model takes that many tokens")),
            ("18446744073709551615", Err("no model takes that many tokens")),
            ("18446744073709551616", Err("no model takes that many tokens")),
            ("99999999999999999999999k", Err("no model takes that many tokens")),
        ];
        for (typed, expected) in table {
            let read = parse_tokens("budget", typed).map_err(|error| error.to_string());
            let expected = expected.map_err(|reason| format!("--budget {typed}: {reason}"));
            assert_eq!(read, expected, "{typed}");
        }
    }

    #[test]
    fn shares_are_between_zero_and_one() {
        for (typed, expected) in [("0", 0.0), ("0.5", 0.5), ("1", 1.0)] {
            assert_eq!(parse_share("fraction", typed).ok(), Some(expected));
        }
        for typed in ["NaN", "-0.1", "1.01", "inf", "-inf", "", "half", "50%"] {
            assert!(parse_share("fraction", typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn numbers_are_spaced() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1 000"), (1234567, "1 234 567")]
        {
            assert_eq!(format_spaced(number), expected);
        }
    }
}
