//! Token usage in every format.
//!
//! Formats disagree about what a count includes. Ours include everything: cached input is input,
//! reasoning is output.

use foxwedge_core::Format;

use super::TokenUsage;
use foxwedge_json::JsonObject;

/// Reads the usage object of a format.
pub(crate) fn read(format: Format, usage: &JsonObject<'_, '_>) -> TokenUsage {
    let inner = |object: &str, key: &str| usage.object(object)?.count(key);
    match format {
        Format::OpenaiChat => TokenUsage {
            input: usage.count("prompt_tokens"),
            output: usage.count("completion_tokens"),
            cache_read: inner("prompt_tokens_details", "cached_tokens")
                // Vendor extensions: DeepSeek, Moonshot.
                .or_else(|| usage.count("prompt_cache_hit_tokens"))
                .or_else(|| usage.count("cached_tokens")),
            cache_written: inner("prompt_tokens_details", "cache_write_tokens"),
            reasoning: inner("completion_tokens_details", "reasoning_tokens"),
        },
        Format::OpenaiResponses => TokenUsage {
            input: usage.count("input_tokens"),
            output: usage.count("output_tokens"),
            cache_read: inner("input_tokens_details", "cached_tokens"),
            cache_written: inner("input_tokens_details", "cache_write_tokens"),
            reasoning: inner("output_tokens_details", "reasoning_tokens"),
        },
        Format::Anthropic => {
            let cache_read = usage.count("cache_read_input_tokens");
            let cache_written = usage.count("cache_creation_input_tokens");
            TokenUsage {
                input: usage
                    .count("input_tokens")
                    .map(|uncached| sum_figures([Some(uncached), cache_read, cache_written])),
                output: usage.count("output_tokens"),
                cache_read,
                cache_written,
                reasoning: inner("output_tokens_details", "thinking_tokens"),
            }
        }
        Format::Gemini => {
            let prompt = usage.count("promptTokenCount");
            let candidates = usage.count("candidatesTokenCount");
            let reasoning = usage.count("thoughtsTokenCount");
            TokenUsage {
                input: prompt
                    .map(|_| sum_figures([prompt, usage.count("toolUsePromptTokenCount")])),
                output: candidates.or(reasoning).map(|_| sum_figures([candidates, reasoning])),
                cache_read: usage.count("cachedContentTokenCount"),
                cache_written: None,
                reasoning,
            }
        }
        Format::GeminiInteractions => {
            let input = usage.count("total_input_tokens");
            let output = usage.count("total_output_tokens");
            let reasoning = usage.count("total_thought_tokens");
            TokenUsage {
                input: input.map(|_| sum_figures([input, usage.count("total_tool_use_tokens")])),
                output: output.or(reasoning).map(|_| sum_figures([output, reasoning])),
                cache_read: usage.count("total_cached_tokens"),
                cache_written: None,
                reasoning,
            }
        }
        Format::Bedrock => {
            let cache_read = usage.count("cacheReadInputTokens");
            let cache_written = usage.count("cacheWriteInputTokens");
            TokenUsage {
                input: usage
                    .count("inputTokens")
                    .map(|uncached| sum_figures([Some(uncached), cache_read, cache_written])),
                output: usage.count("outputTokens"),
                cache_read,
                cache_written,
                reasoning: None,
            }
        }
    }
}

