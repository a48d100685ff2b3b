//! Says in which wire format a document is written, and how sure that is.
//!
//! Looks at the keys of a request and at the first messages only: a large history is not read
//! twice.

use std::borrow::Cow;

use foxwedge_core::{Span, Wire};

use crate::json::{Scan, Scanner, Shape, elements, field};

/// A guess and how good it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detection {
    /// The format.
    pub wire: Wire,
    /// How sure.
    pub confidence: Confidence,
    /// What gave it away.
    pub reason: &'static str,
}

/// How sure a detection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Confidence {
    /// Several formats look like this; the most common one was taken.
    Guess,
    /// Typical of the format.
    Likely,
    /// Only this format looks like this.
    Certain,
}

impl Confidence {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Guess => "guess",
            Confidence::Likely => "likely",
            Confidence::Certain => "certain",
        }
    }
}

/// Messages looked at before we settle for what was seen.
const LOOK: usize = 400;

/// Points for each format; what only one format has weighs most.
#[derive(Default)]
struct Score {
    best: Option<Detection>,
    /// The formats whose list has the name that was found; none for a bare list.
    named: &'static [Wire],
    messages: usize,
    /// The model is a Claude.
    claude: bool,
}

impl Score {
    fn vote(&mut self, wire: Wire, confidence: Confidence, reason: &'static str) {
        let possible = self.named.is_empty() || self.named.contains(&wire);
        if possible && self.best.is_none_or(|best| best.confidence < confidence) {
            self.best = Some(Detection { wire, confidence, reason });
        }
    }

    fn is_settled(&self) -> bool {
        self.messages >= LOOK
            || self.best.is_some_and(|best| best.confidence == Confidence::Certain)
    }
}

/// Detects the format of a document; `None` if it looks like no conversation at all.
pub fn detect(source: &str) -> Option<Detection> {
    let mut score = Score::default();
    let mut scan = Scanner::new(source);
    // A broken document is reported by the reader; here the part before the break counts.
    let _ = document(&mut scan, source, &mut score);
    if score.claude && score.best.is_some_and(|best| best.confidence == Confidence::Guess) {
        score.vote(Wire::Anthropic, Confidence::Likely, "a Claude model");
    }
    score.best
}

fn document(scan: &mut Scanner<'_>, source: &str, score: &mut Score) -> Scan<()> {
    match scan.shape()? {
        Shape::Array => {
            messages(scan, source, score)?;
            if score.messages == 0 && score.best.is_none() && scan.position() > 0 {
                score.vote(Wire::OpenaiChat, Confidence::Guess, "an empty list");
            }
            Ok(())
        }
        Shape::Object => scan
            .object(|scan, key, _| match key {
                b"contents" if scan.shape()? == Shape::Array => {
                    score.named = &[Wire::Gemini];
                    score.vote(Wire::Gemini, Confidence::Likely, "a `contents` list");
                    messages(scan, source, score)?;
                    if score.is_settled() { done(scan) } else { Ok(()) }
                }
                b"input" if scan.shape()? == Shape::Array => {
                    score.named = &[Wire::OpenaiResponses];
                    score.vote(Wire::OpenaiResponses, Confidence::Likely, "an `input` list");
                    messages(scan, source, score)?;
                    if score.is_settled() { done(scan) } else { Ok(()) }
                }
                b"input" if scan.shape()? == Shape::String => {
                    score.vote(Wire::OpenaiResponses, Confidence::Guess, "an `input` text");
                    scan.skip().map(drop)
                }
                b"previous_response_id" => {
                    score.vote(Wire::OpenaiResponses, Confidence::Certain, "a field of Responses");
                    done(scan)
                }
                b"messages" if scan.shape()? == Shape::Array => {
                    score.named = &[Wire::OpenaiChat, Wire::Anthropic, Wire::Bedrock];
                    // What was seen before may speak of another kind of request.
                    score.best = score.best.filter(|best| score.named.contains(&best.wire));
                    score.vote(Wire::OpenaiChat, Confidence::Guess, "a `messages` list");
                    messages(scan, source, score)?;
                    if score.is_settled() { done(scan) } else { Ok(()) }
                }
                b"anthropic_version" | b"anthropic_beta" => {
                    score.vote(Wire::Anthropic, Confidence::Certain, "Anthropic's own field");
                    done(scan)
                }
                b"toolConfig" => {
                    // Gemini has a field of that name, too.
                    let value = scan.skip()?;
                    if field(source, value, "functionCallingConfig").is_some()
                        || field(source, value, "retrievalConfig").is_some()
                    {
                        score.vote(Wire::Gemini, Confidence::Likely, "a field of Gemini");
                        return Ok(());
                    }
                    score.vote(Wire::Bedrock, Confidence::Certain, "a field of Bedrock Converse");
                    done(scan)
                }
                b"inferenceConfig" | b"modelId" | b"additionalModelRequestFields" => {
                    score.vote(Wire::Bedrock, Confidence::Certain, "a field of Bedrock Converse");
                    done(scan)
                }
                b"systemInstruction" | b"system_instruction" | b"generationConfig" => {
                    score.vote(Wire::Gemini, Confidence::Likely, "a field of Gemini");
                    scan.skip().map(drop)
                }
                b"system" if scan.shape()? == Shape::Array => {
                    blocks(scan, source, score)?;
                    // Instructions of Anthropic's have a type, Bedrock's have none.
                    if score.best.is_none_or(|best| best.wire != Wire::Bedrock) {
                        score.vote(
                            Wire::Anthropic,
                            Confidence::Likely,
                            "a field of Anthropic requests",
                        );
                    }
                    Ok(())
                }
                b"tools" if scan.shape()? == Shape::Array => {
                    let value = scan.skip()?;
                    tools(source, value, score);
                    Ok(())
                }
                b"system" | b"stop_sequences" | b"top_k" => {
                    score.vote(
                        Wire::Anthropic,
                        Confidence::Likely,
                        "a field of Anthropic requests",
                    );
                    scan.skip().map(drop)
                }
                b"response_format"
                | b"max_completion_tokens"
                | b"parallel_tool_calls"
                | b"stream_options"
                | b"n" => {
                    score.vote(Wire::OpenaiChat, Confidence::Likely, "a field of chat requests");
                    scan.skip().map(drop)
                }
                b"model" => {
                    let value = scan.skip()?;
                    // Many serve Claude under OpenAI's format: any other sign outweighs the name.
                    if value.of(source).contains("claude") {
                        score.claude = true;
                    }
                    Ok(())
                }
                _ => scan.skip().map(drop),
            })
            .map(drop),
        _ => Ok(()),
    }
}

