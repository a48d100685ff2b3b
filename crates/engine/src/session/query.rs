//! What a request says about the session it looks for, and how that is found.

use std::sync::Arc;

use super::key;

/// A request that looks for its session.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Who asks.
    pub owner: &'a str,
    /// How the client names the session.
    pub named: Named<'a>,
    /// The conversation: the value after each message, which begins with the scope.
    pub chain: &'a [u128],
    /// Where it is looked for: see [`super::scope`].
    pub scope: u128,
    /// The same for the same request of the same conversation.
    pub fingerprint: u128,
    /// Whether the client says that it asks again.
    pub repeated: Repeated,
    /// Whether another client may send the same by chance.
    pub origin: RequestOrigin,
}

impl Wanted<'_> {
    /// The beginnings of its conversation, the longest first.
    pub(super) fn histories(&self) -> impl Iterator<Item = u64> {
        self.chain.iter().rev().map(|value| key(*value))
    }
}

/// Whether two requests with one fingerprint surely are of one client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestOrigin {
    /// They are: the name of a session or an idempotency key is in the fingerprint.
    Declared,
    /// They may be of two clients that say the same. A kept reply is given to a retry only as long
    /// as there is one request that it can be a retry of.
    Anonymous,
}

/// How a client names its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named<'a> {
    /// By a name of its own: requests under it come one after the other.
    Exactly(&'a str),
    /// By something that often names one conversation.
    Loosely(&'a str),
    /// By the reply it continues.
    Reply(&'a str),
    /// Not by the client: it answers calls of this very session, and waits if that is at work.
    This(&'a Arc<str>),
    /// Not at all.
    Not,
}

/// Whether a client says that it asks again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeated {
    /// It does: an earlier reply to the same request is the reply.
    Yes,
    /// It does not, but may do so later.
    No,
    /// Nobody wants to know.
    Never,
}

/// How a session was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Matched {
    /// By its name.
    Named,
    /// By the reply that the request continues.
    Reply,
    /// By a call that waits for its answer.
    Call,
    /// By the conversation.
    Prefix,
    /// It is new.
    New,
}

impl Matched {
    /// Every way.
    pub const ALL: [Matched; 5] =
        [Matched::Named, Matched::Reply, Matched::Call, Matched::Prefix, Matched::New];

    /// The word in headers, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Matched::Named => "session-id",
            Matched::Reply => "response",
            Matched::Call => "call",
            Matched::Prefix => "prefix",
            Matched::New => "new",
        }
    }
}
