//! Outlines a Responses item.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, SignatureState, Span, TextShape,
};

use crate::{
    anthropic,
    json::{JsonScanner, ScanResult, field_text},
    outline::{
        OutlineReader, UniqueFields, read_free_text, read_non_empty, read_output, read_role,
        read_string, read_string_arguments, read_unknown_field, require_string, text_fullness,
    },
};

fn known_role(role: &str) -> Option<Role> {
    Some(match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "developer" => Role::Developer,
        _ => return None,
    })
}

/// What an item is, by its type.
enum ResponsesItemKind {
    Message,
    ToolCall(CallFamily),
    ToolResult(CallFamily),
    Reasoning,
    /// Something else that the model made.
    ModelOutput,
    Neutral,
}

fn item_kind(kind: &str) -> ResponsesItemKind {
    match kind {
        "message" => ResponsesItemKind::Message,
        "function_call" => ResponsesItemKind::ToolCall(CallFamily::Function),
        "custom_tool_call" => ResponsesItemKind::ToolCall(CallFamily::Custom),
        "local_shell_call" => ResponsesItemKind::ToolCall(CallFamily::LocalShell),
        "shell_call" => ResponsesItemKind::ToolCall(CallFamily::Shell),
        "apply_patch_call" => ResponsesItemKind::ToolCall(CallFamily::ApplyPatch),
        "computer_call" => ResponsesItemKind::ToolCall(CallFamily::Computer),
        "tool_search_call" => ResponsesItemKind::ToolCall(CallFamily::ToolSearch),
        "function_call_output" => ResponsesItemKind::ToolResult(CallFamily::Function),
        "custom_tool_call_output" => ResponsesItemKind::ToolResult(CallFamily::Custom),
        "local_shell_call_output" => ResponsesItemKind::ToolResult(CallFamily::LocalShell),
        "shell_call_output" => ResponsesItemKind::ToolResult(CallFamily::Shell),
        "apply_patch_call_output" => ResponsesItemKind::ToolResult(CallFamily::ApplyPatch),
        "computer_call_output" => ResponsesItemKind::ToolResult(CallFamily::Computer),
        "tool_search_output" => ResponsesItemKind::ToolResult(CallFamily::ToolSearch),
        "reasoning" => ResponsesItemKind::Reasoning,
        "item_reference" | "mcp_approval_response" => ResponsesItemKind::Neutral,
        _ => ResponsesItemKind::ModelOutput,
    }
}

/// The fields of an item that matter.
#[derive(Default)]
struct ResponsesItemFields<'a> {
    kind: Option<Cow<'a, str>>,
    role: Option<Role>,
    model: MessageFlags,
    id: Option<Cow<'a, str>>,
    has_id: bool,
    call_id: Option<Cow<'a, str>>,
    has_call_id: bool,
    name: Option<Cow<'a, str>>,
    arguments: Option<ArgumentsShape>,
    input: Option<ArgumentsShape>,
    output: Option<(AnswerShape, Span)>,
    content: ContentShape,
    encrypted: bool,
    runner: ExecutionSide,
    /// The model does not wait for the output.
    not_awaited: bool,
    other: MessageFlags,
}

/// Who runs a tool, as far as its item says.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum ExecutionSide {
    /// It does not say.
    #[default]
    Unknown,
    /// The client.
    Client,
    /// The provider.
    Provider,
}

impl ResponsesItemFields<'_> {
    /// Whether the provider runs the tool of this item itself: nobody has to answer, and an
    /// output beside it is the provider's own.
    fn is_hosted(&self, family: CallFamily) -> bool {
        match (family, self.runner) {
            (_, ExecutionSide::Provider) => true,
            // Only a client needs an id to answer to.
            (CallFamily::ToolSearch, ExecutionSide::Unknown) => !self.has_call_id,
            _ => false,
        }
    }
}

/// Reads one item.
pub(crate) fn read_item<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<()> {
    let mut once = UniqueFields::default();
    let mut fields = ResponsesItemFields::default();
    let span = scan.object(|scan, key, _| read_field(scan, reader, &mut once, &mut fields, key))?;
    outline_item(reader, span, fields);
    Ok(())
}

