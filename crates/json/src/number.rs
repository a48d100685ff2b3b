//! Numbers: checks their grammar, and compares them without converting them.

use std::cmp::Ordering;

use super::{JsonScanner, ScanResult};

/// Skips a number.
pub(super) fn skip(scan: &mut JsonScanner<'_>) -> ScanResult<()> {
    if scan.peek() == b'-' {
        scan.at += 1;
    }
    match scan.peek() {
        b'0' => scan.at += 1,
        b'1'..=b'9' => digits(scan),
        _ => return scan.fail("not a number"),
    }
    if scan.peek() == b'.' {
        scan.at += 1;
        require_digits(scan)?;
    }
    if let b'e' | b'E' = scan.peek() {
        scan.at += 1;
        if let b'+' | b'-' = scan.peek() {
            scan.at += 1;
        }
        require_digits(scan)?;
    }
    Ok(())
}

fn digits(scan: &mut JsonScanner<'_>) {
    while scan.peek().is_ascii_digit() {
        scan.at += 1;
    }
}

fn require_digits(scan: &mut JsonScanner<'_>) -> ScanResult<()> {
    if !scan.peek().is_ascii_digit() {
        return scan.fail("not a number");
    }
    digits(scan);
    Ok(())
}

/// Compares a number with so many thousandths, exactly. `None` if the text is not a number.
pub fn compare_number(text: &str, thousandths: i64) -> Option<Ordering> {
    let mut scanner = JsonScanner::new(text);
    skip(&mut scanner).ok()?;
    if scanner.position() < text.len() {
        return None;
    }
    let size = text.trim_start_matches('-');
    let sign = if size.len() < text.len() { -1 } else { 1 };
    let (digits, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // An exponent that does not fit is beyond everything we compare with, in its direction.
    let beyond = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
    // How many digits stand before the point, if the number is written in thousandths.
    let places = exponent.parse().unwrap_or(beyond).saturating_add(whole.len() as i64 + 3);
    let mut digits = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').peekable();
    let mut skipped = 0;
    while digits.next_if_eq(&0).is_some() {
        skipped += 1;
    }
    let places = places.saturating_sub(skipped);
    let mut value: i64 = 0;
    if places > 18 && digits.peek().is_some() {
        value = i64::MAX;
    } else {
        for _ in 0..places.clamp(0, 18) {
            value = value * 10 + i64::from(digits.next().unwrap_or(0));
        }
    }
    let behind = match digits.any(|digit| digit != 0) {
        true if sign > 0 => Ordering::Greater,
        true => Ordering::Less,
        false => Ordering::Equal,
    };
    Some((sign * value).cmp(&thousandths).then(behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_like_doubles_and_beyond() {
        let texts = [
            "0",
            "-0",
            "0.0",
            "1",
            "1.0",
            "-1",
            "0.95",
            "0.9500",
            "0.949",
            "0.951",
            "100e-2",
            "0.01E+2",
            "1e0",
            "2",
            "0.001",
            "1.5",
            "-0.5",
            "12e-1",
            "1e17",
            "1e400",
            "-1e400",
            "1e-400",
            "0e999",
            "123456789012345678901",
        ];
        for text in texts {
            for thousandths in [0_i64, 1, 950, 1000, 2000, -1000, -1] {
                let number: f64 = text.parse().unwrap_or(f64::NAN);
                let expected = (number * 1000.0).partial_cmp(&(thousandths as f64));
                // A double has no number that is this small.
                let expected = match text {
                    "1e-400" if thousandths > 0 => Some(Ordering::Less),
                    "1e-400" => Some(Ordering::Greater),
                    _ => expected,
                };
                assert_eq!(
                    compare_number(text, thousandths),
                    expected,
                    "{text} with {thousandths}"
                );
            }
        }
        assert_eq!(compare_number("1e99999999999999999999", 5), Some(Ordering::Greater));
        assert_eq!(compare_number("1e-99999999999999999999", 0), Some(Ordering::Greater));
        assert_eq!(compare_number("0.99999999999999999999999", 1000), Some(Ordering::Less));
        for text in ["", "-", "1 ", " 1", "NaN", "inf", "null", "\"1\"", "1.", "+1", "01"] {
            assert_eq!(compare_number(text, 0), None, "{text}");
        }
    }
}
