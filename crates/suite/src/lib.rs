//! The integrity suite: vectors that say which tool-call histories a provider accepts, and a judge
//! for engines that check, repair, cut, convert or record such histories.
//!
//! A [`SuiteVector`] holds one history, a verdict for each provider profile, the evidence for it,
//! and the laws that a repair must keep. It expects no particular output: engines may use different
//! words. An engine answers a [`SuiteQuestion`] with an [`EngineAnswer`], one JSON line each, so it
//! needs none of our code. [`run_suite`] asks the questions and judges the answers.
//!
//! The judge reads a history with the readers of Foxwedge, so an output is valid if Foxwedge finds
//! nothing that a provider is known to refuse. Pure: no clock, no files, no processes.
//!
//! ```
//! use foxwedge_suite::{QuestionFilter, ReferenceEngine, SuiteVector, run_suite};
//!
//! let vector: SuiteVector = serde_json::from_str(r#"{
//!   "id": "V0000", "title": "a call without a result", "clause": "FW101", "tracks": ["validate"],
//!   "level": "A", "format": "openai-chat",
//!   "input": "[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"42\"}]",
//!   "verdicts": {"openai-chat": {"verdict": "invalid", "causes": ["FW102"], "messages": [0]}},
//!   "evidence": [{"profile": "openai-chat", "kind": "error text", "seen": "2026-11", "text": "…"}]
//! }"#)?;
//! let results = run_suite(&[vector], &mut ReferenceEngine, &QuestionFilter::default(), |_| ());
//! assert_eq!(results.failed().count(), 0);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod vector;
mod history_format;
mod reading;
mod value_text;
mod laws;
mod judge;
mod conservation;
mod protocol;
mod reference_engine;
mod suite_run;
mod session;
mod expectations;
mod output;
mod probe;

pub use expectations::{ExpectationDifference, ExpectedFailures};
pub use history_format::{HistoryFormat, ProfileRules};
pub use judge::judge_answer;
pub use laws::{CallLaw, KeptResult, RepairLaws, SideText};
pub use output::{badge_svg, json_report, junit_report, text_table};
pub use probe::{
    ProbeEvidence, ProbeFile, ProbeOutcome, ProbeRequest, ProbeVerdict, contradicts,
    evidence_conflicts, merge_evidence, probe_vectors,
};
pub use protocol::{EngineAnswer, EngineReply, SuiteEngine, SuiteQuestion};
pub use reading::{HistoryItem, HistoryReading, HistorySide, ItemContent};
pub use reference_engine::{ReferenceEngine, answer_line};
pub use session::SuiteSession;
pub use suite_run::{
    LawBreach, QuestionFilter, QuestionOutcome, QuestionResult, SuiteLaw, SuiteResults, run_suite,
};
pub use vector::{
    EvidenceKind, ProfileVerdict, REVISION, SuiteLevel, SuiteTrack, SuiteVector, SuiteVerdict,
    VectorEvidence,
};