fn read_field<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    once: &mut UniqueFields,
    fields: &mut ResponsesItemFields<'a>,
    key: &[u8],
) -> ScanResult<()> {
    let source = reader.source;
    match key {
        b"type" => {
            once.check(scan, 0, key)?;
            fields.kind = read_string(scan)?.map(|kind| kind.text(source));
        }
        b"role" => {
            once.check(scan, 1, key)?;
            let (role, marks) = read_role(scan, source, known_role)?;
            (fields.role, fields.model) = (Some(role), marks);
        }
        b"id" => {
            once.check(scan, 2, key)?;
            let id = read_string(scan)?;
            fields.has_id = id.is_some();
            fields.id = id.and_then(|id| id.non_empty_text(source));
        }
        b"call_id" => {
            once.check(scan, 3, key)?;
            let id = read_string(scan)?;
            fields.has_call_id = id.is_some();
            fields.call_id = id.and_then(|id| id.non_empty_text(source));
        }
        b"name" => {
            once.check(scan, 4, key)?;
            fields.name = read_non_empty(scan, source)?;
        }
        b"arguments" => {
            once.check(scan, 5, key)?;
            fields.arguments = Some(read_string_arguments(scan, source, reader.options)?);
        }
        b"output" => {
            once.check(scan, 6, key)?;
            fields.output = Some(read_output(scan)?);
        }
        b"input" => {
            once.check(scan, 8, key)?;
            fields.input = Some(read_free_text(scan)?);
        }
        b"content" => {
            once.check(scan, 7, key)?;
            // Only messages have blocks; reasoning and others may hold anything here.
            let message = fields.kind.as_deref().is_none_or(|kind| kind == "message");
            fields.content = if message {
                anthropic::read_content(scan, reader, read_block)?
            } else {
                scan.skip().map(|_| ContentShape::Other)?
            };
        }
        b"execution" => {
            fields.runner = match read_string(scan)?.map(|word| word.text(source)).as_deref() {
                None => ExecutionSide::Unknown,
                Some("client") => ExecutionSide::Client,
                Some(_) => ExecutionSide::Provider,
            };
        }
        // A shell in a container of the provider; a local one is the client's.
        b"environment" => {
            let value = scan.skip()?;
            fields.runner = match field_text(source, value, "type").as_deref() {
                None => ExecutionSide::Unknown,
                Some("local") => ExecutionSide::Client,
                Some(_) => ExecutionSide::Provider,
            };
        }
        b"async" => fields.not_awaited = scan.skip()?.of(source) == "true",
        b"encrypted_content" => {
            fields.encrypted = read_string(scan)?.is_some_and(|text| !text.span.is_empty());
        }
        _ => read_unknown_field(scan, key, &mut fields.other)?,
    }
    Ok(())
}

