//! What an answer cost, in the figures of every format.
//!
//! Formats disagree about what a figure includes. Ours include everything: cached input is input,
//! reasoning is output.

use foxwedge_core::Wire;

use super::Usage;
use crate::json::Object;

/// Reads a format's object of figures.
pub(crate) fn read(wire: Wire, usage: &Object<'_, '_>) -> Usage {
    let inner = |object: &str, key: &str| usage.object(object)?.count(key);
    match wire {
        Wire::OpenaiChat => Usage {
            input: usage.count("prompt_tokens"),
            output: usage.count("completion_tokens"),
            cached: inner("prompt_tokens_details", "cached_tokens")
                // Vendors' own: DeepSeek, Moonshot.
                .or_else(|| usage.count("prompt_cache_hit_tokens"))
                .or_else(|| usage.count("cached_tokens")),
            stored: inner("prompt_tokens_details", "cache_write_tokens"),
            reasoning: inner("completion_tokens_details", "reasoning_tokens"),
        },
        Wire::OpenaiResponses => Usage {
            input: usage.count("input_tokens"),
            output: usage.count("output_tokens"),
            cached: inner("input_tokens_details", "cached_tokens"),
            stored: inner("input_tokens_details", "cache_write_tokens"),
            reasoning: inner("output_tokens_details", "reasoning_tokens"),
        },
        Wire::Anthropic => {
            let cached = usage.count("cache_read_input_tokens");
            let stored = usage.count("cache_creation_input_tokens");
            Usage {
                input: usage.count("input_tokens").map(|fresh| sum([Some(fresh), cached, stored])),
                output: usage.count("output_tokens"),
                cached,
                stored,
                reasoning: inner("output_tokens_details", "thinking_tokens"),
            }
        }
        Wire::Gemini => {
            let prompt = usage.count("promptTokenCount");
            let said = usage.count("candidatesTokenCount");
            let reasoning = usage.count("thoughtsTokenCount");
            Usage {
                input: prompt.map(|_| sum([prompt, usage.count("toolUsePromptTokenCount")])),
                output: said.or(reasoning).map(|_| sum([said, reasoning])),
                cached: usage.count("cachedContentTokenCount"),
                stored: None,
                reasoning,
            }
        }
        Wire::Bedrock => {
            let cached = usage.count("cacheReadInputTokens");
            let stored = usage.count("cacheWriteInputTokens");
            Usage {
                input: usage.count("inputTokens").map(|fresh| sum([Some(fresh), cached, stored])),
                output: usage.count("outputTokens"),
                cached,
                stored,
                reasoning: None,
            }
        }
    }
}

/// Adds a format's object of figures. Where a format insists on a figure that nobody knows, it is
/// zero.
pub(crate) fn write(wire: Wire, usage: &Usage, out: &mut String) {
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    let fresh = input.saturating_sub(sum([usage.cached, usage.stored]));
    let total = input.saturating_add(output);
    out.push('{');
    match wire {
        Wire::OpenaiChat => {
            count(out, "prompt_tokens", Some(input));
            count(out, "completion_tokens", Some(output));
            count(out, "total_tokens", Some(total));
            if usage.cached.is_some() || usage.stored.is_some() {
                open(out, "prompt_tokens_details");
                count(out, "cached_tokens", usage.cached);
                count(out, "cache_write_tokens", usage.stored);
                out.push('}');
            }
            if usage.reasoning.is_some() {
                open(out, "completion_tokens_details");
                count(out, "reasoning_tokens", usage.reasoning);
                out.push('}');
            }
        }
        Wire::OpenaiResponses => {
            count(out, "input_tokens", Some(input));
            open(out, "input_tokens_details");
            count(out, "cached_tokens", Some(usage.cached.unwrap_or(0)));
            count(out, "cache_write_tokens", Some(usage.stored.unwrap_or(0)));
            out.push('}');
            count(out, "output_tokens", Some(output));
            open(out, "output_tokens_details");
            count(out, "reasoning_tokens", Some(usage.reasoning.unwrap_or(0)));
            out.push('}');
            count(out, "total_tokens", Some(total));
        }
        Wire::Anthropic => {
            count(out, "input_tokens", Some(fresh));
            count(out, "cache_creation_input_tokens", usage.stored);
            count(out, "cache_read_input_tokens", usage.cached);
            count(out, "output_tokens", Some(output));
            if usage.reasoning.is_some() {
                open(out, "output_tokens_details");
                count(out, "thinking_tokens", usage.reasoning);
                out.push('}');
            }
        }
        Wire::Gemini => {
            let reasoning = usage.reasoning.unwrap_or(0);
            count(out, "promptTokenCount", usage.input);
            count(out, "cachedContentTokenCount", usage.cached);
            let said = usage.output.map(|output| output.saturating_sub(reasoning));
            count(out, "candidatesTokenCount", said);
            count(out, "thoughtsTokenCount", usage.reasoning);
            count(out, "totalTokenCount", Some(total));
        }
        Wire::Bedrock => {
            count(out, "inputTokens", Some(fresh));
            count(out, "outputTokens", Some(output));
            count(out, "totalTokens", Some(total));
            count(out, "cacheReadInputTokens", usage.cached);
            count(out, "cacheWriteInputTokens", usage.stored);
        }
    }
    out.push('}');
}

