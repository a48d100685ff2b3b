//! Reads the parts of a message.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, DraftAnswer, DraftCall, PartKind, Span, TextShape,
};
use foxwedge_formats::outline::{
    UniqueFields, read_non_empty, read_string, require_string, text_fullness,
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

use crate::values::is_true;

/// The fields of a part that matter for pairing.
pub(super) struct AiSdkPart<'a> {
    pub(super) span: Span,
    pub(super) kind: Cow<'a, str>,
    pub(super) text: TextShape,
    pub(super) call_id: Option<Cow<'a, str>>,
    pub(super) tool_name: Option<Cow<'a, str>>,
    pub(super) state: Option<Cow<'a, str>>,
    pub(super) output: Option<Span>,
    pub(super) error_text: Option<Span>,
    pub(super) provider_executed: bool,
    /// Whether it is a tool part of version 4, which holds its fields in an object. Its state is
    /// given as in later versions.
    pub(super) is_invocation: bool,
}

/// The object in a tool part of version 4.
pub(super) const INVOCATION: &str = "toolInvocation";

impl<'a> AiSdkPart<'a> {
    /// The call of this part.
    pub(super) fn call(&self, name: Option<Cow<'a, str>>) -> PartKind<'a> {
        if self.provider_executed {
            // The provider may deliver its result later.
            return PartKind::ServerCall(self.call_id.clone().map(Box::new));
        }
        PartKind::call(DraftCall {
            id: self.call_id.clone().into(),
            name: name.into(),
            family: CallFamily::Function,
            arguments: ArgumentsShape::Valid,
            signed: false,
            typed: true,
        })
    }

    /// A result of this part's call.
    pub(super) fn answer(&self, name: Option<Cow<'a, str>>, content: Option<Span>) -> PartKind<'a> {
        PartKind::answer(DraftAnswer {
            id: self.call_id.clone().into(),
            name: name.map(Box::new),
            family: CallFamily::Function,
            output: AnswerShape::Full,
            content: content.unwrap_or(Span::NOWHERE),
            media: false,
            foreign: false,
        })
    }
}

/// Reads a list of parts.
pub(super) fn read_parts<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<Vec<AiSdkPart<'a>>> {
    let mut parts = Vec::new();
    scan.array(|scan, _| match scan.shape()? {
        JsonShape::Object => {
            parts.push(read_part(scan, source)?);
            Ok(())
        }
        _ => scan.fail("a part is not an object"),
    })?;
    Ok(parts)
}

fn read_part<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<AiSdkPart<'a>> {
    const FIELDS: [&[u8]; 9] = [
        b"type",
        b"text",
        b"toolCallId",
        b"toolName",
        b"state",
        b"output",
        b"errorText",
        b"providerExecuted",
        INVOCATION.as_bytes(),
    ];
    let mut kind = None;
    let mut part = AiSdkPart {
        span: Span::NOWHERE,
        kind: Cow::Borrowed(""),
        text: TextShape::Empty,
        call_id: None,
        tool_name: None,
        state: None,
        output: None,
        error_text: None,
        provider_executed: false,
        is_invocation: false,
    };
    let mut invocation = None;
    let mut once = UniqueFields::default();
    part.span = scan.object(|scan, key, _| {
        once.check_known(scan, &FIELDS, key)?;
        match key {
            b"type" => kind = Some(require_string(scan, key)?),
            b"text" => {
                let text = read_string(scan)?;
                part.text = text.map_or(TextShape::Empty, |text| text_fullness(source, text));
            }
            b"toolCallId" => part.call_id = read_non_empty(scan, source)?,
            b"toolName" => part.tool_name = read_non_empty(scan, source)?,
            b"state" => part.state = read_non_empty(scan, source)?,
            b"output" => part.output = Some(scan.skip()?),
            b"errorText" => part.error_text = Some(scan.skip()?),
            b"providerExecuted" => part.provider_executed = is_true(scan, source)?,
            b"toolInvocation" if scan.shape()? == JsonShape::Object => {
                invocation = Some(read_invocation(scan, source)?);
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.fail("a part has no `type`") };
    part.kind = kind.text(source);
    Ok(match invocation.filter(|_| part.kind == "tool-invocation") {
        Some(invocation) => AiSdkPart { span: part.span, kind: part.kind, ..invocation },
        None => part,
    })
}

/// Reads the object in a tool part of version 4.
fn read_invocation<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<AiSdkPart<'a>> {
    let mut part = AiSdkPart {
        span: Span::NOWHERE,
        kind: Cow::Borrowed(""),
        text: TextShape::Empty,
        call_id: None,
        tool_name: None,
        state: None,
        output: None,
        error_text: None,
        provider_executed: false,
        is_invocation: true,
    };
    let mut once = UniqueFields::default();
    part.span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"toolCallId", b"toolName", b"state", b"result"], key)?;
        match key {
            b"toolCallId" => part.call_id = read_non_empty(scan, source)?,
            b"toolName" => part.tool_name = read_non_empty(scan, source)?,
            b"state" => part.state = read_non_empty(scan, source)?,
            b"result" => part.output = Some(scan.skip()?),
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    part.state = match part.state.as_deref() {
        Some("partial-call") => Some(Cow::Borrowed("input-streaming")),
        Some("call") => Some(Cow::Borrowed("input-available")),
        // The SDK looks for the field, which is missing if the tool returned nothing.
        Some("result") if part.output.is_none() => Some(Cow::Borrowed("input-available")),
        Some("result") => Some(Cow::Borrowed("output-available")),
        _ => None,
    };
    Ok(part)
}
