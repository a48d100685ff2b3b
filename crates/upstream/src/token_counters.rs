//! Counts the tokens of requests, with a counter for each model.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use foxwedge_core::Format;
use foxwedge_formats::{OutlineOptions, compact::weigh, read};
use foxwedge_tokens::{CachedCounter, ModelTokenizer};

/// How many texts the token counter of a model caches.
const REMEMBERED_TEXTS: usize = 20_000;
/// How many models have a token counter at a time.
const MAX_COUNTERS: usize = 32;

/// Token counters by model. Each caches what it has counted.
#[derive(Default)]
pub struct TokenCounters(Mutex<HashMap<String, CachedCounter<ModelTokenizer>>>);

impl TokenCounters {
    /// Takes the counter of a model out of the map while it is used.
    fn take_counter(&self, model: &str) -> CachedCounter<ModelTokenizer> {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counters.remove(model).unwrap_or_else(|| {
            CachedCounter::new(ModelTokenizer::for_model(Some(model)), REMEMBERED_TEXTS)
        })
    }

    fn return_counter(&self, model: &str, counter: CachedCounter<ModelTokenizer>) {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counters.len() < MAX_COUNTERS {
            counters.insert(model.to_owned(), counter);
        }
    }

    /// Runs `work` with the counter of a model.
    pub fn with_counter<T>(
        &self,
        model: &str,
        work: impl FnOnce(&mut CachedCounter<ModelTokenizer>) -> T,
    ) -> T {
        let mut counter = self.take_counter(model);
        let result = work(&mut counter);
        self.return_counter(model, counter);
        result
    }

    /// The number of tokens in a request.
    pub fn count_tokens(&self, source: &str, format: Format, model: &str) -> Option<u64> {
        let reading = read(source, format, OutlineOptions::default()).ok()?;
        Some(
            self.with_counter(model, |counter| {
                weigh(&reading.draft, reading.frame, counter).total()
            }),
        )
    }
}
