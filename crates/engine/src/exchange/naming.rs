//! Which conversation a request says it belongs to, and whether it says that it is a retry.
//!
//! Two conversations are never taken for one. So whatever a client names its session by is part of
//! where its history is looked for and of what makes two requests the same, and a kept reply is given
//! only to a request that is marked as a retry. The name of a session is no such mark.

use std::borrow::Cow;

use foxwedge_dialect::Envelope;
use http::{HeaderMap, HeaderValue};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::{
    Asked, Fault, Kind,
    config::Again,
    session::{self, Repeated, RequestOrigin, SessionScope, Sessions},
};

/// Headers that name a session, the strongest first.
const SESSIONS: [&str; 4] =
    ["x-foxwedge-session", "x-session-id", "x-session-affinity", "x-opencode-session"];

/// How a client names its session.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Naming {
    /// By a header: requests of it come one after the other.
    Exactly(String),
    /// By something that often names one.
    Loosely(String),
    /// By the reply it continues.
    Reply(String),
    /// Not at all.
    Not,
}

/// What tells a request from all others.
pub(super) struct RequestIdentity {
    pub(super) naming: Naming,
    /// Where its conversation is looked for.
    pub(super) scope: u128,
    /// The same for the same request of the same conversation.
    pub(super) fingerprint: u128,
    /// Whether the client says that it asks again.
    pub(super) repeated: Repeated,
    /// Whether another client may send the same by chance.
    pub(super) origin: RequestOrigin,
}

/// # Errors
/// If a header names a session by something that is no name.
pub(super) fn identify(
    asked: &Asked,
    envelope: &Envelope<'_>,
    model: &str,
    again: Again,
    sessions: &Sessions,
) -> Result<RequestIdentity, Fault> {
    let headers = &asked.headers;
    let name = session_name(headers)?;
    let cache_key = envelope.cache_key.as_deref().filter(|key| !key.is_empty());
    let owner = &asked.caller.owner;
    let within = match (name, cache_key) {
        // The id that replies name their session by: an unnamed conversation goes on under it.
        (Some(name), _) if sessions.gave_out(owner, name) => SessionScope::Unnamed,
        (Some(name), _) => SessionScope::Named(name),
        (None, Some(key)) => SessionScope::Keyed(key),
        (None, None) => SessionScope::Unnamed,
    };
    let scope = session::scope(owner, model, within);
    let owned = |text: &Cow<'_, str>| text.clone().into_owned();
    let naming = match (name, &envelope.previous_response, cache_key) {
        (Some(name), _, _) => Naming::Exactly(name.to_owned()),
        (None, Some(id), _) => Naming::Reply(owned(id)),
        (None, None, Some(key)) => Naming::Loosely(key.to_owned()),
        (None, None, None) => Naming::Not,
    };
    let key = idempotency_key(headers);
    let repeated = match again {
        Again::Never => Repeated::Never,
        Again::Identical => Repeated::Yes,
        Again::Marked if key.is_some() || is_sdk_retry(headers) => Repeated::Yes,
        Again::Marked => Repeated::No,
    };
    let origin = match (name, key, again) {
        (None, None, Again::Marked | Again::Never) => RequestOrigin::Anonymous,
        (Some(_), _, _) | (_, Some(_), _) | (_, _, Again::Identical) => RequestOrigin::Declared,
    };
    let fingerprint = fingerprint(asked, scope, key);
    Ok(RequestIdentity { naming, scope, fingerprint, repeated, origin })
}

/// The name that a header gives the session.
fn session_name(headers: &HeaderMap) -> Result<Option<&str>, Fault> {
    let Some(header) = SESSIONS.into_iter().find(|header| headers.contains_key(*header)) else {
        return Ok(None);
    };
    let mut values = headers.get_all(header).iter();
    let name = values.next().and_then(|value| value.to_str().ok());
    match name.filter(|name| session::is_session_name(name)) {
        Some(name) if values.all(|other| other == name) => Ok(Some(name)),
        Some(_) => {
            let words = format!("the header `{header}` names more than one session");
            Err(Fault::new(Kind::Request, "invalid_session_name", words).at(header))
        }
        None => {
            let words = format!(
                "the header `{header}` is not the name of a session: a name has 1 to {} characters, \
                 each an ASCII letter, a digit, `-` or `_`",
                session::LONGEST_NAME
            );
            Err(Fault::new(Kind::Request, "invalid_session_name", words).at(header))
        }
    }
}

fn idempotency_key(headers: &HeaderMap) -> Option<&[u8]> {
    let key = headers.get("idempotency-key").map(HeaderValue::as_bytes);
    key.filter(|key| !key.is_empty())
}

/// Whether an SDK says that it sends a request once more by itself.
pub(super) fn is_sdk_retry(headers: &HeaderMap) -> bool {
    let count = headers.get("x-stainless-retry-count").and_then(|count| count.to_str().ok());
    count.and_then(|count| count.trim().parse().ok()).is_some_and(|count: u32| count > 0)
}

