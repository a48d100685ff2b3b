//! Message lists of the AI SDK (the npm package `ai`): `UIMessage[]` and `ModelMessage[]`.
//!
//! A list is a file of its own, or the `messages` of an object. A tool part of a `UIMessage` is a
//! call, and its result as soon as it has one. In a `ModelMessage` list, results are parts of
//! messages with the role `tool`. The SDK requires a result for every call before the next message
//! of the user; a call whose approval is open may wait at the end of a list.

mod part;
mod ui_reader;
mod model_reader;
mod waiting;
mod approval;
mod ui_writer;
mod model_writer;
mod history_writer;

use foxwedge_core::Span;
use foxwedge_json::field_value;

pub(super) use approval::{UnstartedCalls, closed_calls, write_results};
pub(super) use history_writer::ClosedCall;
pub(super) use history_writer::{history_losses, write_block};
pub(super) use model_reader::{ClientCalls, read_model_message};
pub(super) use model_writer::{split_messages, write_message};
pub(super) use ui_reader::read_ui_message;
pub(super) use ui_writer::rewrite as rewrite_ui;
pub(super) use waiting::keep_waiting_calls;

/// Whether an object is a `UIMessage`, not an object inside one.
pub(super) fn is_ui_message(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("role") && has("parts")
}

/// Whether an object is a `ModelMessage`, not an object inside one.
pub(super) fn is_model_message(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("role") && has("content")
}
