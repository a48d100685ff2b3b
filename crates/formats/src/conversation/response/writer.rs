//! State and functions that the response writers of all formats share.

use std::borrow::Cow;

use foxwedge_core::Format;

use super::{EncodedReply, carries_signature, reply_id};
use crate::conversation::{
    CallIds, ContentPart, JsonText, Loss, LossKind, LossLocation, ModelPart, ModelReply,
    PartPlacement, ReasoningPart, ReasoningSignature, StopReason, ToolCallPart,
    encode::{
        json_writer::{write_comma, write_compact, write_string},
        write_arguments_object,
    },
    media::is_base64,
    stop_reasons, token_usage,
};

/// Writes a response body in a format.
pub(crate) struct ReplyBodyWriter<'r, 'a> {
    pub(crate) reply: &'r ModelReply<'a>,
    pub(crate) wire: Format,
    pub(crate) out: String,
    seed: &'r str,
    ids: CallIds,
    losses: Vec<Loss>,
}

/// The parts of reasoning that a format accepts.
pub(crate) struct ReasoningFields<'p, 'a> {
    /// The readable text.
    pub(crate) text: Option<&'p JsonText<'a>>,
    /// The signature of the text.
    pub(crate) signature: Option<&'p JsonText<'a>>,
    /// The redacted data, if there is no readable text.
    pub(crate) redacted: Option<&'p JsonText<'a>>,
    /// The encrypted reasoning.
    pub(crate) encrypted: Option<&'p JsonText<'a>>,
}

