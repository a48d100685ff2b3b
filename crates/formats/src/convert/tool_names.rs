//! Replaces tool names that a provider does not accept, in declarations and calls, and restores
//! them in responses.

use std::collections::HashMap;

use foxwedge_core::{Profile, legal_name};

use crate::model::{
    ContentPart, IdentifierReplacement, JsonText, ModelPart, ModelResponse, RequestSettings,
    ToolCallPart, ToolChoice, ToolInput,
};

/// Gives declared tools and the tool choice names that the provider accepts.
pub(super) fn adapt_tool_names(
    settings: &mut RequestSettings<'_>,
    profile: Profile,
) -> Vec<IdentifierReplacement> {
    let mut names = Vec::new();
    let mut adapt = |name: &mut JsonText<'_>| {
        let Some(new) = legal_name(profile, name).filter(|_| !name.is_empty()) else {
            return false;
        };
        names.push(IdentifierReplacement { old: name.to_string(), new: new.clone() });
        *name = new.into();
        true
    };
    // A tool that the provider runs itself keeps the provider's name.
    for tool in settings.tools.iter_mut().filter(|tool| tool.input != ToolInput::ProviderDefined) {
        if adapt(&mut tool.name) {
            tool.raw = None;
        }
    }
    match &mut settings.tool_choice {
        Some(ToolChoice::One(name)) => {
            adapt(name);
        }
        Some(ToolChoice::Among { names, .. }) => names.iter_mut().for_each(|name| {
            adapt(name);
        }),
        Some(ToolChoice::Auto | ToolChoice::Never | ToolChoice::Any) | None => {}
    }
    names
}

/// The tools that take free text.
pub(super) fn free_text_tools(settings: &RequestSettings<'_>) -> Vec<String> {
    let is_free =
        |input: &ToolInput<'_>| matches!(input, ToolInput::Text | ToolInput::Grammar { .. });
    let tools = settings.tools.iter().filter(|tool| is_free(&tool.input));
    tools.map(|tool| tool.name.to_string()).collect()
}

/// Gives the calls of a response the tool names of the original request.
pub(super) fn restore_tool_names<'a>(
    outcome: ModelResponse<'a>,
    names: &[IdentifierReplacement],
) -> ModelResponse<'a> {
    let ModelResponse::Reply(mut reply) = outcome else { return outcome };
    if names.is_empty() {
        return ModelResponse::Reply(reply);
    }
    let names: HashMap<&str, &str> =
        names.iter().map(|name| (name.new.as_str(), name.old.as_str())).collect();
    for part in &mut reply.parts {
        let ContentPart::ToolCall(call) = part.content() else { continue };
        if let Some(old) = names.get(&*call.name) {
            *part = ModelPart::new(ContentPart::ToolCall(ToolCallPart {
                name: (*old).to_owned().into(),
                ..call.clone()
            }));
        }
    }
    ModelResponse::Reply(reply)
}
