//! Reads the outline of a Responses item.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    OwnedCall, PartKind, Role, SignatureState, Span, TextShape,
};

use crate::{
    anthropic,
    outline::{
        OutlineReader, UniqueFields, push_foreign_answer, read_free_text, read_non_empty,
        read_output, read_role, read_string, read_string_arguments, read_unknown_field,
        require_string, text_fullness,
    },
};
use foxwedge_json::{JsonScanner, ScanError, ScanResult, field_text};

fn known_role(role: &str) -> Option<Role> {
    Some(match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "developer" => Role::Developer,
        _ => return None,
    })
}

/// The kind of an item, by its type.
pub(super) enum ResponsesItemKind {
    Message,
    ToolCall(CallFamily),
    ToolResult(CallFamily),
    Reasoning,
    /// A call that the provider runs itself; its result is an item of its own.
    HostedCall,
    /// The result of such a call, or of an approval that the provider asked for.
    HostedResult,
    /// A question of the provider that the client may answer.
    Approval,
    /// Other model output.
    ModelOutput,
    /// Tools and settings that the client declares within the conversation.
    Declaration,
    /// A request of the client for compaction.
    Trigger,
    Reference,
    Unknown,
}

pub(super) fn item_kind(kind: &str) -> ResponsesItemKind {
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
        "program" | "multi_agent_call" => ResponsesItemKind::HostedCall,
        "program_output" | "multi_agent_call_output" | "mcp_approval_response" => {
            ResponsesItemKind::HostedResult
        }
        "mcp_approval_request" => ResponsesItemKind::Approval,
        "item_reference" => ResponsesItemKind::Reference,
        "additional_tools" | "configuration_update" => ResponsesItemKind::Declaration,
        "compaction_trigger" => ResponsesItemKind::Trigger,
        "web_search_call"
        | "file_search_call"
        | "code_interpreter_call"
        | "image_generation_call"
        | "mcp_list_tools"
        | "mcp_call"
        | "compaction"
        | "compaction_summary"
        | "agent_message"
        | "ghost_snapshot" => ResponsesItemKind::ModelOutput,
        _ => ResponsesItemKind::Unknown,
    }
}

/// The item fields that the outline needs.
#[derive(Default)]
struct ResponsesItemFields<'a> {
    kind: Option<Cow<'a, str>>,
    role: Option<Role>,
    model: MessageFlags,
    id: Option<Cow<'a, str>>,
    has_id: bool,
    /// Has another field than `id` and `type`.
    has_more: bool,
    call_id: Option<Cow<'a, str>>,
    has_call_id: bool,
    name: Option<Cow<'a, str>>,
    arguments: Option<ArgumentsShape>,
    input: Option<ArgumentsShape>,
    output: Option<(AnswerShape, Span)>,
    content: ContentShape,
    body: Span,
    /// The id of the call, as chat messages name it.
    tool_call_id: Option<Cow<'a, str>>,
    /// Why content is not that of a message.
    content_error: Option<ScanError>,
    encrypted: bool,
    runner: ExecutionSide,
    /// The model does not wait for the output.
    not_awaited: bool,
    /// What made the call, as written; only if that is a program.
    caller: Option<(Cow<'a, str>, Span)>,
    approval: Option<Cow<'a, str>>,
    other: MessageFlags,
}

/// Which side runs a tool, by the fields of its item.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum ExecutionSide {
    /// The item has no such field.
    #[default]
    Unknown,
    /// The client.
    Client,
    /// The provider.
    Provider,
}

impl ResponsesItemFields<'_> {
    /// Whether the provider runs the tool of this item. Then the client need not return a result,
    /// and an output beside the call is the provider's own.
    fn is_hosted(&self, family: CallFamily) -> bool {
        match (family, self.runner) {
            (_, ExecutionSide::Provider) => true,
            // Only a client needs an id to return a result.
            (CallFamily::ToolSearch, ExecutionSide::Unknown) => !self.has_call_id,
            _ => false,
        }
    }
}

