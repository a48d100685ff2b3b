//! How often an upstream is asked, and how long to wait in between.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use http::{HeaderMap, StatusCode};

use super::retry::UpstreamTries;

/// The longest pause that is taken on behalf of a client; who has to wait longer is told so.
const MAX_PAUSE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The tries of one request. Cheap to clone; clones share the count, so that whoever asks on behalf
/// of somebody else does not begin anew.
#[derive(Clone, Debug)]
pub(crate) struct RetryPolicy {
    max_attempts: u32,
    /// Whether requests of this upstream are tried again at all.
    retries: bool,
    attempts: Arc<AtomicU32>,
}

/// What an upstream says about when to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RetryAfter {
    /// Nothing, or nothing that can be understood.
    Unspecified,
    /// After this long.
    After(Duration),
    /// Later than can be counted.
    TooLong,
}

/// What to do about trouble that may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RetryDecision {
    /// Ask again after a pause.
    Retry(Duration),
    /// The tries are used up.
    Exhausted,
    /// The upstream wants nobody back so soon.
    NotNow,
}

impl RetryPolicy {
    pub(crate) fn new(most: u32) -> RetryPolicy {
        RetryPolicy { max_attempts: most.max(1), retries: most > 1, attempts: Arc::default() }
    }

    /// That of a request which its client itself sends once more: one try, for what failed three
    /// times does not need nine.
    #[must_use]
    pub(crate) fn for_client_retry(self) -> RetryPolicy {
        RetryPolicy { max_attempts: 1, ..self }
    }

    /// The number of the next try, from one on.
    pub(crate) fn next_attempt(&self) -> u32 {
        self.attempts.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// What is to be said about a request whose tries are over. Where nothing is ever tried again
    /// here, that is the client's affair.
    pub(super) fn exhausted_tries(&self) -> UpstreamTries {
        if self.retries { UpstreamTries::Exhausted } else { UpstreamTries::Unknown }
    }

    /// What to do after a try that failed.
    pub(crate) fn decide(&self, wished: RetryAfter) -> RetryDecision {
        let chance = getrandom::u32().unwrap_or(0) % 1_000;
        retry_decision(self.attempts.load(Ordering::Relaxed), self.max_attempts, wished, chance)
    }

    /// How long to wait before the next try; `None` if this was the last.
    pub(crate) fn next_pause(&self, wished: RetryAfter) -> Option<Duration> {
        match self.decide(wished) {
            RetryDecision::Retry(pause) => Some(pause),
            RetryDecision::Exhausted | RetryDecision::NotNow => None,
        }
    }

    /// Whether such a reply may be better the next time.
    pub(crate) fn is_retryable(status: StatusCode) -> bool {
        matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504 | 529)
    }
}

/// Pauses double. Many clients that were refused together come back apart: `chance` is a number
/// below a thousand.
fn retry_decision(tried: u32, most: u32, wished: RetryAfter, chance: u32) -> RetryDecision {
    let wished = match wished {
        RetryAfter::TooLong => return RetryDecision::NotNow,
        RetryAfter::After(wished) if wished > MAX_PAUSE => return RetryDecision::NotNow,
        RetryAfter::After(wished) => wished,
        RetryAfter::Unspecified => Duration::ZERO,
    };
    if tried >= most {
        return RetryDecision::Exhausted;
    }
    let doubled = FIRST_PAUSE.saturating_mul(1 << tried.saturating_sub(1).min(10));
    let apart = doubled.mul_f64(0.5 + f64::from(chance % 1_000) / 2_000.0).min(MAX_PAUSE);
    RetryDecision::Retry(apart.max(wished))
}

/// What an upstream says about when to come back: milliseconds, seconds, or a date. Of several it is
/// the latest.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> RetryAfter {
    let all = |name: &str, read: &dyn Fn(&str) -> RetryAfter| {
        let values = headers.get_all(name).iter();
        let read = values
            .map(|value| value.to_str().map_or(RetryAfter::Unspecified, |it| read(it.trim())));
        read.fold(RetryAfter::Unspecified, RetryAfter::latest)
    };
    let since = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    match all("retry-after-ms", &|text| parse_seconds(text, 0.001)) {
        RetryAfter::Unspecified => all("retry-after", &|text| match parse_seconds(text, 1.0) {
            RetryAfter::Unspecified => {
                parse_date(text).map_or(RetryAfter::Unspecified, |at| match at {
                    HttpDate::At(at) => {
                        RetryAfter::After(Duration::from_secs(at.saturating_sub(since)))
                    }
                    HttpDate::Far => RetryAfter::TooLong,
                })
            }
            told => told,
        }),
        told => told,
    }
}

