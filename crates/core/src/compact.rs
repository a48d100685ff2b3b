//! Makes a valid history shorter without separating what belongs together.
//!
//! A history is split into units ([`split_units`]); a strategy decides which of them to drop and
//! which answers to shrink ([`CompactionPlan`]); [`crate::apply_plan`] applies the plan and repairs
//! the result, so that it is valid again. Strategies are pure: they map a transcript and its token
//! weights to a plan.

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
