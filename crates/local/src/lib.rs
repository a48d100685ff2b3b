//! Sessions on this machine: finds them, checks them, repairs them on disk without losing data,
//! undoes repairs, and exports conversations. Recorded runs: opens their store and draws them.
//!
//! The command line, its chat, the gateway's console and a program that embeds Foxwedge use the same
//! code.

pub mod agents;
pub mod align;
mod ascii;
pub mod calendar;
pub mod check_settings;
pub mod console;
pub mod database;
pub mod disk;
pub mod excerpt;
pub mod export;
pub mod findings;
pub mod input_format;
pub mod language;
pub mod message_row;
pub mod outcome;
pub mod output;
pub mod pager;
pub mod positions;
pub mod preview;
pub mod provider_conversation;
pub mod repair_plan;
pub mod runs;
pub mod screen;
pub mod session_document;
pub mod session_health;
pub mod session_overview;
pub mod signals;
pub mod size_limit;
pub mod source;
pub mod trace;
pub mod tree;
pub mod undo;
pub mod user_folders;
