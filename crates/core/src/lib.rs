//! The integrity engine: reads the outline of a conversation with tool calls, says what a
//! provider would refuse, and repairs it without losing anything.
//!
//! Pure: same input, same output. No clock, no files, no network. Dialects turn bytes into a
//! [`Draft`] and a [`Repair`] back into bytes; everything in between happens here, once.

mod span;
mod draft;
mod pair;
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

pub use check::{Question, check};
pub use draft::{
    Answer, Arguments, Body, Builder, Call, Content, Draft, Facts, Family, Flaw, FlawHarm,
    FlawText, Kind, Layout, Marks, Message, OptionalText, Output, Part, Role, Seal, Text, Wire,
    lone_surrogates,
};
pub use explain::{Explanation, explain};
pub use pair::{Fate, Group, PairedAnswer, PairedCall, Pairing, pair};
pub use placeholder::{
    Language, Missing, headed_media, interrupted, is_placeholder, media_heading, summary, words,
};
pub use policy::{Orphans, Policy, Tail, Unanswered};
pub use profile::{Evidence, IdRule, Profile, binds_thinking};
pub use repair::{
    ArgumentsFix, BodyEdits, Edit, EditLog, NewWords, Patch, Piece, QuotedAnswer, Repair,
    RepairLosses, Slot, Source, Words, carry_out, fresh_id, legal_name, repair,
};
pub use report::{
    Applicability, EditCount, EditCounts, Finding, FindingCount, FindingCounts, Fix, Place, Report,
    Severity, Strategy,
};
pub use rules::{Rule, RuleSet};
pub use span::Span;
pub use transcript::Transcript;
