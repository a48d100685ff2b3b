//! What a tool is.

use std::{borrow::Cow, pin::Pin, time::Duration};

use serde_json::Value;

use crate::{OutputCapture, StopReceiver};

/// The future of a tool call.
pub type ToolFuture<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// A tool that a model may call.
pub trait Tool: Send + Sync + 'static {
    /// Describes the tool for the model, for people and for the caller.
    fn spec(&self) -> &ToolSpec;

    /// Runs the tool. Dropping the future ends the work with every process it started; nothing may
    /// continue after that. A tool that is asked to stop should return soon. Its result then
    /// counts, because it is not asked twice.
    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult>;
}

/// The description of a tool.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    /// Name: `[A-Za-z0-9_-]{1,64}`.
    pub name: Cow<'static, str>,
    /// What the tool does, for the model.
    pub description: Cow<'static, str>,
    /// The arguments: a JSON schema of an object.
    pub schema: Value,
    /// Whether the tool changes anything.
    pub effect: ToolEffect,
    /// Time limit of a call.
    pub limit: Duration,
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolEffect {
    /// The tool only reads: calls may run in parallel and may be repeated.
    Reads,
    /// The tool may change something: a call runs alone, in order, and may need approval.
    Writes,
}

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct ToolInvocation<'a> {
    /// Id of the call.
    pub call_id: &'a str,
    /// The arguments: always an object, which may not match the schema.
    pub input: &'a Value,
    /// Receives the request to stop.
    pub stop: StopReceiver,
    /// Receives output while the tool runs. If the call is aborted, this is all that is left of it.
    pub output: OutputCapture,
}

/// The result of a tool call.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolCallResult {
    /// How the call ended.
    pub completion: ToolCompletion,
    /// Content of the result.
    pub content: ToolResultContent,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolCompletion {
    /// It succeeded.
    Done,
    /// It failed; the model gets the reason and may try something else.
    Failed,
    /// It was asked to stop, and stopped before it was finished.
    Stopped,
}

/// The content of a tool result.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolResultContent {
    /// Text.
    Text(String),
    /// Blocks in Anthropic's format: text, images, documents.
    Blocks(Vec<Value>),
}

impl ToolCallResult {
    /// A successful result.
    pub fn done(text: impl Into<String>) -> ToolCallResult {
        ToolCallResult {
            completion: ToolCompletion::Done,
            content: ToolResultContent::Text(text.into()),
        }
    }

    /// A failed result with its reason.
    pub fn failed(text: impl Into<String>) -> ToolCallResult {
        ToolCallResult {
            completion: ToolCompletion::Failed,
            content: ToolResultContent::Text(text.into()),
        }
    }
}
