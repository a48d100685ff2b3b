//! Numbers, checked and left as they are spelled.

use super::{Scan, Scanner};

/// Skips a number.
pub(super) fn skip(scan: &mut Scanner<'_>) -> Scan<()> {
    if scan.peek() == b'-' {
        scan.at += 1;
    }
    match scan.peek() {
        b'0' => scan.at += 1,
        b'1'..=b'9' => digits(scan),
        _ => return scan.trouble("not a number"),
    }
    if scan.peek() == b'.' {
        scan.at += 1;
        some_digits(scan)?;
    }
    if let b'e' | b'E' = scan.peek() {
        scan.at += 1;
        if let b'+' | b'-' = scan.peek() {
            scan.at += 1;
        }
        some_digits(scan)?;
    }
    Ok(())
}

fn digits(scan: &mut Scanner<'_>) {
    while scan.peek().is_ascii_digit() {
        scan.at += 1;
    }
}

fn some_digits(scan: &mut Scanner<'_>) -> Scan<()> {
    if !scan.peek().is_ascii_digit() {
        return scan.trouble("not a number");
    }
    digits(scan);
    Ok(())
}
