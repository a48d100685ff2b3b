//! Writes tools as text, for models without tool support: no tool call and no tool result remains.

use std::collections::{HashMap, HashSet, VecDeque};

use foxwedge_core::{OrphanPolicy, Policy, orphan_heading, orphan_tool_heading};

use crate::model::{
    CallPairs, ContentPart, Loss, LossKind, LossLocation, ModelHistory, ModelMessage, ModelPart,
    ModelRequest, ModelRole, PartIndex, PartNotes, RequestSettings, ToolCallPart, ToolInput,
    ToolResultPart,
};

/// Turns calls, results and tools of a request into text. Returns how many messages it put in
/// front.
pub(super) fn replace_tools(
    request: &mut ModelRequest<'_>,
    pairs: &CallPairs,
    losses: &mut Vec<Loss>,
) -> usize {
    let history = &request.history;
    let call_of = |at: PartIndex| call_at(history, pairs.partner(at)?);
    let ambiguous = ambiguous_names(history, pairs);
    let id_of = |call: &ToolCallPart<'_>| {
        let id = call.id.as_deref().filter(|_| ambiguous.contains(&*call.name));
        id.map(|id| format!(" id=\"{id}\"")).unwrap_or_default()
    };
    let mut messages = Vec::with_capacity(request.history.messages.len());
    for (message_index, message) in request.history.messages.iter().enumerate() {
        let mut parts = Vec::with_capacity(message.parts.len());
        for (part_index, part) in message.parts.iter().enumerate() {
            match part.content() {
                ContentPart::ToolCall(call) => parts.push(text_part(call_text(call, &id_of(call)))),
                ContentPart::ToolResult(result) => {
                    let call = call_of(PartIndex { message: message_index, part: part_index });
                    let id = call.map(id_of).unwrap_or_default();
                    parts.extend(result_parts(result, call.map(|call| &*call.name), &id));
                }
                _ => parts.push(part.clone()),
            }
        }
        messages.push(ModelMessage::new(message.role, parts));
    }
    request.history.messages = messages;
    let settings = &mut request.settings;
    let tools = declared_tools(settings);
    let added = usize::from(tools.is_some());
    if let Some(tools) = tools {
        request
            .history
            .messages
            .insert(0, ModelMessage::new(ModelRole::System, vec![text_part(tools)]));
    }
    if settings.tool_choice.take().is_some() {
        let note = "a tool choice is not possible with tools as text";
        losses.push(request_loss(LossKind::ToolChoice, note));
    }
    for tool in settings.tools.drain(..).filter(|tool| tool.input == ToolInput::ProviderDefined) {
        let note = format!("the tool `{}` cannot be described as text", tool.name);
        losses.push(request_loss(LossKind::Tool, note));
    }
    if settings.parallel_calls.take() == Some(false) {
        let note = "parallel calls cannot be disabled with tools as text";
        losses.push(request_loss(LossKind::Setting, note));
    }
    added
}

