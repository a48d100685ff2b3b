//! What is kept.

use foxwedge_run::{Outcome, RunEnd, RunEvent, RunSummary};

/// A session that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NewSession {
    /// Its id: `[A-Za-z0-9_-]{1,128}`.
    pub id: String,
    /// Whose it is; whoever asks for it on behalf of somebody else does not find it.
    pub owner: String,
    /// What a person reads.
    pub title: String,
    /// Anything else, a JSON object.
    pub meta: Option<String>,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// What a person reads.
    pub title: String,
    /// Anything else, a JSON object.
    pub meta: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When something was added last. The events of a run count when it begins and when it ends.
    pub touched: u64,
    /// The number of its newest run; 0 if there was none.
    pub epoch: u64,
    /// How many records it has.
    pub records: u64,
}

/// A record that is to be added to a session's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// Its id, unique in the session.
    pub id: String,
    /// The record it follows; none for a root.
    pub parent: Option<String>,
    /// The run it comes from.
    pub run: Option<String>,
    /// What it is, such as `message`.
    pub kind: String,
    /// What it says, JSON.
    pub body: String,
}

/// A record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its place in the session, from 1 on.
    pub ordinal: u64,
    /// When it was added.
    pub at: u64,
    /// The record.
    pub record: NewRecord,
}

/// A run that is to begin.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NewRun {
    /// Its id: `[A-Za-z0-9_-]{1,128}`.
    pub id: String,
    /// Its session, which has to be there.
    pub session: String,
    /// The caller's own key: the same key in the same session is the same run.
    pub key: Option<String>,
    /// Who runs it: a process on a machine.
    pub owner: String,
    /// How long the lease holds without being renewed, in milliseconds.
    pub ttl: u64,
    /// Its first event: the start (a `Body::Started`), whose `epoch` and `seq` the store fills in.
    pub start: foxwedge_run::RunStart,
    /// When it began, if the caller knows.
    pub at: Option<u64>,
}

/// The right to write to a run. A later holder has a higher fence, and a lower one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who.
    pub owner: String,
    /// Which holder it is, from 1 on.
    pub fence: u64,
}

/// What became of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartResult {
    /// The run has begun: its place 1 holds the start.
    New {
        /// The run.
        run: RunRow,
        /// The right to write to it.
        lease: Lease,
    },
    /// It had begun before, by the same id or the same key.
    Existing(RunRow),
}

/// Whether a run is at work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every run that is kept has ended")]
pub enum RunState {
    /// It is, or whoever ran it is gone and nobody has noticed yet.
    Open,
    /// It ended.
    Ended {
        /// How, with its text and its costs.
        ended: RunEnd,
        /// In numbers.
        summary: RunSummary,
        /// When.
        at: u64,
    },
}

impl RunState {
    /// How it ended; `None` while it is at work.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            RunState::Open => None,
            RunState::Ended { ended, .. } => ended.outcome,
        }
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub id: String,
    /// Its session.
    pub session: String,
    /// Its number in the session.
    pub epoch: u64,
    /// The caller's own key.
    pub key: Option<String>,
    /// When it began.
    pub started: u64,
    /// The place of its last event.
    pub last: u64,
    /// Whether it is at work.
    pub state: RunState,
    /// Who holds it, while it is open.
    pub lease: Option<Lease>,
    /// Until when, in milliseconds since 1970.
    pub lease_until: Option<u64>,
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place.
    pub seq: u64,
    /// The event, with epoch, place and time filled in.
    pub event: RunEvent,
    /// The link of the chain: a hash over everything up to here.
    pub chain: [u8; 16],
}

/// In whose name a run is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseAuthority {
    /// Whoever runs it; a stale lease is refused.
    Holder(Lease),
    /// Somebody who may stop it from outside.
    Operator,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClosing {
    /// Its last events, in their places; the end (`Body::Ended`) is the last.
    pub events: Vec<RunEvent>,
    /// How it ended.
    pub ended: RunEnd,
    /// In numbers.
    pub summary: RunSummary,
    /// What it leaves in the session.
    pub records: Vec<NewRecord>,
}

/// A run that is told from its beginning to its end at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeRun {
    /// Its session, which is made if it is not there.
    pub session: NewSession,
    /// Its beginning, in that session.
    pub run: NewRun,
    /// Its end, with all events behind the start. The store fills in their `epoch`.
    pub closing: RunClosing,
}

/// What became of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalizeResult {
    /// It is recorded.
    Recorded(RunRow),
    /// Somebody else had ended it.
    AlreadyEnded(RunRow),
}

/// The state of a live agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSnapshot {
    /// Its name in the session.
    pub name: String,
    /// What it holds.
    pub body: Vec<u8>,
    /// When it is of no use any more, in milliseconds since 1970.
    pub expires: Option<u64>,
}

/// Which sessions or runs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ListFilter {
    /// Of one owner.
    pub owner: Option<String>,
    /// Of one session.
    pub session: Option<String>,
    /// Only runs at work, or only those that ended.
    pub open: Option<bool>,
}

/// How many, and behind which: lists are paged by the last id that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The last one of the page before.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl Default for ListPage {
    fn default() -> ListPage {
        ListPage { after: None, limit: 100 }
    }
}

/// What a clean-up took away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PruneReport {
    /// Sessions.
    pub sessions: u64,
    /// Runs.
    pub runs: u64,
    /// Snapshots.
    pub snapshots: u64,
}
