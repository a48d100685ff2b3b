//! Determines which conversation a request belongs to, and whether it is marked as a retry.
//!
//! Two conversations are never confused. Whatever identifies a session is part of the scope in
//! which its history is searched and of the request fingerprint, and a cached reply is given only
//! to a request that is marked as a retry. A session name is not such a mark.

use std::borrow::Cow;

use foxwedge_formats::RequestEnvelope;
use http::{HeaderMap, HeaderName, HeaderValue};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::{
    ApiError, ApiErrorKind, GatewayRequest,
    config::ReplayPolicy,
    session::{self, RequestOrigin, RetryMark, SessionIndex, SessionScope, SessionSelector},
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const SDK_RETRY_COUNT: HeaderName = HeaderName::from_static("x-stainless-retry-count");

/// Headers that name a session, by priority.
const SESSION_HEADERS: [&str; 4] =
    ["x-foxwedge-session", "x-session-id", "x-session-affinity", "x-opencode-session"];

/// Headers in which agents name their session to their own provider: Claude Code, Codex, goose. A
/// thread is one conversation of a session. They are not meant for us, so a value that is no
/// session name is ignored.
const AGENT_HEADERS: [&str; 4] =
    ["x-claude-code-session-id", "thread-id", "session-id", "agent-session-id"];

/// Whether a request has any of these headers. Most have none, and one look at the names of all its
/// headers costs less than looking for each.
fn names_session(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        SESSION_HEADERS.contains(&name) || AGENT_HEADERS.contains(&name)
    })
}

/// The identity of a request.
pub(super) struct RequestIdentity {
    /// How the client identifies its session.
    pub(super) selector: SessionSelector<'static, String>,
    /// The scope in which its conversation is searched.
    pub(super) scope: u128,
    /// Equal for identical requests of the same conversation.
    pub(super) fingerprint: u128,
    /// Whether the client marks the request as a retry.
    pub(super) retry_mark: RetryMark,
    /// Whether another client may send an identical request by chance.
    pub(super) origin: RequestOrigin,
}

/// # Errors
/// If a header contains an invalid session name.
pub(super) fn identify(
    request: &GatewayRequest,
    envelope: &RequestEnvelope<'_>,
    model: &str,
    replay_policy: ReplayPolicy,
    sessions: &SessionIndex,
) -> Result<RequestIdentity, ApiError> {
    let headers = &request.headers;
    let name = session_name(headers)?;
    let cache_key = envelope.cache_key.as_deref().filter(|key| !key.is_empty());
    let owner = &request.caller.owner;
    let session_scope = match (name, cache_key) {
        // The id that our responses return for the session: an unnamed conversation continues under
        // it.
        (Some(name), _) if sessions.is_issued_name(owner, name) => SessionScope::Unnamed,
        (Some(name), _) => SessionScope::Named(name),
        (None, Some(key)) => SessionScope::Keyed(key),
        (None, None) => SessionScope::Unnamed,
    };
    let scope = session::conversation_scope(owner, model, session_scope);
    let owned = |text: &Cow<'_, str>| text.clone().into_owned();
    let selector = match (name, &envelope.previous_response, cache_key) {
        (Some(name), _, _) => SessionSelector::Name(name.to_owned()),
        (None, Some(id), _) => SessionSelector::Reply(owned(id)),
        (None, None, Some(key)) => SessionSelector::CacheKey(key.to_owned()),
        (None, None, None) => SessionSelector::None,
    };
    let key = idempotency_key(headers);
    let retry_mark = match replay_policy {
        ReplayPolicy::Never => RetryMark::Ignored,
        ReplayPolicy::Identical => RetryMark::Retry,
        ReplayPolicy::Marked if key.is_some() || is_sdk_retry(headers) => RetryMark::Retry,
        ReplayPolicy::Marked => RetryMark::First,
    };
    let origin = match (name, key, replay_policy) {
        (None, None, ReplayPolicy::Marked | ReplayPolicy::Never) => RequestOrigin::Anonymous,
        (Some(_), _, _) | (_, Some(_), _) | (_, _, ReplayPolicy::Identical) => {
            RequestOrigin::Declared
        }
    };
    let fingerprint = fingerprint(request, scope, key);
    Ok(RequestIdentity { selector, scope, fingerprint, retry_mark, origin })
}

