//! What the content of a message says about its format.

use std::borrow::Cow;

use foxwedge_core::Format;
use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

use super::{DetectionConfidence, DetectionScore, string_value};

/// Votes by the blocks of a list of content.
pub(super) fn inspect_blocks(
    scan: &mut JsonScanner<'_>,
    source: &str,
    score: &mut DetectionScore,
) -> ScanResult<()> {
    scan.array(|scan, _| {
        if scan.shape()? != JsonShape::Object {
            return scan.skip().map(drop);
        }
        let mut typed = false;
        let mut text = false;
        let mut thought_parts = false;
        let mut kind = Cow::Borrowed("");
        let scanned = scan.object(|scan, key, _| {
            let value = scan.skip()?;
            match key {
                b"type" => {
                    typed = true;
                    kind = string_value(source, value);
                }
                b"toolUse" | b"toolResult" | b"reasoningContent" | b"cachePoint" => {
                    score.vote(
                        Format::Bedrock,
                        DetectionConfidence::Certain,
                        "`toolUse` and `toolResult` blocks",
                    );
                }
                b"text" => text = true,
                // Mistral's thinking is a list of parts.
                b"thinking" => thought_parts = value.of(source).starts_with('['),
                b"cache_control" => score.cache_marks = true,
                _ => {}
            }
            Ok(())
        });
        match &*kind {
            "thinking" if thought_parts => {
                score.vote(Format::OpenaiChat, DetectionConfidence::Certain, "thinking in parts");
            }
            kind => vote_block(kind, score),
        }
        if text && !typed {
            score.vote(Format::Bedrock, DetectionConfidence::Likely, "text blocks without a type");
        }
        scanned.map(drop)
    })
    .map(drop)
}

fn vote_block(kind: &str, score: &mut DetectionScore) {
    match kind {
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "server_tool_use"
        | "mcp_tool_use" | "document" | "image" => {
            score.vote(
                Format::Anthropic,
                DetectionConfidence::Certain,
                "`tool_use` and `tool_result` blocks",
            );
        }
        "input_text" | "output_text" | "input_image" | "input_file" => {
            score.vote(Format::OpenaiResponses, DetectionConfidence::Certain, "Responses content");
        }
        "image_url" | "input_audio" | "refusal" => {
            score.vote(Format::OpenaiChat, DetectionConfidence::Certain, "chat content parts");
        }
        "function_result" => score.vote(
            Format::GeminiInteractions,
            DetectionConfidence::Certain,
            "results of functions",
        ),
        "text" => score.vote(Format::OpenaiChat, DetectionConfidence::Guess, "text parts"),
        _ => {}
    }
}
