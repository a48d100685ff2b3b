//! The list of session files: progress of the scan, and one row for each file.

use std::{collections::BTreeMap, sync::Arc};

use foxwedge_sessions::SessionReach;

use crate::session_health::SessionHealth;

/// All known session files.
#[derive(Clone, Debug, Default)]
pub struct SessionFileList {
    /// Newest first.
    pub files: Vec<Arc<SessionFileSummary>>,
    /// Progress of the scan.
    pub scan: ScanProgress,
}

/// Progress of a scan over all files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScanProgress {
    /// Whether the scan is still running.
    pub running: bool,
    /// Number of files checked.
    pub checked: usize,
    /// Total number of files.
    pub total: usize,
    /// Start time, in milliseconds since 1970.
    pub began: u64,
    /// End time.
    pub ended: Option<u64>,
    /// Folders that cannot be read, and why.
    pub unreadable_folders: Vec<(String, String)>,
}

/// A session file in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionFileSummary {
    /// Id in the console.
    pub id: String,
    /// Session id of the agent.
    pub session: String,
    /// The agent whose format the file has.
    pub agent: &'static str,
    /// The product, where several products share a format.
    pub product: &'static str,
    /// Title of the session.
    pub title: Option<String>,
    /// Project folder.
    pub project: Option<String>,
    /// Path for display.
    pub path: String,
    /// Time of the last change, in milliseconds since 1970.
    pub touched: u64,
    /// Size in bytes.
    pub size: u64,
    /// Result of the last check; `None` before the first one.
    pub check: Option<SessionFileCheck>,
    /// Whether a process writes to it; `None` if unknown.
    pub live: Option<bool>,
    /// Whether another session started it.
    pub sub_agent: bool,
    /// The session that started it, if known.
    pub parent: Option<String>,
    /// Number of sessions it started.
    pub sub_agents: usize,
}

/// The result of a check of a session file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionFileCheck {
    /// Health of the file.
    pub health: SessionHealth,
    /// Why it cannot be read.
    pub unreadable_reason: Option<String>,
    /// Number of messages.
    pub messages: usize,
    /// How much of it reaches the model; `None` if it cannot be read.
    pub reach: Option<SessionReach>,
    /// Number of findings by rule label.
    pub findings: BTreeMap<String, usize>,
    /// Whether a repair would change the file.
    pub repairable: bool,
}