/// Reads one item.
pub fn read_item<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let mut unique = UniqueFields::default();
    let mut fields = ResponsesItemFields::default();
    let span =
        scan.object(|scan, key, _| read_field(scan, reader, &mut unique, &mut fields, key))?;
    // The type may follow the content.
    let is_message = fields.kind.as_deref().is_none_or(|kind| kind == "message");
    if is_message && let Some(error) = fields.content_error.take() {
        return Err(error);
    }
    if !is_message && fields.content != ContentShape::Absent {
        reader.builder.truncate(reader.builder.message_count());
        fields.content = ContentShape::Other;
    }
    outline_item(reader, span, fields);
    Ok(())
}

/// Reads content as that of a message, as long as no other type is known. Returns the error if it
/// is not.
pub(crate) fn read_untyped_content<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    block: fn(&mut JsonScanner<'a>, &mut OutlineReader<'a>) -> ScanResult<()>,
) -> ScanResult<(ContentShape, Option<ScanError>)> {
    let (start, surrogates) = (scan.checkpoint(), scan.lone_surrogates.len());
    match anthropic::read_content(scan, reader, block) {
        Ok(content) => Ok((content, None)),
        Err(error) => {
            scan.reset(start);
            scan.lone_surrogates.truncate(surrogates);
            reader.builder.truncate(reader.builder.message_count());
            scan.skip()?;
            Ok((ContentShape::Other, Some(error)))
        }
    }
}

