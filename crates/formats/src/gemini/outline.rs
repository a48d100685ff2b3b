//! Reads the outline of a Gemini content.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    OptionalText, PartKind, Role, SignatureState, Span, TextShape,
};

use crate::outline::{
    OutlineReader, UniqueFields, read_non_empty, read_object_arguments, read_output, read_role,
    read_string, read_text, read_unknown_field, skip_null,
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

fn known_role(role: &str) -> Option<Role> {
    Some(match role {
        "user" | "function" | "tool" => Role::User,
        "model" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    })
}

/// Reads one content.
pub(crate) fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut unique = UniqueFields::default();
    // The role is optional and defaults to the user.
    let mut role = Role::User;
    let mut content = ContentShape::Absent;
    let mut flags = MessageFlags::default();
    let mut other_flags = MessageFlags::default();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                unique.check(scan, 0, key)?;
                if scan.shape()? == JsonShape::Null {
                    scan.skip()?;
                } else {
                    (role, flags) = read_role(scan, source, known_role)?;
                }
            }
            b"parts" => {
                unique.check(scan, 1, key)?;
                content = match scan.shape()? {
                    JsonShape::Array => {
                        scan.array(|scan, _| match scan.shape()? {
                            JsonShape::Object => read_part(scan, reader),
                            _ => scan.fail("a part is not an object"),
                        })?;
                        ContentShape::List
                    }
                    // Google accepts a single part in place of the list.
                    JsonShape::Object => {
                        read_part(scan, reader)?;
                        ContentShape::List
                    }
                    JsonShape::Null => scan.skip().map(|_| ContentShape::Null)?,
                    _ => return scan.fail("`parts` is not a list"),
                };
            }
            _ => read_unknown_field(scan, key, &mut other_flags)?,
        }
        Ok(())
    })?;
    reader.builder.push_message(role, span, content, flags.with(other_flags));
    Ok(())
}

/// Reads one part.
pub fn read_part<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let source = reader.source;
    let mut unique = UniqueFields::default();
    let mut shape = None;
    let (mut thought, mut signed) = (false, false);
    // A part that is several things at once is a result first, then a call, whatever their order.
    let (mut call, mut answer, mut media) = (None, None, None);
    let mut other = PartKind::Other;
    let span = scan.object(|scan, key, _| {
        match key {
            b"text" => {
                unique.check(scan, 0, key)?;
                shape = read_text(scan, source, key)?;
            }
            b"thought" => thought = scan.skip()?.of(source) == "true",
            b"thoughtSignature" | b"thought_signature" => {
                unique.check(scan, 1, key)?;
                signed = read_string(scan)?.is_some_and(|text| !text.span.is_empty());
            }
            b"functionCall" | b"function_call" => {
                unique.check(scan, 2, key)?;
                if !skip_null(scan)? {
                    call = Some(read_call(scan, source)?);
                }
            }
            b"functionResponse" | b"function_response" => {
                unique.check(scan, 3, key)?;
                if !skip_null(scan)? {
                    answer = Some(PartKind::answer(read_result(scan, source)?));
                }
            }
            b"inlineData" | b"inline_data" | b"fileData" | b"file_data" => {
                if !skip_null(scan)? {
                    scan.skip()?;
                    media = Some(PartKind::Media);
                }
            }
            b"videoMetadata" | b"video_metadata" | b"mediaResolution" | b"media_resolution"
            | b"partMetadata" | b"part_metadata" => drop(scan.skip()?),
            b"executableCode"
            | b"executable_code"
            | b"codeExecutionResult"
            | b"code_execution_result"
            | b"toolCall"
            | b"tool_call"
            | b"toolResponse"
            | b"tool_response"
            | b"audioTranscription"
            | b"audio_transcription" => drop(scan.skip()?),
            _ => {
                if !skip_null(scan)? {
                    scan.skip()?;
                    other = PartKind::Unknown;
                }
            }
        }
        Ok(())
    })?;
    let call = call.map(|call| PartKind::call(DraftCall { signed, ..call }));
    let kind = match (answer.or(call).or(media), shape) {
        (Some(kind), _) => kind,
        (None, _) if thought => PartKind::Reasoning(SignatureState::Plain),
        (None, Some(TextShape::Empty)) if signed => PartKind::Text(TextShape::Signature),
        (None, Some(shape)) => PartKind::Text(shape),
        (None, None) => other,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}

fn read_call<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<DraftCall<'a>> {
    if scan.shape()? != JsonShape::Object {
        return scan.fail("`functionCall` is not an object");
    }
    let mut unique = UniqueFields::default();
    // Arguments are optional.
    let mut call = DraftCall {
        id: OptionalText::NONE,
        name: OptionalText::NONE,
        family: CallFamily::Function,
        arguments: ArgumentsShape::Valid,
        signed: false,
        typed: true,
    };
    scan.object(|scan, key, _| {
        match key {
            b"id" => {
                unique.check(scan, 0, key)?;
                call.id = read_non_empty(scan, source)?.into();
            }
            b"name" => {
                unique.check(scan, 1, key)?;
                call.name = read_non_empty(scan, source)?.into();
            }
            b"args" => {
                unique.check(scan, 2, key)?;
                call.arguments = read_object_arguments(scan)?;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(call)
}

fn read_result<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<DraftAnswer<'a>> {
    if scan.shape()? != JsonShape::Object {
        return scan.fail("`functionResponse` is not an object");
    }
    let mut unique = UniqueFields::default();
    let mut answer = DraftAnswer {
        id: OptionalText::NONE,
        name: None,
        family: CallFamily::Function,
        output: AnswerShape::Missing,
        content: Span::NOWHERE,
        media: false,
        foreign: false,
    };
    scan.object(|scan, key, _| {
        match key {
            b"id" => {
                unique.check(scan, 0, key)?;
                answer.id = read_non_empty(scan, source)?.into();
            }
            b"name" => {
                unique.check(scan, 1, key)?;
                answer.name = read_non_empty(scan, source)?.map(Box::new);
            }
            b"response" => {
                unique.check(scan, 2, key)?;
                let object = matches!(scan.shape()?, JsonShape::Object | JsonShape::Null);
                (answer.output, answer.content) = read_output(scan)?;
                // A Gemini tool result is an object, which may be empty.
                answer.output = match answer.output {
                    AnswerShape::Null => AnswerShape::Null,
                    _ if object => AnswerShape::Full,
                    _ => AnswerShape::Malformed,
                };
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(answer)
}
