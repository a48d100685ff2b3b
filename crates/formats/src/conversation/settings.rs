//! Request settings: model, tools, limits and response format.

use std::borrow::Cow;

use foxwedge_core::Format;

use super::{JsonText, ModelHistory};

/// A request: the conversation and its settings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelRequest<'a> {
    /// Everything but the conversation.
    pub settings: RequestSettings<'a>,
    /// The conversation.
    pub history: ModelHistory<'a>,
    /// Whether the request is an object; `false` for a bare list of messages.
    pub object: bool,
}

/// Settings of a request. Numbers keep their original text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestSettings<'a> {
    /// The model.
    pub model: Option<JsonText<'a>>,
    /// Declared tools.
    pub tools: Vec<ToolDeclaration<'a>>,
    /// Which tools the model may or must call.
    pub tool_choice: Option<ToolChoice<'a>>,
    /// Whether the model may make several calls in one turn.
    pub parallel_calls: Option<bool>,
    /// Maximum number of output tokens.
    pub max_tokens: Option<&'a str>,
    /// Sampling temperature.
    pub temperature: Option<&'a str>,
    /// Nucleus sampling: cumulative probability of the candidate tokens.
    pub top_p: Option<&'a str>,
    /// Number of candidate tokens.
    pub top_k: Option<&'a str>,
    /// Sampling seed.
    pub seed: Option<&'a str>,
    /// Penalty for tokens that already occurred.
    pub presence_penalty: Option<&'a str>,
    /// Penalty for tokens by how often they occurred.
    pub frequency_penalty: Option<&'a str>,
    /// Number of responses to generate.
    pub candidate_count: Option<&'a str>,
    /// Texts at which to stop.
    pub stop_sequences: Vec<JsonText<'a>>,
    /// Required format of the response.
    pub response_shape: Option<ResponseShape<'a>>,
    /// Whether to reason, and how much.
    pub thinking: Option<ThinkingSetting<'a>>,
    /// Reasoning effort: `minimal`, `low`, `medium`, `high`, `xhigh`, `max`.
    pub effort: Option<JsonText<'a>>,
    /// Whether the response includes the reasoning.
    pub include_reasoning: Option<bool>,
    /// Verbosity of the response: `low`, `medium`, `high`.
    pub verbosity: Option<JsonText<'a>>,
    /// Whether the response is streamed.
    pub stream: Option<bool>,
    /// Opaque identifier of the end user.
    pub user: Option<JsonText<'a>>,
    /// Settings that only one format has, and settings with an unexpected value.
    pub others: Vec<FormatSetting<'a>>,
    /// The original fields. They are written unchanged if the target format is the same and only
    /// the model or `stream` differs.
    pub original: Option<Box<OriginalSettings<'a>>>,
}

/// The fields that settings were read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriginalSettings<'a> {
    pub(crate) wire: Format,
    /// The settings read from the fields, without model and `stream`.
    pub(crate) settings: RequestSettings<'a>,
    /// The fields, as `"key": value`.
    pub(crate) members: Vec<&'a str>,
}

/// Declaration of a tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolDeclaration<'a> {
    /// Tool name; the type for tools that only their format knows.
    pub name: JsonText<'a>,
    /// What it does.
    pub description: Option<JsonText<'a>>,
    /// Input that the tool takes.
    pub input: ToolInput<'a>,
    /// Whether the arguments have to match their schema.
    pub strict: Option<bool>,
    /// Prompt cache marker, as JSON of its format. The prompt is cached up to this tool.
    pub cache: Option<&'a str>,
    /// Fields that only its format knows.
    pub others: Vec<Cow<'a, str>>,
    /// The original format and JSON. Must agree with the other fields: clear it when you change the
    /// tool.
    pub raw: Option<(Format, &'a str)>,
}

/// Input of a tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolInput<'a> {
    /// An object described by a JSON schema (the text of an object); `None` without a schema.
    Object(Option<JsonText<'a>>),
    /// Free text.
    Text,
    /// Text that matches a grammar.
    Grammar {
        /// Grammar syntax: `lark`, `regex`.
        syntax: JsonText<'a>,
        /// The grammar.
        definition: JsonText<'a>,
    },
    /// Defined by the provider: it runs the tool itself, or trained the model on it.
    ProviderDefined,
}

/// Which tools the model may or must call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolChoice<'a> {
    /// The model decides.
    Auto,
    /// No calls.
    Never,
    /// At least one call.
    Any,
    /// A call to this tool.
    One(JsonText<'a>),
    /// Calls to these tools only.
    Among {
        /// Their names.
        names: Vec<JsonText<'a>>,
        /// Whether at least one call is required.
        required: bool,
    },
}

/// Required format of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResponseShape<'a> {
    /// Any text.
    Text,
    /// Any JSON object.
    Json,
    /// JSON that matches a schema.
    Schema {
        /// The name of the schema.
        name: Option<JsonText<'a>>,
        /// What it is for.
        description: Option<JsonText<'a>>,
        /// The schema: the text of a JSON object.
        schema: JsonText<'a>,
        /// Whether the response must match it exactly.
        strict: Option<bool>,
    },
}

/// Whether a model reasons, and how much.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ThinkingSetting<'a> {
    /// No reasoning.
    Off,
    /// The model decides.
    Adaptive,
    /// Maximum number of reasoning tokens.
    Budget(&'a str),
}

/// A request field that has no equivalent in other formats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatSetting<'a> {
    /// The format.
    pub wire: Format,
    /// The object that holds the field, such as `generationConfig`; empty for the request itself.
    pub parent: &'static str,
    /// The field.
    pub key: JsonText<'a>,
    /// Its value as JSON, unchanged.
    pub value: &'a str,
}
