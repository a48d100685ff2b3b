//! Makes a sound history shorter without parting what belongs together.
//!
//! A history is cut into units ([`units()`]); a strategy decides which of them go and which answers
//! shrink ([`Plan`]); the plan is carried out by the engine of repairs ([`crate::carry_out`]), so
//! that what comes out is sound again. Strategies are pure: a transcript and its weights in, a plan
//! out.

mod weights;
mod clues;
mod units;
mod wish;
mod plan;
mod window;
mod budget;
mod elide;
mod score;
mod importance;
mod condense;
mod archive;

pub use archive::{Archive, Entry, Outcome};
pub use budget::budget;
pub use clues::{CallClue, Clues, Effect};
pub use condense::{Refusal, accept, condense};
pub use elide::{Elision, ToolRule, Treatment, elide};
pub use importance::{importance, scores};
pub use plan::{CannotShrink, Cut, Gone, Keep, Limits, Pace, Plan, Scene, Shrunk, Why};
pub use score::{Reason, Score};
pub use units::{Hold, Unit, unit_at, units};
pub use weights::{Counter, Weights};
pub use window::{Fraction, window};
pub use wish::wish;
