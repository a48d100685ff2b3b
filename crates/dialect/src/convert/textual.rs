//! Tools told as text, for models that know none: no call and no answer remains.

use crate::canon::{
    Answer, At, Bit, Call, Loss, Lost, Pairs, Part, Request, Said, Settings, Speaker, Takes,
};

/// Turns calls, answers and tools of a request into text. Tells how many messages it put in front.
pub(super) fn tell(request: &mut Request<'_>, pairs: &Pairs, losses: &mut Vec<Loss>) -> usize {
    let name = |at: At| {
        let call = pairs.partner(at)?;
        let part = request.history.messages.get(call.message)?.parts.get(call.part)?;
        match part.bit() {
            Bit::Call(call) => Some(call.name.clone().into_owned()),
            _ => None,
        }
    };
    let mut told = Vec::with_capacity(request.history.messages.len());
    for (message, said) in request.history.messages.iter().enumerate() {
        let mut parts = Vec::with_capacity(said.parts.len());
        for (part, one) in said.parts.iter().enumerate() {
            match one.bit() {
                Bit::Call(call) => parts.push(text(calling(call))),
                Bit::Answer(answer) => {
                    let name = name(At { message, part });
                    parts.extend(answering(answer, name.as_deref()));
                }
                _ => parts.push(one.clone()),
            }
        }
        told.push(Said::new(said.role, parts));
    }
    request.history.messages = told;
    let settings = &mut request.settings;
    let tools = declared(settings);
    let added = usize::from(tools.is_some());
    if let Some(tools) = tools {
        request.history.messages.insert(0, Said::new(Speaker::System, vec![text(tools)]));
    }
    if settings.choice.take().is_some() {
        let note = "tools that are told as text cannot be chosen";
        losses.push(super::request::lost(Lost::ToolChoice, note));
    }
    for tool in settings.tools.drain(..).filter(|tool| tool.takes == Takes::Own) {
        let note =
            format!("the tool `{}` has no place among tools that are told as text", tool.name);
        losses.push(super::request::lost(Lost::Tool, note));
    }
    if settings.parallel.take() == Some(false) {
        let note = "that one tool is called at a time cannot be asked for";
        losses.push(super::request::lost(Lost::Setting, note));
    }
    added
}

fn text(words: String) -> Part<'static> {
    Part::new(Bit::Text(words.into()))
}

fn calling(call: &Call<'_>) -> String {
    format!("<tool_call name=\"{}\">\n{}\n</tool_call>", call.name, call.arguments)
}

/// What an answer says, and behind it what it shows.
fn answering<'a>(answer: &Answer<'a>, name: Option<&str>) -> Vec<Part<'a>> {
    let name = name.or(answer.name.as_deref()).unwrap_or("unknown");
    let mut words = Vec::new();
    let mut shown = Vec::new();
    for part in &answer.parts {
        match part.bit() {
            Bit::Text(said) => words.push(said.to_string()),
            Bit::Other(other) => words.push(other.json.to_string()),
            Bit::Media(_) => shown.push(Part::new(part.bit().clone())),
            Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) => {}
        }
    }
    let kind = if answer.error { " error=\"true\"" } else { "" };
    let words = words.join("\n");
    let told = text(format!("<tool_result name=\"{name}\"{kind}>\n{words}\n</tool_result>"));
    std::iter::once(told).chain(shown).collect()
}

/// What the tools are, as instructions.
fn declared(settings: &Settings<'_>) -> Option<String> {
    let mut out = String::new();
    for tool in &settings.tools {
        let schema = match &tool.takes {
            Takes::Object(schema) => schema.as_deref().unwrap_or("{}"),
            Takes::Text => "free text",
            Takes::Grammar { definition, .. } => definition,
            Takes::Own => continue,
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
