//! Composes the request for a model: the conversation, the instructions and the tools, in the
//! model's format, repaired and validated.

use foxwedge_core::{CheckOptions, EditLog, Format, Policy, RuleSet, Span};
use foxwedge_formats::{
    ReadError,
    convert::{self, ConversionOptions, ConvertedRequest},
    model::{
        ContentPart, FormatSetting, IdentifierReplacement, JsonText, ModelHistory, ModelMessage,
        ModelPart, ModelRequest, ModelRole, RequestSettings, ToolDeclaration, ToolInput,
        decode_turn,
    },
    outline_options, read,
};
use foxwedge_tools::Toolbox;

use super::{LoopError, message::ConversationMessage};
use foxwedge_upstream::model::{InvalidRequestError, ModelDescription, ValidRequest};

/// Composes requests.
#[derive(Clone, Copy)]
pub(super) struct RequestComposer<'a> {
    pub(super) about: &'a ModelDescription,
    pub(super) instructions: &'a str,
    pub(super) tools: &'a Toolbox,
    /// Maximum number of offered tools: those that were added first.
    pub(super) max_tools: usize,
    /// Maximum tokens of the reply.
    pub(super) max_reply_tokens: u64,
}

/// A request, and what was repaired in it.
pub(super) struct ComposedRequest {
    pub(super) body: String,
    pub(super) edits: EditLog,
    /// Tools that the model knows under another name.
    pub(super) names: Vec<IdentifierReplacement>,
}

impl RequestComposer<'_> {
    /// The rules of the model's profile, with the default repair policy.
    pub(super) fn check_options(&self) -> CheckOptions {
        let profile = self.about.profile;
        CheckOptions { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }

    /// The request for a conversation.
    pub(super) fn compose(
        &self,
        conversation: &[ConversationMessage],
    ) -> Result<ComposedRequest, LoopError> {
        self.compose_in(
            conversation,
            self.about.wire,
            ConversionOptions { profile: Some(self.about.profile), ..ConversionOptions::default() },
        )
    }

    /// The request for a conversation in any format.
    pub(super) fn compose_in(
        &self,
        conversation: &[ConversationMessage],
        wire: Format,
        options: ConversionOptions,
    ) -> Result<ComposedRequest, LoopError> {
        let mut messages = Vec::with_capacity(conversation.len() + 1);
        if !self.instructions.is_empty() {
            let text = ModelPart::new(ContentPart::Text(JsonText::from(self.instructions)));
            messages.push(ModelMessage::new(ModelRole::System, vec![text]));
        }
        for message in conversation {
            messages.extend(decode_turn(&message.body, message.wire).map_err(convert_error)?);
        }
        let max_tokens = self.max_reply_tokens.to_string();
        let settings = self.request_settings(&max_tokens, wire);
        let request = ModelRequest { settings, history: ModelHistory { messages }, object: true };
        let converted = convert::compose(request, wire, &options).map_err(convert_error)?;
        let ConvertedRequest { body, target_edits: edits, renamed_tools: names, .. } = converted;
        Ok(ComposedRequest { body, edits, names })
    }

    fn request_settings<'s>(&'s self, max_tokens: &'s str, wire: Format) -> RequestSettings<'s> {
        let tools = self.tools.first(self.max_tools).map(|tool| {
            let spec = tool.spec();
            ToolDeclaration {
                name: JsonText::from(&*spec.name),
                description: Some(JsonText::from(&*spec.description)),
                input: ToolInput::Object(Some(JsonText::from(spec.schema.to_string()))),
                strict: None,
                cache: None,
                others: Vec::new(),
                raw: None,
            }
        });
        // The provider stores nothing, so the reasoning has to be returned to us.
        let others = match wire {
            Format::OpenaiResponses => {
                [("store", "false"), ("include", INCLUDE_ENCRYPTED_REASONING)]
                    .map(|(key, value)| FormatSetting { wire, parent: "", key: key.into(), value })
                    .to_vec()
            }
            Format::GeminiInteractions => {
                vec![FormatSetting { wire, parent: "", key: "store".into(), value: "false" }]
            }
            Format::OpenaiChat => vec![FormatSetting {
                wire,
                parent: "",
                key: "stream_options".into(),
                value: r#"{"include_usage":true}"#,
            }],
            Format::Anthropic | Format::Gemini | Format::Bedrock => Vec::new(),
        };
        RequestSettings {
            model: Some(JsonText::from(&*self.about.name)),
            tools: tools.collect(),
            max_tokens: Some(max_tokens),
            stream: Some(true),
            others,
            ..RequestSettings::default()
        }
    }

    /// Validates a request.
    pub(super) fn validate(&self, body: String) -> Result<ValidRequest, InvalidRequestError> {
        ValidRequest::validate(body.into(), self.about.wire, &self.check_options())
    }

    /// The messages of a request, without the instructions before them.
    pub(super) fn messages(&self, body: &str) -> Result<Vec<(Format, String)>, LoopError> {
        let wire = self.about.wire;
        let reading =
            read(body, wire, outline_options(self.about.profile)).map_err(convert_error)?;
        let spans = reading.draft.messages.iter().map(|message| message.span);
        let text = |span: Span| span.of(body).to_owned();
        let mut messages: Vec<(Format, String)> = spans.map(|span| (wire, text(span))).collect();
        let ours = !self.instructions.is_empty()
            && messages.first().is_some_and(|(_, first)| is_instruction(first, wire));
        if ours {
            messages.remove(0);
        }
        Ok(messages)
    }
}

