//! The times that agents write beside their lines.

/// The milliseconds since 1970 of a text such as `2026-11-15T02:20:25.828Z`.
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.splitn(3, '-').map(digits);
    let days = days(parts.next()??, parts.next()??, parts.next()??)?;
    let (clock, offset) = clock_and_offset(time)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.splitn(3, ':').map(digits);
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let thousandths = digits(&format!("{fraction:0<3}").chars().take(3).collect::<String>())?;
    let minutes = days.checked_mul(1440)?.checked_add(hours * 60 + minutes)?;
    let minutes = minutes.checked_sub(offset)?;
    let milliseconds = minutes.checked_mul(60_000)?.checked_add(seconds * 1000 + thousandths)?;
    u64::try_from(milliseconds).ok()
}

/// The clock, and how many minutes it is ahead.
fn clock_and_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (clock, offset) = time.split_at_checked(at)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    Some((clock, sign * (digits(hours)? * 60 + digits(minutes)?)))
}

fn digits(text: &str) -> Option<i64> {
    let short = !text.is_empty() && text.len() <= 4;
    (short && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days since 1970 in the calendar that everybody uses; years begin in March, so that the day
/// that not every year has is the last one.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + year * 365 + year / 4 - year / 100 + day - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_nonsense_is_not() {
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
