//! Wire formats: bytes to outline, repair to bytes.
//!
//! Reading is one pass over the text that builds nothing but the outline. Writing splices: every
//! message that no repair touches keeps its bytes exactly, and a sound document comes back as the
//! same text. Pure: no clock, no files, no network.

mod json;
mod outline;
mod envelope;
mod document;
mod detect;
mod error;
mod splice;
mod openai_chat;
mod openai_responses;
mod anthropic;
mod gemini;
mod bedrock;
pub mod model;
pub mod compact;
pub mod convert;
pub mod digest;
pub mod session;
pub mod stream;

use foxwedge_core::{CheckOptions, Draft, Format, Profile, Repair, repair};

use document::DocumentError;
use json::JsonScanner;

pub use detect::{DetectionConfidence, FormatDetection, detect};
pub use document::DocumentFrame;
pub use envelope::RequestEnvelope;
pub use error::{ReadError, TextPosition, position};
pub use outline::OutlineOptions;
pub use splice::PatchedDocument;

/// A document and its outline.
#[derive(Clone, Debug)]
pub struct OutlinedDocument<'a> {
    /// The outline.
    pub draft: Draft<'a>,
    /// Where the list of messages lies.
    pub frame: DocumentFrame,
    /// What stands around the list. Nothing, if the document is a bare list.
    pub envelope: RequestEnvelope<'a>,
    /// No escape in the document could be spelled in another way.
    plain: bool,
}

/// Checks that bytes are text. Every other function takes text.
///
/// # Errors
/// If the bytes are not UTF-8, or more than four gigabytes.
pub fn text(bytes: &[u8]) -> Result<&str, ReadError> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    // Byte-order marks are no JSON, but editors leave them.
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
    }
    simdutf8::basic::from_utf8(bytes).map_err(|_| {
        let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        ReadError::NotUtf8 { at }
    })
}

/// Outlines a document of a known format.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn read(
    source: &str,
    wire: Format,
    want: OutlineOptions,
) -> Result<OutlinedDocument<'_>, ReadError> {
    read_within(source, wire, want, usize::MAX)
}

/// The same, and looks at so many messages and parts of messages at most: for documents of
/// strangers, of whom a few bytes could ask for much memory.
///
/// # Errors
/// As [`read`], and if there are more.
pub fn read_within(
    source: &str,
    wire: Format,
    want: OutlineOptions,
    most: usize,
) -> Result<OutlinedDocument<'_>, ReadError> {
    document::outline_document(source, wire, want, most).map_err(ReadError::from_document_error)
}

/// Reads what stands around the list of messages of a request, whether there is a list or not.
///
/// # Errors
/// If the text is not a JSON object, or says something twice of which there may be one.
pub fn read_envelope(source: &str, wire: Format) -> Result<RequestEnvelope<'_>, ReadError> {
    let unread = |trouble| {
        ReadError::from_document_error(DocumentError {
            error: trouble,
            place: None,
            exceeded_limit: None,
        })
    };
    envelope::scan_envelope(&mut JsonScanner::new(source), wire).map_err(unread)
}

/// What a question needs to see of a document.
pub fn outline_options(profile: Profile) -> OutlineOptions {
    OutlineOptions { arguments: profile.parses_arguments() }
}

impl<'a> OutlinedDocument<'a> {
    /// Splices a repair of this reading into its document.
    pub fn apply<'r>(&'r self, repair: &Repair<'a>) -> PatchedDocument<'r>
    where
        'a: 'r,
    {
        splice::apply(&self.draft, self.frame, repair)
    }

    /// The value after each message, as [`digest::history`] tells it, only quicker. Where a string
    /// stands for the only message, the value after that.
    pub fn message_digests(&self, scope: u128) -> Vec<u128> {
        let mut digest = digest::ConversationDigest::with_plain_escapes(scope, self.plain);
        match self.envelope.input {
            Some(input) => vec![digest.add_user_text(self.draft.source, input)],
            None => digest.add_messages(&self.draft),
        }
    }

    /// Repairs the document: the new text, and what was done.
    pub fn fix(&self, question: &CheckOptions) -> (PatchedDocument<'_>, Repair<'a>) {
        let repair = repair(&self.draft, question);
        (self.apply(&repair), repair)
    }
}
