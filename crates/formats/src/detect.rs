//! Detects the format of a document and how certain that is.
//!
//! Reads only the keys of a request and its first messages, so that a large history is not read
//! twice.

mod blocks;
mod foreign_list;
mod message;

use std::borrow::Cow;

use foxwedge_core::{Format, Span};

use blocks::inspect_blocks;
pub use foreign_list::{ForeignList, foreign_list};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, array_elements, field_text, field_value};
use message::inspect_message;

/// A detected format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatDetection {
    /// The format.
    pub wire: Format,
    /// How certain the detection is.
    pub confidence: DetectionConfidence,
    /// The sign that decided it.
    pub reason: &'static str,
}

/// How certain a detection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum DetectionConfidence {
    /// Several formats look like this; this is the most common one.
    Guess,
    /// Typical of the format.
    Likely,
    /// Only this format looks like this.
    Certain,
}

impl DetectionConfidence {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            DetectionConfidence::Guess => "guess",
            DetectionConfidence::Likely => "likely",
            DetectionConfidence::Certain => "certain",
        }
    }
}

/// Maximum number of messages to inspect.
const MAX_MESSAGES: usize = 400;

/// The formats, from the most specific to the most common: of equal signs, the first one counts.
const FORMATS: [Format; 6] = [
    Format::GeminiInteractions,
    Format::Bedrock,
    Format::Anthropic,
    Format::Gemini,
    Format::OpenaiResponses,
    Format::OpenaiChat,
];

/// The formats that use a list named `messages`, `input` and `contents`. Of several lists, the first
/// one counts.
const LISTS: [&[Format]; 3] = [
    &[Format::OpenaiChat, Format::Anthropic, Format::Bedrock],
    &[Format::OpenaiResponses, Format::GeminiInteractions],
    &[Format::Gemini],
];
const MESSAGES_LIST: usize = 0;
const INPUT_LIST: usize = 1;
const CONTENTS_LIST: usize = 2;