fn read_block<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let source = reader.source;
    let mut kind = None;
    let mut says = None;
    let span = scan.object(|scan, key, _| {
        match key {
            b"type" => kind = Some(require_string(scan, key)?),
            b"text" => says = read_string(scan)?.map(|text| text_fullness(source, text)),
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let kind = kind.map(|kind| kind.text(source));
    let kind = match kind.as_deref() {
        Some("input_text" | "output_text" | "text") => {
            PartKind::Text(says.unwrap_or(TextShape::Missing))
        }
        Some("input_image" | "input_file" | "input_audio") => PartKind::Media,
        _ => PartKind::Other,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}

fn outline_item<'a>(reader: &mut OutlineReader<'a>, span: Span, fields: ResponsesItemFields<'a>) {
    let builder = &mut reader.builder;
    let kind = fields.kind.clone();
    let kind = kind.as_deref();
    let content = fields.content;
    let mut marks = if fields.has_id { MessageFlags::ITEM_ID } else { MessageFlags::default() };
    marks = marks.with(fields.model);
    let wrong = |prefix: &str| {
        fields.has_id && !fields.id.as_deref().is_some_and(|id| id.starts_with(prefix))
    };
    let bad = match (kind, fields.role) {
        (Some("function_call"), _) => wrong("fc"),
        (Some("custom_tool_call"), _) => wrong("ctc"),
        (Some("reasoning"), _) => wrong("rs"),
        (Some("message") | None, Some(Role::Assistant)) => wrong("msg"),
        // Under another format's word for the model it will be the model's.
        (Some("message") | None, Some(Role::Unknown)) if fields.model.has(MessageFlags::MODEL) => {
            wrong("msg")
        }
        _ => false,
    };
    if bad {
        marks = marks.with(MessageFlags::BAD_ITEM_ID);
    }
    if matches!(kind, Some("message") | None) {
        marks = marks.with(fields.other);
        // What lost its type may be more than an empty message.
        let more = fields.call_id.is_some() || fields.arguments.is_some() || fields.encrypted;
        if more || fields.output.is_some() || fields.input.is_some() {
            marks = marks.with(MessageFlags::UNKNOWN_BODY);
        }
    }
    let role = match kind.map(item_kind) {
        None => fields.role.unwrap_or(Role::Unknown),
        Some(ResponsesItemKind::Message) => match fields.role {
            Some(Role::Unknown) | None => Role::Unknown,
            Some(role) => role,
        },
        Some(ResponsesItemKind::ToolCall(family) | ResponsesItemKind::ToolResult(family))
            if fields.is_hosted(family) =>
        {
            // The id is noted, as outputs may only say by it whose they are.
            let called = matches!(kind.map(item_kind), Some(ResponsesItemKind::ToolCall(_)))
                && fields.call_id.is_some();
            let hosted = if called {
                PartKind::ServerCall(fields.call_id.map(Box::new))
            } else {
                PartKind::Other
            };
            builder.push_part(span, hosted);
            Role::Assistant
        }
        Some(ResponsesItemKind::ToolCall(family)) => {
            outline_call(builder, span, family, fields);
            Role::Assistant
        }
        // An output that names its tool needs no call.
        Some(ResponsesItemKind::ToolResult(CallFamily::Function))
            if !fields.has_call_id && fields.name.is_some() =>
        {
            builder.push_part(span, PartKind::Other);
            Role::Neutral
        }
        Some(ResponsesItemKind::ToolResult(family)) => {
            let own = (family == CallFamily::LocalShell).then_some(fields.id).flatten();
            let (output, content) = fields.output.unwrap_or((AnswerShape::Missing, Span::NOWHERE));
            // Only plain outputs have a form that words can fill.
            let plain = matches!(family, CallFamily::Function | CallFamily::Custom);
            let answer = DraftAnswer {
                id: fields.call_id.or(own).into(),
                name: None,
                family,
                output: if plain { output } else { AnswerShape::Full },
                content,
                media: false,
            };
            builder.push_part(span, PartKind::answer(answer));
            builder.push_message(Role::Answer, span, ContentShape::Absent, marks);
            return;
        }
        Some(ResponsesItemKind::Reasoning) => {
            if fields.has_id && !fields.encrypted {
                marks = marks.with(MessageFlags::UNSTORED);
            }
            builder.push_part(span, PartKind::Reasoning(SignatureState::Plain));
            Role::Assistant
        }
        Some(ResponsesItemKind::ModelOutput) => {
            if kind == Some("compaction") {
                marks = marks.with(MessageFlags::COMPACTION);
            }
            builder.push_part(span, PartKind::Other);
            Role::Assistant
        }
        Some(ResponsesItemKind::Neutral) => {
            if kind == Some("item_reference") {
                builder.body_mut().stateful = true;
                marks = marks.with(MessageFlags::REFERENCE);
            }
            Role::Neutral
        }
    };
    builder.push_message(role, span, content, marks);
}

fn outline_call<'a>(
    builder: &mut foxwedge_core::DraftBuilder<'a>,
    span: Span,
    family: CallFamily,
    fields: ResponsesItemFields<'a>,
) {
    // Nobody could answer a search without an id.
    if family == CallFamily::ToolSearch && !fields.has_call_id {
        builder.push_part(span, PartKind::Other);
        return;
    }
    let own = (family == CallFamily::LocalShell).then_some(fields.id).flatten();
    let arguments = match family {
        CallFamily::Function => fields.arguments.unwrap_or(ArgumentsShape::Missing),
        CallFamily::Custom => fields.input.unwrap_or(ArgumentsShape::NoInput),
        _ => ArgumentsShape::Valid,
    };
    let call = DraftCall {
        id: fields.call_id.or(own).into(),
        name: fields.name.into(),
        family,
        arguments,
        signed: false,
        typed: match family {
            CallFamily::ToolSearch => fields.runner != ExecutionSide::Unknown,
            CallFamily::Function | CallFamily::Custom => !fields.not_awaited,
            _ => true,
        },
    };
    builder.push_part(span, PartKind::call(call));
}
