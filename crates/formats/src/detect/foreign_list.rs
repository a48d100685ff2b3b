//! Lists of messages that are in no provider's format.

use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

use super::{scan_score, string_value};

/// A list of messages of which none is in a known format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignList {
    /// Messages of LangChain or LangGraph.
    LangChain,
    /// Messages of Pydantic AI.
    PydanticAi,
    /// Messages in the schema of OpenTelemetry's traces.
    OpenTelemetry,
    /// Any others.
    Other,
}

impl ForeignList {
    /// What the list is.
    pub fn describe(self) -> &'static str {
        match self {
            ForeignList::LangChain => "not a known format: these are messages of LangChain",
            ForeignList::PydanticAi => "not a known format: these are messages of Pydantic AI",
            ForeignList::OpenTelemetry => "not a known format: these are messages of a trace",
            ForeignList::Other => "not a known format: no message has a known role or type",
        }
    }

    /// What to do with it.
    pub fn advice(self) -> Option<&'static str> {
        match self {
            ForeignList::LangChain => Some(
                "`convert_to_openai_messages` in Python writes them in the format of Chat Completions",
            ),
            ForeignList::PydanticAi => {
                Some("`foxwedge.integrations.pydantic_ai` in Python repairs them")
            }
            ForeignList::OpenTelemetry => {
                Some("`foxwedge check FILE` reads such messages in an exported trace")
            }
            ForeignList::Other => None,
        }
    }
}

/// The list of messages in a document, if none of them is in a known format.
pub fn foreign_list(source: &str) -> Option<ForeignList> {
    let score = scan_score(source);
    score.is_unknown().then(|| score.library.unwrap_or(ForeignList::Other))
}

/// Whether LangChain gives a message this type.
pub(super) fn is_langchain_type(kind: &str) -> bool {
    const TYPES: [&str; 7] = ["human", "ai", "tool", "system", "function", "chat", "constructor"];
    kind.ends_with("MessageChunk") || TYPES.contains(&kind)
}

/// What the parts of a message say.
#[derive(Default)]
pub(super) struct PartSigns {
    /// One of them has a field of Gemini's parts.
    pub(super) known: bool,
    /// One of them names its type. Gemini's parts have none.
    pub(super) typed: bool,
    /// Who writes such parts.
    pub(super) library: Option<ForeignList>,
}

/// Reads the parts of a message.
pub(super) fn inspect_parts(scan: &mut JsonScanner<'_>, source: &str) -> ScanResult<PartSigns> {
    let mut signs = PartSigns::default();
    match scan.shape()? {
        JsonShape::Array => {
            scan.array(|scan, _| match scan.shape()? {
                JsonShape::Object => inspect_part(scan, source, &mut signs),
                _ => scan.skip().map(drop),
            })?;
        }
        // Google accepts a single part in place of the list.
        JsonShape::Object => inspect_part(scan, source, &mut signs)?,
        _ => drop(scan.skip()?),
    }
    Ok(signs)
}

fn inspect_part(scan: &mut JsonScanner<'_>, source: &str, signs: &mut PartSigns) -> ScanResult<()> {
    let mut has_content = false;
    let mut is_tool_part = false;
    scan.object(|scan, key, _| {
        let value = scan.skip()?;
        match key {
            b"part_kind" => {
                signs.typed = true;
                signs.library = Some(ForeignList::PydanticAi);
            }
            b"type" => {
                signs.typed = true;
                let kind = string_value(source, value);
                is_tool_part = matches!(&*kind, "tool_call" | "tool_call_response");
            }
            b"content" => has_content = true,
            key => signs.known |= is_gemini_field(key),
        }
        Ok(())
    })?;
    if signs.library.is_none() && signs.typed && (has_content || is_tool_part) {
        signs.library = Some(ForeignList::OpenTelemetry);
    }
    Ok(())
}

/// Whether a field is content in a part of Gemini.
fn is_gemini_field(key: &[u8]) -> bool {
    const FIELDS: [&str; 16] = [
        "text",
        "functionCall",
        "function_call",
        "functionResponse",
        "function_response",
        "inlineData",
        "inline_data",
        "fileData",
        "file_data",
        "executableCode",
        "executable_code",
        "codeExecutionResult",
        "code_execution_result",
        "toolCall",
        "toolResponse",
        "thoughtSignature",
    ];
    FIELDS.iter().any(|field| field.as_bytes() == key)
}
