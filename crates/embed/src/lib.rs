//! One function for programs in other languages: a document and options in, a report and a document
//! out.
//!
//! Documents are bytes. Options and reports are JSON, so that a binding translates no types:
//! [`call`] takes the name of an operation, and every language gets the same reports.
//!
//! | operation | document | options | report |
//! |---|---|---|---|
//! | `check` | request, list of messages, session file | [rules](#options) | `format`, `profile`, `valid`, `messageCount`, `findings` |
//! | `fix` | the same | the same | the same for the result, with `changed`, `edits`, `losses` |
//! | `convert` | request or list of messages | and `from`, `to`, `tools`, `model` | `from`, `to`, `losses`, `edits`, `findings` |
//! | `convert-response` | response body | `from`, `to` | `from`, `to`, `losses` |
//! | `compact` | request or list of messages | and `maxTokens`, `goalTokens` | `changed`, `tokens`, `removed` |
//! | `history` | session file | `agent` | `agent`, `id`, `health`, `messageCount` |
//! | `explain` | error text | none | `known`, `code`, `advice` |
//! | `rules` | none | none | `rules` |
//!
//! # Options
//!
//! `format`, `profile`, `agent`: names as on the command line; without them the document is
//! recognized. `unanswered`: `answer`, `drop-turn`, `drop-call`. `orphans`: `quote`, `drop`.
//! `tail`: `dead`, `pending`. `unsafeFixes`: also fixes that need a decision. `language`: `en`,
//! `zh`. `ignore`: rules that are not checked. An unknown option is an error.
//!
//! # Streams and agents
//!
//! A [`StreamCall`] converts a stream piece by piece. A [`FollowCall`] follows an agent message by
//! message, and returns run events.
//!
//! # Features
//!
//! A small module leaves out `conversion`, `compaction`, `sessions` (session files and the message
//! lists of the AI SDK), `responses` (whole and as streams), `explanations` or `follow`. What it would
//! need them for is an error of the kind `left-out`; a document is never read as something else.
//!
//! Pure: no clock, no files, no network.
//!
//! ```
//! let history = br#"[{"role": "tool", "tool_call_id": "call_1", "content": "42"}]"#;
//! let reply = foxwedge_embed::call("fix", history, r#"{"profile": "openai-chat"}"#).expect("a history");
//! assert!(reply.report.contains(r#""changed":true"#));
//! assert!(reply.document.is_some());
//! ```

mod check;
#[cfg(feature = "compaction")]
mod compact;
#[cfg(feature = "conversion")]
mod convert;
#[cfg(feature = "explanations")]
mod explain;
#[cfg(feature = "follow")]
mod follow;
#[cfg(feature = "sessions")]
mod history;
mod list_changes;
mod options;
mod report;
#[cfg(feature = "responses")]
mod stream;
mod reply_json;
mod text_options;

#[cfg(feature = "follow")]
pub use follow::FollowCall;
pub use options::CallError;
pub use reply_json::{DocumentForm, document_json};
#[cfg(feature = "responses")]
pub use stream::StreamCall;
pub use text_options::options_from_texts;

/// What a call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallReply {
    /// The report, a JSON object.
    pub report: String,
    /// The new document; `None` if there is none, or if it is the same as the input.
    pub document: Option<Vec<u8>>,
}

/// Operations that a small module may leave out.
const OPTIONAL: [&str; 6] =
    ["convert", "convert-response", "compact", "history", "explain", "rules"];

/// Runs one operation. `options` is a JSON object or empty.
///
/// # Errors
/// If the operation or an option is unknown, or if the document cannot be read.
pub fn call(operation: &str, document: &[u8], options: &str) -> Result<CallReply, CallError> {
    #[cfg(any(feature = "conversion", feature = "compaction", feature = "explanations"))]
    let text = || foxwedge_formats::text(document).map_err(CallError::unreadable);
    match operation {
        "check" => check::check(document, options),
        "fix" => check::fix(document, options),
        #[cfg(feature = "conversion")]
        "convert" => convert::request(text()?, options),
        #[cfg(feature = "responses")]
        "convert-response" => convert::response(text()?, options),
        #[cfg(feature = "compaction")]
        "compact" => compact::compact(text()?, options),
        #[cfg(feature = "sessions")]
        "history" => history::history(document, options),
        #[cfg(feature = "explanations")]
        "explain" => explain::explain(text()?, options),
        #[cfg(feature = "explanations")]
        "rules" => explain::rules(options),
        other if OPTIONAL.contains(&other) => {
            Err(CallError::new("left-out", format!("this module has no `{other}`")))
        }
        other => Err(CallError::new("unknown-operation", format!("no operation `{other}`"))),
    }
}

#[cfg(test)]
mod tests;
