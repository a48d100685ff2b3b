//! Unique ids that sort by time. Rows under such ids are inserted at the end of a store's indexes and
//! not at random places of them.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// The bits of a new id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OrderedId {
    /// Milliseconds since 1970.
    pub(crate) millis: u64,
    /// Orders the ids of a millisecond.
    pub(crate) number: u16,
    /// Bits that are unique to this process and to the id.
    pub(crate) unique: [u64; 2],
}

impl OrderedId {
    /// A new id.
    pub(crate) fn next() -> OrderedId {
        static SEEDS: OnceLock<[u64; 2]> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Random bytes are read from the system once, since that is slow.
        let seeds = *SEEDS.get_or_init(|| [random(), random()]);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let millis =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
        let unique = seeds.map(|seed| mix(seed.wrapping_add(number)));
        OrderedId { millis, number: (number & 0xffff) as u16, unique }
    }

    /// The id as 32 hexadecimal digits after a prefix.
    pub(crate) fn with_prefix(self, prefix: &str) -> Arc<str> {
        let OrderedId { millis, number, unique: [_, low] } = self;
        let mut id = String::with_capacity(prefix.len() + 32);
        id.push_str(prefix);
        push_hex(&mut id, millis, 12);
        push_hex(&mut id, number.into(), 4);
        push_hex(&mut id, low, 16);
        id.into()
    }
}

/// Appends the lowest digits of a number. Every request needs a hundred of them.
pub(crate) fn push_hex(text: &mut String, number: u64, digits: u32) {
    for position in (0..digits).rev() {
        let digit = (number >> (4 * position)) & 0xf;
        text.push(char::from(if digit < 10 {
            b'0' + digit as u8
        } else {
            b'a' + digit as u8 - 10
        }));
    }
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

/// Milliseconds since 1970.
pub(crate) fn unix_millis() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_never_repeat_and_sort_by_time() {
        let ids: Vec<_> = (0..10_000).map(|_| OrderedId::next()).collect();
        let texts: HashSet<_> = ids.iter().map(|id| id.with_prefix("r-")).collect();
        assert_eq!(texts.len(), 10_000);
        assert!(texts.iter().all(|text| text.len() == 34));
        let at =
            |millis, number| OrderedId { millis, number, unique: [7, u64::MAX] }.with_prefix("");
        assert!(at(0xff, 9) < at(0x100, 0) && at(1_700_000_000_000, 1) < at(1_700_000_000_000, 2));
        assert_eq!(&*at(0x1_2345_6789_abcd, 0xff), "23456789abcd00ffffffffffffffffff");
    }
}
