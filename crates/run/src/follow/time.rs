//! Timestamps in the lines of agents.

/// Milliseconds since 1970 of a timestamp such as `2026-11-15T02:20:25.828Z`.
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let time = text.parse::<jiff::Timestamp>().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_timestamps_are_parsed_and_others_rejected() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.5Z", Some(500)),
            ("2000-02-29T12:00:00.000Z", Some(951_825_600_000)),
            ("2026-11-15T02:20:25.828Z", Some(1_794_709_225_828)),
            ("2026-11-15T02:20:25.828123Z", Some(1_794_709_225_828)),
            ("2026-11-15T03:20:25.828+01:00", Some(1_794_709_225_828)),
            ("2026-11-14T21:20:25.828-05:00", Some(1_794_709_225_828)),
            ("2026-11-15", None),
            ("2026-13-15T00:00:00Z", None),
            ("2026-11-15T24:00:00Z", None),
            ("1960-01-01T00:00:00Z", None),
            ("+026-11-15T02:20:25Z", None),
            ("yesterday", None),
            ("99999-01-01T00:00:00Z", None),
            ("2026-11-15T02:20:é.1Z", None),
            ("TZ", None),
        ];
        for (text, expected) in table {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
