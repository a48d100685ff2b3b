//! Encodes a reply in the format of a provider, as a body or as a stream.

mod split;

use std::borrow::Cow;

use foxwedge_core::{CallFamily, Format};
use foxwedge_formats::{
    model::{
        ContentPart, JsonText, ModelPart, ModelReply, ModelResponse, PartNotes, ReasoningPart,
        ReasoningSignature as Sealed, StopReason, TokenUsage, ToolCallPart, encode_reply,
    },
    stream::{StreamOptions, write_stream},
};
use serde_json::Value;

use crate::{
    judges::{self, ScriptedProvider, SignedPrefix},
    model::{ScriptedCall, ScriptedReply, ScriptedStopReason, count_call_tokens, count_tokens},
    request::{RequestOutline, ToolInputKind},
    stable_hasher::StableHasher,
};

/// The creation time of every reply, because there is no clock.
const CREATED: u64 = 1_763_164_800;

/// The request that a reply belongs to.
pub(crate) struct ReplyContext<'a> {
    pub(crate) provider: ScriptedProvider,
    /// The model name in the reply.
    pub(crate) model: &'a str,
    pub(crate) request: &'a Value,
    pub(crate) body: &'a [u8],
    /// The creation time, if it is given.
    pub(crate) created: Option<u64>,
}

/// The body of a reply.
pub(crate) fn encode_whole(context: &ReplyContext<'_>, reply: &ScriptedReply) -> String {
    let format = context.provider.request_format();
    let encoded = encode_reply(&build_outcome(context, reply), format, "scripted");
    rename_items(context, reply, encoded.body)
}

/// The frames of a streamed reply: one for each word.
pub(crate) fn encode_frames(
    context: &ReplyContext<'_>,
    reply: &ScriptedReply,
    outline: &RequestOutline,
) -> Vec<String> {
    let format = context.provider.request_format();
    let options = StreamOptions {
        seed: "scripted".to_owned(),
        usage: outline.usage,
        ..StreamOptions::default()
    };
    let (bytes, _) = write_stream(&build_outcome(context, reply), format, options);
    let text = rename_items(context, reply, String::from_utf8(bytes).unwrap_or_default());
    split::split_frames(format, &text)
}

/// The number of input tokens.
pub(crate) fn input_tokens(body: &[u8]) -> u64 {
    (body.len() as u64).div_ceil(4)
}

