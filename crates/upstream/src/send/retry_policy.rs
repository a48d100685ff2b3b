//! How often a request is sent to an upstream, and how long to wait between attempts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use foxwedge_formats::text;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

/// Whether the client should retry a failed request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpstreamTries {
    /// All attempts are used up; a retry of the client would only add load.
    Exhausted,
    /// Unknown.
    Unknown,
}

/// The longest pause between two attempts; for a longer one the client gets the error.
const MAX_PAUSE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The attempts of one request. Cheap to clone; clones share the attempt count.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    max_attempts: u32,
    /// Whether requests to this upstream are retried at all.
    retries: bool,
    /// Until when a patient caller waits.
    deadline: Option<Instant>,
    attempts: Arc<AtomicU32>,
}

/// The retry delay that an upstream requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryAfter {
    /// None, or unreadable.
    Unspecified,
    /// After this long.
    After(Duration),
    /// Too long to represent.
    TooLong,
}

/// What to do after a transient failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryDecision {
    /// Retry after a pause.
    Retry(Duration),
    /// All attempts are used up.
    Exhausted,
    /// The upstream requests a longer delay than we wait.
    NotNow,
}

impl RetryPolicy {
    /// A policy with this many attempts in total.
    pub fn new(max_attempts: u32) -> RetryPolicy {
        RetryPolicy {
            max_attempts: max_attempts.max(1),
            retries: max_attempts > 1,
            deadline: None,
            attempts: Arc::default(),
        }
    }

    /// The same, for a caller that outlasts a rate limit: errors of the upstream are retried as long
    /// as the patience lasts, and a requested delay is waited for if it ends in time.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> RetryPolicy {
        RetryPolicy { deadline: Instant::now().checked_add(patience), ..self }
    }

    /// The policy for a request that the client itself retries: one attempt, so that retries do not
    /// multiply.
    #[must_use]
    pub fn for_client_retry(self) -> RetryPolicy {
        RetryPolicy { max_attempts: 1, ..self }
    }

    /// Counts the next attempt and returns its number, starting at 1.
    pub fn next_attempt(&self) -> u32 {
        self.attempts.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// What to report about a request whose attempts are used up. If we never retry, the client
    /// decides.
    pub(super) fn exhausted_tries(&self) -> UpstreamTries {
        if self.retries { UpstreamTries::Exhausted } else { UpstreamTries::Unknown }
    }

    /// What to do after an attempt that the upstream refused.
    pub fn decide(&self, retry_after: RetryAfter) -> RetryDecision {
        let Some(deadline) = self.deadline else {
            return self.decide_within(self.max_attempts, retry_after, MAX_PAUSE);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match self.decide_within(u32::MAX, retry_after, left) {
            RetryDecision::Retry(pause) if pause > left => RetryDecision::Exhausted,
            decision => decision,
        }
    }

    /// What to do after an attempt that did not reach the upstream: patience does not help here.
    pub fn decide_unreachable(&self) -> RetryDecision {
        self.decide_within(self.max_attempts, RetryAfter::Unspecified, MAX_PAUSE)
    }

    fn decide_within(
        &self,
        max_attempts: u32,
        retry_after: RetryAfter,
        max_delay: Duration,
    ) -> RetryDecision {
        let chance = getrandom::u32().unwrap_or(0) % 1_000;
        let attempts = self.attempts.load(Ordering::Relaxed);
        match retry_after {
            RetryAfter::After(delay) if delay > MAX_PAUSE && delay <= max_delay => {
                RetryDecision::Retry(delay)
            }
            retry_after => retry_decision(attempts, max_attempts, retry_after, chance),
        }
    }

    /// How long to wait before the next attempt; `None` if this was the last.
    pub fn next_pause(&self, retry_after: RetryAfter) -> Option<Duration> {
        match self.decide(retry_after) {
            RetryDecision::Retry(pause) => Some(pause),
            RetryDecision::Exhausted | RetryDecision::NotNow => None,
        }
    }

    /// Whether a retry after this status may succeed. 520 to 524 and 530 mean that a proxy of
    /// Cloudflare did not reach the provider.
    pub fn is_retryable(status: StatusCode) -> bool {
        let status = status.as_u16();
        matches!(status, 408 | 425 | 429 | 500 | 502..=504 | 520..=524 | 529 | 530)
    }

    /// Whether an upstream refuses a retry, as the APIs of OpenAI and Anthropic do with
    /// `x-should-retry: false`.
    pub fn is_retry_refused(headers: &HeaderMap) -> bool {
        headers.get_all("x-should-retry").iter().any(|value| value == "false")
    }
}

/// Pauses double. `chance`, a random number below 1000, adds jitter, so that clients that failed
/// together do not retry together.
fn retry_decision(
    attempts: u32,
    max_attempts: u32,
    delay: RetryAfter,
    chance: u32,
) -> RetryDecision {
    let delay = match delay {
        RetryAfter::TooLong => return RetryDecision::NotNow,
        RetryAfter::After(delay) if delay > MAX_PAUSE => return RetryDecision::NotNow,
        RetryAfter::After(delay) => delay,
        RetryAfter::Unspecified => Duration::ZERO,
    };
    if attempts >= max_attempts {
        return RetryDecision::Exhausted;
    }
    let doubled = FIRST_PAUSE.saturating_mul(1 << attempts.saturating_sub(1).min(10));
    let apart = doubled.mul_f64(0.5 + f64::from(chance % 1_000) / 2_000.0).min(MAX_PAUSE);
    RetryDecision::Retry(apart.max(delay))
}

/// Reads the retry delay from `retry-after-ms` and `retry-after`: milliseconds, seconds, or a date.
/// Of several values the longest counts.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> RetryAfter {
    let all = |name: &str, read: &dyn Fn(&str) -> RetryAfter| {
        let values = headers.get_all(name).iter();
        let read = values
            .map(|value| value.to_str().map_or(RetryAfter::Unspecified, |it| read(it.trim())));
        read.fold(RetryAfter::Unspecified, RetryAfter::latest)
    };
    match all("retry-after-ms", &|text| parse_seconds(text, 0.001)) {
        RetryAfter::Unspecified => all("retry-after", &|text| match parse_seconds(text, 1.0) {
            RetryAfter::Unspecified => parse_date(text, now),
            delay => delay,
        }),
        delay => delay,
    }
}

