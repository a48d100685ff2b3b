//! Outlines a Responses item.

use std::borrow::Cow;

use foxwedge_core::{
    Answer, Arguments, Call, Content, Family, Kind, Marks, Output, Role, Seal, Span, Text,
};

use crate::{
    anthropic,
    json::{Scan, Scanner, says},
    outline::{
        Once, Reader, free_text, fullness, output, role, string, string_arguments, text, unknown,
        word,
    },
};

fn known(role: &str) -> Option<Role> {
    Some(match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "developer" => Role::Developer,
        _ => return None,
    })
}

/// What an item is, by its type.
enum Sort {
    Message,
    Call(Family),
    Answer(Family),
    Reasoning,
    /// Something else that the model made.
    Made,
    Neutral,
}

fn sort(kind: &str) -> Sort {
    match kind {
        "message" => Sort::Message,
        "function_call" => Sort::Call(Family::Function),
        "custom_tool_call" => Sort::Call(Family::Custom),
        "local_shell_call" => Sort::Call(Family::LocalShell),
        "shell_call" => Sort::Call(Family::Shell),
        "apply_patch_call" => Sort::Call(Family::ApplyPatch),
        "computer_call" => Sort::Call(Family::Computer),
        "tool_search_call" => Sort::Call(Family::ToolSearch),
        "function_call_output" => Sort::Answer(Family::Function),
        "custom_tool_call_output" => Sort::Answer(Family::Custom),
        "local_shell_call_output" => Sort::Answer(Family::LocalShell),
        "shell_call_output" => Sort::Answer(Family::Shell),
        "apply_patch_call_output" => Sort::Answer(Family::ApplyPatch),
        "computer_call_output" => Sort::Answer(Family::Computer),
        "tool_search_output" => Sort::Answer(Family::ToolSearch),
        "reasoning" => Sort::Reasoning,
        "item_reference" | "mcp_approval_response" => Sort::Neutral,
        _ => Sort::Made,
    }
}

/// The fields of an item that matter.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<Cow<'a, str>>,
    role: Option<Role>,
    model: Marks,
    id: Option<Cow<'a, str>>,
    has_id: bool,
    call_id: Option<Cow<'a, str>>,
    has_call_id: bool,
    name: Option<Cow<'a, str>>,
    arguments: Option<Arguments>,
    input: Option<Arguments>,
    output: Option<(Output, Span)>,
    content: Content,
    encrypted: bool,
    runs: Runner,
    /// The model does not wait for the output.
    goes_on: bool,
    other: Marks,
}

/// Who runs a tool, as far as its item says.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Runner {
    /// It does not say.
    #[default]
    Unknown,
    /// The client.
    Client,
    /// The provider.
    Provider,
}

impl Fields<'_> {
    /// Whether the provider runs the tool of this item itself: nobody has to answer, and an
    /// output beside it is the provider's own.
    fn is_hosted(&self, family: Family) -> bool {
        match (family, self.runs) {
            (_, Runner::Provider) => true,
            // Only a client needs an id to answer to.
            (Family::ToolSearch, Runner::Unknown) => !self.has_call_id,
            _ => false,
        }
    }
}

/// Reads one item.
pub(crate) fn item<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let mut once = Once::default();
    let mut fields = Fields::default();
    let span = scan.object(|scan, key, _| field(scan, reader, &mut once, &mut fields, key))?;
    outline(reader, span, fields);
    Ok(())
}

fn field<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    once: &mut Once,
    fields: &mut Fields<'a>,
    key: &[u8],
) -> Scan<()> {
    let source = reader.source;
    match key {
        b"type" => {
            once.field(scan, 0, key)?;
            fields.kind = string(scan)?.map(|kind| kind.text(source));
        }
        b"role" => {
            once.field(scan, 1, key)?;
            let (role, marks) = role(scan, source, known)?;
            (fields.role, fields.model) = (Some(role), marks);
        }
        b"id" => {
            once.field(scan, 2, key)?;
            let id = string(scan)?;
            fields.has_id = id.is_some();
            fields.id = id.and_then(|id| id.some(source));
        }
        b"call_id" => {
            once.field(scan, 3, key)?;
            let id = string(scan)?;
            fields.has_call_id = id.is_some();
            fields.call_id = id.and_then(|id| id.some(source));
        }
        b"name" => {
            once.field(scan, 4, key)?;
            fields.name = word(scan, source)?;
        }
        b"arguments" => {
            once.field(scan, 5, key)?;
            fields.arguments = Some(string_arguments(scan, source, reader.want)?);
        }
        b"output" => {
            once.field(scan, 6, key)?;
            fields.output = Some(output(scan)?);
        }
        b"input" => {
            once.field(scan, 8, key)?;
            fields.input = Some(free_text(scan)?);
        }
        b"content" => {
            once.field(scan, 7, key)?;
            // Only messages have blocks; reasoning and others may hold anything here.
            let message = fields.kind.as_deref().is_none_or(|kind| kind == "message");
            fields.content = if message {
                anthropic::body(scan, reader, block)?
            } else {
                scan.skip().map(|_| Content::Other)?
            };
        }
        b"execution" => {
            fields.runs = match string(scan)?.map(|word| word.text(source)).as_deref() {
                None => Runner::Unknown,
                Some("client") => Runner::Client,
                Some(_) => Runner::Provider,
            };
        }
        // A shell in a container of the provider; a local one is the client's.
        b"environment" => {
            let value = scan.skip()?;
            fields.runs = match says(source, value, "type").as_deref() {
                None => Runner::Unknown,
                Some("local") => Runner::Client,
                Some(_) => Runner::Provider,
            };
        }
        b"async" => fields.goes_on = scan.skip()?.of(source) == "true",
        b"encrypted_content" => {
            fields.encrypted = string(scan)?.is_some_and(|text| !text.span.is_empty());
        }
        _ => unknown(scan, key, &mut fields.other)?,
    }
    Ok(())
}