/// Looks at how tools are declared.
fn tools(source: &str, list: Span, score: &mut Score) {
    for tool in elements(source, list).into_iter().take(4) {
        let has = |key| field(source, tool, key).is_some();
        if has("function") || has("custom") {
            score.vote(Wire::OpenaiChat, Confidence::Certain, "tools of chat requests");
        } else if has("input_schema") {
            score.vote(Wire::Anthropic, Confidence::Certain, "tools with an `input_schema`");
        } else if has("functionDeclarations") || has("function_declarations") {
            score.vote(Wire::Gemini, Confidence::Certain, "declarations of functions");
        }
    }
}

/// Ends the look.
fn done(scan: &mut Scanner<'_>) -> Scan<()> {
    scan.trouble("settled")
}

fn messages(scan: &mut Scanner<'_>, source: &str, score: &mut Score) -> Scan<()> {
    scan.array(|scan, _| {
        if scan.shape()? != Shape::Object {
            return done(scan);
        }
        score.messages += 1;
        message(scan, source, score)?;
        if score.is_settled() { done(scan) } else { Ok(()) }
    })
    .map(drop)
}

fn message(scan: &mut Scanner<'_>, source: &str, score: &mut Score) -> Scan<()> {
    scan.object(|scan, key, _| {
        match key {
            b"parts" => score.vote(Wire::Gemini, Confidence::Certain, "messages with `parts`"),
            b"tool_calls" | b"tool_call_id" | b"function_call" | b"reasoning_content" => {
                score.vote(Wire::OpenaiChat, Confidence::Certain, "`tool_calls` and tool messages");
            }
            b"call_id" => {
                score.vote(Wire::OpenaiResponses, Confidence::Certain, "items with a `call_id`");
            }
            b"type" => {
                score.vote(Wire::OpenaiResponses, Confidence::Likely, "items with a `type`");
            }
            b"role" => {
                let value = scan.skip()?;
                match &*word(source, value) {
                    "tool" | "function" => {
                        score.vote(Wire::OpenaiChat, Confidence::Certain, "tool messages");
                    }
                    "developer" => {
                        score.vote(Wire::OpenaiChat, Confidence::Likely, "a developer message");
                    }
                    _ => score.vote(Wire::OpenaiChat, Confidence::Guess, "messages with a role"),
                }
                return Ok(());
            }
            b"content" if scan.shape()? == Shape::Array => return blocks(scan, source, score),
            _ => {}
        }
        scan.skip().map(drop)
    })
    .map(drop)
}

fn blocks(scan: &mut Scanner<'_>, source: &str, score: &mut Score) -> Scan<()> {
    scan.array(|scan, _| {
        if scan.shape()? != Shape::Object {
            return scan.skip().map(drop);
        }
        let mut typed = false;
        let mut text = false;
        scan.object(|scan, key, _| {
            let value = scan.skip()?;
            match key {
                b"type" => {
                    typed = true;
                    block(&word(source, value), score);
                }
                b"toolUse" | b"toolResult" | b"reasoningContent" | b"cachePoint" => {
                    score.vote(
                        Wire::Bedrock,
                        Confidence::Certain,
                        "`toolUse` and `toolResult` blocks",
                    );
                }
                b"text" => text = true,
                b"cache_control" => score.vote(Wire::Anthropic, Confidence::Likely, "cache marks"),
                _ => {}
            }
            Ok(())
        })?;
        if text && !typed {
            score.vote(Wire::Bedrock, Confidence::Likely, "text blocks without a type");
        }
        Ok(())
    })
    .map(drop)
}

/// What a string says, however it is spelled; any other value as it is.
fn word(source: &str, value: Span) -> Cow<'_, str> {
    let raw = value.of(source);
    if !raw.contains('\\') {
        return Cow::Borrowed(raw.trim_matches('"'));
    }
    let said = Scanner::within(source, value).string();
    said.map_or(Cow::Borrowed(raw), |text| text.text(source))
}

fn block(kind: &str, score: &mut Score) {
    match kind {
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "server_tool_use"
        | "mcp_tool_use" | "document" | "image" => {
            score.vote(Wire::Anthropic, Confidence::Certain, "`tool_use` and `tool_result` blocks");
        }
        "input_text" | "output_text" | "input_image" | "input_file" => {
            score.vote(Wire::OpenaiResponses, Confidence::Certain, "Responses content");
        }
        "image_url" | "input_audio" | "refusal" => {
            score.vote(Wire::OpenaiChat, Confidence::Certain, "chat content parts");
        }
        "text" => score.vote(Wire::OpenaiChat, Confidence::Guess, "text parts"),
        _ => {}
    }
}
