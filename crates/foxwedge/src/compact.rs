//! The parts of `foxwedge compact`: flags, summarizer, output and reports. The pure crates decide
//! what is removed and what is kept.

mod amount;
mod compaction_budget;
mod compaction_flags;
mod command_guard;
mod summarizer;
mod compaction_target;
mod compacted_output;
mod rewind;
mod compaction_result;
mod full;
mod strategies;
mod lost_messages;
mod plot;
mod json;

pub(crate) use compacted_output::{
    CompactedOutput, check_holds_compactions, check_replaceable, repair_session_file,
};
pub(crate) use compaction_budget::CompactionBudget;
pub(crate) use compaction_flags::CompactionFlags;
pub(crate) use compaction_result::{CompactionResult, count_tokens_left};
pub(crate) use compaction_target::CompactionTarget;
pub(crate) use full::{render_report, render_unchanged};
pub(crate) use json::{document, error_document};
pub(crate) use rewind::undo_compaction;
pub(crate) use summarizer::create_summarizer;
