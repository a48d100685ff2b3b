//! A model that needs no key: it answers by rule, in the form of every provider, and refuses what
//! the provider refuses, in the provider's words.
//!
//! Pure: no clock, no chance, no files, no network, and no memory. The same request gives the same
//! bytes. The judges behind [`refusal`] share no code with the engine that checks and repairs: a mistake
//! made once must not be able to hide itself.

mod ask;
mod play;
mod seal;
mod faults;
mod request;
mod model;
mod reply;
mod catalogue;
mod tree;
mod refuse;

pub use ask::{Ask, Endpoint};
pub use catalogue::{MODELS, models};
pub use play::{End, Piece, Play, play};
pub use refuse::{Provider, Refusal, refusal};
