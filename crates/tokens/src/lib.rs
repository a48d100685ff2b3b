//! Counts tokens: with a model's own vocabulary where it is public, with a calibrated estimate
//! where it is not.
//!
//! Which one applies to a model, the size of its window and its rule for images is data
//! ([`models`]). Pure: no clock, no files, no network; the vocabularies are part of the program and
//! are unpacked on first use.

mod vocabulary;
mod estimate;
mod counting;
mod media;
pub mod models;
mod tokenizer;
mod cached_counter;

pub use cached_counter::CachedCounter;
pub use counting::CountingMethod;
pub use estimate::{TokenEstimator, TokenizerFamily};
pub use media::ImageTokenRule;
pub use tokenizer::ModelTokenizer;
pub use vocabulary::TokenVocabulary;
