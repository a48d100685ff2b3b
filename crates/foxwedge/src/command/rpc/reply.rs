//! Writes replies: one line each.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use foxwedge_embed::{CallReply, DocumentForm, document_json};
use serde_json::json;

/// Why a request failed.
pub(super) struct RpcFailure {
    /// What kind of mistake it is, for programs.
    pub(super) kind: &'static str,
    /// One sentence for people.
    pub(super) message: String,
    /// The byte where reading stopped.
    pub(super) at: Option<usize>,
    /// What to do about it.
    pub(super) help: Option<String>,
}

impl RpcFailure {
    pub(super) fn new(kind: &'static str, message: impl Into<String>) -> RpcFailure {
        RpcFailure { kind, message: message.into(), at: None, help: None }
    }

    /// A line that is no request.
    pub(super) fn invalid(message: impl Into<String>) -> RpcFailure {
        RpcFailure::new("invalid-request", message)
    }

    pub(super) fn too_long(line: u64, limit: usize) -> RpcFailure {
        let message = format!("line {line} is longer than the limit of {limit} bytes");
        RpcFailure::new("line-too-long", message).help("`foxwedge rpc --max-line` raises the limit")
    }

    pub(super) fn not_text(line: u64, at: usize) -> RpcFailure {
        let failure = RpcFailure::invalid(format!("line {line} is not UTF-8"));
        RpcFailure { at: Some(at), ..failure }.help("send such bytes as `documentBase64`")
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> RpcFailure {
        self.help = Some(help.into());
        self
    }
}

/// The line of a request that succeeded.
pub(super) fn reply_line(id: &str, reply: &CallReply, form: DocumentForm) -> String {
    let mut line = format!("{{\"id\":{id},\"report\":{}", reply.report);
    match &reply.document {
        None => line.push_str(",\"document\":null"),
        Some(document) => match document_json(document, form) {
            Some(json) => {
                line.push_str(",\"document\":");
                line.push_str(&json);
            }
            None => {
                let packed = BASE64_STANDARD.encode(document);
                line.push_str(&format!(",\"documentBase64\":\"{packed}\""));
            }
        },
    }
    line.push_str("}\n");
    line
}

/// The line of a request that failed.
pub(super) fn error_line(id: &str, failure: &RpcFailure, line: u64) -> String {
    let RpcFailure { kind, message, at, help } = failure;
    let mut error = json!({ "kind": kind, "message": message, "at": at, "line": line });
    if let (Some(help), Some(fields)) = (help, error.as_object_mut()) {
        fields.insert("help".to_owned(), json!(help));
    }
    format!("{{\"id\":{id},\"error\":{error}}}\n")
}