/// The strongest sign of each format. The order of an object's fields does not matter.
#[derive(Default)]
struct DetectionScore {
    signs: [Option<(DetectionConfidence, &'static str)>; FORMATS.len()],
    /// The list that was found, unless it is the whole document.
    list: Option<usize>,
    messages: usize,
    /// The model is a Claude model.
    claude: bool,
    /// The name of the model begins with that of a provider, as routers in OpenAI's format name it.
    routed: bool,
    /// The model is a Gemini model.
    gemini: bool,
    /// A value that is no list stands in the place of the list named `input`.
    single_input: bool,
    /// The list begins with a system message, which Anthropic never accepts there.
    leading_system: bool,
    /// Parts have cache marks. Servers that offer Claude in OpenAI's format take them, too.
    cache_marks: bool,
    /// A message may be one of a format.
    has_known: bool,
    /// A message is one of no format.
    has_unknown: bool,
    /// The library that writes such messages.
    library: Option<ForeignList>,
}

impl DetectionScore {
    fn vote(&mut self, format: Format, confidence: DetectionConfidence, reason: &'static str) {
        let slots = FORMATS.iter().zip(&mut self.signs);
        for (_, sign) in slots.filter(|(known, _)| **known == format) {
            if sign.is_none_or(|(known, _)| known < confidence) {
                *sign = Some((confidence, reason));
            }
        }
    }

    fn best(&self) -> Option<FormatDetection> {
        let list = self.list.or(self.single_input.then_some(INPUT_LIST));
        let mut best: Option<FormatDetection> = None;
        for (&wire, sign) in FORMATS.iter().zip(&self.signs) {
            let possible = list.is_none_or(|list| LISTS[list].contains(&wire));
            if let Some((confidence, reason)) = sign.filter(|_| possible)
                && best.is_none_or(|best| best.confidence < confidence)
            {
                best = Some(FormatDetection { wire, confidence, reason });
            }
        }
        best
    }

    fn is_certain(&self) -> bool {
        self.best().is_some_and(|best| best.confidence == DetectionConfidence::Certain)
    }

    /// Whether the rest of the list need not be read.
    fn is_settled(&self) -> bool {
        self.messages >= MAX_MESSAGES || self.is_certain() && !self.is_unknown()
    }

    /// Whether the list has messages, and none of them is one of a format.
    fn is_unknown(&self) -> bool {
        self.has_unknown && !self.has_known
    }
}

/// Detects the format of a document. `None` if it does not look like a conversation.
pub fn detect(source: &str) -> Option<FormatDetection> {
    let mut score = scan_score(source);
    if score.is_unknown() {
        return None;
    }
    if score.cache_marks && !score.leading_system {
        score.vote(Format::Anthropic, DetectionConfidence::Likely, "cache marks");
    }
    if score.claude
        && !(score.leading_system && score.routed)
        && score.best().is_some_and(|it| it.confidence == DetectionConfidence::Guess)
    {
        score.vote(Format::Anthropic, DetectionConfidence::Likely, "a Claude model");
    }
    let has_input = score.single_input || score.list == Some(INPUT_LIST);
    if score.gemini && has_input && score.messages == 0 {
        score.vote(Format::GeminiInteractions, DetectionConfidence::Likely, "a Gemini model");
    }
    score.best()
}

fn scan_score(source: &str) -> DetectionScore {
    let mut score = DetectionScore::default();
    let mut scan = JsonScanner::new(source);
    // A broken document is reported by the reader; here the part before the break counts.
    let _ = inspect_document(&mut scan, source, &mut score);
    score
}

fn inspect_document(
    scan: &mut JsonScanner<'_>,
    source: &str,
    score: &mut DetectionScore,
) -> ScanResult<()> {
    match scan.shape()? {
        JsonShape::Array => {
            inspect_messages(scan, source, score)?;
            if score.messages == 0 && score.best().is_none() && scan.position() > 0 {
                score.vote(Format::OpenaiChat, DetectionConfidence::Guess, "an empty list");
            }
            Ok(())
        }
        JsonShape::Object => scan
            .object(|scan, key, _| {
                inspect_field(scan, source, score, key)?;
                // Until the list is found, a certain sign may be one of an impossible format.
                let stops = score.list.is_some() && score.is_settled();
                if stops { stop_scan(scan) } else { Ok(()) }
            })
            .map(drop),
        _ => Ok(()),
    }
}

fn inspect_field(
    scan: &mut JsonScanner<'_>,
    source: &str,
    score: &mut DetectionScore,
    key: &[u8],
) -> ScanResult<()> {
    use DetectionConfidence::{Certain, Guess, Likely};
    let shape = scan.shape()?;
    let list = match key {
        b"messages" => Some((MESSAGES_LIST, Format::OpenaiChat, Guess, "a `messages` list")),
        b"input" => Some((INPUT_LIST, Format::OpenaiResponses, Likely, "an `input` list")),
        b"contents" => Some((CONTENTS_LIST, Format::Gemini, Likely, "a `contents` list")),
        _ => None,
    };
    if let Some((list, format, confidence, reason)) = list.filter(|_| shape == JsonShape::Array) {
        score.list = Some(score.list.map_or(list, |known| known.min(list)));
        score.vote(format, confidence, reason);
        return inspect_messages(scan, source, score);
    }
    if key == b"system" && shape == JsonShape::Array {
        // Anthropic's system blocks have a type, Bedrock's have none.
        inspect_blocks(scan, source, score)?;
        score.vote(Format::Anthropic, Likely, "a field of Anthropic requests");
        return Ok(());
    }
    let value = scan.skip()?;
    match key {
        b"input" if shape == JsonShape::String => {
            score.single_input = true;
            score.vote(Format::OpenaiResponses, Guess, "an `input` text");
        }
        b"input" if is_content(source, value) => {
            score.single_input = true;
            score.vote(Format::GeminiInteractions, Likely, "one piece of content as `input`");
        }
        // Google accepts one content in place of the list.
        b"contents" if field_value(source, value, "parts").is_some() => {
            score.list = Some(score.list.map_or(CONTENTS_LIST, |known| known.min(CONTENTS_LIST)));
            score.vote(Format::Gemini, Likely, "one content as `contents`");
        }
        b"previous_interaction_id" | b"continuation_token" => {
            score.vote(Format::GeminiInteractions, Certain, "a field of Interactions");
        }
        b"generation_config" | b"agent_config" | b"response_modalities" => {
            score.vote(Format::GeminiInteractions, Likely, "a field of Interactions");
            score.vote(Format::Gemini, Likely, "a field of Gemini");
        }
        b"previous_response_id" => {
            score.vote(Format::OpenaiResponses, Certain, "a field of Responses");
        }
        b"anthropic_version" | b"anthropic_beta" => {
            score.vote(Format::Anthropic, Certain, "Anthropic's own field");
        }
        // Gemini also has a field of that name.
        b"toolConfig"
            if ["functionCallingConfig", "retrievalConfig"]
                .iter()
                .any(|field| field_value(source, value, field).is_some()) =>
        {
            score.vote(Format::Gemini, Likely, "a field of Gemini");
        }
        b"toolConfig" | b"inferenceConfig" | b"modelId" | b"additionalModelRequestFields" => {
            score.vote(Format::Bedrock, Certain, "a field of Bedrock Converse");
        }
        b"systemInstruction" | b"system_instruction" | b"generationConfig" => {
            score.vote(Format::Gemini, Likely, "a field of Gemini");
            if key == b"system_instruction" {
                score.vote(Format::GeminiInteractions, Likely, "a field of Interactions");
            }
        }
        b"tools" if shape == JsonShape::Array => {
            for tool in array_elements(source, value).into_iter().take(4) {
                inspect_tool(source, tool, score);
            }
        }
        b"tools" if shape == JsonShape::Object => inspect_tool(source, value, score),
        b"system" | b"stop_sequences" | b"top_k" => {
            score.vote(Format::Anthropic, Likely, "a field of Anthropic requests");
        }
        b"response_format"
        | b"max_completion_tokens"
        | b"parallel_tool_calls"
        | b"stream_options"
        | b"n" => score.vote(Format::OpenaiChat, Likely, "a field of chat requests"),
        // Many servers offer Claude in OpenAI's format, so any other sign outweighs the name.
        b"model" => {
            score.claude |= value.of(source).contains("claude");
            score.routed |= value.of(source).contains('/');
            score.gemini |= value.of(source).contains("gemini");
        }
        _ => {}
    }
    Ok(())
}

/// Votes by how a tool is declared.
fn inspect_tool(source: &str, tool: Span, score: &mut DetectionScore) {
    use DetectionConfidence::Certain;
    let has = |key| field_value(source, tool, key).is_some();
    if has("function") || has("custom") {
        score.vote(Format::OpenaiChat, Certain, "tools of chat requests");
    } else if has("input_schema") {
        score.vote(Format::Anthropic, Certain, "tools with an `input_schema`");
    } else if has("functionDeclarations") || has("function_declarations") {
        score.vote(Format::Gemini, Certain, "declarations of functions");
    } else if has_google_type(source, tool) {
        score.vote(Format::GeminiInteractions, Certain, "tools of Interactions");
    }
}

/// Ends the scan early, as an error that the caller ignores.
fn stop_scan(scan: &mut JsonScanner<'_>) -> ScanResult<()> {
    scan.fail("settled")
}

fn inspect_messages(
    scan: &mut JsonScanner<'_>,
    source: &str,
    score: &mut DetectionScore,
) -> ScanResult<()> {
    scan.array(|scan, _| {
        if scan.shape()? != JsonShape::Object {
            return stop_scan(scan);
        }
        score.messages += 1;
        inspect_message(scan, source, score)?;
        if score.is_settled() { stop_scan(scan) } else { Ok(()) }
    })
    .map(drop)
}

/// Whether a value is one piece of content of Gemini Interactions.
fn is_content(source: &str, value: Span) -> bool {
    let kind = field_text(source, value, "type");
    matches!(kind.as_deref(), Some("text" | "image" | "audio" | "document" | "video"))
}

/// Whether the type of a tool is one that only Gemini Interactions uses.
fn has_google_type(source: &str, tool: Span) -> bool {
    let kind = field_text(source, tool, "type");
    matches!(kind.as_deref(), Some("google_search" | "google_maps" | "url_context" | "mcp_server"))
}

/// The unescaped text of a string; the raw JSON of any other value.
fn string_value(source: &str, value: Span) -> Cow<'_, str> {
    let raw = value.of(source);
    if !raw.contains('\\') {
        return Cow::Borrowed(raw.trim_matches('"'));
    }
    let string = JsonScanner::within(source, value).string();
    string.map_or(Cow::Borrowed(raw), |text| text.text(source))
}
