//! Numbers: checks their grammar and never converts them.

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