impl<'r, 'a> ReplyBodyWriter<'r, 'a> {
    pub(crate) fn new(
        reply: &'r ModelReply<'a>,
        format: Format,
        seed: &'r str,
    ) -> ReplyBodyWriter<'r, 'a> {
        let size = |part: &ModelPart<'_>| match (part.origin(), part.content()) {
            (Some(origin), _) => origin.json.len() + 64,
            (None, ContentPart::Text(text)) => text.len() + 64,
            (None, _) => 256,
        };
        let size = reply.parts.iter().map(size).sum::<usize>() + 512;
        ReplyBodyWriter {
            reply,
            wire: format,
            out: String::with_capacity(size),
            seed,
            ids: CallIds::new(format, seed),
            losses: Vec::new(),
        }
    }

    pub(crate) fn finish(self) -> EncodedReply {
        let renamed = self.ids.renamed().to_vec();
        EncodedReply { body: self.out, losses: self.losses, renamed }
    }

    /// Records a loss, once for each note.
    pub(crate) fn record_loss(&mut self, kind: LossKind, note: impl Into<String>) {
        let loss = Loss { kind, location: LossLocation::Reply, note: note.into() };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    /// The id of the response.
    pub(crate) fn id(&self) -> Cow<'r, str> {
        reply_id(self.wire, self.reply.id.as_deref(), self.seed)
    }

    /// Writes the id of the response as a string.
    pub(crate) fn write_id(&mut self) {
        match &self.reply.id {
            Some(id) if !id.is_empty() => id.write(&mut self.out),
            _ => write_string(&mut self.out, &reply_id(self.wire, None, self.seed)),
        }
    }

    /// Writes the name of the model as a string.
    pub(crate) fn write_model(&mut self) {
        match &self.reply.model {
            Some(model) => model.write(&mut self.out),
            None => self.out.push_str("\"unknown\""),
        }
    }

    /// Writes a number.
    pub(crate) fn write_count(&mut self, count: u64) {
        use std::fmt::Write as _;
        let _ = write!(self.out, "{count}");
    }

    /// Writes a field that holds a text.
    pub(crate) fn write_field(&mut self, key: &str, text: &JsonText<'_>) {
        write_comma(&mut self.out);
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
        text.write(&mut self.out);
    }

    /// Writes the token usage.
    pub(crate) fn write_usage(&mut self) {
        if let Some(figure) = token_usage::unsupported_figure(self.wire, &self.reply.usage) {
            self.record_loss(LossKind::Usage, format!("{figure} is not supported in this format"));
        }
        token_usage::write(self.wire, &self.reply.usage, &mut self.out);
    }

    /// The format's stop reason; `None` if the response was cut off.
    pub(crate) fn stop_word(&mut self) -> Option<&'static str> {
        let has_calls = || {
            self.reply.parts.iter().any(|part| matches!(part.content(), ContentPart::ToolCall(_)))
        };
        let stop = match self.reply.stop.as_ref()? {
            // Servers send this after a forced call. These formats require the stop reason for
            // calls.
            StopReason::End
                if matches!(
                    self.wire,
                    Format::Anthropic | Format::Bedrock | Format::GeminiInteractions
                ) && has_calls() =>
            {
                &StopReason::ToolCalls
            }
            // Without calls, the client would wait for tool calls that never come.
            StopReason::ToolCalls if !has_calls() => &StopReason::End,
            stop => stop,
        };
        if let Some(note) = stop_reasons::loss_note(self.wire, stop) {
            self.record_loss(LossKind::StopReason, note);
        }
        Some(stop_reasons::stop_word(self.wire, stop))
    }

    /// The stop reason of an incomplete response, for formats that require one.
    pub(crate) fn cut_off_word(&mut self, word: &'static str) -> &'static str {
        self.record_loss(
            LossKind::StopReason,
            format!("the response was cut off; its stop reason becomes `{word}`"),
        );
        word
    }

    /// The id that a call gets. `None` only where the format allows that.
    pub(crate) fn call_id(&mut self, call: &'r ToolCallPart<'a>) -> Option<Cow<'r, str>> {
        self.ids.next(self.reply.id.as_deref(), call.id.as_deref())
    }

    /// The original JSON of a block from this format.
    pub(crate) fn original_json(&self, part: &ModelPart<'a>) -> Option<&'a str> {
        let origin =
            part.origin_in(self.wire).filter(|origin| origin.placement != PartPlacement::Field)?;
        Some(origin.json)
    }

    /// The original JSON of a call from this format, unless the call needs another id.
    pub(crate) fn original_call_json(
        &self,
        part: &ModelPart<'a>,
        call: &ToolCallPart<'_>,
        id: Option<&str>,
    ) -> Option<&'a str> {
        self.original_json(part).filter(|_| id == call.id.as_deref())
    }

    /// Writes JSON of the same format.
    pub(crate) fn write_original(&mut self, json: &str) {
        write_compact(&mut self.out, json);
    }

    /// Writes the arguments of a call as a JSON object.
    pub(crate) fn write_arguments_object(&mut self, call: &ToolCallPart<'_>) {
        if let Some(note) = write_arguments_object(&mut self.out, call) {
            self.record_loss(LossKind::Arguments, note);
        }
    }

    /// Writes the arguments of a call as a string.
    pub(crate) fn write_arguments_text(&mut self, call: &ToolCallPart<'_>) {
        if call.arguments.is_empty() && !call.is_free_text() {
            return self.out.push_str("\"{}\"");
        }
        call.arguments.write(&mut self.out);
    }

    /// Records the loss of Google's signature of a call. No other format can represent it.
    pub(crate) fn record_signature_loss(&mut self, call: &ToolCallPart<'_>) {
        if call.signature.is_some() {
            self.record_loss(
                LossKind::Signature,
                "the signature of a call is not supported in this format",
            );
        }
    }

    /// The parts of reasoning that the format accepts.
    pub(crate) fn usable_reasoning<'p>(
        &mut self,
        part: &ModelPart<'_>,
        reasoning: &'p ReasoningPart<'a>,
    ) -> ReasoningFields<'p, 'a> {
        let text = Some(&reasoning.text).filter(|text| !text.is_empty());
        let mut fields = ReasoningFields { text, signature: None, redacted: None, encrypted: None };
        match &reasoning.signature {
            ReasoningSignature::Unsigned => {}
            ReasoningSignature::Signed(signature)
                if carries_signature(self.reasoning_origin(part), self.wire) =>
            {
                fields.signature = Some(signature);
            }
            ReasoningSignature::Redacted(data) if self.wire == Format::Anthropic => {
                fields.redacted = Some(data)
            }
            // Clients decode this value immediately.
            ReasoningSignature::Redacted(data)
                if self.wire == Format::Bedrock && is_base64(data) =>
            {
                fields.redacted = Some(data);
            }
            ReasoningSignature::Encrypted(content) if self.wire == Format::OpenaiResponses => {
                fields.encrypted = Some(content);
            }
            ReasoningSignature::Signed(_) => {
                let note = "the signature of reasoning is only valid at its own provider";
                self.record_loss(LossKind::Signature, note);
            }
            ReasoningSignature::Redacted(_) => {
                self.record_loss(
                    LossKind::Reasoning,
                    "redacted reasoning is not supported in this format",
                );
            }
            ReasoningSignature::Encrypted(_) => {
                self.record_loss(
                    LossKind::Signature,
                    "encrypted reasoning is not supported in this format",
                );
            }
        }
        fields
    }

    /// The format that the reasoning comes from, if known.
    fn reasoning_origin(&self, part: &ModelPart<'_>) -> Option<Format> {
        part.origin().map(|origin| origin.wire).or(self.reply.wire)
    }
}
