//! The rows of the store.

use foxwedge_run::{Outcome, RunEnd, RunEvent, RunSummary};

/// A session to create.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NewSession {
    /// Session id: `[A-Za-z0-9_-]{1,128}`.
    pub id: String,
    /// Owner of the session. Requests of other owners do not find it.
    pub owner: String,
    /// Title for people.
    pub title: String,
    /// Any other data, a JSON object.
    pub meta: Option<String>,
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Session id.
    pub id: String,
    /// Owner of the session.
    pub owner: String,
    /// Title for people.
    pub title: String,
    /// Any other data, a JSON object.
    pub meta: Option<String>,
    /// When the session was created, in milliseconds since 1970.
    pub created: u64,
    /// When the session last changed. A run changes it when it starts and when it ends, not with
    /// every event.
    pub touched: u64,
    /// The epoch of its newest run; 0 if it has none.
    pub epoch: u64,
    /// Number of records.
    pub records: u64,
}

/// A record to add to a session's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// Record id, unique in the session.
    pub id: String,
    /// Parent record; `None` for a root.
    pub parent: Option<String>,
    /// The run that wrote the record.
    pub run: Option<String>,
    /// Kind of the record, such as `message`.
    pub kind: String,
    /// Content, as JSON.
    pub body: String,
}

/// A stored record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Position in the session, from 1 on.
    pub ordinal: u64,
    /// When the record was added, in milliseconds since 1970.
    pub at: u64,
    /// The record.
    pub record: NewRecord,
}

/// A run to start.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NewRun {
    /// Run id: `[A-Za-z0-9_-]{1,128}`.
    pub id: String,
    /// Session of the run. It must exist.
    pub session: String,
    /// Idempotency key of the caller: the same key in the same session is the same run.
    pub key: Option<String>,
    /// Owner of the lease: a process on a machine.
    pub owner: String,
    /// How long the lease is valid without a renewal, in milliseconds.
    pub ttl: u64,
    /// Content of the first event (`EventPayload::Started`). The store fills in its `epoch` and
    /// `seq`.
    pub start: foxwedge_run::RunStart,
    /// When the run started, if the caller knows.
    pub at: Option<u64>,
}

/// The right to write to a run. Every new holder gets a higher fence; writes with a lower fence
/// fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Owner of the lease.
    pub owner: String,
    /// Number of the holder, from 1 on.
    pub fence: u64,
}

/// Result of starting a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartResult {
    /// The run was started. Its event 1 is the start.
    New {
        /// The new run.
        run: RunRow,
        /// The right to write to it.
        lease: Lease,
    },
    /// The run existed: it has the same id or the same key.
    Existing(RunRow),
}

/// Whether a run is open or has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every run that is kept has ended")]
pub enum RunState {
    /// The run is active, or its process is gone and no node has closed it yet.
    Open,
    /// The run has ended.
    Ended {
        /// The end, with its text and its costs.
        ended: RunEnd,
        /// Totals of the run.
        summary: RunSummary,
        /// When the run ended, in milliseconds since 1970.
        at: u64,
    },
}

impl RunState {
    /// The outcome; `None` while the run is open.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            RunState::Open => None,
            RunState::Ended { ended, .. } => ended.outcome,
        }
    }
}

/// A stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Run id.
    pub id: String,
    /// Session of the run.
    pub session: String,
    /// Number of the run in its session.
    pub epoch: u64,
    /// Idempotency key of the caller.
    pub key: Option<String>,
    /// When the run started, in milliseconds since 1970.
    pub started: u64,
    /// Sequence number of its last event.
    pub last: u64,
    /// Whether the run is open or has ended.
    pub state: RunState,
    /// The current lease, while the run is open.
    pub lease: Option<Lease>,
    /// When the lease expires, in milliseconds since 1970.
    pub lease_until: Option<u64>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Name of the model.
    pub model: Option<String>,
}

/// A stored event of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Sequence number.
    pub seq: u64,
    /// The event, with epoch, sequence number and time filled in.
    pub event: RunEvent,
    /// Chain link: a hash over all events up to this one.
    pub chain: [u8; 16],
}