fn read_field<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    unique: &mut UniqueFields,
    fields: &mut ResponsesItemFields<'a>,
    key: &[u8],
) -> ScanResult<()> {
    let source = reader.source;
    fields.has_more |= !matches!(key, b"id" | b"type");
    match key {
        b"type" => {
            unique.check(scan, 0, key)?;
            fields.kind = read_string(scan)?.map(|kind| kind.text(source));
        }
        b"role" => {
            unique.check(scan, 1, key)?;
            let (role, flags) = read_role(scan, source, known_role)?;
            (fields.role, fields.model) = (Some(role), flags);
        }
        b"id" => {
            unique.check(scan, 2, key)?;
            let id = read_string(scan)?;
            fields.has_id = id.is_some();
            fields.id = id.and_then(|id| id.non_empty_text(source));
        }
        b"call_id" => {
            unique.check(scan, 3, key)?;
            let id = read_string(scan)?;
            fields.has_call_id = id.is_some();
            fields.call_id = id.and_then(|id| id.non_empty_text(source));
        }
        b"tool_call_id" => {
            fields.tool_call_id = read_non_empty(scan, source)?;
            if fields.tool_call_id.is_some() {
                fields.other = fields.other.with(MessageFlags::UNKNOWN_BODY);
            }
        }
        b"name" => {
            unique.check(scan, 4, key)?;
            fields.name = read_non_empty(scan, source)?;
        }
        b"arguments" => {
            unique.check(scan, 5, key)?;
            fields.arguments = Some(read_string_arguments(scan, source, reader.options)?);
        }
        b"output" => {
            unique.check(scan, 6, key)?;
            fields.output = Some(read_output(scan)?);
        }
        b"input" => {
            unique.check(scan, 8, key)?;
            fields.input = Some(read_free_text(scan)?);
        }
        b"content" => {
            unique.check(scan, 7, key)?;
            scan.shape()?;
            let start = scan.position();
            // Only messages have content blocks. Reasoning and other items may hold anything here.
            match fields.kind.as_deref() {
                Some("message") => {
                    fields.content = anthropic::read_content(scan, reader, read_block)?;
                }
                Some(_) => fields.content = scan.skip().map(|_| ContentShape::Other)?,
                None => {
                    (fields.content, fields.content_error) =
                        read_untyped_content(scan, reader, read_block)?;
                }
            }
            fields.body = Span::new(start, scan.position());
        }
        b"execution" => {
            fields.runner = match read_string(scan)?.map(|side| side.text(source)).as_deref() {
                None => ExecutionSide::Unknown,
                Some("client") => ExecutionSide::Client,
                Some(_) => ExecutionSide::Provider,
            };
        }
        // A shell runs in a container of the provider, or locally at the client.
        b"environment" => {
            let value = scan.skip()?;
            fields.runner = match field_text(source, value, "type").as_deref() {
                None => ExecutionSide::Unknown,
                Some("local") => ExecutionSide::Client,
                Some(_) => ExecutionSide::Provider,
            };
        }
        b"async" => fields.not_awaited = scan.skip()?.of(source) == "true",
        b"caller" => {
            let value = scan.skip()?;
            fields.caller = field_text(source, value, "caller_id").map(|id| (id, value));
        }
        b"approval_request_id" => fields.approval = read_non_empty(scan, source)?,
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
    let mut shape = None;
    let span = scan.object(|scan, key, _| {
        match key {
            b"type" => kind = Some(require_string(scan, key)?),
            b"text" => shape = read_string(scan)?.map(|text| text_fullness(source, text)),
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let kind = kind.map(|kind| kind.text(source));
    let kind = match kind.as_deref() {
        Some("input_text" | "output_text" | "text") => {
            PartKind::Text(shape.unwrap_or(TextShape::Missing))
        }
        Some("input_image" | "input_file" | "input_audio") => PartKind::Media,
        _ => PartKind::Other,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}

fn outline_item<'a>(reader: &mut OutlineReader<'a>, span: Span, fields: ResponsesItemFields<'a>) {
    // A chat message that is a result.
    let is_untyped = matches!(fields.kind.as_deref(), Some("message") | None);
    let is_unknown = matches!(fields.role, Some(Role::Unknown) | None);
    let is_result = is_untyped && is_unknown && !fields.model.has(MessageFlags::MODEL);
    if let Some(id) = fields.tool_call_id.clone().filter(|_| is_result) {
        reader.builder.truncate(reader.builder.message_count());
        return push_foreign_answer(reader, span, id, fields.body);
    }
    let builder = &mut reader.builder;
    let kind = fields.kind.clone();
    // The type of a reference is optional.
    let is_reference = fields.id.is_some() && !fields.has_more;
    let kind = kind.as_deref().or(is_reference.then_some("item_reference"));
    let content = fields.content;
    let mut flags = if fields.has_id { MessageFlags::ITEM_ID } else { MessageFlags::default() };
    flags = flags.with(fields.model);
    let has_wrong_prefix = |prefix: &str| {
        fields.has_id && !fields.id.as_deref().is_some_and(|id| id.starts_with(prefix))
    };
    let bad_id = match (kind, fields.role) {
        (Some("function_call"), _) => has_wrong_prefix("fc"),
        (Some("custom_tool_call"), _) => has_wrong_prefix("ctc"),
        (Some("reasoning"), _) => has_wrong_prefix("rs"),
        (Some("message") | None, Some(Role::Assistant)) => has_wrong_prefix("msg"),
        // With another format's name for the model role, this becomes a model message.
        (Some("message") | None, Some(Role::Unknown)) if fields.model.has(MessageFlags::MODEL) => {
            has_wrong_prefix("msg")
        }
        _ => false,
    };
    if bad_id {
        flags = flags.with(MessageFlags::BAD_ITEM_ID);
    }
    // An item without a type may be more than an empty message.
    let has_other_fields = fields.call_id.is_some()
        || fields.arguments.is_some()
        || fields.encrypted
        || fields.output.is_some()
        || fields.input.is_some();
    if matches!(kind, Some("message") | None) {
        flags = flags.with(fields.other);
        if has_other_fields {
            flags = flags.with(MessageFlags::UNKNOWN_BODY);
        }
    }
    let role = match kind.map(item_kind) {
        // Nothing says that it is a message.
        None if has_other_fields && fields.role.is_none() && content == ContentShape::Absent => {
            builder.push_part(span, PartKind::Unknown);
            Role::Assistant
        }
        None => fields.role.unwrap_or(Role::Unknown),
        Some(ResponsesItemKind::Message) => match fields.role {
            Some(Role::Unknown) | None => Role::Unknown,
            Some(role) => role,
        },
        Some(ResponsesItemKind::ToolCall(family) | ResponsesItemKind::ToolResult(family))
            if fields.is_hosted(family) =>
        {
            // Keep the id: it may be the only link from an output to this call.
            let is_call = matches!(kind.map(item_kind), Some(ResponsesItemKind::ToolCall(_)))
                && fields.call_id.is_some();
            let hosted = if is_call {
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
        // An output with a tool name needs no call.
        Some(ResponsesItemKind::ToolResult(CallFamily::Function))
            if !fields.has_call_id && fields.name.is_some() =>
        {
            builder.push_part(span, PartKind::Other);
            Role::Neutral
        }
        Some(ResponsesItemKind::ToolResult(family)) => {
            let item_id = (family == CallFamily::LocalShell).then_some(fields.id).flatten();
            let (output, content) = fields.output.unwrap_or((AnswerShape::Missing, Span::NOWHERE));
            // Only plain outputs can be replaced with text.
            let plain = matches!(family, CallFamily::Function | CallFamily::Custom);
            let answer = DraftAnswer {
                id: fields.call_id.or(item_id).into(),
                name: None,
                family,
                output: if plain { output } else { AnswerShape::Full },
                content,
                media: false,
                foreign: false,
            };
            builder.push_part(span, PartKind::answer(answer));
            builder.push_message(Role::Answer, span, ContentShape::Absent, flags);
            return;
        }
        Some(ResponsesItemKind::Reasoning) => {
            if fields.has_id && !fields.encrypted {
                flags = flags.with(MessageFlags::UNSTORED);
            }
            builder.push_part(span, PartKind::Reasoning(SignatureState::Plain));
            Role::Assistant
        }
        Some(ResponsesItemKind::HostedCall) => {
            flags = flags.with(MessageFlags::HOSTED_PAIR);
            builder.push_part(span, PartKind::ServerCall(fields.call_id.map(Box::new)));
            Role::Assistant
        }
        Some(ResponsesItemKind::Approval) => {
            builder.push_part(span, PartKind::ServerCall(fields.id.map(Box::new)));
            Role::Assistant
        }
        Some(ResponsesItemKind::HostedResult) => {
            let is_approval = fields.approval.is_some();
            let id = fields.approval.or(fields.call_id);
            builder.push_part(span, PartKind::ServerAnswer(id.map(Box::new)));
            if is_approval { Role::Neutral } else { Role::Assistant }
        }
        Some(ResponsesItemKind::Unknown) => {
            builder.push_part(span, PartKind::Unknown);
            Role::Assistant
        }
        Some(ResponsesItemKind::ModelOutput) => {
            if kind == Some("compaction") {
                flags = flags.with(MessageFlags::COMPACTION);
            }
            builder.push_part(span, PartKind::Other);
            Role::Assistant
        }
        Some(ResponsesItemKind::Declaration) => {
            builder.push_part(span, PartKind::Other);
            Role::System
        }
        Some(ResponsesItemKind::Trigger) => {
            flags = flags.with(MessageFlags::TRIGGER);
            builder.push_part(span, PartKind::Other);
            Role::Neutral
        }
        Some(ResponsesItemKind::Reference) => {
            builder.body_mut().stateful = true;
            flags = flags.with(MessageFlags::REFERENCE);
            Role::Neutral
        }
    };
    builder.push_message(role, span, content, flags);
}

fn outline_call<'a>(
    builder: &mut foxwedge_core::DraftBuilder<'a>,
    span: Span,
    family: CallFamily,
    fields: ResponsesItemFields<'a>,
) {
    // A client cannot return a result for a search without an id.
    if family == CallFamily::ToolSearch && !fields.has_call_id {
        builder.push_part(span, PartKind::Other);
        return;
    }
    if let Some((owner, repeated)) = fields.caller {
        let owner = owner.into();
        builder.push_owned_call(OwnedCall { start: span.start, owner, repeated });
    }
    let item_id = (family == CallFamily::LocalShell).then_some(fields.id).flatten();
    let arguments = match family {
        CallFamily::Function => fields.arguments.unwrap_or(ArgumentsShape::Missing),
        CallFamily::Custom => fields.input.unwrap_or(ArgumentsShape::NoInput),
        _ => ArgumentsShape::Valid,
    };
    let call = DraftCall {
        id: fields.call_id.or(item_id).into(),
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
