//! Provider formats: reads a document into an outline, and writes a repair back as bytes.
//!
//! Reading is one pass over the text that builds only the outline. Writing splices: a message that
//! no repair touches keeps its exact bytes, and a valid document comes back unchanged. Pure: no
//! clock, no files, no network.
//!
//! Each format has a folder with the same files: `outline` and `patch` (for repairs), `decode`,
//! `encode`, `request` and `response` (to and from the [`model`]), `stream_reader` and
//! `stream_writer`. The modules above the folders choose one by [`Format`]; the modules below hold
//! what the folders share. No module uses one above it.
//!
//! ```
//! use foxwedge_core::{CheckOptions, Profile};
//! use foxwedge_formats::{detect, outline_options, read};
//!
//! let history = r#"[
//!   {"role": "user", "content": "Run the tests."},
//!   {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {}}]},
//!   {"role": "user", "content": "Are they green?"}
//! ]"#;
//! let format = detect(history).expect("a conversation").wire;
//! let profile = Profile::for_format(format);
//! let document = read(history, format, outline_options(profile))?;
//! let (fixed, repair) = document.fix(&CheckOptions::for_profile(profile));
//! assert_eq!(repair.edits.len(), 1);
//! assert!(fixed.to_string().contains("tool_result"));
//! # Ok::<(), foxwedge_formats::ReadError>(())
//! ```

// What all formats share.
pub mod outline;
mod foreign_result;
pub mod splice;
mod envelope;
mod error;
mod conversation;
pub mod event;
mod frame;
// One folder for each format.
pub mod anthropic;
mod bedrock;
pub mod gemini;
mod gemini_interactions;
mod openai_chat;
pub mod openai_responses;
pub mod otel_messages;
// Lists that are sent to any of them.
mod ai_sdk;
// What works on documents of any format.
mod detect;
mod document;
mod patched_document;
pub mod model;
pub mod compact;
pub mod convert;
pub mod digest;
pub mod stream;

use foxwedge_core::{CheckOptions, Draft, Format, Profile, Repair, repair};

use foxwedge_json::JsonScanner;

pub use ai_sdk::AiSdkList;
pub use detect::{DetectionConfidence, ForeignList, FormatDetection, detect, foreign_list};
pub use document::DocumentFrame;
pub use envelope::{RequestEnvelope, change_fields};
pub use error::{ReadError, TextPosition, position};
pub use outline::OutlineOptions;
pub use patched_document::{PatchedDocument, write_slot};

/// A document and its outline.
#[derive(Clone, Debug)]
pub struct OutlinedDocument<'a> {
    /// The outline of the messages.
    pub draft: Draft<'a>,
    /// Position of the message list in the document.
    pub frame: DocumentFrame,
    /// The request fields around the list. Empty if the document is a bare list.
    pub envelope: RequestEnvelope<'a>,
    /// Every escape in the document already has its canonical form.
    plain: bool,
}

/// Checks that bytes are UTF-8 text and strips byte-order marks. All other functions take text.
///
/// # Errors
/// If the bytes are not UTF-8, or are more than four gigabytes.
pub fn text(bytes: &[u8]) -> Result<&str, ReadError> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    // Byte-order marks are not JSON, but editors leave them.
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
    }
    simdutf8::basic::from_utf8(bytes).map_err(|_| {
        let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        ReadError::NotUtf8 { at }
    })
}

/// Reads the outline of a document in a known format.
///
/// # Errors
/// If the text is not JSON, or has no message list of that format.
pub fn read(
    source: &str,
    format: Format,
    options: OutlineOptions,
) -> Result<OutlinedDocument<'_>, ReadError> {
    read_within(source, format, options, usize::MAX)
}

/// Like [`read`], but reads at most `limit` messages and message parts. For untrusted documents,
/// where a few bytes could otherwise take much memory.
///
/// # Errors
/// As [`read`], and if there are more than `limit`.
pub fn read_within(
    source: &str,
    format: Format,
    options: OutlineOptions,
    limit: usize,
) -> Result<OutlinedDocument<'_>, ReadError> {
    document::outline_document(source, format, options, limit)
}

/// Reads the fields around the message list of a request, with or without a list.
///
/// # Errors
/// If the text is not a JSON object, or repeats a field that must be unique.
pub fn read_envelope(source: &str, format: Format) -> Result<RequestEnvelope<'_>, ReadError> {
    envelope::scan_envelope(&mut JsonScanner::new(source), format)
        .map_err(|error| ReadError::from_scan(error, None))
}

/// The outline options that a profile needs.
pub fn outline_options(profile: Profile) -> OutlineOptions {
    OutlineOptions { arguments: profile.parses_arguments() }
}

impl<'a> OutlinedDocument<'a> {
    /// Splices a repair of this outline into its document.
    pub fn apply<'r>(&'r self, repair: &Repair<'a>) -> PatchedDocument<'r>
    where
        'a: 'r,
    {
        patched_document::apply(&self.draft, self.frame, repair)
    }

    /// The digest after each message. Same values as [`digest::history`], but faster. If a string
    /// replaces the message list, the digest of that one message.
    pub fn message_digests(&self, scope: u128) -> Vec<u128> {
        let mut digest = digest::ConversationDigest::with_plain_escapes(scope, self.plain);
        match self.envelope.input {
            Some(input) => vec![digest.add_user_input(self.draft.source, input, self.draft.format)],
            None => digest.add_messages(&self.draft),
        }
    }

    /// Repairs the document. Returns the new text and the repair.
    pub fn fix(&self, options: &CheckOptions) -> (PatchedDocument<'_>, Repair<'a>) {
        let repair = repair(&self.draft, options);
        (self.apply(&repair), repair)
    }
}
