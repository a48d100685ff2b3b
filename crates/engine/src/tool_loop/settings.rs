//! What a tool loop may be told before it starts.

use std::time::Duration;

/// How a loop is set up.
#[derive(Clone, Debug)]
pub struct LoopSetup {
    /// The session: `[A-Za-z0-9_-]{1,128}`. One that is there goes on.
    pub session: String,
    /// Whose it is.
    pub owner: String,
    /// Who runs it: a process on a machine, so that others can tell whether it is gone.
    pub process: String,
    /// What a person reads in a list of sessions.
    pub title: String,
    /// Anything else about the session, a JSON object; `{"kind":"chat"}` if nothing is said.
    pub meta: Option<String>,
    /// What the model is told before everything else.
    pub instructions: String,
    /// How much of everything.
    pub limits: LoopLimits,
}

impl LoopSetup {
    /// A session with the usual limits.
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

/// How much of everything.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoopLimits {
    /// Replies of the model in one run.
    pub max_turns: u32,
    /// Tools that read at the same time.
    pub parallel_tools: usize,
    /// How long tools at work may take to finish after the first interrupt.
    pub stop_grace: Duration,
    /// The same calls with the same answers, so many times one behind the other, end a run.
    pub max_repeats: u32,
    /// Bytes of an answer that are kept.
    pub max_result_bytes: usize,
    /// Tokens of a reply.
    pub max_reply_tokens: u64,
    /// The share of the model's window at which the history is made shorter by itself.
    pub compact_at: f64,
    /// How long a run is ours without a sign of life.
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
