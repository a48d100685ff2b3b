//! Reads the outline of an Interactions step.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, SignatureState, Span, TextShape,
};

use super::StepKind;
use crate::{
    anthropic,
    openai_responses::read_untyped_content,
    outline::{
        OutlineReader, UniqueFields, read_non_empty, read_object_arguments, read_output,
        read_string, read_unknown_field, text_fullness,
    },
};
use foxwedge_json::{JsonScanner, JsonShape, ScanError, ScanResult};

/// The step fields that the outline needs.
#[derive(Default)]
struct StepFields<'a> {
    kind: Option<StepKind>,
    /// The id of a call.
    id: Option<Cow<'a, str>>,
    /// The id of the call that a result answers.
    call_id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Option<ArgumentsShape>,
    result: Option<(AnswerShape, Span)>,
    /// The text of content outside a step.
    text: Option<TextShape>,
    content: ContentShape,
    /// Why content is not that of a step.
    content_error: Option<ScanError>,
    flags: MessageFlags,
}

/// Reads one step.
pub(crate) fn read_step<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let mut unique = UniqueFields::default();
    let mut fields = StepFields::default();
    let span =
        scan.object(|scan, key, _| read_field(scan, reader, &mut unique, &mut fields, key))?;
    // The type may follow the content.
    let has_content = matches!(fields.kind, Some(StepKind::UserInput | StepKind::ModelOutput));
    if has_content && let Some(error) = fields.content_error.take() {
        return Err(error);
    }
    if !has_content && fields.content != ContentShape::Absent {
        reader.builder.truncate(reader.builder.message_count());
        fields.content = ContentShape::Other;
    }
    outline_step(reader, span, fields);
    Ok(())
}

fn read_field<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    unique: &mut UniqueFields,
    fields: &mut StepFields<'a>,
    key: &[u8],
) -> ScanResult<()> {
    const UNIQUE: [&[u8]; 8] =
        [b"type", b"id", b"call_id", b"name", b"arguments", b"result", b"content", b"text"];
    let source = reader.source;
    unique.check_known(scan, &UNIQUE, key)?;
    match key {
        b"type" => {
            fields.kind = read_string(scan)?.map(|kind| StepKind::of(&kind.text(source)));
        }
        b"id" => fields.id = read_non_empty(scan, source)?,
        b"call_id" => fields.call_id = read_non_empty(scan, source)?,
        b"name" => fields.name = read_non_empty(scan, source)?,
        b"arguments" => fields.arguments = Some(read_object_arguments(scan)?),
        b"result" => fields.result = Some(read_result(scan)?),
        b"text" => fields.text = read_string(scan)?.map(|text| text_fullness(source, text)),
        b"content" => match fields.kind {
            Some(StepKind::UserInput | StepKind::ModelOutput) => {
                fields.content = anthropic::read_content(scan, reader, read_block)?;
            }
            Some(_) => fields.content = scan.skip().map(|_| ContentShape::Other)?,
            None => {
                (fields.content, fields.content_error) =
                    read_untyped_content(scan, reader, read_block)?;
            }
        },
        // The model's output may be an error instead of content.
        b"error" => {
            if scan.shape()? != JsonShape::Null {
                fields.flags = fields.flags.with(MessageFlags::OTHER_BODY);
            }
            scan.skip()?;
        }
        _ => read_unknown_field(scan, key, &mut fields.flags)?,
    }
    Ok(())
}

/// Reads the content of a tool result: a string, any object, or a list of content or of any values.
fn read_result(scan: &mut JsonScanner<'_>) -> ScanResult<(AnswerShape, Span)> {
    let any = matches!(scan.shape()?, JsonShape::Object | JsonShape::Array);
    match read_output(scan)? {
        (AnswerShape::Malformed, span) if any => Ok((AnswerShape::Full, span)),
        other => Ok(other),
    }
}

fn read_block<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let source = reader.source;
    let (mut kind, mut shape) = (None, None);
    let span = scan.object(|scan, key, _| {
        match key {
            b"type" => kind = read_string(scan)?.map(|kind| kind.text(source)),
            b"text" => shape = read_string(scan)?.map(|text| text_fullness(source, text)),
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let part = match kind.as_deref().map(StepKind::of) {
        Some(StepKind::Text) => PartKind::Text(shape.unwrap_or(TextShape::Missing)),
        Some(StepKind::Media) => PartKind::Media,
        _ => PartKind::Unknown,
    };
    reader.builder.push_part(span, part);
    Ok(())
}

fn outline_step<'a>(reader: &mut OutlineReader<'a>, span: Span, fields: StepFields<'a>) {
    let builder = &mut reader.builder;
    let mut flags = MessageFlags::default();
    let mut content = ContentShape::Absent;
    let (role, part) = match fields.kind.unwrap_or(StepKind::Unknown) {
        StepKind::UserInput => {
            (content, flags) = (fields.content, fields.flags);
            (Role::User, None)
        }
        StepKind::ModelOutput => {
            (content, flags) = (fields.content, fields.flags);
            (Role::Assistant, None)
        }
        StepKind::Thought => (Role::Assistant, Some(PartKind::Reasoning(SignatureState::Plain))),
        StepKind::FunctionCall => {
            let call = DraftCall {
                id: fields.id.into(),
                name: fields.name.into(),
                family: CallFamily::Function,
                arguments: fields.arguments.unwrap_or(ArgumentsShape::Missing),
                signed: false,
                typed: true,
            };
            (Role::Assistant, Some(PartKind::call(call)))
        }
        StepKind::FunctionResult => {
            let (output, content) = fields.result.unwrap_or((AnswerShape::Missing, Span::NOWHERE));
            let answer = DraftAnswer {
                id: fields.call_id.into(),
                name: fields.name.map(Box::new),
                family: CallFamily::Function,
                output,
                content,
                media: false,
                foreign: false,
            };
            (Role::Answer, Some(PartKind::answer(answer)))
        }
        StepKind::ServerCall => {
            flags = MessageFlags::HOSTED_PAIR;
            (Role::Assistant, Some(PartKind::ServerCall(fields.id.map(Box::new))))
        }
        StepKind::ServerResult => {
            (Role::Assistant, Some(PartKind::ServerAnswer(fields.call_id.map(Box::new))))
        }
        StepKind::Text => {
            content = ContentShape::List;
            (Role::User, Some(PartKind::Text(fields.text.unwrap_or(TextShape::Missing))))
        }
        StepKind::Media => {
            content = ContentShape::List;
            (Role::User, Some(PartKind::Media))
        }
        StepKind::Unknown => (Role::Assistant, Some(PartKind::Unknown)),
    };
    if let Some(part) = part {
        builder.push_part(span, part);
    }
    builder.push_message(role, span, content, flags);
}
