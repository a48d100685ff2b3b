//! Errors of reading a document.

use foxwedge_json::ScanError;

/// Why a document cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        at: usize,
    },
    /// The text is not JSON, or not a conversation.
    #[error("{}{what}", place.as_deref().map(|place| format!("{place}: ")).unwrap_or_default())]
    Malformed {
        /// Byte offset.
        at: usize,
        /// The message, such as `messages[3]`.
        place: Option<String>,
        /// What is wrong.
        what: String,
    },
    /// The document exceeds the size limit.
    #[error("{bytes} bytes exceed the limit of four gigabytes")]
    TooLarge {
        /// Size of the document.
        bytes: usize,
    },
    /// The document has too many messages and message parts.
    #[error("more than {most} messages and parts of messages")]
    TooMany {
        /// The limit.
        most: usize,
    },
}

impl ReadError {
    /// Why scanning failed, and in which message of which list.
    pub(crate) fn from_scan(error: ScanError, place: Option<(&str, usize)>) -> ReadError {
        ReadError::Malformed {
            at: error.at(),
            place: place.map(|(list, index)| format!("{list}[{index}]")),
            what: error.message().to_owned(),
        }
    }

    /// Byte offset of the error; 0 if the error has none.
    pub fn at(&self) -> usize {
        match self {
            ReadError::NotUtf8 { at } | ReadError::Malformed { at, .. } => *at,
            ReadError::TooLarge { .. } | ReadError::TooMany { .. } => 0,
        }
    }
}

/// A line and column, both counted from one.
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
