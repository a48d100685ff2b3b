//! Seconds to dates.

/// Seconds since 1970 as a date and time, in UTC.
pub(crate) fn format_date(seconds: u64) -> String {
    let [year, month, day, hour, minute, second] = date_parts(seconds);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The same as programs write it.
pub(crate) fn format_timestamp(seconds: u64) -> String {
    let [year, month, day, hour, minute, second] = date_parts(seconds);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn date_parts(seconds: u64) -> [u64; 6] {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    // Years begin in March here, so that the leap day comes last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    [year, month, of_month, rest / 3600, rest / 60 % 60, rest % 60]
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
    }
}
