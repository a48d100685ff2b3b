//! Request ids: the client's own id if it is plain, else a new one that sorts by time.

use std::sync::Arc;

use http::HeaderMap;

use crate::ordered_id::{OrderedId, push_hex};

/// Name of the header.
pub(crate) const NAME: &str = "x-request-id";

/// Where clients of Anthropic look for it.
pub(crate) const ANTHROPIC_NAME: &str = "request-id";

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
    let OrderedId { millis, unique: [high, low], .. } = OrderedId::next();
    let mut id = String::with_capacity(36);
    push_hex(&mut id, millis >> 16, 8);
    id.push('-');
    push_hex(&mut id, millis, 4);
    id.push_str("-7");
    push_hex(&mut id, high, 3);
    id.push('-');
    push_hex(&mut id, 0x8000 | (low >> 50), 4);
    id.push('-');
    push_hex(&mut id, low, 12);
    id.into()
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