/// The call at a position.
fn call_at<'h, 'a>(history: &'h ModelHistory<'a>, at: PartIndex) -> Option<&'h ToolCallPart<'a>> {
    match history.messages.get(at.message)?.parts.get(at.part)?.content() {
        ContentPart::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// The names of tools whose results a reader without ids would give to other calls: results are
/// read in the order of the calls of their name.
fn ambiguous_names<'h>(history: &'h ModelHistory<'_>, pairs: &CallPairs) -> HashSet<&'h str> {
    let mut open: HashMap<&str, VecDeque<PartIndex>> = HashMap::new();
    let mut ambiguous = HashSet::new();
    for (message, turn) in history.messages.iter().enumerate() {
        for (part, content) in turn.parts.iter().map(ModelPart::content).enumerate() {
            let at = PartIndex { message, part };
            if let ContentPart::ToolCall(call) = content {
                open.entry(&call.name).or_default().push_back(at);
                continue;
            }
            let Some(partner) = pairs.partner(at) else { continue };
            let Some(name) = call_at(history, partner).map(|call| &*call.name) else { continue };
            if open.get_mut(name).and_then(VecDeque::pop_front) != Some(partner) {
                ambiguous.insert(name);
            }
        }
    }
    ambiguous
}

/// Which results without a call are quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OrphanScope {
    /// All of them.
    All,
    /// Those that name a tool instead of a call.
    Named,
}

/// Turns results whose call is not in the history into text of the user, or leaves them out, as the
/// policy says. Returns whether there were any.
pub(super) fn quote_orphans(
    request: &mut ModelRequest<'_>,
    pairs: &CallPairs,
    scope: OrphanScope,
    policy: Policy,
    losses: &mut Vec<Loss>,
) -> bool {
    let mut found = false;
    for (message_index, message) in request.history.messages.iter_mut().enumerate() {
        let is_orphan = |part_index: usize, part: &ModelPart<'_>| {
            let at = PartIndex { message: message_index, part: part_index };
            let ContentPart::ToolResult(result) = part.content() else { return false };
            let in_scope = scope == OrphanScope::All || named_tool(result).is_some();
            in_scope && pairs.partner(at).is_none()
        };
        if !message.parts.iter().enumerate().any(|(at, part)| is_orphan(at, part)) {
            continue;
        }
        found = true;
        let parts = std::mem::take(&mut message.parts);
        for (part_index, part) in parts.into_iter().enumerate() {
            match part.content() {
                ContentPart::ToolResult(result) if is_orphan(part_index, &part) => {
                    if policy.orphans == OrphanPolicy::Drop {
                        losses.push(Loss {
                            kind: LossKind::Unknown,
                            location: LossLocation::Message(message_index),
                            note: "a result without its call is left out".to_owned(),
                        });
                        continue;
                    }
                    losses.push(Loss {
                        kind: LossKind::Unknown,
                        location: LossLocation::Message(message_index),
                        note: "a result without its call becomes text of the user".to_owned(),
                    });
                    let heading = match named_tool(result) {
                        Some(name) => orphan_tool_heading(name, policy.language),
                        None => orphan_heading(result.id.as_deref(), policy.language),
                    };
                    let (words, media) = result_content(result);
                    let unknown_fields = part.notes().map(|notes| notes.unknown_fields.clone());
                    let notes = PartNotes {
                        unknown_fields: unknown_fields.unwrap_or_default(),
                        ..PartNotes::default()
                    };
                    let text = text_part(format!("{heading}\n{words}")).with_notes(notes);
                    message.parts.push(text);
                    message.parts.extend(media);
                }
                _ => message.parts.push(part),
            }
        }
    }
    found
}

/// The tool that a result names instead of its call.
fn named_tool<'r>(result: &'r ToolResultPart<'_>) -> Option<&'r str> {
    let name = result.name.as_deref().filter(|name| !name.is_empty());
    name.filter(|_| result.id.as_deref().is_none_or(str::is_empty))
}

fn text_part<'a>(text: String) -> ModelPart<'a> {
    ModelPart::new(ContentPart::Text(text.into()))
}

/// The text of a call. `id` is the attribute with its id, if it needs one.
fn call_text(call: &ToolCallPart<'_>, id: &str) -> String {
    format!("<tool_call name=\"{}\"{id}>\n{}\n</tool_call>", call.name, call.arguments)
}

/// The text of a result, followed by its media.
fn result_parts<'a>(
    result: &ToolResultPart<'a>,
    name: Option<&str>,
    id: &str,
) -> Vec<ModelPart<'a>> {
    let name = name.or(result.name.as_deref()).unwrap_or("unknown");
    let (words, media) = result_content(result);
    let kind = if result.error { " error=\"true\"" } else { "" };
    let text =
        text_part(format!("<tool_result name=\"{name}\"{id}{kind}>\n{words}\n</tool_result>"));
    std::iter::once(text).chain(media).collect()
}

/// The text in a result, and its media.
fn result_content<'a>(result: &ToolResultPart<'a>) -> (String, Vec<ModelPart<'a>>) {
    let mut words = Vec::new();
    let mut media = Vec::new();
    for part in &result.parts {
        match part.content() {
            ContentPart::Text(content) => words.push(content.to_string()),
            ContentPart::Unknown(other) => words.push(other.json.to_string()),
            ContentPart::Media(_) => media.push(ModelPart::new(part.content().clone())),
            ContentPart::Reasoning(_) | ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {}
        }
    }
    (words.join("\n"), media)
}

/// The declared tools, as instructions.
fn declared_tools(settings: &RequestSettings<'_>) -> Option<String> {
    let mut out = String::new();
    for tool in &settings.tools {
        let schema = match &tool.input {
            ToolInput::Object(schema) => schema.as_deref().unwrap_or("{}"),
            ToolInput::Text => "free text",
            ToolInput::Grammar { definition, .. } => definition,
            ToolInput::ProviderDefined => continue,
        };
        let about = tool.description.as_deref().map(|about| format!(": {about}"));
        let about = about.unwrap_or_default();
        out.push_str(&format!("\n\n{}{about}\nTakes: {schema}", tool.name));
    }
    (!out.is_empty()).then(|| {
        format!(
            "Tools are called by writing <tool_call name=\"NAME\">ARGUMENTS</tool_call>. \
             These tools can be called:{out}"
        )
    })
}

/// A request setting that the target cannot represent.
fn request_loss(kind: LossKind, note: impl Into<String>) -> Loss {
    Loss { kind, location: LossLocation::Request, note: note.into() }
}
