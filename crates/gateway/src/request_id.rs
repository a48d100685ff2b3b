//! Request ids: the client's own id if it is plain, else a new one that sorts by time.

use std::{
    fmt::Write as _,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use http::HeaderMap;

/// Name of the header.
pub(crate) const NAME: &str = "x-request-id";

const MAX_ID_BYTES: usize = 128;

/// The id for a request with these headers.
pub(crate) fn of(headers: &HeaderMap) -> Arc<str> {
    headers
        .get(NAME)
        .and_then(|value| value.to_str().ok())
        .filter(|id| is_plain(id))
        .map_or_else(new_request_id, Arc::from)
}

fn is_plain(id: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// An id in the form of a UUID version 7: milliseconds, then bits that are unique per process.
pub(crate) fn new_request_id() -> Arc<str> {
    static SEED: OnceLock<[u64; 2]> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let [one, two] = *SEED.get_or_init(|| [random(), random()]);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    let (high, low) = (mix(one.wrapping_add(number)), mix(two.wrapping_add(number)));
    let mut id = String::with_capacity(36);
    // Writing into a `String` cannot fail.
    let _ = write!(
        id,
        "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
        (now >> 16) & 0xffff_ffff,
        now & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 50),
        low & 0xffff_ffff_ffff,
    );
    id.into()
}

/// A bijection, so one process never creates the same id twice.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Falls back to the clock without a random source: ids are not secrets.
fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_plain_id_of_the_client_is_kept_and_others_are_replaced() {
        let id = |value: &'static [u8]| {
            let value = HeaderValue::from_bytes(value).expect("a header");
            of(&HeaderMap::from_iter([(http::HeaderName::from_static(NAME), value)]))
        };
        assert_eq!(&*id(b"run-7_a.B"), "run-7_a.B");
        for value in
            [&b""[..], b"a b", b"a/b", b"\xff", b"\x1b[31m".get(1..).unwrap_or(b""), &[b'a'; 129]]
        {
            assert_eq!(id(value).len(), 36, "{value:?}");
        }
    }

    #[test]
    fn fresh_ids_look_like_uuids_and_never_repeat() {
        let ids: HashSet<_> = (0..10_000).map(|_| new_request_id()).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            let parts: Vec<_> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert_eq!(id.as_bytes()[14], b'7');
            assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        }
    }
}
