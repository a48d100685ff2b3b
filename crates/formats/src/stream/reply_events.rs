//! Emits a whole response as stream events, for clients that requested a stream.

use crate::{
    conversation::{
        ContentPart, JsonText, LossKind, ModelPart, ModelReply, ModelResponse, ReasoningSignature,
    },
    event::{
        BlockDelta, BlockStart, EventSink, ReplyHead, StreamEvent, StreamLoss, owned::borrowed_text,
    },
};

/// Emits the events of a response.
pub(crate) fn emit_outcome(outcome: &ModelResponse<'_>, sink: &mut dyn EventSink) {
    match outcome {
        ModelResponse::Reply(reply) => emit_reply(reply, sink),
        ModelResponse::Error(error) => sink.event(StreamEvent::Failed(error.clone())),
    }
}

/// Passes a whole reply to `each` as the events of a stream.
pub fn reply_events(reply: &ModelReply<'_>, mut each: impl FnMut(&StreamEvent<'_>)) {
    emit_reply(reply, &mut each);
}

fn emit_reply(reply: &ModelReply<'_>, sink: &mut dyn EventSink) {
    sink.event(StreamEvent::Start(ReplyHead {
        id: reply.id.as_ref().map(borrowed_text),
        model: reply.model.as_ref().map(borrowed_text),
        created: reply.created,
    }));
    if !reply.usage.is_empty() {
        sink.event(StreamEvent::Usage(reply.usage));
    }
    for (block, part) in reply.parts.iter().enumerate() {
        emit_part(u32::try_from(block).unwrap_or(u32::MAX), part, sink);
    }
    match &reply.stop {
        Some(stop) => {
            sink.event(StreamEvent::Stop(stop.clone()));
            sink.event(StreamEvent::End);
        }
        None => sink.event(StreamEvent::Truncated),
    }
}

fn emit_part(block: u32, part: &ModelPart<'_>, sink: &mut dyn EventSink) {
    let refusal = part.notes().is_some_and(|notes| notes.refusal);
    let (kind, text) = match part.content() {
        ContentPart::Text(text) if refusal => (BlockStart::Refusal, text),
        ContentPart::Text(text) => (BlockStart::Text, text),
        ContentPart::Reasoning(reasoning) => match &reasoning.signature {
            ReasoningSignature::Redacted(data) => {
                (BlockStart::Redacted(borrowed_text(data)), &reasoning.text)
            }
            ReasoningSignature::Unsigned
            | ReasoningSignature::Signed(_)
            | ReasoningSignature::Encrypted(_) => (BlockStart::Reasoning, &reasoning.text),
        },
        ContentPart::ToolCall(call) => {
            let kind = BlockStart::Call {
                id: call.id.as_deref().map(JsonText::from),
                name: JsonText::from(&*call.name),
                family: call.family,
                signature: call.signature.as_ref().map(borrowed_text),
            };
            (kind, &call.arguments)
        }
        ContentPart::Media(media) => {
            let name = media.kind.name();
            return emit_loss(
                sink,
                LossKind::Media,
                format!("the {name} in an assistant message is left out"),
            );
        }
        ContentPart::ToolResult(_) => {
            let note = "a tool result inside a response is not supported in a stream";
            return emit_loss(sink, LossKind::ServerCall, note.to_owned());
        }
        ContentPart::Unknown(other) => {
            let note = format!("`{}` is not supported in a stream", other.name);
            return emit_loss(sink, LossKind::Unknown, note);
        }
    };
    sink.event(StreamEvent::Open { block, kind });
    if !text.is_empty() {
        sink.event(StreamEvent::Delta { block, delta: BlockDelta::Text(borrowed_text(text)) });
    }
    if let ContentPart::Reasoning(reasoning) = part.content() {
        let delta = match &reasoning.signature {
            ReasoningSignature::Signed(signature) => {
                Some(BlockDelta::Signature(borrowed_text(signature)))
            }
            ReasoningSignature::Encrypted(data) => Some(BlockDelta::Encrypted(borrowed_text(data))),
            ReasoningSignature::Unsigned | ReasoningSignature::Redacted(_) => None,
        };
        if let Some(delta) = delta {
            sink.event(StreamEvent::Delta { block, delta });
        }
    }
    for citation in part.notes().into_iter().flat_map(|notes| &notes.citations) {
        sink.event(StreamEvent::Delta { block, delta: BlockDelta::Citation(citation.clone()) });
    }
    sink.event(StreamEvent::Close { block });
}

fn emit_loss(sink: &mut dyn EventSink, kind: LossKind, note: String) {
    sink.skip(StreamLoss { kind, note });
}
