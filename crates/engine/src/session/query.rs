//! What a request says about the session it looks for, and how that is found.

use std::sync::Arc;

use super::digest_key;

/// A request that looks for its session.
#[derive(Clone, Copy, Debug)]
pub struct SessionQuery<'a> {
    /// Who asks.
    pub owner: &'a str,
    /// How the client names the session.
    pub selector: SessionSelector<'a>,
    /// The conversation: the value after each message, which begins with the scope.
    pub chain: &'a [u128],
    /// Where it is looked for: see [`super::scope`].
    pub scope: u128,
    /// The same for the same request of the same conversation.
    pub fingerprint: u128,
    /// Whether the client says that it asks again.
    pub retry_mark: RetryMark,
    /// Whether another client may send the same by chance.
    pub origin: RequestOrigin,
}

impl SessionQuery<'_> {
    /// The beginnings of its conversation, the longest first.
    pub(super) fn prefix_keys(&self) -> impl Iterator<Item = u64> {
        self.chain.iter().rev().map(|value| digest_key(*value))
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
pub enum SessionSelector<'a> {
    /// By a name of its own: requests under it come one after the other.
    Name(&'a str),
    /// By something that often names one conversation.
    CacheKey(&'a str),
    /// By the reply it continues.
    Reply(&'a str),
    /// Not by the client: it answers calls of this very session, and waits if that is at work.
    SessionId(&'a Arc<str>),
    /// Not at all.
    None,
}

/// Whether a client says that it asks again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryMark {
    /// It does: an earlier reply to the same request is the reply.
    Retry,
    /// It does not, but may do so later.
    First,
    /// Nobody wants to know.
    Ignored,
}

/// How a session was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SessionMatchKind {
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

impl SessionMatchKind {
    /// Every way.
    pub const ALL: [SessionMatchKind; 5] = [
        SessionMatchKind::Named,
        SessionMatchKind::Reply,
        SessionMatchKind::Call,
        SessionMatchKind::Prefix,
        SessionMatchKind::New,
    ];

    /// The word in headers, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            SessionMatchKind::Named => "session-id",
            SessionMatchKind::Reply => "response",
            SessionMatchKind::Call => "call",
            SessionMatchKind::Prefix => "prefix",
            SessionMatchKind::New => "new",
        }
    }
}
