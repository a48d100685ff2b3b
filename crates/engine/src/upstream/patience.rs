//! How often an upstream is asked, and how long to wait in between.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};

/// The longest pause that is taken on behalf of a client; who has to wait longer is told so.
const LONGEST: Duration = Duration::from_secs(30);
const FIRST: Duration = Duration::from_millis(250);

/// The tries of one request.
#[derive(Debug)]
pub(crate) struct Patience {
    most: u32,
    tried: u32,
}

impl Patience {
    pub(crate) fn new(most: u32) -> Patience {
        Patience { most: most.max(1), tried: 0 }
    }

    /// The number of the next try, from one on.
    pub(crate) fn next(&mut self) -> u32 {
        self.tried += 1;
        self.tried
    }

    /// How long to wait before the next try; `None` if this was the last.
    pub(crate) fn pause(&self, wished: Option<Duration>) -> Option<Duration> {
        if self.tried >= self.most {
            return None;
        }
        let doubled = FIRST.saturating_mul(1 << self.tried.saturating_sub(1).min(10));
        // Many clients that were refused together come back apart.
        let chance = getrandom::u32().unwrap_or(0) % 1_000;
        let apart = doubled.mul_f64(0.5 + f64::from(chance) / 2_000.0);
        match wished {
            Some(wished) if wished > LONGEST => None,
            Some(wished) => Some(wished.max(apart)),
            None => Some(apart.min(LONGEST)),
        }
    }

    /// Whether such a reply may be better the next time.
    pub(crate) fn is_passing(status: StatusCode) -> bool {
        matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504 | 529)
    }
}

/// What an upstream says about when to come back: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if let Some(value) = headers.get("retry-after-ms").and_then(|value| value.to_str().ok()) {
        return value.trim().parse().ok().map(Duration::from_millis);
    }
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    }
    let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    date(value).map(|at| Duration::from_secs(at.saturating_sub(since)))
}

/// Seconds since 1970 of a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut time = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if !(1970..10_000).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970, counting years from March so that the odd day is the last of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_says_when_to_come_back_in_seconds_or_by_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let table = [
            ("retry-after", "3", Some(3_000)),
            ("retry-after", " 1.5 ", Some(1_500)),
            ("retry-after", "-4", Some(0)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "1e999", None),
            ("retry-after-ms", "250", Some(250)),
        ];
        for (name, value, expected) in table {
            let headers: HeaderMap =
                [(name.parse().expect("a name"), value.parse().expect("a value"))]
                    .into_iter()
                    .collect();
            let told = retry_after(&headers, now).map(|told| told.as_millis());
            assert_eq!(told, expected, "{name}: {value}");
        }
    }

    #[test]
    fn a_request_is_tried_so_often_and_the_pauses_grow() {
        let mut patience = Patience::new(3);
        assert_eq!(patience.next(), 1);
        let first = patience.pause(None).expect("one more");
        assert!(first >= FIRST / 2 && first <= FIRST, "{first:?}");
        assert_eq!(patience.pause(Some(Duration::from_secs(31))), None);
        assert_eq!(patience.pause(Some(Duration::from_secs(5))), Some(Duration::from_secs(5)));
        assert_eq!(patience.next(), 2);
        assert!(patience.pause(None).expect("one more") >= FIRST);
        assert_eq!(patience.next(), 3);
        assert_eq!(patience.pause(None), None);
    }
}