impl RetryAfter {
    fn latest(self, other: RetryAfter) -> RetryAfter {
        match (self, other) {
            (RetryAfter::TooLong, _) | (_, RetryAfter::TooLong) => RetryAfter::TooLong,
            (RetryAfter::After(one), RetryAfter::After(two)) => RetryAfter::After(one.max(two)),
            (RetryAfter::Unspecified, told) | (told, RetryAfter::Unspecified) => told,
        }
    }
}

/// A number of some unit, also a fraction. One below nothing is over already; one that is too large
/// to be counted is long, not nothing.
fn parse_seconds(text: &str, unit: f64) -> RetryAfter {
    match text.parse::<f64>() {
        Ok(number) if number.is_nan() => RetryAfter::Unspecified,
        Ok(number) => Duration::try_from_secs_f64((number * unit).max(0.0))
            .map_or(RetryAfter::TooLong, RetryAfter::After),
        Err(_) => RetryAfter::Unspecified,
    }
}

/// When a date is.
enum HttpDate {
    /// In seconds since 1970.
    At(u64),
    /// Later than years have four digits.
    Far,
}

/// A date in one of the three ways of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
fn parse_date(text: &str) -> Option<HttpDate> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split([' ', '-']).filter(|word| !word.is_empty()).collect();
    let (day, month, year, time) = match *words.as_slice() {
        [weekday, day, month, year, time, "GMT"] if weekday.ends_with(',') => {
            (day, month, year, time)
        }
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let day: u64 = day.parse().ok()?;
    let year = match year.len() {
        _ if !digits(year) => return None,
        2 => year.parse::<u64>().ok().map(|year| year + if year < 70 { 2_000 } else { 1_900 })?,
        0..=4 => year.parse().ok()?,
        _ => return Some(HttpDate::Far),
    };
    let mut time = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if year < 1970 || !(1..=31).contains(&day) || hour > 24 || minute > 60 || second > 60 {
        return None;
    }
    // Days since 1970, counting years from March so that the odd day is the last of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some(HttpDate::At((days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, value: &str) -> RetryAfter {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let name: http::HeaderName = name.parse().expect("a name");
        let headers: HeaderMap = [(name, value.parse().expect("a value"))].into_iter().collect();
        retry_after(&headers, now)
    }

    #[test]
    fn an_upstream_says_when_to_come_back_in_seconds_or_by_a_date() {
        let soon = |milliseconds| RetryAfter::After(Duration::from_millis(milliseconds));
        let table = [
            ("retry-after", "3", soon(3_000)),
            ("retry-after", " 1.5 ", soon(1_500)),
            ("retry-after", "-4", soon(0)),
            ("retry-after", "-99999999999999999999", soon(0)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", soon(10_000)),
            ("retry-after", "Sunday, 06-Nov-94 08:49:47 GMT", soon(10_000)),
            ("retry-after", "Sun Nov  6 08:49:47 1994", soon(10_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT", soon(0)),
            ("retry-after", "soon", RetryAfter::Unspecified),
            ("retry-after", "", RetryAfter::Unspecified),
            ("retry-after", "NaN", RetryAfter::Unspecified),
            ("retry-after", "Sun, 99 Nov 1994 08:40:00 GMT", RetryAfter::Unspecified),
            ("retry-after", "1e999", RetryAfter::TooLong),
            ("retry-after", "inf", RetryAfter::TooLong),
            ("retry-after", "99999999999999999999", RetryAfter::TooLong),
            ("retry-after", "99999999999999999999.5", RetryAfter::TooLong),
            ("retry-after", "Sun, 06 Nov 19940 08:49:47 GMT", RetryAfter::TooLong),
            ("retry-after", "Sun, 06 Nov 99999999999999999999 08:49:47 GMT", RetryAfter::TooLong),
            ("retry-after-ms", "250", soon(250)),
            ("retry-after-ms", "0.5", RetryAfter::After(Duration::from_micros(500))),
            ("retry-after-ms", "9999999999999999999999999", RetryAfter::TooLong),
            ("retry-after-ms", "soon", RetryAfter::Unspecified),
        ];
        for (name, value, expected) in table {
            assert_eq!(told(name, value), expected, "{name}: {value}");
        }
    }

    #[test]
    fn of_several_wishes_the_latest_counts_and_milliseconds_are_read_first() {
        let now = SystemTime::UNIX_EPOCH;
        let of = |all: &[(&str, &str)]| {
            let pair = |(name, value): &(&str, &str)| {
                (name.parse::<http::HeaderName>().expect("a name"), value.parse().expect("a value"))
            };
            retry_after(&all.iter().map(pair).collect(), now)
        };
        let seconds = |seconds| RetryAfter::After(Duration::from_secs(seconds));
        assert_eq!(of(&[("retry-after", "1"), ("retry-after", "9")]), seconds(9));
        assert_eq!(of(&[("retry-after", "1e99"), ("retry-after", "9")]), RetryAfter::TooLong);
        assert_eq!(of(&[("retry-after", "9"), ("retry-after-ms", "2000")]), seconds(2));
        assert_eq!(of(&[("retry-after", "9"), ("retry-after-ms", "?")]), seconds(9));
    }

    #[test]
    fn whoever_is_not_wanted_back_soon_is_not_asked_again() {
        let far = [
            ("retry-after", "31"),
            ("retry-after", "3600"),
            ("retry-after", "18446744073709551615"),
            ("retry-after", "18446744073709551616"),
            ("retry-after", "99999999999999999999"),
            ("retry-after", "1e30"),
            ("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"),
            ("retry-after", "Fri, 31 Dec 10000 23:59:59 GMT"),
            ("retry-after-ms", "30001"),
            ("retry-after-ms", "99999999999999999999999999"),
        ];
        for (name, value) in far {
            for (tried, most) in [(1, 3), (2, 3), (3, 3), (1, u32::MAX)] {
                let decision = retry_decision(tried, most, told(name, value), 0);
                assert_eq!(decision, RetryDecision::NotNow, "{name}: {value}");
            }
        }
    }

    #[test]
    fn every_pause_is_at_least_what_was_wished_and_at_most_half_a_minute() {
        for tried in 0..40 {
            for most in [1, 2, 3, 10, 100, u32::MAX] {
                for milliseconds in [0, 1, 249, 1_000, 29_999, 30_000, 30_001, u64::MAX] {
                    for chance in [0, 1, 500, 999, u32::MAX] {
                        let wished = Duration::from_millis(milliseconds);
                        match retry_decision(tried, most, RetryAfter::After(wished), chance) {
                            RetryDecision::Retry(pause) => {
                                assert!(tried < most && pause >= wished && pause <= MAX_PAUSE);
                            }
                            RetryDecision::Exhausted => assert!(tried >= most),
                            RetryDecision::NotNow => assert!(wished > MAX_PAUSE),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_request_is_tried_so_often_and_the_pauses_grow() {
        let patience = RetryPolicy::new(3);
        let seconds = |seconds| RetryAfter::After(Duration::from_secs(seconds));
        assert_eq!(patience.next_attempt(), 1);
        let first = patience.next_pause(RetryAfter::Unspecified).expect("one more");
        assert!(first >= FIRST_PAUSE / 2 && first <= FIRST_PAUSE, "{first:?}");
        assert_eq!(patience.next_pause(seconds(31)), None);
        assert_eq!(patience.next_pause(seconds(5)), Some(Duration::from_secs(5)));
        // Whoever asks for the same request counts on.
        let same = patience.clone();
        assert_eq!(same.next_attempt(), 2);
        assert!(patience.next_pause(RetryAfter::Unspecified).expect("one more") >= FIRST_PAUSE);
        assert_eq!(patience.next_attempt(), 3);
        assert_eq!(same.next_pause(RetryAfter::Unspecified), None);
    }
}
