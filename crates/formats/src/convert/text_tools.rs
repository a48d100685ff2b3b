//! Writes tools as text, for models without tool support: no tool call and no tool result remains.

use foxwedge_core::{OrphanPolicy, Policy, orphan_heading};

use crate::model::{
    CallPairs, ContentPart, Loss, LossKind, LossLocation, ModelMessage, ModelPart, ModelRequest,
    ModelRole, PartIndex, RequestSettings, ToolCallPart, ToolInput, ToolResultPart,
};

/// Turns calls, results and tools of a request into text. Returns how many messages it put in
/// front.
pub(super) fn replace_tools(
    request: &mut ModelRequest<'_>,
    pairs: &CallPairs,
    losses: &mut Vec<Loss>,
) -> usize {
    let name = |at: PartIndex| {
        let call = pairs.partner(at)?;
        let part = request.history.messages.get(call.message)?.parts.get(call.part)?;
        match part.content() {
            ContentPart::ToolCall(call) => Some(call.name.clone().into_owned()),
            _ => None,
        }
    };
    let mut messages = Vec::with_capacity(request.history.messages.len());
    for (message_index, message) in request.history.messages.iter().enumerate() {
        let mut parts = Vec::with_capacity(message.parts.len());
        for (part_index, part) in message.parts.iter().enumerate() {
            match part.content() {
                ContentPart::ToolCall(call) => parts.push(text_part(call_text(call))),
                ContentPart::ToolResult(result) => {
                    let name = name(PartIndex { message: message_index, part: part_index });
                    parts.extend(result_parts(result, name.as_deref()));
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

/// Turns results whose call is not in the history into text of the user, or leaves them out, as the
/// policy says. Returns whether there were any.
pub(super) fn quote_orphans(
    request: &mut ModelRequest<'_>,
    pairs: &CallPairs,
    policy: Policy,
    losses: &mut Vec<Loss>,
) -> bool {
    let mut found = false;
    for (message_index, message) in request.history.messages.iter_mut().enumerate() {
        let is_orphan = |part_index: usize, part: &ModelPart<'_>| {
            let at = PartIndex { message: message_index, part: part_index };
            matches!(part.content(), ContentPart::ToolResult(_)) && pairs.partner(at).is_none()
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
                    let heading = orphan_heading(result.id.as_deref(), policy.language);
                    let (words, media) = result_content(result);
                    message.parts.push(text_part(format!("{heading}\n{words}")));
                    message.parts.extend(media);
                }
                _ => message.parts.push(part),
            }
        }
    }
    found
}

fn text_part(text: String) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Text(text.into()))
}

fn call_text(call: &ToolCallPart<'_>) -> String {
    format!("<tool_call name=\"{}\">\n{}\n</tool_call>", call.name, call.arguments)
}

/// The text of a result, followed by its media.
fn result_parts<'a>(result: &ToolResultPart<'a>, name: Option<&str>) -> Vec<ModelPart<'a>> {
    let name = name.or(result.name.as_deref()).unwrap_or("unknown");
    let (words, media) = result_content(result);
    let kind = if result.error { " error=\"true\"" } else { "" };
    let text = text_part(format!("<tool_result name=\"{name}\"{kind}>\n{words}\n</tool_result>"));
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