/// What the figure says that has no place in a format.
pub(crate) fn unsaid(wire: Wire, usage: &Usage) -> Option<&'static str> {
    let says = |figure: Option<u64>| figure.is_some_and(|figure| figure > 0);
    match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic => None,
        Wire::Gemini => says(usage.stored).then_some("what was put into a cache"),
        Wire::Bedrock => says(usage.reasoning).then_some("how much of the output is reasoning"),
    }
}

fn sum<const N: usize>(figures: [Option<u64>; N]) -> u64 {
    figures.into_iter().flatten().fold(0, u64::saturating_add)
}

fn count(out: &mut String, key: &str, figure: Option<u64>) {
    use std::fmt::Write as _;
    if let Some(figure) = figure {
        comma(out);
        let _ = write!(out, "\"{key}\":{figure}");
    }
}

fn open(out: &mut String, key: &str) {
    comma(out);
    out.push('"');
    out.push_str(key);
    out.push_str("\":{");
}

fn comma(out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Tape;

    const WIRES: [Wire; 5] =
        [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Gemini, Wire::Bedrock];

    fn told(wire: Wire, json: &str) -> Usage {
        let tape = Tape::read(json).expect("JSON");
        read(wire, &tape.root(json).object().expect("an object"))
    }

    fn written(wire: Wire, usage: &Usage) -> String {
        let mut out = String::new();
        write(wire, usage, &mut out);
        out
    }

    #[test]
    fn the_same_cost_in_the_figures_of_every_format() {
        let table = [
            r#"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"completion_tokens_details":{"reasoning_tokens":20}}"#,
            r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":150}"#,
            r#"{"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":60,"output_tokens":50,"output_tokens_details":{"thinking_tokens":20}}"#,
            r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":30,"thoughtsTokenCount":20,"totalTokenCount":150}"#,
            r#"{"inputTokens":10,"outputTokens":50,"totalTokens":150,"cacheReadInputTokens":60,"cacheWriteInputTokens":30}"#,
        ];
        let usage = Usage {
            input: Some(100),
            output: Some(50),
            cached: Some(60),
            stored: Some(30),
            reasoning: Some(20),
        };
        for (wire, json) in WIRES.into_iter().zip(table) {
            assert_eq!(written(wire, &usage), json);
            let expected = Usage {
                stored: usage.stored.filter(|_| wire != Wire::Gemini),
                reasoning: usage.reasoning.filter(|_| wire != Wire::Bedrock),
                ..usage
            };
            assert_eq!(told(wire, json), expected, "{wire:?}");
            assert_eq!(unsaid(wire, &usage).is_some(), expected != usage, "{wire:?}");
        }
    }

    #[test]
    fn figures_that_nobody_knows_are_left_out_or_zero() {
        let table = [
            r#"{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#,
            r#"{"input_tokens":0,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}"#,
            r#"{"input_tokens":0,"output_tokens":0}"#,
            r#"{"totalTokenCount":0}"#,
            r#"{"inputTokens":0,"outputTokens":0,"totalTokens":0}"#,
        ];
        for (wire, json) in WIRES.into_iter().zip(table) {
            assert_eq!(written(wire, &Usage::default()), json);
            assert_eq!(told(wire, "{}"), Usage::default());
        }
    }

    #[test]
    fn figures_that_contradict_each_other_do_no_harm() {
        let usage = Usage {
            input: Some(1),
            cached: Some(5),
            reasoning: Some(9),
            ..told(Wire::Gemini, "{}")
        };
        assert_eq!(
            written(Wire::Anthropic, &usage),
            r#"{"input_tokens":0,"cache_read_input_tokens":5,"output_tokens":0,"output_tokens_details":{"thinking_tokens":9}}"#
        );
        let odd = r#"{"input_tokens":18446744073709551615,"cache_read_input_tokens":9,"output_tokens":-3,"cache_creation_input_tokens":1.5}"#;
        let expected = Usage { input: Some(u64::MAX), cached: Some(9), ..Usage::default() };
        assert_eq!(told(Wire::Anthropic, odd), expected);
    }

    #[test]
    fn figures_of_single_vendors_and_of_tools_count() {
        let deepseek = told(Wire::OpenaiChat, r#"{"prompt_tokens":9,"prompt_cache_hit_tokens":4}"#);
        assert_eq!((deepseek.input, deepseek.cached), (Some(9), Some(4)));
        let searched =
            r#"{"promptTokenCount":9,"toolUsePromptTokenCount":4,"thoughtsTokenCount":2}"#;
        let searched = told(Wire::Gemini, searched);
        assert_eq!(
            (searched.input, searched.output, searched.reasoning),
            (Some(13), Some(2), Some(2))
        );
    }
}
