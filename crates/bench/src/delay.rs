//! How long a chunk of a stream was on its way: it says when it was sent, by the clock that all
//! processes of a machine share.

use std::time::{SystemTime, UNIX_EPOCH};

/// What stands before the time in a text.
const MARK: &[u8] = b"sent:";

/// A text that says when it was sent.
pub(crate) fn stamp() -> String {
    format!("sent:{} ", now())
}

/// Finds the times in a stream, however it was cut, whatever its form.
#[derive(Default)]
pub struct DelayReader {
    matched: usize,
    time: Option<u64>,
}

impl DelayReader {
    /// Reads on, and calls `each` with the nanoseconds that each chunk was on its way.
    pub fn read(&mut self, bytes: &[u8], mut each: impl FnMut(u64)) {
        let now = now();
        for &byte in bytes {
            if let Some(time) = &mut self.time {
                if byte.is_ascii_digit() {
                    *time = time.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                    continue;
                }
                each(now.saturating_sub(*time));
                self.time = None;
            }
            self.matched = match MARK.get(self.matched) {
                Some(wanted) if *wanted == byte => self.matched + 1,
                Some(_) | None => usize::from(byte == b's'),
            };
            if self.matched == MARK.len() {
                self.matched = 0;
                self.time = Some(0);
            }
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_however_a_stream_is_cut() {
        let stream = format!("data: {{\"text\":\"ssent:{} \"}}\n\nsend:1 {}", now(), stamp());
        for cut in 0..stream.len() {
            let (one, two) = stream.as_bytes().split_at(cut);
            let mut delays = DelayReader::default();
            let mut found = Vec::new();
            delays.read(one, |nanoseconds| found.push(nanoseconds));
            delays.read(two, |nanoseconds| found.push(nanoseconds));
            assert_eq!(found.len(), 2, "cut at {cut}");
            assert!(found.iter().all(|delay| *delay < 60_000_000_000), "{found:?}");
        }
    }
}
