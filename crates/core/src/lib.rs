//! The integrity engine: reads the outline of a conversation with tool calls, reports what a
//! provider would refuse, and repairs it without losing content.
//!
//! Pure: the same input gives the same output. No clock, no files, no network. The formats crate
//! parses bytes into a [`Draft`] and writes a [`Repair`] back as bytes; checking and repairing
//! happen only here.
//!
//! ```
//! let error = "400 No tool output found for function call call_8Zk1.";
//! let explanation = foxwedge_core::explain(error).expect("a known error text");
//! assert_eq!((explanation.code, explanation.ids), (101, vec!["call_8Zk1"]));
//! ```

mod draft;
mod pairing;
mod profile;
mod policy;
mod placeholder;
mod report;
pub mod rules;
mod check;
mod transcript;
mod repair;
pub mod compact;
mod explain;
mod nearest;
pub mod sorting;

pub use check::{CheckOptions, check, display_id};
pub use draft::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DefectHarm, DefectText, Draft,
    DraftAnswer, DraftBody, DraftBuilder, DraftCall, DraftFeatures, FileDefect, Format, Message,
    MessageFlags, MessageLayout, OptionalText, OwnedCall, Part, PartKind, PartTable, Role,
    SignatureState, TextShape, UnresolvedReference,
};
pub use explain::{
    ErrorExplanation, OtherError, explain, explain_other, is_context_overflow, is_rate_limit,
};
pub use foxwedge_json::{Span, TextReplacement, lone_surrogates};
pub use nearest::nearest_name;
pub use pairing::{CallPairing, PairedAnswer, PairedCall, ResultMatch, Turn, pair_calls};
pub use placeholder::{
    MissingAnswer, PlaceholderLanguage, classify_open_call, earlier_summary_text, is_placeholder,
    media_heading, media_heading_id, orphan_heading, orphan_tool_heading, placeholder_text,
    summary_text,
};
pub use policy::{OrphanPolicy, Policy, TailPolicy, UnansweredPolicy};
pub use profile::{IdRule, Profile, RuleEvidence, binds_thinking, is_openai_model, is_other_maker};
pub use repair::{
    ArgumentsFix, BodyEdits, CompactionText, Edit, EditLog, NewText, PartList, PartPatch,
    PartSource, QuotedAnswer, Repair, RepairLosses, RepairedMessage, RepairedPart, apply_plan,
    fresh_id, legal_name, repair,
};
pub use report::{
    EditCount, EditCounts, Finding, FindingCount, FindingCounts, FindingLocation, Fix,
    FixApplicability, MAX_IDS, MAX_LISTED, Report, Severity, Strategy,
};
pub use rules::{Rule, RuleSet};
pub use transcript::Transcript;
