//! Counts tokens: with a model's own vocabulary where it is public, with a calibrated estimate
//! where it is not.
//!
//! Which one applies to a model, the size of its window and its rule for images is data
//! ([`models`]). Pure: no clock, no files, no network; the vocabularies are part of the program and
//! are unpacked on first use.
//!
//! ```
//! use foxwedge_core::compact::TokenCounter;
//! use foxwedge_tokens::ModelTokenizer;
//!
//! let mut tokenizer = ModelTokenizer::for_model(Some("gpt-4o"));
//! assert!(tokenizer.is_exact());
//! assert_eq!(tokenizer.count_text("Hello, world!"), 4);
//! ```

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
