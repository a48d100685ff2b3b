//! Numbers as people type them: `32000`, `32k`, `1.5m`, and shares between 0 and 1.

use crate::cli_output::{CliError, clean, cut};

/// More tokens than any model will take.
const MAX_TOKENS: u64 = 1_000_000_000_000;

/// Reads a number of tokens that was typed behind a flag.
pub(crate) fn parse_tokens(flag: &str, typed: &str) -> Result<u64, CliError> {
    match parse_number(typed.trim()) {
        Ok(0) => Err(token_count_error(flag, typed, "nothing fits into 0 tokens")),
        Ok(tokens) if tokens > MAX_TOKENS => {
            Err(token_count_error(flag, typed, "no model takes so many tokens"))
        }
        Ok(tokens) => Ok(tokens),
        Err(why) => Err(token_count_error(flag, typed, why)),
    }
}

/// Reads a share that was typed behind a flag.
pub(crate) fn parse_share(flag: &str, typed: &str) -> Result<f64, CliError> {
    let share = typed.trim().parse::<f64>().ok();
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
        let shown = cut(&clean(typed), 40);
        CliError::new(format!("--{flag} {shown}: this is no share"))
            .help(format!("a share is a number from 0 to 1: `--{flag} 0.5` is half"))
    })
}

/// Digits, perhaps a fraction, perhaps `k` or `m`.
fn parse_number(typed: &str) -> Result<u64, &'static str> {
    const NUMBER: &str = "this is no number of tokens";
    if typed.starts_with('-') {
        return Err("tokens cannot be less than none");
    }
    let (digits, unit) = match typed.char_indices().last() {
        Some((at, 'k' | 'K')) => (typed.get(..at).unwrap_or(""), 1_000),
        Some((at, 'm' | 'M')) => (typed.get(..at).unwrap_or(""), 1_000_000),
        _ => (typed, 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(part) || digits.ends_with('.') {
        return Err(NUMBER);
    }
    // Whole digits only: what is left of a fraction counts nothing.
    let mut tokens = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit));
    let mut worth = unit;
    for digit in part.bytes() {
        worth /= 10;
        tokens = tokens.and_then(|tokens| tokens.checked_add(u64::from(digit - b'0') * worth));
    }
    if !part.is_empty() && unit == 1 {
        return Err("there are no parts of a token");
    }
    tokens.ok_or("no model takes so many tokens")
}

fn token_count_error(flag: &str, typed: &str, why: &str) -> CliError {
    let shown = cut(&clean(typed), 40);
    CliError::new(format!("--{flag} {shown}: {why}"))
        .help(format!("tokens are typed as 32000, 32k or 1.5m: `--{flag} 32k`"))
}

/// A number with a space between every three digits.
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
    fn tokens_are_read_as_people_type_them() {
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
            ("-5", Err("tokens cannot be less than none")),
            ("1.5", Err("there are no parts of a token")),
            ("1.", Err("this is no number of tokens")),
            (".5k", Err("this is no number of tokens")),
            ("", Err("this is no number of tokens")),
            ("k", Err("this is no number of tokens")),
            ("12kk", Err("this is no number of tokens")),
            ("1e9", Err("this is no number of tokens")),
            ("NaN", Err("this is no number of tokens")),
            ("٣", Err("this is no number of tokens")),
            ("99999999m", Err("no model takes so many tokens")),
            ("18446744073709551615", Err("no model takes so many tokens")),
            ("18446744073709551616", Err("no model takes so many tokens")),
            ("99999999999999999999999k", Err("no model takes so many tokens")),
        ];
        for (typed, expected) in table {
            let read = parse_tokens("budget", typed).map_err(|trouble| trouble.to_string());
            let expected = expected.map_err(|why| format!("--budget {typed}: {why}"));
            assert_eq!(read, expected, "{typed}");
        }
    }

    #[test]
    fn shares_lie_between_nothing_and_everything() {
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
