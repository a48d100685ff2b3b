//! What a request asks for beside the conversation: model, tools, limits, shape of the answer.

use std::borrow::Cow;

use foxwedge_core::Format;

use super::{JsonText, ModelHistory};

/// A request: the conversation, and how it is to be answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelRequest<'a> {
    /// How it is to be answered.
    pub settings: RequestSettings<'a>,
    /// What was said.
    pub history: ModelHistory<'a>,
    /// It is an object, and no bare list of messages.
    pub object: bool,
}

/// How a request is to be answered. Numbers are kept as they are spelled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestSettings<'a> {
    /// The model.
    pub model: Option<JsonText<'a>>,
    /// The tools that may be called.
    pub tools: Vec<ToolDeclaration<'a>>,
    /// Whether they have to be called.
    pub tool_choice: Option<ToolChoice<'a>>,
    /// Whether several calls may be made at once.
    pub parallel_calls: Option<bool>,
    /// Most tokens of the answer.
    pub max_tokens: Option<&'a str>,
    /// How freely to choose words.
    pub temperature: Option<&'a str>,
    /// How many of the likeliest words, by their share.
    pub top_p: Option<&'a str>,
    /// How many of the likeliest words, by number.
    pub top_k: Option<&'a str>,
    /// Makes answers repeatable.
    pub seed: Option<&'a str>,
    /// Against subjects that came up before.
    pub presence_penalty: Option<&'a str>,
    /// Against words that came up often.
    pub frequency_penalty: Option<&'a str>,
    /// How many answers.
    pub candidate_count: Option<&'a str>,
    /// Texts at which to stop.
    pub stop_sequences: Vec<JsonText<'a>>,
    /// What the answer has to look like.
    pub response_shape: Option<ResponseShape<'a>>,
    /// Whether and how long to reason.
    pub thinking: Option<ThinkingSetting<'a>>,
    /// How much trouble to take, as a word: `minimal`, `low`, `medium`, `high`, `xhigh`, `max`.
    pub effort: Option<JsonText<'a>>,
    /// Whether the answer tells what was reasoned.
    pub include_reasoning: Option<bool>,
    /// How many words to make: `low`, `medium`, `high`.
    pub verbosity: Option<JsonText<'a>>,
    /// Whether the answer comes in pieces.
    pub stream: Option<bool>,
    /// Whom the request is for, as a name that means nothing to the provider.
    pub user: Option<JsonText<'a>>,
    /// What only one format knows, and what is not as its format wants it.
    pub others: Vec<FormatSetting<'a>>,
    /// The fields they were read from. They are written again where the format is the same and
    /// nothing was changed since, but for the model and the stream.
    pub original: Option<Box<OriginalSettings<'a>>>,
}

/// The fields that settings were read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriginalSettings<'a> {
    pub(super) wire: Format,
    /// What was read out of them, without model and stream.
    pub(super) settings: RequestSettings<'a>,
    /// The fields, as `"key": value`.
    pub(super) members: Vec<&'a str>,
}

/// A tool that may be called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolDeclaration<'a> {
    /// Its name; that of its type for tools that only their format knows.
    pub name: JsonText<'a>,
    /// What it does.
    pub description: Option<JsonText<'a>>,
    /// What it takes.
    pub input: ToolInput<'a>,
    /// Whether the arguments have to match their schema.
    pub strict: Option<bool>,
    /// The prompt is cached up to here: the mark, as its format spells it.
    pub cache: Option<&'a str>,
    /// The fields of it that only its format knows.
    pub others: Vec<Cow<'a, str>>,
    /// The format it was read from, and its JSON there. Says the same as the rest: whoever changes
    /// a tool takes this away.
    pub raw: Option<(Format, &'a str)>,
}

/// What a tool takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolInput<'a> {
    /// An object after a JSON schema, which is the text of an object; `None` where there is none.
    Object(Option<JsonText<'a>>),
    /// Free text.
    Text,
    /// Text after a grammar.
    Grammar {
        /// The language of the grammar: `lark`, `regex`.
        syntax: JsonText<'a>,
        /// The grammar.
        definition: JsonText<'a>,
    },
    /// What its format says: the provider runs the tool itself, or has taught it to the model.
    ProviderDefined,
}

/// Whether tools have to be called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolChoice<'a> {
    /// As the model likes.
    Auto,
    /// None may be.
    Never,
    /// At least one.
    Any,
    /// This one.
    One(JsonText<'a>),
    /// Some of these.
    Among {
        /// Their names.
        names: Vec<JsonText<'a>>,
        /// At least one of them.
        required: bool,
    },
}

/// What an answer has to look like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResponseShape<'a> {
    /// Any text.
    Text,
    /// Any JSON object.
    Json,
    /// JSON after a schema.
    Schema {
        /// The name of the schema.
        name: Option<JsonText<'a>>,
        /// What it is for.
        description: Option<JsonText<'a>>,
        /// The schema: the text of a JSON object.
        schema: JsonText<'a>,
        /// Whether it has to be matched exactly.
        strict: Option<bool>,
    },
}

/// Whether and how long a model has to reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ThinkingSetting<'a> {
    /// Not at all.
    Off,
    /// As much as it thinks right.
    Adaptive,
    /// At most so many tokens.
    Budget(&'a str),
}

/// A field of a request that says nothing in other formats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatSetting<'a> {
    /// The format.
    pub wire: Format,
    /// The object it stands in, as `generationConfig`; empty for the request itself.
    pub parent: &'static str,
    /// The field.
    pub key: JsonText<'a>,
    /// Its value, as it stands in the document.
    pub value: &'a str,
}