/// Asks OpenAI to return encrypted reasoning.
const INCLUDE_ENCRYPTED_REASONING: &str = r#"["reasoning.encrypted_content"]"#;

fn is_instruction(message: &str, format: Format) -> bool {
    let first = decode_turn(message, format).ok().and_then(|turn| turn.into_iter().next());
    first.is_some_and(|first| matches!(first.role, ModelRole::System | ModelRole::Developer))
}

/// The text of a prompt, without files that were sent with it; `None` if the message is not a
/// prompt.
pub(super) fn prompt_text(stored: &ConversationMessage) -> Option<String> {
    let turn = decode_turn(&stored.body, stored.wire).ok()?;
    let mut text = String::new();
    for message in &turn {
        for part in message.parts.iter().filter(|_| message.role == ModelRole::User) {
            match part.content() {
                ContentPart::Text(part_text) if text.is_empty() => text.push_str(part_text),
                ContentPart::Text(_) => {}
                ContentPart::ToolResult(_) => return None,
                ContentPart::Media(_)
                | ContentPart::Reasoning(_)
                | ContentPart::ToolCall(_)
                | ContentPart::Unknown(_) => {}
            }
        }
    }
    turn.iter()
        .all(|message| message.role == ModelRole::User)
        .then_some(text)
        .filter(|it| !it.is_empty())
}

/// Whether the next message has to come from the model.
pub(super) fn awaits_model(conversation: &[ConversationMessage]) -> bool {
    let last = conversation.last().and_then(|stored| decode_turn(&stored.body, stored.wire).ok());
    last.is_some_and(|turn| turn.iter().any(|message| message.role == ModelRole::User))
}

/// The ids of the calls in a message.
pub(super) fn call_ids(body: &str, format: Format) -> Option<Vec<String>> {
    let turn = decode_turn(body, format).ok()?;
    let parts = turn.iter().flat_map(|message| &message.parts);
    let calls = parts.filter_map(|part| match part.content() {
        ContentPart::ToolCall(call) => Some(call.id.as_deref().map(str::to_owned)),
        ContentPart::Text(_)
        | ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => None,
    });
    calls.collect()
}

fn convert_error(error: ReadError) -> LoopError {
    LoopError::Unconvertible(error.to_string())
}
