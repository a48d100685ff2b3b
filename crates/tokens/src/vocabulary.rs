//! The public vocabularies.
//!
//! Text that looks like a special token (`<|endoftext|>`) is counted as plain characters, since
//! that is how it reaches a model inside a message.

use tiktoken::CoreBpe;

/// A published vocabulary.
// Together they take 5 MB in the program; each is unpacked on first use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum TokenVocabulary {
    /// OpenAI since GPT-4o.
    O200k,
    /// OpenAI's GPT-4 and GPT-3.5.
    Cl100k,
    /// OpenAI's Codex and the later GPT-3.
    P50k,
    /// OpenAI's GPT-2 and GPT-3.
    R50k,
    /// Meta's Llama 3. Llama 4 has another one, which is not included.
    Llama3,
    /// DeepSeek V3, R1 and V4.
    DeepseekV3,
    /// Qwen 2, 2.5 and 3.
    Qwen2,
    /// Mistral's Tekken.
    Tekken,
    /// Moonshot's Kimi K2 and K3.
    KimiK2,
    /// Zhipu's GLM 4.5 to 4.7.
    Glm4,
    /// Zhipu's GLM 5.
    Glm5,
    /// MiniMax M2.
    MinimaxM2,
}

impl TokenVocabulary {
    /// Every vocabulary.
    pub const ALL: [TokenVocabulary; 12] = [
        TokenVocabulary::O200k,
        TokenVocabulary::Cl100k,
        TokenVocabulary::P50k,
        TokenVocabulary::R50k,
        TokenVocabulary::Llama3,
        TokenVocabulary::DeepseekV3,
        TokenVocabulary::Qwen2,
        TokenVocabulary::Tekken,
        TokenVocabulary::KimiK2,
        TokenVocabulary::Glm4,
        TokenVocabulary::Glm5,
        TokenVocabulary::MinimaxM2,
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            TokenVocabulary::O200k => "o200k",
            TokenVocabulary::Cl100k => "cl100k",
            TokenVocabulary::P50k => "p50k",
            TokenVocabulary::R50k => "r50k",
            TokenVocabulary::Llama3 => "llama3",
            TokenVocabulary::DeepseekV3 => "deepseek-v3",
            TokenVocabulary::Qwen2 => "qwen2",
            TokenVocabulary::Tekken => "tekken",
            TokenVocabulary::KimiK2 => "kimi-k2",
            TokenVocabulary::Glm4 => "glm4",
            TokenVocabulary::Glm5 => "glm5",
            TokenVocabulary::MinimaxM2 => "minimax-m2",
        }
    }

    /// The vocabulary of that name, or of its published name such as `o200k_base`.
    pub fn parse(name: &str) -> Option<TokenVocabulary> {
        let matches = |vocabulary: &TokenVocabulary| {
            vocabulary.name() == name || vocabulary.published_as() == name
        };
        TokenVocabulary::ALL.into_iter().find(matches)
    }

    /// The number of tokens of a text. The first call for a vocabulary also unpacks it.
    pub fn count(self, text: &str) -> u32 {
        // If a vocabulary is not in the build, estimate instead of panicking.
        let tokens = self.encoder().map_or(text.len().div_ceil(3), |encoder| encoder.count(text));
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    fn encoder(self) -> Option<&'static CoreBpe> {
        tiktoken::get_encoding(self.published_as())
    }

    /// The name it was published under.
    fn published_as(self) -> &'static str {
        match self {
            TokenVocabulary::O200k => "o200k_base",
            TokenVocabulary::Cl100k => "cl100k_base",
            TokenVocabulary::P50k => "p50k_base",
            TokenVocabulary::R50k => "r50k_base",
            TokenVocabulary::Llama3 => "llama3",
            TokenVocabulary::DeepseekV3 => "deepseek_v3",
            TokenVocabulary::Qwen2 => "qwen2",
            TokenVocabulary::Tekken => "mistral_v3",
            TokenVocabulary::KimiK2 => "kimi_k2",
            TokenVocabulary::Glm4 => "glm4",
            TokenVocabulary::Glm5 => "glm5",
            TokenVocabulary::MinimaxM2 => "minimax_m2",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vocabulary_is_in_the_program_and_has_its_name() {
        for vocabulary in TokenVocabulary::ALL {
            assert!(vocabulary.encoder().is_some(), "{}", vocabulary.name());
            assert_eq!(TokenVocabulary::parse(vocabulary.name()), Some(vocabulary));
            assert_eq!(TokenVocabulary::parse(vocabulary.published_as()), Some(vocabulary));
            assert_eq!(vocabulary.count(""), 0);
        }
        assert_eq!(TokenVocabulary::parse("o200"), None);
    }

    #[test]
    fn known_texts_have_known_counts() {
        let table = [
            (TokenVocabulary::O200k, "hello world", 2),
            (TokenVocabulary::Cl100k, "hello world", 2),
            (TokenVocabulary::R50k, "hello world", 2),
            (TokenVocabulary::O200k, "中文分词测试", 4),
            (TokenVocabulary::O200k, "1234567", 3),
            (TokenVocabulary::O200k, "\u{0}\u{7f}\u{fffd}", 3),
        ];
        for (vocabulary, text, expected) in table {
            assert_eq!(vocabulary.count(text), expected, "{} {text:?}", vocabulary.name());
        }
    }

    #[test]
    fn special_tokens_in_a_text_are_text() {
        let texts = ["<|endoftext|>", "<|im_start|>user", "[INST]", "<｜begin▁of▁sentence｜>"];
        for vocabulary in TokenVocabulary::ALL {
            for text in texts {
                assert!(vocabulary.count(text) > 1, "{} {text}", vocabulary.name());
            }
        }
    }
}