/// The same for the same request of the same conversation: owner, model and name are in the scope;
/// endpoint, all naming headers, the idempotency key and the body come with it.
fn fingerprint(asked: &Asked, scope: u128, key: Option<&[u8]>) -> u128 {
    let mut whose = Vec::with_capacity(128);
    whose.extend_from_slice(&scope.to_le_bytes());
    whose.push(asked.face as u8);
    let mut add = |at: u8, value: &[u8]| {
        whose.push(at);
        whose.extend_from_slice(&(value.len() as u64).to_le_bytes());
        whose.extend_from_slice(value);
    };
    if let Some(key) = key {
        add(0, key);
    }
    for (at, header) in (1..).zip(SESSIONS) {
        for value in asked.headers.get_all(header) {
            add(at, value.as_bytes());
        }
    }
    xxh3_128_with_seed(&asked.body, xxh3_64(&whose))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caller, Face};

    fn identity(headers: &[(&str, &str)]) -> Result<RequestIdentity, Fault> {
        let header = |(name, value): &(&str, &str)| {
            let name: http::HeaderName = name.parse().expect("a name");
            (name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"))
        };
        let asked = Asked {
            face: Face::Chat,
            headers: headers.iter().map(header).collect(),
            body: "{}".into(),
            caller: Caller { owner: "local".into(), own: None },
            id: "r".into(),
        };
        let sessions = Sessions::new(crate::config::Sessions::default());
        identify(&asked, &Envelope::default(), "m", Again::Marked, &sessions)
    }

    #[test]
    fn a_name_that_does_not_fit_is_refused_with_its_header_and_the_rule() {
        let long = "x".repeat(129);
        let wrong = [
            "", " ", "../x", "..", ".", "a b", "a/b", "a\\b", "c:d", "a.b", "%2e", "é", "名前",
            &long,
        ];
        for header in SESSIONS {
            for name in wrong {
                let fault = identity(&[(header, name)]).err();
                let fault = fault.unwrap_or_else(|| panic!("{header}: {name:?} was taken"));
                assert_eq!(
                    (fault.status().as_u16(), fault.code, fault.place.as_deref()),
                    (400, "invalid_session_name", Some(header)),
                    "{name:?}"
                );
                assert!(fault.message.contains(header) && fault.message.contains("128"));
            }
            for name in ["a", "A-b_9", "-", &"x".repeat(128)] {
                let found = identity(&[(header, name)]).expect("a name").naming;
                assert_eq!(found, Naming::Exactly(name.to_owned()));
            }
            let two = identity(&[(header, "one"), (header, "two")]).err().expect("a fault");
            assert_eq!(two.code, "invalid_session_name");
            assert!(identity(&[(header, "one"), (header, "one")]).is_ok());
        }
        // The strongest header decides; what a weaker one says does not matter then.
        assert!(identity(&[("x-session-id", "a b"), ("x-foxwedge-session", "a")]).is_ok());
    }

    #[test]
    fn a_name_is_no_mark_of_a_retry_and_part_of_every_fingerprint() {
        type Row<'r> = (&'r [(&'r str, &'r str)], Repeated, RequestOrigin);
        let table: [Row<'_>; 9] = [
            (&[], Repeated::No, RequestOrigin::Anonymous),
            (&[("x-session-id", "a")], Repeated::No, RequestOrigin::Declared),
            (&[("x-session-id", "b")], Repeated::No, RequestOrigin::Declared),
            (&[("x-opencode-session", "a")], Repeated::No, RequestOrigin::Declared),
            (&[("idempotency-key", "k")], Repeated::Yes, RequestOrigin::Declared),
            (&[("idempotency-key", "l")], Repeated::Yes, RequestOrigin::Declared),
            (
                &[("idempotency-key", "k"), ("x-session-id", "a")],
                Repeated::Yes,
                RequestOrigin::Declared,
            ),
            (
                &[("x-session-affinity", "a"), ("x-session-id", "b")],
                Repeated::No,
                RequestOrigin::Declared,
            ),
            (&[("x-foxwedge-session", "a")], Repeated::No, RequestOrigin::Declared),
        ];
        let found = table.map(|(headers, repeated, origin)| {
            let found = identity(headers).expect("an identity");
            assert_eq!((found.repeated, found.origin), (repeated, origin), "{headers:?}");
            found.fingerprint
        });
        for (at, one) in found.iter().enumerate() {
            assert!(!found[at + 1..].contains(one), "{:?}", table[at].0);
        }
        let counts = [("0", Repeated::No), ("1", Repeated::Yes), ("2", Repeated::Yes)];
        let odd = [("", Repeated::No), ("no", Repeated::No), ("-1", Repeated::No)];
        for (count, repeated) in counts.into_iter().chain(odd) {
            let found = identity(&[("x-stainless-retry-count", count)]).expect("an identity");
            assert_eq!((found.repeated, found.fingerprint), (repeated, found.fingerprint));
            assert_eq!(found.origin, RequestOrigin::Anonymous, "{count}");
        }
        assert_eq!(
            identity(&[("idempotency-key", "")]).expect("an identity").repeated,
            Repeated::No
        );
    }
}
