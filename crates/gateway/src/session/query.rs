//! What a request reveals about its session, and how the session was found.

use std::sync::Arc;

use super::digest_key;

/// The session lookup of one request.
#[derive(Clone, Copy, Debug)]
pub struct SessionQuery<'a> {
    /// The owner.
    pub owner: &'a str,
    /// How the client identifies the session.
    pub selector: SessionSelector<'a>,
    /// The conversation: the digest after each message. The chain starts with the scope.
    pub chain: &'a [u128],
    /// What the request shows of its conversation.
    pub traits: ConversationTraits,
    /// The scope of the lookup: see [`super::conversation_scope`].
    pub scope: u128,
    /// Equal for identical requests of the same conversation.
    pub fingerprint: u128,
    /// Whether the client marks the request as a retry.
    pub retry_mark: RetryMark,
    /// Whether another client may send an identical request by chance.
    pub origin: RequestOrigin,
}

impl SessionQuery<'_> {
    /// Keys of the conversation's prefixes, the longest first.
    pub(super) fn prefix_keys(&self) -> impl Iterator<Item = u64> {
        self.chain.iter().rev().map(|value| digest_key(*value))
    }
}

/// What a request shows of its conversation. Under a name, this tells one that continues the
/// session from one beside it: a title, a summary, a sub-agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConversationTraits {
    /// The digest after the first message. `None` if earlier messages are not in the request.
    pub opening: Option<u128>,
    /// Whether the request declares tools.
    pub has_tools: bool,
    /// Whether the request ends with tool results.
    pub has_results: bool,
}

/// Whether two requests with the same fingerprint certainly come from one client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestOrigin {
    /// They do: the fingerprint contains a session name or an idempotency key.
    Declared,
    /// They may come from two clients that send the same. A cached reply is given to a retry only
    /// as long as there is one request that it can be a retry of.
    Anonymous,
}

/// How a client identifies its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionSelector<'a, S = &'a str> {
    /// By a name of its own: requests of its conversation are handled one after the other.
    Name(S),
    /// By a cache key, which often identifies one conversation.
    CacheKey(S),
    /// By the id of the reply that it continues.
    Reply(S),
    /// Not by the client: the request has results for calls of this session, and waits while it is
    /// busy.
    SessionId(&'a Arc<str>),
    /// Not at all.
    None,
}

impl SessionSelector<'_, String> {
    /// The same selector with borrowed texts.
    pub(crate) fn borrowed(&self) -> SessionSelector<'_> {
        match self {
            SessionSelector::Name(name) => SessionSelector::Name(name),
            SessionSelector::CacheKey(key) => SessionSelector::CacheKey(key),
            SessionSelector::Reply(id) => SessionSelector::Reply(id),
            SessionSelector::SessionId(id) => SessionSelector::SessionId(id),
            SessionSelector::None => SessionSelector::None,
        }
    }
}

/// Whether a client marks a request as a retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryMark {
    /// It does: the cached reply to the same request is returned.
    Retry,
    /// It does not, but may retry later.
    First,
    /// Retries are not detected.
    Ignored,
}

/// How a session was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SessionMatchKind {
    /// By its name.
    Named,
    /// By the reply that the request continues.
    Reply,
    /// By a call that waits for its result.
    Call,
    /// By the conversation.
    Prefix,
    /// It is new.
    New,
}

impl SessionMatchKind {
    /// Every kind.
    pub const ALL: [SessionMatchKind; 5] = [
        SessionMatchKind::Named,
        SessionMatchKind::Reply,
        SessionMatchKind::Call,
        SessionMatchKind::Prefix,
        SessionMatchKind::New,
    ];

    /// The name in headers, logs and metrics.
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
