//! What the model behind a request takes: reasoning, and marks of the cached prompt.

use foxwedge_core::{Format, Profile};

use super::{BedrockModel, HistoryEncoder};
use crate::conversation::{LossKind, ModelPart, PartIndex, ReasoningPart, ReasoningSignature};

impl<'a> HistoryEncoder<'_, 'a> {
    /// Whether reasoning can be written.
    pub(super) fn accepts_reasoning(
        &mut self,
        at: PartIndex,
        part: &ModelPart<'_>,
        reasoning: &ReasoningPart<'_>,
    ) -> bool {
        let from = part.origin().map(|origin| origin.wire);
        let is_claude = |format: Format| matches!(format, Format::Anthropic | Format::Bedrock);
        // Both formats serve the same models, which sign the reasoning.
        let serves_claude =
            self.wire != Format::Bedrock || self.target.bedrock_model == BedrockModel::Claude;
        if from.is_some_and(is_claude)
            && is_claude(self.wire)
            && serves_claude
            && reasoning.is_provider_bound()
        {
            return true;
        }
        // Mistral and some others reject the field; the rest ignore or require it.
        let field_allowed = !self.target.refuses_reasoning
            && !matches!(self.target.profile, Profile::Mistral | Profile::Strict);
        let chat = self.wire == Format::OpenaiChat && field_allowed && !reasoning.text.is_empty();
        let accepted = chat && (self.target.reasoning || !reasoning.is_provider_bound());
        match (accepted, &reasoning.signature) {
            (true, ReasoningSignature::Unsigned) => {}
            (
                true,
                ReasoningSignature::Signed(_)
                | ReasoningSignature::Redacted(_)
                | ReasoningSignature::Encrypted(_),
            ) => {
                self.record_loss(at.message, LossKind::Signature, "reasoning loses its signature");
            }
            (false, _) => {
                let note = "reasoning cannot be converted to this format";
                self.record_loss(at.message, LossKind::Reasoning, note);
            }
        }
        accepted
    }

    /// The mark of the cached prompt after a part, if it can be written.
    pub(crate) fn cache_mark(&self, part: &ModelPart<'a>) -> Option<&'a str> {
        part.notes().and_then(|notes| notes.cache_mark).filter(|_| self.takes_cache_marks())
    }

    pub(super) fn takes_cache_marks(&self) -> bool {
        match self.wire {
            Format::Anthropic => true,
            Format::Bedrock => self.target.bedrock_model != BedrockModel::Other,
            Format::OpenaiChat
            | Format::OpenaiResponses
            | Format::Gemini
            | Format::GeminiInteractions => false,
        }
    }
}