/// Appends the usage object of a format. A required count that is unknown is written as zero.
pub(crate) fn write(format: Format, usage: &TokenUsage, out: &mut String) {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    let uncached = input.saturating_sub(sum_figures([usage.cache_read, usage.cache_written]));
    let total = input.saturating_add(output);
    out.push('{');
    match format {
        Format::OpenaiChat => {
            write_count(out, "prompt_tokens", Some(input));
            write_count(out, "completion_tokens", Some(output));
            write_count(out, "total_tokens", Some(total));
            if usage.cache_read.is_some() || usage.cache_written.is_some() {
                open_object(out, "prompt_tokens_details");
                write_count(out, "cached_tokens", usage.cache_read);
                write_count(out, "cache_write_tokens", usage.cache_written);
                out.push('}');
            }
            if usage.reasoning.is_some() {
                open_object(out, "completion_tokens_details");
                write_count(out, "reasoning_tokens", usage.reasoning);
                out.push('}');
            }
        }
        Format::OpenaiResponses => {
            write_count(out, "input_tokens", Some(input));
            open_object(out, "input_tokens_details");
            write_count(out, "cached_tokens", Some(usage.cache_read.unwrap_or(0)));
            write_count(out, "cache_write_tokens", Some(usage.cache_written.unwrap_or(0)));
            out.push('}');
            write_count(out, "output_tokens", Some(output));
            open_object(out, "output_tokens_details");
            write_count(out, "reasoning_tokens", Some(usage.reasoning.unwrap_or(0)));
            out.push('}');
            write_count(out, "total_tokens", Some(total));
        }
        Format::Anthropic => {
            write_count(out, "input_tokens", Some(uncached));
            write_count(out, "cache_creation_input_tokens", usage.cache_written);
            write_count(out, "cache_read_input_tokens", usage.cache_read);
            write_count(out, "output_tokens", Some(output));
            if usage.reasoning.is_some() {
                open_object(out, "output_tokens_details");
                write_count(out, "thinking_tokens", usage.reasoning);
                out.push('}');
            }
        }
        Format::Gemini => {
            let reasoning = usage.reasoning.unwrap_or(0);
            write_count(out, "promptTokenCount", usage.input);
            write_count(out, "cachedContentTokenCount", usage.cache_read);
            let candidates = usage.output.map(|output| output.saturating_sub(reasoning));
            write_count(out, "candidatesTokenCount", candidates);
            write_count(out, "thoughtsTokenCount", usage.reasoning);
            write_count(out, "totalTokenCount", Some(total));
        }
        Format::GeminiInteractions => {
            let reasoning = usage.reasoning.unwrap_or(0);
            write_count(out, "total_input_tokens", usage.input);
            write_count(out, "total_cached_tokens", usage.cache_read);
            let visible = usage.output.map(|output| output.saturating_sub(reasoning));
            write_count(out, "total_output_tokens", visible);
            write_count(out, "total_thought_tokens", usage.reasoning);
            write_count(out, "total_tokens", Some(total));
        }
        Format::Bedrock => {
            write_count(out, "inputTokens", Some(uncached));
            write_count(out, "outputTokens", Some(output));
            write_count(out, "totalTokens", Some(total));
            write_count(out, "cacheReadInputTokens", usage.cache_read);
            write_count(out, "cacheWriteInputTokens", usage.cache_written);
        }
    }
    out.push('}');
}

/// Describes the known count that a format cannot represent.
pub(crate) fn unsupported_figure(format: Format, usage: &TokenUsage) -> Option<&'static str> {
    let is_known = |count: Option<u64>| count.is_some_and(|count| count > 0);
    match format {
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic => None,
        Format::Gemini | Format::GeminiInteractions => {
            is_known(usage.cache_written).then_some("the number of cache write tokens")
        }
        Format::Bedrock => is_known(usage.reasoning).then_some("the number of reasoning tokens"),
    }
}

fn sum_figures<const N: usize>(counts: [Option<u64>; N]) -> u64 {
    counts.into_iter().flatten().fold(0, u64::saturating_add)
}

fn write_count(out: &mut String, key: &str, figure: Option<u64>) {
    use std::fmt::Write as _;
    if let Some(figure) = figure {
        write_comma(out);
        let _ = write!(out, "\"{key}\":{figure}");
    }
}

fn open_object(out: &mut String, key: &str) {
    write_comma(out);
    out.push('"');
    out.push_str(key);
    out.push_str("\":{");
}

