//! Shared test support of this workspace: transcripts written as shapes, random histories, and a
//! naive oracle that decides what providers accept.
//!
//! The oracle and the generators share no code with the engine, so the same mistake cannot hide in
//! both.

#![forbid(unsafe_code)]

mod dialect;
mod random;
mod event_recorder;
mod counter;
mod shape;
mod oracle;
mod generate;
mod mutate;
pub mod hostile;
mod link_names;
mod mutate_sessions;
pub mod laws;
pub mod model;
pub mod runs;

pub use counter::ByteTokenCounter;
pub use dialect::DIALECTS;
pub use event_recorder::EventRecorder;
pub use foxwedge_formats::AiSdkList;
pub use generate::{
    PLACEHOLDERS, SessionFile, accepted_history, answer, damage_list, damaged_history, history,
    long, message_list, move_list_results, results_beside_calls, session_file, sound_history,
    spell_as_version_4, spell_single_objects, spelled,
};
pub use mutate::mutate;
pub use mutate_sessions::{mutated_rows, mutated_session};
pub use oracle::answers;
pub use oracle::{
    Beat, DocumentGist, GistCall, GistFacet, GistMedia, GistSide, MessageSurvival, PROFILES,
    RequiredMessages, RuleViolation, SessionConversation, ShorterHistory, TextInventory, all_text,
    became, calls_before_assistant, common, count, declared, difference, gist, has_user, inventory,
    loose_calls, lost, lost_user, missing, owed, parted, plain_walk, session_view, stays, told,
    unsaid, violations, violations_in_rows,
};
pub use random::Random;
pub use shape::{body, messages};

/// The Rust example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExample;