/// The authority under which a run is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseAuthority {
    /// The holder of the lease. A stale lease is refused.
    Holder(Lease),
    /// An operator, who may stop a run without its lease.
    Operator,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClosing {
    /// Last events with their sequence numbers. The final one is `EventPayload::Ended`.
    pub events: Vec<RunEvent>,
    /// The end, with outcome, text and costs.
    pub ended: RunEnd,
    /// Totals of the run.
    pub summary: RunSummary,
    /// Records that the run leaves in the session.
    pub records: Vec<NewRecord>,
}

/// A complete run, from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeRun {
    /// Session of the run. It is created if it does not exist.
    pub session: NewSession,
    /// Start of the run, in that session.
    pub run: NewRun,
    /// End of the run, with all events after the start. The store fills in their `epoch`.
    pub closing: RunClosing,
}

/// Result of ending a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalizeResult {
    /// This call ended the run.
    Recorded(RunRow),
    /// The run had ended before.
    AlreadyEnded(RunRow),
}

/// The state of a live agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSnapshot {
    /// Name, unique in the session.
    pub name: String,
    /// Content.
    pub body: Vec<u8>,
    /// When the snapshot expires, in milliseconds since 1970.
    pub expires: Option<u64>,
}

/// Selects sessions or runs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ListFilter {
    /// Only those of this owner.
    pub owner: Option<String>,
    /// Only those of this session.
    pub session: Option<String>,
    /// `true`: only open runs. `false`: only ended runs.
    pub open: Option<bool>,
}

/// One page of a list. Pages are addressed by the last id of the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The last id of the page before.
    pub after: Option<String>,
    /// Maximum number of rows.
    pub limit: usize,
}

impl Default for ListPage {
    fn default() -> ListPage {
        ListPage { after: None, limit: 100 }
    }
}

/// What [`Store::prune`](crate::Store::prune) deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PruneReport {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of runs.
    pub runs: u64,
    /// Number of snapshots.
    pub snapshots: u64,
}

/// A small value that the nodes of a store share under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedEntry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Vec<u8>,
    /// Key of another entry, which is read together with this one.
    pub link: Option<String>,
    /// Changes with every write.
    pub version: u64,
    /// The node that holds the entry. A node that is gone may be replaced.
    pub holder: Option<EntryHolder>,
}

/// The node that holds an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryHolder {
    /// The node.
    pub node: String,
    /// Whether the node is alive: the entry under its [`node_key`] has not expired.
    pub is_alive: bool,
}

/// The exclusive use of an entry by a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryHold {
    /// Key of the entry.
    pub key: String,
    /// The node.
    pub node: String,
    /// To take an entry: the version that was read, 0 if there was none. To release it: the version
    /// that [`Store::hold_entry`](crate::Store::hold_entry) returned.
    pub version: u64,
}

/// An entry that a node takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryTake {
    /// The entry, the node, and the version that was read.
    pub hold: EntryHold,
    /// How long the entry exists if it did not, in milliseconds.
    pub ttl: u64,
    /// Key of another entry: the link from now on. Who reads that key finds this entry, too.
    pub link: Option<String>,
    /// Writes that are made in the same step.
    pub writes: Vec<EntryWrite>,
    /// What one of the writes replaces, unless it may replace anything.
    pub replaced: Option<EntryVersion>,
}

/// An entry as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryVersion {
    /// The key.
    pub key: String,
    /// The version, 0 if there was none.
    pub version: u64,
}

/// A write of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryWrite {
    /// The key.
    pub key: String,
    /// The new value.
    pub value: Vec<u8>,
    /// Key of another entry, which is read together with this one.
    pub link: Option<String>,
    /// How long the entry exists without another write, in milliseconds. 0 removes it.
    pub ttl: u64,
}

/// The key of the entry that shows that a node is alive.
pub fn node_key(node: &str) -> String {
    format!("{NODE_PREFIX}{node}")
}

/// What the key of a node begins with.
pub(crate) const NODE_PREFIX: &str = "node ";
