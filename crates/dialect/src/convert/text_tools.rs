//! Tools told as text, for models that know none: no call and no answer remains.

use crate::model::{
    CallPairs, ContentPart, Loss, LossKind, ModelMessage, ModelPart, ModelRequest, ModelRole,
    PartIndex, RequestSettings, ToolCallPart, ToolInput, ToolResultPart,
};

/// Turns calls, answers and tools of a request into text. Tells how many messages it put in front.
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
    let mut told = Vec::with_capacity(request.history.messages.len());
    for (message, said) in request.history.messages.iter().enumerate() {
        let mut parts = Vec::with_capacity(said.parts.len());
        for (part, one) in said.parts.iter().enumerate() {
            match one.content() {
                ContentPart::ToolCall(call) => parts.push(text_part(call_text(call))),
                ContentPart::ToolResult(answer) => {
                    let name = name(PartIndex { message, part });
                    parts.extend(result_parts(answer, name.as_deref()));
                }
                _ => parts.push(one.clone()),
            }
        }
        told.push(ModelMessage::new(said.role, parts));
    }
    request.history.messages = told;
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
        let note = "tools that are told as text cannot be chosen";
        losses.push(super::request::request_loss(LossKind::ToolChoice, note));
    }
    for tool in settings.tools.drain(..).filter(|tool| tool.input == ToolInput::ProviderDefined) {
        let note =
            format!("the tool `{}` has no place among tools that are told as text", tool.name);
        losses.push(super::request::request_loss(LossKind::Tool, note));
    }
    if settings.parallel_calls.take() == Some(false) {
        let note = "that one tool is called at a time cannot be asked for";
        losses.push(super::request::request_loss(LossKind::Setting, note));
    }
    added
}

fn text_part(words: String) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Text(words.into()))
}

fn call_text(call: &ToolCallPart<'_>) -> String {
    format!("<tool_call name=\"{}\">\n{}\n</tool_call>", call.name, call.arguments)
}

/// What an answer says, and behind it what it shows.
fn result_parts<'a>(answer: &ToolResultPart<'a>, name: Option<&str>) -> Vec<ModelPart<'a>> {
    let name = name.or(answer.name.as_deref()).unwrap_or("unknown");
    let mut words = Vec::new();
    let mut shown = Vec::new();
    for part in &answer.parts {
        match part.content() {
            ContentPart::Text(said) => words.push(said.to_string()),
            ContentPart::Unknown(other) => words.push(other.json.to_string()),
            ContentPart::Media(_) => shown.push(ModelPart::new(part.content().clone())),
            ContentPart::Reasoning(_) | ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {}
        }
    }
    let kind = if answer.error { " error=\"true\"" } else { "" };
    let words = words.join("\n");
    let told = text_part(format!("<tool_result name=\"{name}\"{kind}>\n{words}\n</tool_result>"));
    std::iter::once(told).chain(shown).collect()
}

/// What the tools are, as instructions.
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
