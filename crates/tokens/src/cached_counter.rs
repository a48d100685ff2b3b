//! Caches the token counts of texts.
//!
//! A conversation grows at its end, and each request repeats what came before. Texts are cached by
//! a 128-bit hash in two generations: when the younger one is full, it replaces the older one. A
//! text that is counted again moves to the younger one.

use std::{collections::HashMap, mem};

use foxwedge_core::compact::TokenCounter;
use xxhash_rust::xxh3::xxh3_128;

/// Counting shorter texts is faster than caching them.
const MIN_CACHED_BYTES: usize = 32;

/// A counter that calls another one only for texts that are not cached.
#[derive(Clone, Debug)]
pub struct CachedCounter<C> {
    counter: C,
    /// The maximum number of texts of one generation.
    capacity: usize,
    young: HashMap<u128, u32>,
    old: HashMap<u128, u32>,
    counted_bytes: u64,
    cached_bytes: u64,
}

impl<C: TokenCounter> CachedCounter<C> {
    /// Caches at most `capacity` texts, and at least two.
    pub fn new(counter: C, capacity: usize) -> CachedCounter<C> {
        let generation_capacity = (capacity / 2).max(1);
        let (young, old) = (HashMap::new(), HashMap::new());
        CachedCounter {
            counter,
            capacity: generation_capacity,
            young,
            old,
            counted_bytes: 0,
            cached_bytes: 0,
        }
    }

    /// Bytes of text that were counted by the inner counter.
    pub fn counted_bytes(&self) -> u64 {
        self.counted_bytes
    }

    /// Bytes of text whose count was cached.
    pub fn cached_bytes(&self) -> u64 {
        self.cached_bytes
    }

    /// The number of cached texts.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The inner counter.
    pub fn into_inner(self) -> C {
        self.counter
    }

    fn count(&mut self, text: &str) -> u32 {
        self.counted_bytes = self.counted_bytes.saturating_add(text.len() as u64);
        self.counter.count_text(text)
    }

    fn cache_tokens(&mut self, key: u128, tokens: u32) {
        if self.young.len() >= self.capacity {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, tokens);
    }
}

impl<C: TokenCounter> TokenCounter for CachedCounter<C> {
    fn count_text(&mut self, text: &str) -> u32 {
        if text.len() < MIN_CACHED_BYTES {
            return self.count(text);
        }
        let key = xxh3_128(text.as_bytes());
        if let Some(tokens) = self.young.get(&key).copied() {
            self.cached_bytes = self.cached_bytes.saturating_add(text.len() as u64);
            return tokens;
        }
        let tokens = match self.old.remove(&key) {
            Some(tokens) => {
                self.cached_bytes = self.cached_bytes.saturating_add(text.len() as u64);
                tokens
            }
            None => self.count(text),
        };
        self.cache_tokens(key, tokens);
        tokens
    }

    /// Media are counted by their first bytes: that is faster than hashing all of them.
    fn count_media(&mut self, data: &str) -> u32 {
        self.counter.count_media(data)
    }

    fn is_exact(&self) -> bool {
        self.counter.is_exact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts bytes, and its own calls.
    #[derive(Default)]
    struct Bytes {
        calls: usize,
    }

    impl TokenCounter for Bytes {
        fn count_text(&mut self, text: &str) -> u32 {
            self.calls += 1;
            u32::try_from(text.len()).unwrap_or(u32::MAX)
        }

        fn count_media(&mut self, _data: &str) -> u32 {
            7
        }

        fn is_exact(&self) -> bool {
            true
        }
    }

    fn message(number: usize) -> String {
        format!("message {number:>8} of a conversation that grows")
    }

    #[test]
    fn only_new_messages_of_a_growing_conversation_are_counted() {
        let mut counter = CachedCounter::new(Bytes::default(), 1000);
        let bytes = message(0).len() as u64;
        for length in 1..=100 {
            for number in 0..length {
                assert_eq!(u64::from(counter.count_text(&message(number))), bytes);
            }
        }
        assert_eq!(counter.counted_bytes(), 100 * bytes);
        assert_eq!(counter.cached_bytes(), (5050 - 100) * bytes);
        assert_eq!(counter.len(), 100);
        assert_eq!(counter.into_inner().calls, 100);
    }

    #[test]
    fn the_number_of_cached_texts_is_bounded() {
        for capacity in [0, 1, 2, 3, 10] {
            let mut counter = CachedCounter::new(Bytes::default(), capacity);
            for number in 0..100 {
                counter.count_text(&message(number));
                assert!(counter.len() <= capacity.max(2), "{capacity}");
            }
        }
    }

    #[test]
    fn a_text_that_is_counted_again_stays_cached() {
        let mut counter = CachedCounter::new(Bytes::default(), 8);
        counter.count_text(&message(0));
        for number in 1..50 {
            counter.count_text(&message(number));
            counter.count_text(&message(0));
        }
        assert_eq!(counter.counted_bytes(), 50 * message(0).len() as u64);
        counter.count_text(&message(1));
        assert_eq!(counter.counted_bytes(), 51 * message(0).len() as u64);
    }

    #[test]
    fn short_texts_and_media_are_not_cached() {
        let mut counter = CachedCounter::new(Bytes::default(), 8);
        assert!(counter.is_empty() && counter.is_exact());
        assert_eq!(
            (counter.count_text("short"), counter.count_text("short"), counter.count_media("x")),
            (5, 5, 7)
        );
        assert_eq!((counter.counted_bytes(), counter.cached_bytes(), counter.len()), (10, 0, 0));
        assert_eq!(counter.into_inner().calls, 2);
    }
}
