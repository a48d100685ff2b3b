//! Session ids: safe in paths and logs, and unique to an owner.

use std::{borrow::Cow, sync::Arc};

use xxhash_rust::xxh3::xxh3_128;

use crate::ordered_id::{OrderedId, push_hex};

/// Maximum length of a session name and of a session id.
pub(crate) const LONGEST_NAME: usize = 128;
/// The owner whose names need no prefix.
const LOCAL_OWNER: &str = "local";

/// Which of an owner's conversations with a model are searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionScope<'a> {
    /// Those with this name.
    Named(&'a str),
    /// Those with this cache key.
    Keyed(&'a str),
    /// Those without a name.
    Unnamed,
}

/// The seed of a conversation's digests. Conversations of another owner, model or name never
/// collide.
pub fn conversation_scope(owner: &str, model: &str, within: SessionScope<'_>) -> u128 {
    let mut bytes = Vec::with_capacity(owner.len() + model.len() + 64);
    bytes.extend_from_slice(owner.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(model.as_bytes());
    let (kind, name) = match within {
        SessionScope::Unnamed => return xxh3_128(&bytes),
        SessionScope::Named(name) => (1, name),
        SessionScope::Keyed(name) => (2, name),
    };
    bytes.extend_from_slice(&[0, kind]);
    bytes.extend_from_slice(name.as_bytes());
    xxh3_128(&bytes)
}

/// A session id in little memory: without an allocation, if it is one that we issued.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum CompactId {
    /// `s-` and these bytes as hexadecimal digits.
    Issued([u8; 16]),
    /// Any other text.
    Text(Arc<str>),
}

impl CompactId {
    pub(super) fn new(id: &str) -> CompactId {
        let digits = id.strip_prefix("s-").filter(|digits| digits.len() == 32);
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let digits = digits.filter(|digits| digits.bytes().all(is_digit));
        match digits.and_then(|digits| u128::from_str_radix(digits, 16).ok()) {
            Some(value) => CompactId::Issued(value.to_ne_bytes()),
            None => CompactId::Text(id.into()),
        }
    }

    pub(super) fn text(&self) -> Arc<str> {
        match self {
            CompactId::Issued(bytes) => {
                let value = u128::from_ne_bytes(*bytes);
                let mut text = String::with_capacity(34);
                text.push_str("s-");
                push_hex(&mut text, (value >> 64) as u64, 16);
                push_hex(&mut text, value as u64, 16);
                text.into()
            }
            CompactId::Text(text) => text.clone(),
        }
    }
}

/// A new unique id.
pub(super) fn new_session_id() -> Arc<str> {
    OrderedId::next().with_prefix("s-")
}

/// The id of the session with this name. Names of different owners never collide.
pub(crate) fn named_session_id(owner: &str, name: &str) -> Arc<str> {
    if owner == LOCAL_OWNER && is_session_name(name) {
        return name.into();
    }
    hashed_session_id(owner, name)
}

/// An id that is unique to this owner and name.
pub(super) fn hashed_session_id(owner: &str, name: &str) -> Arc<str> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(owner.as_bytes()).update(&[0]).update(name.as_bytes());
    let hash = hasher.finalize().to_hex();
    format!("s-{}", hash.get(..32).unwrap_or_default()).into()
}

/// The session name of a conversation whose id a client chose freely: the id, or a hash of one
/// that cannot be a name. Ids that we issue start with `s-`.
pub(crate) fn conversation_name(id: &str) -> Cow<'_, str> {
    if is_session_name(id) {
        return Cow::Borrowed(id);
    }
    let hash = blake3::hash(id.as_bytes()).to_hex();
    Cow::Owned(format!("c-{}", hash.get(..32).unwrap_or_default()))
}

/// Whether a name can be used as an id: safe in paths and logs.
pub(crate) fn is_session_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_used_as_id_only_if_safe_and_of_the_local_owner() {
        assert_eq!(&*named_session_id("local", "my-chat_1"), "my-chat_1");
        let others = [
            named_session_id("local", "../../etc/passwd"),
            named_session_id("local", ""),
            named_session_id("local", &"x".repeat(129)),
            named_session_id("b", "my-chat_1"),
            named_session_id("c", "my-chat_1"),
        ];
        for (at, id) in others.iter().enumerate() {
            assert!(is_session_name(id) && id.len() == 34, "{id}");
            assert!(!others.iter().skip(at + 1).any(|other| other == id), "{id}");
        }
        assert_eq!(named_session_id("b", "x"), named_session_id("b", "x"));
    }

    #[test]
    fn every_conversation_has_a_name() {
        let long = "x".repeat(129);
        let names = ["a:b", "a/b", "a b", "é", &long, ""].map(conversation_name);
        for (at, name) in names.iter().enumerate() {
            assert!(is_session_name(name) && !name.starts_with("s-"), "{name}");
            assert!(!names.iter().skip(at + 1).any(|other| other == name), "{name}");
        }
        assert_eq!(conversation_name("my-chat_1"), "my-chat_1");
        assert_eq!(conversation_name("a:b"), conversation_name("a:b"));
    }

    #[test]
    fn new_ids_differ() {
        let (first, second) = (new_session_id(), new_session_id());
        assert!(is_session_name(&first) && first != second);
    }
}
