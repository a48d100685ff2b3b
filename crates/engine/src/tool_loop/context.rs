//! What a model is sent: the conversation, the instructions and the tools, in the model's format,
//! sound, and proven to be.

use foxwedge_core::{CheckOptions, EditLog, Format, Policy, RuleSet, Span};
use foxwedge_dialect::{
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
use crate::model::{InvalidRequestError, ModelDescription, ValidRequest};

/// What goes into a request.
#[derive(Clone, Copy)]
pub(super) struct RequestComposer<'a> {
    pub(super) about: &'a ModelDescription,
    pub(super) instructions: &'a str,
    pub(super) tools: &'a Toolbox,
    /// Tools that are offered, at most: those that were added first.
    pub(super) max_tools: usize,
    /// Tokens of the reply.
    pub(super) max_reply_tokens: u64,
}

/// A request, and what was repaired in it.
pub(super) struct ComposedRequest {
    pub(super) body: String,
    pub(super) edits: EditLog,
    /// Names of tools that the model knows under another name.
    pub(super) names: Vec<IdentifierReplacement>,
}

impl RequestComposer<'_> {
    /// Whose rules, and what a repair may do.
    pub(super) fn check_options(&self) -> CheckOptions {
        let profile = self.about.profile;
        CheckOptions { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }

    /// The request for a conversation.
    pub(super) fn compose(
        &self,
        entries: &[ConversationMessage],
    ) -> Result<ComposedRequest, LoopError> {
        self.compose_in(
            entries,
            self.about.wire,
            ConversionOptions { profile: Some(self.about.profile), ..ConversionOptions::default() },
        )
    }

    /// The same in any format.
    pub(super) fn compose_in(
        &self,
        entries: &[ConversationMessage],
        wire: Format,
        options: ConversionOptions,
    ) -> Result<ComposedRequest, LoopError> {
        let mut messages = Vec::with_capacity(entries.len() + 1);
        if !self.instructions.is_empty() {
            let text = ModelPart::new(ContentPart::Text(JsonText::from(self.instructions)));
            messages.push(ModelMessage::new(ModelRole::System, vec![text]));
        }
        for entry in entries {
            messages.extend(decode_turn(&entry.body, entry.wire).map_err(convert_error)?);
        }
        let most = self.max_reply_tokens.to_string();
        let settings = self.request_settings(&most, wire);
        let request = ModelRequest { settings, history: ModelHistory { messages }, object: true };
        let converted = convert::compose(request, wire, &options).map_err(convert_error)?;
        let ConvertedRequest { body, target_edits: edits, renamed_tools: names, .. } = converted;
        Ok(ComposedRequest { body, edits, names })
    }

    fn request_settings<'s>(&'s self, most: &'s str, wire: Format) -> RequestSettings<'s> {
        let tools = self.tools.first(self.max_tools).map(|tool| {
            let about = tool.spec();
            ToolDeclaration {
                name: JsonText::from(&*about.name),
                description: Some(JsonText::from(&*about.description)),
                input: ToolInput::Object(Some(JsonText::from(about.schema.to_string()))),
                strict: None,
                cache: None,
                others: Vec::new(),
                raw: None,
            }
        });
        // Nothing lies on a provider's server, so what a model reasoned has to come to us.
        let others = match wire {
            Format::OpenaiResponses => {
                [("store", "false"), ("include", INCLUDE_ENCRYPTED_REASONING)]
                    .map(|(key, value)| FormatSetting { wire, parent: "", key: key.into(), value })
                    .to_vec()
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
            max_tokens: Some(most),
            stream: Some(true),
            others,
            ..RequestSettings::default()
        }
    }

    /// Proves a request sound.
    pub(super) fn validate(&self, body: String) -> Result<ValidRequest, InvalidRequestError> {
        ValidRequest::validate(body.into(), self.about.wire, &self.check_options())
    }

    /// The messages of a request, without the instructions that stand before them.
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

/// What brings the reasoning of a model back to us.
const INCLUDE_ENCRYPTED_REASONING: &str = r#"["reasoning.encrypted_content"]"#;

fn is_instruction(message: &str, wire: Format) -> bool {
    let said = decode_turn(message, wire).ok().and_then(|turn| turn.into_iter().next());
    said.is_some_and(|said| matches!(said.role, ModelRole::System | ModelRole::Developer))
}

/// What a person said in a message; `None` if it is no prompt.
pub(super) fn prompt_text(entry: &ConversationMessage) -> Option<String> {
    let turn = decode_turn(&entry.body, entry.wire).ok()?;
    let mut text = String::new();
    for said in &turn {
        for part in said.parts.iter().filter(|_| said.role == ModelRole::User) {
            match part.content() {
                ContentPart::Text(words) => text.push_str(words),
                ContentPart::ToolResult(_) => return None,
                ContentPart::Media(_)
                | ContentPart::Reasoning(_)
                | ContentPart::ToolCall(_)
                | ContentPart::Unknown(_) => {}
            }
        }
    }
    turn.iter().all(|said| said.role == ModelRole::User).then_some(text).filter(|it| !it.is_empty())
}

/// Whether the model is to speak next.
pub(super) fn awaits_model(entries: &[ConversationMessage]) -> bool {
    let last = entries.last().and_then(|entry| decode_turn(&entry.body, entry.wire).ok());
    last.is_some_and(|turn| turn.iter().any(|said| said.role == ModelRole::User))
}

/// The ids of the calls in a message.
pub(super) fn call_ids(body: &str, wire: Format) -> Option<Vec<String>> {
    let turn = decode_turn(body, wire).ok()?;
    let parts = turn.iter().flat_map(|said| &said.parts);
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
