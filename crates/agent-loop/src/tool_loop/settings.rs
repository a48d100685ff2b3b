//! Settings of a tool loop.

use std::time::Duration;

/// Setup of a loop.
#[derive(Clone, Debug)]
pub struct LoopSetup {
    /// The session ID: `[A-Za-z0-9_-]{1,128}`. An existing session is continued.
    pub session: String,
    /// The owner of the session.
    pub owner: String,
    /// The process that runs it, with its machine, so that others can detect that it is gone.
    pub process: String,
    /// Title in the list of sessions.
    pub title: String,
    /// Metadata of the session, a JSON object; `{"kind":"chat"}` by default.
    pub meta: Option<String>,
    /// System instructions for the model.
    pub instructions: String,
    /// The limits.
    pub limits: LoopLimits,
}

impl LoopSetup {
    /// A setup with default limits.
    pub fn new(session: impl Into<String>) -> LoopSetup {
        LoopSetup {
            session: session.into(),
            owner: "local".to_owned(),
            process: foxwedge_store::process::current_owner(),
            title: String::new(),
            meta: None,
            instructions: String::new(),
            limits: LoopLimits::default(),
        }
    }
}

/// Limits of a loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoopLimits {
    /// Maximum model replies in one run.
    pub max_turns: u32,
    /// Maximum read-only tools that run in parallel.
    pub parallel_tools: usize,
    /// How long running tools may take to finish after the first interrupt.
    pub stop_grace: Duration,
    /// The run ends after this many identical turns in a row: same calls, same results.
    pub max_repeats: u32,
    /// Maximum bytes of a tool result.
    pub max_result_bytes: usize,
    /// Maximum tokens of a reply.
    pub max_reply_tokens: u64,
    /// The share of the model's window at which the history is compacted automatically.
    pub compact_at: f64,
    /// How long a run stays ours without a renewal.
    pub lease: Duration,
}

impl Default for LoopLimits {
    fn default() -> LoopLimits {
        LoopLimits {
            max_turns: 100,
            parallel_tools: 8,
            stop_grace: Duration::from_millis(1_000),
            max_repeats: 8,
            max_result_bytes: 64 << 10,
            max_reply_tokens: 8_192,
            compact_at: 0.8,
            lease: Duration::from_secs(60),
        }
    }
}