/// The retry delay of an error: that of its headers, else the one that Google's errors have in
/// their body. The client gets that one as a header.
pub(super) fn requested_delay(headers: &mut HeaderMap, body: &[u8], now: SystemTime) -> RetryAfter {
    let delay = match retry_after(headers, now) {
        RetryAfter::Unspecified => body_delay(body),
        delay => return delay,
    };
    if let RetryAfter::After(delay) = delay {
        let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    delay
}

/// Reads the `retryDelay` of a `RetryInfo`, such as `2.5s`, among the details of an error.
fn body_delay(body: &[u8]) -> RetryAfter {
    let source = text(body).ok().filter(|source| source.contains("RetryInfo"));
    let body = source.and_then(|source| serde_json::from_str::<Value>(source).ok());
    // Google's OpenAI-compatible API sends a list with the error.
    let body = match body {
        Some(Value::Array(mut bodies)) if !bodies.is_empty() => bodies.swap_remove(0),
        Some(body) => body,
        None => return RetryAfter::Unspecified,
    };
    let details = body.pointer("/error/details").and_then(Value::as_array);
    let is_retry_info =
        |detail: &&Value| detail["@type"].as_str().is_some_and(|name| name.ends_with("RetryInfo"));
    let delay = details.and_then(|details| details.iter().find(is_retry_info));
    let delay = delay.and_then(|detail| detail["retryDelay"].as_str()?.strip_suffix('s'));
    delay.map_or(RetryAfter::Unspecified, |delay| parse_seconds(delay, 1.0))
}

impl RetryAfter {
    fn latest(self, other: RetryAfter) -> RetryAfter {
        match (self, other) {
            (RetryAfter::TooLong, _) | (_, RetryAfter::TooLong) => RetryAfter::TooLong,
            (RetryAfter::After(one), RetryAfter::After(two)) => RetryAfter::After(one.max(two)),
            (RetryAfter::Unspecified, delay) | (delay, RetryAfter::Unspecified) => delay,
        }
    }
}

/// Parses a number, also a fraction, times `unit` seconds. A negative number is zero; one that is
/// too large is [`RetryAfter::TooLong`].
fn parse_seconds(text: &str, unit: f64) -> RetryAfter {
    match text.parse::<f64>() {
        Ok(number) if number.is_nan() => RetryAfter::Unspecified,
        Ok(number) => Duration::try_from_secs_f64((number * unit).max(0.0))
            .map_or(RetryAfter::TooLong, RetryAfter::After),
        Err(_) => RetryAfter::Unspecified,
    }
}

/// Reads a date in one of the three formats of HTTP. A year with more than four digits is beyond
/// every calendar of HTTP, but not a mistake that means "at once".
fn parse_date(text: &str, now: SystemTime) -> RetryAfter {
    match httpdate::parse_http_date(text) {
        Ok(at) => RetryAfter::After(at.duration_since(now).unwrap_or_default()),
        Err(_) if has_long_year(text) => RetryAfter::TooLong,
        Err(_) => RetryAfter::Unspecified,
    }
}

fn has_long_year(text: &str) -> bool {
    let is_long_number = |word: &str| word.len() > 4 && word.bytes().all(|it| it.is_ascii_digit());
    text.split([' ', '-']).any(is_long_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str, value: &str) -> RetryAfter {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let name: http::HeaderName = name.parse().expect("a name");
        let headers: HeaderMap = [(name, value.parse().expect("a value"))].into_iter().collect();
        retry_after(&headers, now)
    }

    #[test]
    fn retry_after_is_parsed_as_seconds_milliseconds_or_date() {
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
            assert_eq!(parsed(name, value), expected, "{name}: {value}");
        }
    }

    #[test]
    fn longest_of_several_delays_counts_and_milliseconds_come_first() {
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
    fn the_delay_in_an_error_of_google_counts_if_no_header_has_one() {
        let error = |delay: &str| {
            let details = serde_json::json!([
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
            ]);
            serde_json::json!({"error": {"code": 429, "message": "m", "details": details}})
        };
        let milliseconds = |number| RetryAfter::After(Duration::from_millis(number));
        let table = [
            (error("2.5s").to_string(), milliseconds(2_500), "3"),
            (serde_json::json!([error("40s")]).to_string(), milliseconds(40_000), "40"),
            (error("1e99s").to_string(), RetryAfter::TooLong, ""),
            (error("soon").to_string(), RetryAfter::Unspecified, ""),
            ("RetryInfo".to_owned(), RetryAfter::Unspecified, ""),
            ("[] RetryInfo".to_owned(), RetryAfter::Unspecified, ""),
            (String::new(), RetryAfter::Unspecified, ""),
        ];
        let now = SystemTime::UNIX_EPOCH;
        for (body, expected, header) in table {
            let mut headers = HeaderMap::new();
            assert_eq!(requested_delay(&mut headers, body.as_bytes(), now), expected, "{body}");
            let found = headers.get("retry-after").map_or("", |it| it.to_str().expect("text"));
            assert_eq!(found, header, "{body}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, 7.into());
        let body = error("40s").to_string();
        assert_eq!(requested_delay(&mut headers, body.as_bytes(), now), milliseconds(7_000));
        assert_eq!(headers["retry-after"], "7");
    }

    #[test]
    fn delay_beyond_the_maximum_pause_is_not_retried() {
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
            for (tried, max) in [(1, 3), (2, 3), (3, 3), (1, u32::MAX)] {
                let decision = retry_decision(tried, max, parsed(name, value), 0);
                assert_eq!(decision, RetryDecision::NotNow, "{name}: {value}");
            }
        }
    }

    #[test]
    fn every_pause_is_at_least_the_requested_delay_and_at_most_the_maximum() {
        for attempts in 0..40 {
            for max_attempts in [1, 2, 3, 10, 100, u32::MAX] {
                for milliseconds in [0, 1, 249, 1_000, 29_999, 30_000, 30_001, u64::MAX] {
                    for chance in [0, 1, 500, 999, u32::MAX] {
                        let delay = Duration::from_millis(milliseconds);
                        match retry_decision(
                            attempts,
                            max_attempts,
                            RetryAfter::After(delay),
                            chance,
                        ) {
                            RetryDecision::Retry(pause) => {
                                assert!(
                                    attempts < max_attempts && pause >= delay && pause <= MAX_PAUSE
                                );
                            }
                            RetryDecision::Exhausted => assert!(attempts >= max_attempts),
                            RetryDecision::NotNow => assert!(delay > MAX_PAUSE),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn statuses_that_a_retry_may_change_are_retryable() {
        let retryable = (400..600).filter(|status| {
            RetryPolicy::is_retryable(StatusCode::from_u16(*status).expect("a status"))
        });
        let expected = [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530_u16];
        assert_eq!(retryable.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn patience_outlasts_a_rate_limit_but_not_a_missing_server() {
        let policy = RetryPolicy::new(2).with_patience(Duration::from_secs(600));
        for _ in 0..20 {
            policy.next_attempt();
        }
        let after = |seconds| policy.decide(RetryAfter::After(Duration::from_secs(seconds)));
        assert_eq!(after(120), RetryDecision::Retry(Duration::from_secs(120)));
        assert_eq!(after(601), RetryDecision::NotNow);
        let RetryDecision::Retry(pause) = policy.decide(RetryAfter::Unspecified) else {
            panic!("a rate limit is outlasted");
        };
        assert!(pause <= MAX_PAUSE);
        assert_eq!(policy.decide_unreachable(), RetryDecision::Exhausted);
        let spent = RetryPolicy::new(2).with_patience(Duration::ZERO);
        spent.next_attempt();
        assert_eq!(spent.decide(RetryAfter::Unspecified), RetryDecision::Exhausted);
    }

    #[test]
    fn attempts_are_limited_and_pauses_grow() {
        let policy = RetryPolicy::new(3);
        let seconds = |seconds| RetryAfter::After(Duration::from_secs(seconds));
        assert_eq!(policy.next_attempt(), 1);
        let first = policy.next_pause(RetryAfter::Unspecified).expect("one more");
        assert!(first >= FIRST_PAUSE / 2 && first <= FIRST_PAUSE, "{first:?}");
        assert_eq!(policy.next_pause(seconds(31)), None);
        assert_eq!(policy.next_pause(seconds(5)), Some(Duration::from_secs(5)));
        // A clone shares the attempt count.
        let same = policy.clone();
        assert_eq!(same.next_attempt(), 2);
        assert!(policy.next_pause(RetryAfter::Unspecified).expect("one more") >= FIRST_PAUSE);
        assert_eq!(policy.next_attempt(), 3);
        assert_eq!(same.next_pause(RetryAfter::Unspecified), None);
    }
}
