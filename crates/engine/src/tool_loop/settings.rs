//! What a tool loop may be told before it starts.

use std::time::Duration;

/// How a loop is set up.
#[derive(Clone, Debug)]
pub struct Setup {
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
    pub limits: Limits,
}

impl Setup {
    /// A session with the usual limits.
    pub fn new(session: impl Into<String>) -> Setup {
        Setup {
            session: session.into(),
            owner: "local".to_owned(),
            process: foxwedge_store::process::me(),
            title: String::new(),
            meta: None,
            instructions: String::new(),
            limits: Limits::default(),
        }
    }
}

/// How much of everything.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Replies of the model in one run.
    pub turns: u32,
    /// Tools that read at the same time.
    pub at_once: usize,
    /// How long tools at work may take to finish after the first interrupt.
    pub grace: Duration,
    /// The same calls with the same answers, so many times one behind the other, end a run.
    pub repeats: u32,
    /// Bytes of an answer that are kept.
    pub answer: usize,
    /// Tokens of a reply.
    pub reply: u64,
    /// The share of the model's window at which the history is made shorter by itself.
    pub full: f64,
    /// How long a run is ours without a sign of life.
    pub lease: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            turns: 100,
            at_once: 8,
            grace: Duration::from_millis(1_000),
            repeats: 8,
            answer: 64 << 10,
            reply: 8_192,
            full: 0.8,
            lease: Duration::from_secs(60),
        }
    }
}
