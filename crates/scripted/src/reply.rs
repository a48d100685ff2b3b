//! What the model says, in the form of a provider: whole, or in pieces.

mod split;

use std::borrow::Cow;

use foxwedge_core::{CallFamily, Format};
use foxwedge_dialect::{
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

/// When every reply was made: nobody has a clock here.
const CREATED: u64 = 1_763_164_800;

/// A request that gets a reply.
pub(crate) struct ReplyContext<'a> {
    pub(crate) provider: ScriptedProvider,
    /// The name to answer under.
    pub(crate) model: &'a str,
    pub(crate) request: &'a Value,
    pub(crate) body: &'a [u8],
    /// When the reply is made, if somebody says so.
    pub(crate) created: Option<u64>,
}

/// The body of a reply in one piece.
pub(crate) fn encode_whole(asked: &ReplyContext<'_>, speech: &ScriptedReply) -> String {
    let wire = asked.provider.request_format();
    let encoded = encode_reply(&build_outcome(asked, speech), wire, "scripted");
    rename_items(asked, speech, encoded.body)
}

/// The frames of a reply that comes in pieces: one for each word.
pub(crate) fn encode_frames(
    asked: &ReplyContext<'_>,
    speech: &ScriptedReply,
    seen: &RequestOutline,
) -> Vec<String> {
    let wire = asked.provider.request_format();
    let options = StreamOptions {
        seed: "scripted".to_owned(),
        usage: seen.usage,
        ..StreamOptions::default()
    };
    let (bytes, _) = write_stream(&build_outcome(asked, speech), wire, options);
    let text = rename_items(asked, speech, String::from_utf8(bytes).unwrap_or_default());
    split::split_frames(wire, &text)
}

/// How many tokens were asked.
pub(crate) fn input_tokens(body: &[u8]) -> u64 {
    (body.len() as u64).div_ceil(4)
}

fn build_outcome(asked: &ReplyContext<'_>, speech: &ScriptedReply) -> ModelResponse<'static> {
    let wire = asked.provider.request_format();
    let mut parts = Vec::new();
    if let Some(thought) = &speech.reasoning {
        parts.push(ModelPart::new(ContentPart::Reasoning(build_reasoning(asked, thought))));
    }
    if !speech.text.is_empty() || speech.calls.is_empty() {
        let part = ModelPart::new(ContentPart::Text(JsonText::from(speech.text.clone())));
        let refusal = speech.stop == ScriptedStopReason::Refusal;
        parts.push(part.with_notes(PartNotes { refusal, ..PartNotes::default() }));
    }
    for (index, called) in speech.calls.iter().enumerate() {
        parts.push(ModelPart::new(ContentPart::ToolCall(build_call(asked, speech, index, called))));
    }
    let thought = speech.reasoning.as_deref().map_or(0, count_tokens);
    let said = count_tokens(&speech.text) + speech.calls.iter().map(count_call_tokens).sum::<u64>();
    let prefix = match asked.provider {
        ScriptedProvider::OpenaiChat | ScriptedProvider::Deepseek => "chatcmpl-",
        ScriptedProvider::OpenaiResponses => "resp_",
        ScriptedProvider::Anthropic => "msg_",
        ScriptedProvider::Gemini | ScriptedProvider::Mistral => "",
    };
    let id = format!("{prefix}{}", StableHasher::new("reply").with_field(asked.body).letters(24));
    ModelResponse::Reply(ModelReply {
        wire: Some(wire),
        id: Some(JsonText::from(id)),
        model: Some(JsonText::from(asked.model.to_owned())),
        created: Some(asked.created.unwrap_or(CREATED)),
        parts,
        stop: Some(match speech.stop {
            ScriptedStopReason::EndTurn => StopReason::End,
            ScriptedStopReason::ToolCalls => StopReason::ToolCalls,
            ScriptedStopReason::Length => StopReason::Length,
            ScriptedStopReason::Refusal => StopReason::Refusal,
        }),
        usage: TokenUsage {
            input: Some(input_tokens(asked.body)),
            output: Some((thought + said).max(1)),
            cache_read: Some(0),
            cache_written: None,
            reasoning: speech.reasoning.is_some().then_some(thought),
        },
    })
}

fn build_reasoning(asked: &ReplyContext<'_>, thought: &str) -> ReasoningPart<'static> {
    let seal = match asked.provider {
        ScriptedProvider::Anthropic => {
            let mut prefix = SignedPrefix::new(asked.request);
            crate::json_fields::list(asked.request, "messages")
                .iter()
                .for_each(|message| prefix.add_message(message));
            Sealed::Signed(JsonText::from(prefix.sign(thought)))
        }
        ScriptedProvider::OpenaiResponses => {
            Sealed::Encrypted(JsonText::from(judges::encrypt_reasoning(thought)))
        }
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::Mistral
        | ScriptedProvider::Deepseek
        | ScriptedProvider::Gemini => Sealed::Unsigned,
    };
    ReasoningPart { text: JsonText::from(thought.to_owned()), signature: seal }
}

fn build_call(
    asked: &ReplyContext<'_>,
    speech: &ScriptedReply,
    index: usize,
    called: &ScriptedCall,
) -> ToolCallPart<'static> {
    let seal = StableHasher::new("call").with_field(asked.body).with_field(&index.to_le_bytes());
    let id = match asked.provider {
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::OpenaiResponses
        | ScriptedProvider::Gemini => {
            format!("call_{}", seal.letters(24))
        }
        ScriptedProvider::Deepseek => format!("call_{index:02}_{}", seal.letters(20)),
        ScriptedProvider::Anthropic => format!("toolu_{}", seal.letters(24)),
        ScriptedProvider::Mistral => seal.letters(9),
    };
    let (family, arguments) = match (called.input_kind, &called.arguments) {
        (ToolInputKind::Custom, Value::String(words)) => (CallFamily::Custom, words.clone()),
        (ToolInputKind::Custom | ToolInputKind::Function, arguments) => {
            (CallFamily::Function, arguments.to_string())
        }
    };
    let signed =
        asked.provider == ScriptedProvider::Gemini && index == 0 && speech.reasoning.is_some();
    let wanted = asked.provider == ScriptedProvider::Gemini
        && index == 0
        && asked.model.contains("gemini-3");
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

/// Items of a Responses reply that were made together with reasoning say so in their ids.
fn rename_items(asked: &ReplyContext<'_>, speech: &ScriptedReply, mut text: String) -> String {
    if asked.provider != ScriptedProvider::OpenaiResponses || speech.reasoning.is_none() {
        return text;
    }
    let encoded = encode_reply(&build_outcome(asked, speech), Format::OpenaiResponses, "scripted");
    let Ok(body) = serde_json::from_str::<Value>(&encoded.body) else { return text };
    let items = crate::json_fields::list(&body, "output");
    let ids: Vec<&str> =
        items.iter().filter_map(|item| crate::json_fields::text(item, "id")).collect();
    let Some((thought, made)) = ids.split_first() else { return text };
    for id in made {
        text = text.replace(*id, &judges::id_with_reasoning(id, thought));
    }
    text
}
