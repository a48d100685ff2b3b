//! Outlines a Gemini content.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    OptionalText, PartKind, Role, SignatureState, Span, TextShape,
};

use crate::{
    json::{JsonScanner, JsonShape, ScanResult},
    outline::{
        OutlineReader, UniqueFields, read_non_empty, read_object_arguments, read_output, read_role,
        read_string, read_text, read_unknown_field, skip_null,
    },
};

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
    let mut once = UniqueFields::default();
    // The role may be left out, and is the user's then.
    let mut who = Role::User;
    let mut content = ContentShape::Absent;
    let mut marks = MessageFlags::default();
    let mut other = MessageFlags::default();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                once.check(scan, 0, key)?;
                if scan.shape()? == JsonShape::Null {
                    scan.skip()?;
                } else {
                    (who, marks) = read_role(scan, source, known_role)?;
                }
            }
            b"parts" => {
                once.check(scan, 1, key)?;
                content = match scan.shape()? {
                    JsonShape::Array => {
                        scan.array(|scan, _| match scan.shape()? {
                            JsonShape::Object => read_part(scan, reader),
                            _ => scan.fail("a part is not an object"),
                        })?;
                        ContentShape::List
                    }
                    JsonShape::Null => scan.skip().map(|_| ContentShape::Null)?,
                    _ => return scan.fail("`parts` is not a list"),
                };
            }
            _ => read_unknown_field(scan, key, &mut other)?,
        }
        Ok(())
    })?;
    reader.builder.push_message(who, span, content, marks.with(other));
    Ok(())
}

/// Reads one part.
pub(crate) fn read_part<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut once = UniqueFields::default();
    let mut says = None;
    let (mut thought, mut signed) = (false, false);
    let mut kind = None;
    let span = scan.object(|scan, key, _| {
        match key {
            b"text" => {
                once.check(scan, 0, key)?;
                says = read_text(scan, source, key)?;
            }
            b"thought" => thought = scan.skip()?.of(source) == "true",
            b"thoughtSignature" | b"thought_signature" => {
                once.check(scan, 1, key)?;
                signed = read_string(scan)?.is_some_and(|text| !text.span.is_empty());
            }
            b"functionCall" | b"function_call" => {
                once.check(scan, 2, key)?;
                if !skip_null(scan)? {
                    kind = Some(PartKind::call(read_call(scan, source)?));
                }
            }
            b"functionResponse" | b"function_response" => {
                once.check(scan, 3, key)?;
                if !skip_null(scan)? {
                    kind = Some(PartKind::answer(read_result(scan, source)?));
                }
            }
            b"inlineData" | b"inline_data" | b"fileData" | b"file_data" => {
                if !skip_null(scan)? {
                    scan.skip()?;
                    kind = Some(PartKind::Media);
                }
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    if let Some(call) = kind.as_mut().and_then(PartKind::call_mut) {
        call.signed = signed;
    }
    let kind = match (kind, says) {
        (Some(kind), _) => kind,
        (None, _) if thought => PartKind::Reasoning(SignatureState::Plain),
        (None, Some(TextShape::Empty)) if signed => PartKind::Text(TextShape::Signature),
        (None, Some(says)) => PartKind::Text(says),
        (None, None) => PartKind::Other,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}

fn read_call<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<DraftCall<'a>> {
    if scan.shape()? != JsonShape::Object {
        return scan.fail("`functionCall` is not an object");
    }
    let mut once = UniqueFields::default();
    // Arguments may be left out.
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
                once.check(scan, 0, key)?;
                call.id = read_non_empty(scan, source)?.into();
            }
            b"name" => {
                once.check(scan, 1, key)?;
                call.name = read_non_empty(scan, source)?.into();
            }
            b"args" => {
                once.check(scan, 2, key)?;
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
    let mut once = UniqueFields::default();
    let mut answer = DraftAnswer {
        id: OptionalText::NONE,
        name: None,
        family: CallFamily::Function,
        output: AnswerShape::Missing,
        content: Span::NOWHERE,
        media: false,
    };
    scan.object(|scan, key, _| {
        match key {
            b"id" => {
                once.check(scan, 0, key)?;
                answer.id = read_non_empty(scan, source)?.into();
            }
            b"name" => {
                once.check(scan, 1, key)?;
                answer.name = read_non_empty(scan, source)?.map(Box::new);
            }
            b"response" => {
                once.check(scan, 2, key)?;
                let object = matches!(scan.shape()?, JsonShape::Object | JsonShape::Null);
                (answer.output, answer.content) = read_output(scan)?;
                // An answer is an object here, and may be an empty one.
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
