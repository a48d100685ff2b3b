//! What a tool is.

use std::{borrow::Cow, pin::Pin, time::Duration};

use serde_json::Value;

use crate::{OutputCapture, StopReceiver};

/// What a tool does takes a while.
pub type ToolFuture<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// Something that a model may call.
pub trait Tool: Send + Sync + 'static {
    /// What a model, a person and whoever calls it have to know.
    fn spec(&self) -> &ToolSpec;

    /// Does the work. Dropping the future ends it, with every process that it started; nothing of
    /// it may go on behind that. A tool that is asked to stop should answer soon, and what it
    /// answers then counts: it is not asked twice.
    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult>;
}

/// What has to be known about a tool.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    /// Its name: `[A-Za-z0-9_-]{1,64}`.
    pub name: Cow<'static, str>,
    /// What it does, for the model.
    pub description: Cow<'static, str>,
    /// What it takes: a JSON schema of an object.
    pub schema: Value,
    /// Whether it changes anything.
    pub effect: ToolEffect,
    /// How long it may take.
    pub limit: Duration,
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolEffect {
    /// It only reads: it may run beside others, and again.
    Reads,
    /// It may change something: it runs alone, in its turn, and a person may be asked first.
    Writes,
}

/// One call, for the tool that is called.
#[derive(Clone, Debug)]
pub struct ToolInvocation<'a> {
    /// The id of the call.
    pub call_id: &'a str,
    /// The arguments: always an object, which may be anything but what the schema says.
    pub input: &'a Value,
    /// Tells when to stop.
    pub stop: StopReceiver,
    /// Takes what it says while it works. If the work is cut off, this is what is left of it.
    pub output: OutputCapture,
}

/// What a tool answers.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolCallResult {
    /// How it went.
    pub completion: ToolCompletion,
    /// What it says.
    pub content: ToolResultContent,
}

/// How a call went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolCompletion {
    /// Well.
    Done,
    /// Not well; the model is told why, and may try something else.
    Failed,
    /// It was asked to stop, and stopped in the middle of its work.
    Stopped,
}

/// What an answer says.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolResultContent {
    /// Text.
    Text(String),
    /// Blocks in Anthropic's format: texts, images, documents.
    Blocks(Vec<Value>),
}

impl ToolCallResult {
    /// A good answer.
    pub fn done(text: impl Into<String>) -> ToolCallResult {
        ToolCallResult {
            completion: ToolCompletion::Done,
            content: ToolResultContent::Text(text.into()),
        }
    }

    /// An answer that says what went wrong.
    pub fn failed(text: impl Into<String>) -> ToolCallResult {
        ToolCallResult {
            completion: ToolCompletion::Failed,
            content: ToolResultContent::Text(text.into()),
        }
    }
}
