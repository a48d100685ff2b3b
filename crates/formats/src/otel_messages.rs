//! The messages of traces: the schema of OpenTelemetry's `gen_ai.input.messages`.
//!
//! A trace is a copy of a request that an instrumentation made, in one form for all providers: the
//! content of a message is a list of `parts`. It does not show how the request looked on the wire.
//! So only rules about pairs and ids can be judged ([`is_judged`]), and nothing is ever written
//! back. [`write_input_messages`] and [`write_output_messages`] are for our own spans.

mod outline;
mod write;
#[cfg(test)]
mod tests;

use foxwedge_core::{Draft, Format, Profile, Span};

pub use outline::outline_otel_messages;
pub use write::{write_input_messages, write_output_messages};

/// A history from a trace, with its outline.
#[derive(Clone, Debug)]
pub struct OtelHistory<'a> {
    /// The outline. Results in consecutive messages are one message of the draft.
    pub draft: Draft<'a>,
    /// Where each message of the list begins, in order.
    starts: Vec<u32>,
}

impl OtelHistory<'_> {
    /// The number of messages in the list.
    pub fn message_count(&self) -> usize {
        self.starts.len()
    }

    /// The index of the list's message that holds a position of the draft.
    pub fn message_index(&self, span: Span) -> usize {
        self.starts.partition_point(|start| *start <= span.start).saturating_sub(1)
    }

    /// The index of the list's message that a message of the draft begins with.
    pub fn first_index(&self, message: usize) -> usize {
        self.draft.messages.get(message).map_or(0, |message| self.message_index(message.span))
    }
}

/// The format whose layout the outline of a history has: that of the provider's own API, which
/// decides where results belong and whether ids are optional.
pub fn outline_format(profile: Profile) -> Format {
    match profile {
        Profile::Anthropic => Format::Anthropic,
        Profile::Gemini => Format::Gemini,
        Profile::Bedrock => Format::Bedrock,
        Profile::OpenaiChat
        | Profile::OpenaiResponses
        | Profile::GeminiInteractions
        | Profile::Mistral
        | Profile::Deepseek
        | Profile::Strict => Format::OpenaiChat,
    }
}

/// Whether a rule can be judged from a trace: its subject is a pair or an id, which instrumentations
/// copy as they are.
pub fn is_judged(profile: Profile, code: u16) -> bool {
    match code {
        101 | 102 | 104 | 201 | 203 => true,
        // The Responses API accepts a result anywhere after its call.
        103 => profile != Profile::OpenaiResponses,
        _ => false,
    }
}
