//! Formats dates and times in UTC, for people and for programs.

use jiff::Timestamp;

/// Formats Unix seconds for people.
pub fn format_date(seconds: u64) -> String {
    from_seconds(seconds).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Formats Unix seconds as RFC 3339.
pub fn format_timestamp(seconds: u64) -> String {
    from_seconds(seconds).to_string()
}

/// Formats Unix milliseconds as RFC 3339, always with three decimals.
pub fn format_milliseconds(milliseconds: u64) -> String {
    let time = from_seconds(milliseconds / 1000).strftime("%Y-%m-%dT%H:%M:%S");
    format!("{time}.{:03}Z", milliseconds % 1000)
}

/// Times out of range become the latest representable time.
fn from_seconds(seconds: u64) -> Timestamp {
    let seconds = i64::try_from(seconds).ok();
    seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        let table = [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_767_225_599, "2025-12-31 23:59:59 UTC"),
        ];
        for (seconds, expected) in table {
            assert_eq!(format_date(seconds), expected);
        }
        assert_eq!(format_timestamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(format_milliseconds(951_782_400_007), "2000-02-29T00:00:00.007Z");
    }
}
