//! Sessions on this machine: finds them, checks them, repairs them on disk without losing data,
//! undoes repairs, and exports conversations. Recorded runs: opens their store and draws them.
//!
//! The command line, its chat, the gateway's console and a program that embeds Foxwedge use the same
//! code.
//!
//! ```
//! use std::{env, fs, process};
//!
//! use foxwedge_local::{
//!     agents, session_health::SessionHealth, session_overview::read_overview,
//!     user_folders::UserFolders,
//! };
//!
//! let home = env::temp_dir().join(format!("foxwedge-local-example-{}", process::id()));
//! let folder = home.join(".claude/projects/-srv-tide");
//! fs::create_dir_all(&folder)?;
//! let file = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5f0c0d9e-0000-4000-8000-000000000001","version":"2.1.112","message":{"role":"user","content":"Hello."}}
//! {"type":"user","uuid":"u2","parentUuid":"lost","sessionId":"5f0c0d9e-0000-4000-8000-000000000001","version":"2.1.112","message":{"role":"user","content":"Are you there?"}}
//! "#;
//! fs::write(folder.join("5f0c0d9e-0000-4000-8000-000000000001.jsonl"), file)?;
//!
//! let listing = agents::find_in(&UserFolders::Below(home.clone()), &[]);
//! let overview = read_overview(&listing.entries[0]);
//! assert_eq!(overview.health, SessionHealth::HistoryMissing);
//! assert!(overview.findings.contains_key("FW701"));
//! fs::remove_dir_all(home)?;
//! # Ok::<(), std::io::Error>(())
//! ```

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
mod read_only;
pub mod repair_plan;
pub mod runs;
pub mod screen;
pub mod session_document;
pub mod session_health;
pub mod session_overview;
pub mod session_reach;
pub mod session_search;
pub mod signals;
pub mod size_limit;
pub mod source;
pub mod trace;
pub mod tree;
pub mod undo;
pub mod user_folders;
