//! Makes a sound history shorter without parting what belongs together.
//!
//! A history is cut into units ([`units()`]); a strategy decides which of them go and which answers
//! shrink ([`Plan`]); the plan is carried out by the engine of repairs ([`crate::carry_out`]), so
//! that what comes out is sound again. Strategies are pure: a transcript and its weights in, a plan
//! out.

mod weights;
mod clues;
mod units;
mod user_input;
mod plan;
mod window;
mod budget;
mod elide;
mod score;
mod importance;
mod condense;
mod archive;

pub use archive::{ArchiveEntry, CompactedEntry, CompactionArchive};
pub use budget::plan_budget;
pub use clues::{CallClue, CallEffect, HistoryClues};
pub use condense::{SummaryRejection, check_summary, plan_summary};
pub use elide::{AnswerTreatment, ElisionPolicy, ToolElisionRule, plan_elision};
pub use importance::{plan_importance, score_units};
pub use plan::{
    AnswerRemainder, CompactionInput, CompactionPace, CompactionPlan, DropReason, DroppedUnit,
    HistoryCut, ShrinkError, ShrunkAnswer, TokenLimits,
};
pub use score::{ScoreReason, UnitScore};
pub use units::{Unit, UnitHold, split_units, unit_at};
pub use user_input::user_part;
pub use weights::{TokenCounter, TokenWeights};
pub use window::{HistoryFraction, plan_window};
