//! Timestamps in the lines of agents.

/// Milliseconds since 1970 of a timestamp such as `2026-11-15T02:20:25.828Z`, with any number of
/// digits behind the second, and with `Z` or an offset.
///
/// Written by hand: it is the only time that is read here, and a module of a package is downloaded
/// with everything that it uses. Without a calendar, and built for size, the module that follows
/// agents has 211 KB instead of 278, compressed.
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let (date, clock) = text.split_at_checked(10)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let clock = clock.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = clock.split_at_checked(8)?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?),
        None => ("000", rest),
    };
    let is_valid = (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && (hour < 24 && minute < 60 && second < 60)
        && (1..=9).contains(&fraction.len());
    if !is_valid {
        return None;
    }
    // Three digits; more are cut.
    let fraction = fraction.bytes().chain(*b"00").take(3);
    let fraction = fraction.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    let seconds = (days_since_1970(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    u64::try_from((seconds - offset_seconds(zone)?) * 1000 + fraction).ok()
}

/// Numbers of these many digits, with a mark between them.
fn numbers(text: &str, mark: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(mark);
    let mut numbers = [0; 3];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        *number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

/// `Z`, or an offset such as `+01:00`.
fn offset_seconds(zone: &str) -> Option<i64> {
    let (sign, offset) = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        ("+", offset) => (1, offset),
        ("-", offset) => (-1, offset),
        _ => return None,
    };
    let [hours, minutes, _] = numbers(&format!("{offset}:00"), ':', [2, 2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days between a date and 1970-01-01. Years begin in March here, so that a leap day is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
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
            ("2026-02-29T00:00:00Z", None),
            ("2026-11-15T02:20:25.Z", None),
            ("2026-11-15T02:20:25.828", None),
            ("2026-11-15T02:20:25+1:00", None),
            ("2026-11-15T02:20:25Z ", None),
        ];
        for (text, expected) in table {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn every_day_is_where_the_calendar_has_it() {
        let step = jiff::SignedDuration::from_millis(86_400_000 * 3 + 12_345_678);
        let mut time = jiff::Timestamp::UNIX_EPOCH;
        for _ in 0..50_000 {
            let expected = u64::try_from(time.as_millisecond()).ok();
            assert_eq!(milliseconds(&time.to_string()), expected, "{time}");
            time += step;
        }
    }
}
