//! Why a document cannot be read.

use crate::document::DocumentError;

/// Why a document cannot be read. Every variant names the place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are not text.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The first wrong byte.
        at: usize,
    },
    /// The text is not JSON, or not a conversation.
    #[error("{}{what}", place.as_deref().map(|place| format!("{place}: ")).unwrap_or_default())]
    Malformed {
        /// Byte offset.
        at: usize,
        /// The message, as `messages[3]`.
        place: Option<String>,
        /// What is wrong.
        what: String,
    },
    /// More than we read.
    #[error("{bytes} bytes are more than the four gigabytes we read")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// More messages and parts of messages than may be looked at.
    #[error("more than {most} messages and parts of messages")]
    TooMany {
        /// How many may be looked at.
        most: usize,
    },
}

impl ReadError {
    pub(crate) fn from_document_error(unread: DocumentError) -> ReadError {
        if let Some(most) = unread.exceeded_limit {
            return ReadError::TooMany { most };
        }
        ReadError::Malformed {
            at: unread.error.at(),
            place: unread.place.map(|(list, index)| format!("{list}[{index}]")),
            what: unread.error.message().to_owned(),
        }
    }

    /// The byte it concerns.
    pub fn at(&self) -> usize {
        match self {
            ReadError::NotUtf8 { at } | ReadError::Malformed { at, .. } => *at,
            ReadError::TooLarge { .. } | ReadError::TooMany { .. } => 0,
        }
    }
}

/// A place as people count: from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextPosition {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

/// The line and column of a byte.
pub fn position(bytes: &[u8], at: usize) -> TextPosition {
    let head = bytes.get(..at.min(bytes.len())).unwrap_or(bytes);
    let start = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&head[start..]).chars().count() + 1;
    TextPosition { line: head.iter().filter(|byte| **byte == b'\n').count() + 1, column }
}