/// A session name that may be an id which we issued.
pub(super) fn issued_name(headers: &HeaderMap) -> Option<&str> {
    session_name(headers).ok().flatten().filter(|name| name.starts_with("s-"))
}

/// The session name from the headers.
fn session_name(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    if !names_session(headers) {
        return Ok(None);
    }
    let Some(header) = SESSION_HEADERS.into_iter().find(|header| headers.contains_key(*header))
    else {
        return Ok(AGENT_HEADERS.into_iter().find_map(|header| agent_session(headers, header)));
    };
    let mut values = headers.get_all(header).iter();
    let name = values.next().and_then(|value| value.to_str().ok());
    match name.filter(|name| session::is_session_name(name)) {
        Some(name) if values.all(|other| other == name) => Ok(Some(name)),
        Some(_) => {
            let message = format!("the header `{header}` names more than one session");
            Err(ApiError::new(ApiErrorKind::InvalidRequest, "invalid_session_name", message)
                .at(header))
        }
        None => {
            let message = format!(
                "the header `{header}` is not a valid session name: a name has 1 to {} characters, \
                 each an ASCII letter, a digit, `-` or `_`",
                session::LONGEST_NAME
            );
            Err(ApiError::new(ApiErrorKind::InvalidRequest, "invalid_session_name", message)
                .at(header))
        }
    }
}

/// The session name in a header of an agent, if it has one.
fn agent_session<'h>(headers: &'h HeaderMap, header: &str) -> Option<&'h str> {
    let mut values = headers.get_all(header).iter();
    let name = values.next()?.to_str().ok()?;
    (session::is_session_name(name) && values.next().is_none()).then_some(name)
}

fn idempotency_key(headers: &HeaderMap) -> Option<&[u8]> {
    let key = headers.get(IDEMPOTENCY_KEY).map(HeaderValue::as_bytes);
    key.filter(|key| !key.is_empty())
}

/// Whether an SDK marks the request as an automatic retry.
pub(super) fn is_sdk_retry(headers: &HeaderMap) -> bool {
    let count = headers.get(SDK_RETRY_COUNT).and_then(|count| count.to_str().ok());
    count.and_then(|count| count.trim().parse().ok()).is_some_and(|count: u32| count > 0)
}

