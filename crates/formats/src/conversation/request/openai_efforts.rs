//! The reasoning efforts that models behind OpenAI's formats take. A model refuses a request with an
//! effort that it does not know.

use foxwedge_core::{Format, Profile, is_openai_model};

use super::field_writer::RequestFieldWriter;

/// The efforts, the lowest first. `none` switches reasoning off.
const RANKS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The efforts of one model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ModelEfforts {
    /// Whatever the request says: it names no model, or comes from a format with the same words.
    AsGiven,
    /// These.
    Known(&'static [&'static str]),
    /// A model that does not reason.
    Nothing,
}

/// What most models and servers take.
const COMMON: &[&str] = &["low", "medium", "high"];

impl ModelEfforts {
    /// The efforts of the model that a request is written for.
    pub(crate) fn of(writer: &RequestFieldWriter<'_, '_, '_>) -> ModelEfforts {
        let is_openai =
            |format: Format| matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
        match writer.from {
            _ if !is_openai(writer.to) => ModelEfforts::AsGiven,
            None => ModelEfforts::AsGiven,
            Some(from) if is_openai(from) => ModelEfforts::AsGiven,
            Some(_) if writer.profile == Profile::Mistral => ModelEfforts::Nothing,
            Some(_) => match writer.settings.model.as_deref() {
                Some(model) => ModelEfforts::of_model(model),
                None => ModelEfforts::AsGiven,
            },
        }
    }

    fn of_model(model: &str) -> ModelEfforts {
        let name = model.to_ascii_lowercase();
        let name = name.rsplit('/').next().unwrap_or_default();
        let name = name.strip_prefix("openai.").unwrap_or(name);
        if !is_openai_model(Some(name)) {
            return ModelEfforts::Known(COMMON);
        }
        let has = |part: &str| name.contains(part);
        let version = name.strip_prefix("gpt-5").map(|rest| {
            let digits = rest.strip_prefix('.').unwrap_or_default();
            let end = digits.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(digits.len());
            digits.get(..end).and_then(|digits| digits.parse::<u32>().ok()).unwrap_or(0)
        });
        match version {
            _ if has("-chat") => ModelEfforts::Nothing,
            Some(0) if has("-pro") => ModelEfforts::Known(&["high"]),
            Some(0) if !has("codex") => ModelEfforts::Known(&["minimal", "low", "medium", "high"]),
            Some(2..) if has("-pro") => ModelEfforts::Known(&["medium", "high", "xhigh"]),
            Some(2..) if has("codex") => ModelEfforts::Known(&["low", "medium", "high", "xhigh"]),
            Some(2..) => ModelEfforts::Known(&["none", "low", "medium", "high", "xhigh"]),
            Some(1) if has("codex-max") => ModelEfforts::Known(&["low", "medium", "high", "xhigh"]),
            Some(1) if !has("codex") => ModelEfforts::Known(&["none", "low", "medium", "high"]),
            Some(_) => ModelEfforts::Known(COMMON),
            None if has("o1-mini") || has("o1-preview") => ModelEfforts::Nothing,
            None if has("gpt-3") || has("gpt-4") || has("chatgpt-") => ModelEfforts::Nothing,
            None => ModelEfforts::Known(COMMON),
        }
    }

    /// The effort that is nearest to a word: the highest one that is not above it, else the lowest.
    /// `None` if there is none.
    pub(crate) fn fit(self, word: &str) -> Option<&str> {
        let known = match self {
            ModelEfforts::AsGiven => return Some(word),
            ModelEfforts::Nothing => return None,
            ModelEfforts::Known(known) => known,
        };
        let rank = |word: &str| RANKS.iter().position(|known| *known == word);
        let Some(limit) = rank(word) else { return Some(word) };
        let below = known.iter().rev().find(|known| rank(known).is_some_and(|at| at <= limit));
        below.or(known.first()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efforts_are_those_that_a_model_takes() {
        for (model, words) in [
            ("gpt-5", "minimal minimal low medium high high high"),
            ("gpt-5-mini-2025-08-07", "minimal minimal low medium high high high"),
            ("openai/gpt-5", "minimal minimal low medium high high high"),
            ("gpt-5-codex", "low low low medium high high high"),
            ("gpt-5-pro", "high high high high high high high"),
            ("gpt-5.1", "none none low medium high high high"),
            ("gpt-5.1-codex-max", "low low low medium high xhigh xhigh"),
            ("gpt-5.2", "none none low medium high xhigh xhigh"),
            ("gpt-5.5-pro", "medium medium medium medium high xhigh xhigh"),
            ("gpt-5.10-codex", "low low low medium high xhigh xhigh"),
            ("o3", "low low low medium high high high"),
            ("qwen3", "low low low medium high high high"),
            ("gpt-oss-120b", "low low low medium high high high"),
            ("", "low low low medium high high high"),
            ("gpt-4.1", "- - - - - - -"),
            ("gpt-5-chat-latest", "- - - - - - -"),
            ("o1-mini", "- - - - - - -"),
        ] {
            let efforts = ModelEfforts::of_model(model);
            let found = RANKS.map(|word| efforts.fit(word).unwrap_or("-")).join(" ");
            assert_eq!(found, words, "{model}");
        }
        assert_eq!(ModelEfforts::of_model("o3").fit("odd"), Some("odd"));
        assert_eq!(ModelEfforts::AsGiven.fit("max"), Some("max"));
    }
}