fn build_outcome(context: &ReplyContext<'_>, reply: &ScriptedReply) -> ModelResponse<'static> {
    let format = context.provider.request_format();
    let mut parts = Vec::new();
    if let Some(thought) = &reply.reasoning {
        parts.push(ModelPart::new(ContentPart::Reasoning(build_reasoning(context, thought))));
    }
    if !reply.text.is_empty() || reply.calls.is_empty() {
        let part = ModelPart::new(ContentPart::Text(JsonText::from(reply.text.clone())));
        let refusal = reply.stop == ScriptedStopReason::Refusal;
        parts.push(part.with_notes(PartNotes { refusal, ..PartNotes::default() }));
    }
    for (index, called) in reply.calls.iter().enumerate() {
        parts
            .push(ModelPart::new(ContentPart::ToolCall(build_call(context, reply, index, called))));
    }
    let thought = reply.reasoning.as_deref().map_or(0, count_tokens);
    let text_tokens =
        count_tokens(&reply.text) + reply.calls.iter().map(count_call_tokens).sum::<u64>();
    let prefix = match context.provider {
        ScriptedProvider::OpenaiChat | ScriptedProvider::Deepseek => "chatcmpl-",
        ScriptedProvider::OpenaiResponses => "resp_",
        ScriptedProvider::Anthropic => "msg_",
        ScriptedProvider::GeminiInteractions => "interaction_",
        ScriptedProvider::Gemini | ScriptedProvider::Mistral => "",
    };
    let id = format!("{prefix}{}", StableHasher::new("reply").with_field(context.body).letters(24));
    ModelResponse::Reply(ModelReply {
        wire: Some(format),
        id: Some(JsonText::from(id)),
        model: Some(JsonText::from(context.model.to_owned())),
        created: Some(context.created.unwrap_or(CREATED)),
        parts,
        stop: Some(match reply.stop {
            ScriptedStopReason::EndTurn => StopReason::End,
            ScriptedStopReason::ToolCalls => StopReason::ToolCalls,
            ScriptedStopReason::Length => StopReason::Length,
            ScriptedStopReason::Refusal => StopReason::Refusal,
        }),
        usage: TokenUsage {
            input: Some(input_tokens(context.body)),
            output: Some((thought + text_tokens).max(1)),
            cache_read: Some(0),
            cache_written: None,
            reasoning: reply.reasoning.is_some().then_some(thought),
        },
    })
}

fn build_reasoning(context: &ReplyContext<'_>, thought: &str) -> ReasoningPart<'static> {
    let seal = match context.provider {
        ScriptedProvider::Anthropic => {
            let mut prefix = SignedPrefix::new(context.request);
            crate::json_fields::list(context.request, "messages")
                .iter()
                .for_each(|message| prefix.add_message(message));
            Sealed::Signed(JsonText::from(prefix.sign(thought)))
        }
        ScriptedProvider::OpenaiResponses => {
            Sealed::Encrypted(JsonText::from(judges::encrypt_reasoning(thought)))
        }
        ScriptedProvider::GeminiInteractions => Sealed::Signed(JsonText::from(
            judges::thought_signature("thought", &Value::from(thought)),
        )),
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::Mistral
        | ScriptedProvider::Deepseek
        | ScriptedProvider::Gemini => Sealed::Unsigned,
    };
    ReasoningPart { text: JsonText::from(thought.to_owned()), signature: seal }
}

fn build_call(
    context: &ReplyContext<'_>,
    reply: &ScriptedReply,
    index: usize,
    called: &ScriptedCall,
) -> ToolCallPart<'static> {
    let seal = StableHasher::new("call").with_field(context.body).with_field(&index.to_le_bytes());
    let id = match context.provider {
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::OpenaiResponses
        | ScriptedProvider::Gemini
        | ScriptedProvider::GeminiInteractions => {
            format!("call_{}", seal.letters(24))
        }
        ScriptedProvider::Deepseek => format!("call_{index:02}_{}", seal.letters(20)),
        ScriptedProvider::Anthropic => format!("toolu_{}", seal.letters(24)),
        ScriptedProvider::Mistral => seal.letters(9),
    };
    let (family, arguments) = match (called.input_kind, &called.arguments) {
        (ToolInputKind::Custom, Value::String(input)) => (CallFamily::Custom, input.clone()),
        (ToolInputKind::Custom | ToolInputKind::Function, arguments) => {
            (CallFamily::Function, arguments.to_string())
        }
    };
    let signed =
        context.provider == ScriptedProvider::Gemini && index == 0 && reply.reasoning.is_some();
    let wanted = context.provider == ScriptedProvider::Gemini
        && index == 0
        && context.model.contains("gemini-3");
    let signature = (signed || wanted)
        .then(|| JsonText::from(judges::thought_signature(&called.name, &called.arguments)));
    ToolCallPart {
        id: Some(Cow::Owned(id)),
        name: Cow::Owned(called.name.clone()),
        family,
        arguments: JsonText::from(arguments),
        signature,
    }
}

/// Items of a Responses reply that were created together with reasoning have ids that name it.
fn rename_items(context: &ReplyContext<'_>, reply: &ScriptedReply, mut text: String) -> String {
    if context.provider != ScriptedProvider::OpenaiResponses || reply.reasoning.is_none() {
        return text;
    }
    let encoded = encode_reply(&build_outcome(context, reply), Format::OpenaiResponses, "scripted");
    let Ok(body) = serde_json::from_str::<Value>(&encoded.body) else { return text };
    let items = crate::json_fields::list(&body, "output");
    let ids: Vec<&str> =
        items.iter().filter_map(|item| crate::json_fields::text(item, "id")).collect();
    let Some((thought, item_ids)) = ids.split_first() else { return text };
    for id in item_ids {
        text = text.replace(*id, &judges::id_with_reasoning(id, thought));
    }
    text
}