/// Equal for identical requests of the same conversation: the scope covers owner, model and name;
/// endpoint, all session headers, the idempotency key and the body are added.
fn fingerprint(request: &GatewayRequest, scope: u128, key: Option<&[u8]>) -> u128 {
    let mut context = Vec::with_capacity(128);
    context.extend_from_slice(&scope.to_le_bytes());
    context.push(request.endpoint as u8);
    let mut add = |at: u8, value: &[u8]| {
        context.push(at);
        context.extend_from_slice(&(value.len() as u64).to_le_bytes());
        context.extend_from_slice(value);
    };
    if let Some(key) = key {
        add(0, key);
    }
    if !names_session(&request.headers) {
        return xxh3_128_with_seed(&request.body, xxh3_64(&context));
    }
    for (at, header) in (1..).zip(SESSION_HEADERS.into_iter().chain(AGENT_HEADERS)) {
        for value in request.headers.get_all(header) {
            add(at, value.as_bytes());
        }
    }
    xxh3_128_with_seed(&request.body, xxh3_64(&context))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GatewayEndpoint, RequestCaller};

    fn identity(headers: &[(&str, &str)]) -> Result<RequestIdentity, ApiError> {
        let header = |(name, value): &(&str, &str)| {
            let name: http::HeaderName = name.parse().expect("a name");
            (name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"))
        };
        let request = GatewayRequest {
            endpoint: GatewayEndpoint::Chat,
            path_model: None,
            headers: headers.iter().map(header).collect(),
            body: "{}".into(),
            caller: RequestCaller { owner: "local".into(), client_key: None, is_admin: true },
            id: "r".into(),
        };
        let sessions = SessionIndex::new(crate::config::SessionConfig::default());
        identify(&request, &RequestEnvelope::default(), "m", ReplayPolicy::Marked, &sessions)
    }

    #[test]
    fn an_invalid_session_name_is_rejected_with_its_header_and_the_rule() {
        let long = "x".repeat(129);
        let wrong = [
            "", " ", "../x", "..", ".", "a b", "a/b", "a\\b", "c:d", "a.b", "%2e", "é", "名前",
            &long,
        ];
        for header in SESSION_HEADERS {
            for name in wrong {
                let error = identity(&[(header, name)]).err();
                let error = error.unwrap_or_else(|| panic!("{header}: {name:?} was taken"));
                assert_eq!(
                    (error.status().as_u16(), error.code, error.location.as_deref()),
                    (400, "invalid_session_name", Some(header)),
                    "{name:?}"
                );
                assert!(error.message.contains(header) && error.message.contains("128"));
            }
            for name in ["a", "A-b_9", "-", &"x".repeat(128)] {
                let found = identity(&[(header, name)]).expect("a name").selector;
                assert_eq!(found, SessionSelector::Name(name.to_owned()));
            }
            let two = identity(&[(header, "one"), (header, "two")]).err().expect("a fault");
            assert_eq!(two.code, "invalid_session_name");
            assert!(identity(&[(header, "one"), (header, "one")]).is_ok());
        }
        // The header of the highest priority decides; others are ignored then.
        assert!(identity(&[("x-session-id", "a b"), ("x-foxwedge-session", "a")]).is_ok());
    }

    #[test]
    fn agents_name_their_sessions_in_headers_of_their_own() {
        let name = |headers: &[(&str, &str)]| identity(headers).expect("an identity").selector;
        let named = |name: &str| SessionSelector::Name(name.to_owned());
        let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
        for header in AGENT_HEADERS {
            assert_eq!(name(&[(header, id)]), named(id), "{header}");
            assert_eq!(name(&[(header, id), ("x-session-id", "a")]), named("a"), "{header}");
            for wrong in ["", "a b", "../x", "sid:7"] {
                assert_eq!(name(&[(header, wrong)]), SessionSelector::None, "{header}: {wrong}");
            }
            assert_eq!(name(&[(header, "a"), (header, "b")]), SessionSelector::None, "{header}");
        }
        // Codex sends both; each of its threads is a conversation.
        assert_eq!(name(&[("session-id", "s"), ("thread-id", "t")]), named("t"));
    }

    #[test]
    fn a_session_name_is_part_of_the_fingerprint_but_no_retry_mark() {
        type Row<'r> = (&'r [(&'r str, &'r str)], RetryMark, RequestOrigin);
        let table: [Row<'_>; 9] = [
            (&[], RetryMark::First, RequestOrigin::Anonymous),
            (&[("x-session-id", "a")], RetryMark::First, RequestOrigin::Declared),
            (&[("x-session-id", "b")], RetryMark::First, RequestOrigin::Declared),
            (&[("x-opencode-session", "a")], RetryMark::First, RequestOrigin::Declared),
            (&[("idempotency-key", "k")], RetryMark::Retry, RequestOrigin::Declared),
            (&[("idempotency-key", "l")], RetryMark::Retry, RequestOrigin::Declared),
            (
                &[("idempotency-key", "k"), ("x-session-id", "a")],
                RetryMark::Retry,
                RequestOrigin::Declared,
            ),
            (
                &[("x-session-affinity", "a"), ("x-session-id", "b")],
                RetryMark::First,
                RequestOrigin::Declared,
            ),
            (&[("x-foxwedge-session", "a")], RetryMark::First, RequestOrigin::Declared),
        ];
        let found = table.map(|(headers, retry_mark, origin)| {
            let found = identity(headers).expect("an identity");
            assert_eq!((found.retry_mark, found.origin), (retry_mark, origin), "{headers:?}");
            found.fingerprint
        });
        for (at, one) in found.iter().enumerate() {
            assert!(!found[at + 1..].contains(one), "{:?}", table[at].0);
        }
        let counts = [("0", RetryMark::First), ("1", RetryMark::Retry), ("2", RetryMark::Retry)];
        let odd = [("", RetryMark::First), ("no", RetryMark::First), ("-1", RetryMark::First)];
        for (count, retry_mark) in counts.into_iter().chain(odd) {
            let found = identity(&[("x-stainless-retry-count", count)]).expect("an identity");
            assert_eq!((found.retry_mark, found.fingerprint), (retry_mark, found.fingerprint));
            assert_eq!(found.origin, RequestOrigin::Anonymous, "{count}");
        }
        assert_eq!(
            identity(&[("idempotency-key", "")]).expect("an identity").retry_mark,
            RetryMark::First
        );
    }
}