fn write_comma(out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_json::JsonTape;

    const WIRES: [Format; 6] = Format::ALL;

    fn parsed(format: Format, json: &str) -> TokenUsage {
        let tape = JsonTape::read(json).expect("JSON");
        read(format, &tape.root(json).object().expect("an object"))
    }

    fn written(format: Format, usage: &TokenUsage) -> String {
        let mut out = String::new();
        write(format, usage, &mut out);
        out
    }

    #[test]
    fn usage_round_trips_through_every_format() {
        let table = [
            r#"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"completion_tokens_details":{"reasoning_tokens":20}}"#,
            r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":150}"#,
            r#"{"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":60,"output_tokens":50,"output_tokens_details":{"thinking_tokens":20}}"#,
            r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":30,"thoughtsTokenCount":20,"totalTokenCount":150}"#,
            r#"{"inputTokens":10,"outputTokens":50,"totalTokens":150,"cacheReadInputTokens":60,"cacheWriteInputTokens":30}"#,
            r#"{"total_input_tokens":100,"total_cached_tokens":60,"total_output_tokens":30,"total_thought_tokens":20,"total_tokens":150}"#,
        ];
        let usage = TokenUsage {
            input: Some(100),
            output: Some(50),
            cache_read: Some(60),
            cache_written: Some(30),
            reasoning: Some(20),
        };
        for (wire, json) in WIRES.into_iter().zip(table) {
            assert_eq!(written(wire, &usage), json);
            let expected = TokenUsage {
                cache_written: usage
                    .cache_written
                    .filter(|_| !matches!(wire, Format::Gemini | Format::GeminiInteractions)),
                reasoning: usage.reasoning.filter(|_| wire != Format::Bedrock),
                ..usage
            };
            assert_eq!(parsed(wire, json), expected, "{wire:?}");
            assert_eq!(unsupported_figure(wire, &usage).is_some(), expected != usage, "{wire:?}");
        }
    }

    #[test]
    fn unknown_token_counts_are_omitted_or_zero() {
        let table = [
            r#"{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#,
            r#"{"input_tokens":0,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}"#,
            r#"{"input_tokens":0,"output_tokens":0}"#,
            r#"{"totalTokenCount":0}"#,
            r#"{"inputTokens":0,"outputTokens":0,"totalTokens":0}"#,
            r#"{"total_tokens":0}"#,
        ];
        for (format, json) in WIRES.into_iter().zip(table) {
            assert_eq!(written(format, &TokenUsage::default()), json);
            assert_eq!(parsed(format, "{}"), TokenUsage::default());
        }
    }

    #[test]
    fn contradictory_token_counts_are_accepted() {
        let usage = TokenUsage {
            input: Some(1),
            cache_read: Some(5),
            reasoning: Some(9),
            ..parsed(Format::Gemini, "{}")
        };
        assert_eq!(
            written(Format::Anthropic, &usage),
            r#"{"input_tokens":0,"cache_read_input_tokens":5,"output_tokens":0,"output_tokens_details":{"thinking_tokens":9}}"#
        );
        let odd = r#"{"input_tokens":18446744073709551615,"cache_read_input_tokens":9,"output_tokens":-3,"cache_creation_input_tokens":1.5}"#;
        let expected =
            TokenUsage { input: Some(u64::MAX), cache_read: Some(9), ..TokenUsage::default() };
        assert_eq!(parsed(Format::Anthropic, odd), expected);
    }

    #[test]
    fn token_counts_of_vendors_and_tools_are_included() {
        let deepseek =
            parsed(Format::OpenaiChat, r#"{"prompt_tokens":9,"prompt_cache_hit_tokens":4}"#);
        assert_eq!((deepseek.input, deepseek.cache_read), (Some(9), Some(4)));
        let searched =
            r#"{"promptTokenCount":9,"toolUsePromptTokenCount":4,"thoughtsTokenCount":2}"#;
        let searched = parsed(Format::Gemini, searched);
        assert_eq!(
            (searched.input, searched.output, searched.reasoning),
            (Some(13), Some(2), Some(2))
        );
    }
}
