//! A counter for drafts: text by a vocabulary or an estimate, media by their size.

use foxwedge_core::compact::TokenCounter;

use crate::{
    counting::CountingMethod,
    estimate::{TokenEstimator, TokenizerFamily},
    media::ImageTokenRule,
    models,
};

/// Counts the tokens of one model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelTokenizer {
    counting: CountingMethod,
    vision: ImageTokenRule,
}

impl ModelTokenizer {
    /// Counts by a given method; media by the rule that its models mostly use.
    pub fn of(counting: CountingMethod) -> ModelTokenizer {
        ModelTokenizer { counting, vision: ImageTokenRule::of(counting) }
    }

    /// Counts for a model. For an unknown model, the provider in its name decides; otherwise it is
    /// a neutral estimate.
    pub fn for_model(name: Option<&str>) -> ModelTokenizer {
        let neutral = CountingMethod::Estimate(TokenizerFamily::Neutral);
        let Some(name) = name else { return ModelTokenizer::of(neutral) };
        match models::find_model(name) {
            Some(model) => ModelTokenizer { counting: model.counting, vision: model.vision },
            None => ModelTokenizer::of(models::counting_for_maker(name).unwrap_or(neutral)),
        }
    }

    /// How it counts text.
    pub fn counting(&self) -> CountingMethod {
        self.counting
    }

    /// How it counts images.
    pub fn vision(&self) -> ImageTokenRule {
        self.vision
    }
}

impl TokenCounter for ModelTokenizer {
    fn count_text(&mut self, text: &str) -> u32 {
        match self.counting {
            CountingMethod::Exact(vocabulary) => vocabulary.count(text),
            CountingMethod::Estimate(family) => TokenEstimator { family }.estimate_tokens(text),
        }
    }

    fn count_media(&mut self, data: &str) -> u32 {
        self.vision.media_tokens(data)
    }

    fn is_exact(&self) -> bool {
        self.counting.is_exact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_its_counting_method() {
        let table = [
            (Some("gpt-4o-mini"), "o200k"),
            (Some("gpt-4"), "cl100k"),
            (Some("us.anthropic.claude-opus-4-7-v1:0"), "estimate-claude"),
            (Some("claude-sonnet-4-20250514"), "estimate-early-claude"),
            (Some("claude-of-next-year"), "estimate-claude"),
            (Some("models/gemini-9"), "estimate-gemini"),
            (Some("a-model-nobody-knows"), "estimate"),
            (Some(""), "estimate"),
            (None, "estimate"),
        ];
        for (model, expected) in table {
            let tokenizer = ModelTokenizer::for_model(model);
            assert_eq!(tokenizer.counting().name(), expected, "{model:?}");
            assert_eq!(tokenizer.is_exact(), !expected.starts_with("estimate"), "{model:?}");
        }
    }

    #[test]
    fn claude_counts_more_than_others() {
        let text = "A repaired conversation keeps every byte that nobody had to change.";
        let count = |name| ModelTokenizer::for_model(Some(name)).count_text(text);
        assert_eq!(count("gpt-4o"), 12);
        assert!(count("claude-sonnet-4-5") > count("gemini-2.5-pro"));
        assert!(count("claude-opus-4-8") > count("claude-sonnet-4-5"));
    }
}
