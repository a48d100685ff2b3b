//! The integrity engine: reads the outline of a conversation with tool calls, says what a
//! provider would refuse, and repairs it without losing anything.
//!
//! Pure: same input, same output. No clock, no files, no network. Dialects turn bytes into a
//! [`Draft`] and a [`Repair`] back into bytes; everything in between happens here, once.

mod span;
mod draft;
mod pairing;
pub mod chain;
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

pub use check::{CheckOptions, check};
pub use draft::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DefectHarm, DefectText, Draft,
    DraftAnswer, DraftBody, DraftBuilder, DraftCall, DraftFeatures, FileDefect, Format, Message,
    MessageFlags, MessageLayout, OptionalText, Part, PartKind, Role, SignatureState, TextShape,
    lone_surrogates,
};
pub use explain::{ErrorExplanation, explain};
pub use pairing::{CallPairing, PairedAnswer, PairedCall, ResultMatch, Turn, pair_calls};
pub use placeholder::{
    MissingAnswer, PlaceholderLanguage, classify_open_call, is_placeholder, media_heading,
    media_heading_id, placeholder_text, summary_text,
};
pub use policy::{OrphanPolicy, Policy, TailPolicy, UnansweredPolicy};
pub use profile::{IdRule, Profile, RuleEvidence, binds_thinking};
pub use repair::{
    ArgumentsFix, BodyEdits, CompactionText, Edit, EditLog, NewText, PartPatch, PartSource,
    QuotedAnswer, Repair, RepairLosses, RepairedMessage, RepairedPart, apply_plan, fresh_id,
    legal_name, repair,
};
pub use report::{
    EditCount, EditCounts, Finding, FindingCount, FindingCounts, FindingLocation, Fix,
    FixApplicability, Report, Severity, Strategy,
};
pub use rules::{Rule, RuleSet};
pub use span::Span;
pub use transcript::Transcript;