fn block<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut kind = None;
    let mut says = None;
    let span = scan.object(|scan, key, _| {
        match key {
            b"type" => kind = Some(text(scan, key)?),
            b"text" => says = string(scan)?.map(|text| fullness(source, text)),
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let kind = kind.map(|kind| kind.text(source));
    let kind = match kind.as_deref() {
        Some("input_text" | "output_text" | "text") => Kind::Text(says.unwrap_or(Text::Missing)),
        Some("input_image" | "input_file" | "input_audio") => Kind::Media,
        _ => Kind::Other,
    };
    reader.builder.part(span, kind);
    Ok(())
}

fn outline<'a>(reader: &mut Reader<'a>, span: Span, fields: Fields<'a>) {
    let builder = &mut reader.builder;
    let kind = fields.kind.clone();
    let kind = kind.as_deref();
    let content = fields.content;
    let mut marks = if fields.has_id { Marks::ITEM_ID } else { Marks::default() };
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
        (Some("message") | None, Some(Role::Unknown)) if fields.model.has(Marks::MODEL) => {
            wrong("msg")
        }
        _ => false,
    };
    if bad {
        marks = marks.with(Marks::BAD_ITEM_ID);
    }
    if matches!(kind, Some("message") | None) {
        marks = marks.with(fields.other);
        // What lost its type may be more than an empty message.
        let more = fields.call_id.is_some() || fields.arguments.is_some() || fields.encrypted;
        if more || fields.output.is_some() || fields.input.is_some() {
            marks = marks.with(Marks::UNKNOWN_BODY);
        }
    }
    let role = match kind.map(sort) {
        None => fields.role.unwrap_or(Role::Unknown),
        Some(Sort::Message) => match fields.role {
            Some(Role::Unknown) | None => Role::Unknown,
            Some(role) => role,
        },
        Some(Sort::Call(family) | Sort::Answer(family)) if fields.is_hosted(family) => {
            // The id is noted, as outputs may only say by it whose they are.
            let called = matches!(kind.map(sort), Some(Sort::Call(_))) && fields.call_id.is_some();
            let hosted =
                if called { Kind::ServerCall(fields.call_id.map(Box::new)) } else { Kind::Other };
            builder.part(span, hosted);
            Role::Assistant
        }
        Some(Sort::Call(family)) => {
            call(builder, span, family, fields);
            Role::Assistant
        }
        // An output that names its tool needs no call.
        Some(Sort::Answer(Family::Function)) if !fields.has_call_id && fields.name.is_some() => {
            builder.part(span, Kind::Other);
            Role::Neutral
        }
        Some(Sort::Answer(family)) => {
            let own = (family == Family::LocalShell).then_some(fields.id).flatten();
            let (output, content) = fields.output.unwrap_or((Output::Missing, Span::NOWHERE));
            // Only plain outputs have a form that words can fill.
            let plain = matches!(family, Family::Function | Family::Custom);
            let answer = Answer {
                id: fields.call_id.or(own).into(),
                name: None,
                family,
                output: if plain { output } else { Output::Full },
                content,
                media: false,
            };
            builder.part(span, Kind::answer(answer));
            builder.message(Role::Answer, span, Content::Absent, marks);
            return;
        }
        Some(Sort::Reasoning) => {
            if fields.has_id && !fields.encrypted {
                marks = marks.with(Marks::UNSTORED);
            }
            builder.part(span, Kind::Reasoning(Seal::Plain));
            Role::Assistant
        }
        Some(Sort::Made) => {
            if kind == Some("compaction") {
                marks = marks.with(Marks::COMPACTION);
            }
            builder.part(span, Kind::Other);
            Role::Assistant
        }
        Some(Sort::Neutral) => {
            if kind == Some("item_reference") {
                builder.body().stateful = true;
                marks = marks.with(Marks::REFERENCE);
            }
            Role::Neutral
        }
    };
    builder.message(role, span, content, marks);
}

fn call<'a>(
    builder: &mut foxwedge_core::Builder<'a>,
    span: Span,
    family: Family,
    fields: Fields<'a>,
) {
    // Nobody could answer a search without an id.
    if family == Family::ToolSearch && !fields.has_call_id {
        builder.part(span, Kind::Other);
        return;
    }
    let own = (family == Family::LocalShell).then_some(fields.id).flatten();
    let arguments = match family {
        Family::Function => fields.arguments.unwrap_or(Arguments::Missing),
        Family::Custom => fields.input.unwrap_or(Arguments::NoInput),
        _ => Arguments::Good,
    };
    let call = Call {
        id: fields.call_id.or(own).into(),
        name: fields.name.into(),
        family,
        arguments,
        signed: false,
        typed: match family {
            Family::ToolSearch => fields.runs != Runner::Unknown,
            Family::Function | Family::Custom => !fields.goes_on,
            _ => true,
        },
    };
    builder.part(span, Kind::call(call));
}
