//! What a Responses item says.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{arguments, at_url, body, held, joined, other, reasoning, speaker};
use crate::canon::{
    Answer, Bit, Call, Form, Media, MediaKind, Part, Said, Source, Speaker,
    media::type_of,
    view::{Object, Value},
};

const WIRE: Wire = Wire::OpenaiResponses;

pub(super) fn item<'a>(item: &Object<'a>) -> Option<Said<'a>> {
    let kind = item.text("type").unwrap_or(Cow::Borrowed("message"));
    if kind == "message" {
        let role = speaker(&item.text("role")?)?;
        let parts = body(item.get("content"), WIRE, block);
        let said = Said::read(role, parts, WIRE, item.others(&["type", "role", "content"]));
        return Some(said);
    }
    let (role, bit) = match &*kind {
        "reasoning" => (Speaker::Assistant, Some(thought(item))),
        "item_reference" | "mcp_approval_response" => (Speaker::User, None),
        kind => match family(kind) {
            Some((family, Side::Call)) => (Speaker::Assistant, call(item, family)),
            Some((family, Side::Answer)) => (Speaker::User, Some(answer(item, family))),
            None => (Speaker::Assistant, None),
        },
    };
    let part = match bit {
        Some(bit) => Part::read(bit, WIRE, Form::Message, item.raw()),
        None => other(kind, WIRE, Form::Message, item.raw()),
    };
    Some(Said::read(role, vec![part], WIRE, Vec::new()))
}

enum Side {
    Call,
    Answer,
}

fn family(kind: &str) -> Option<(Family, Side)> {
    let (name, side) = match kind {
        "tool_search_output" => ("tool_search", Side::Answer),
        kind => match kind.strip_suffix("_call_output") {
            Some(name) => (name, Side::Answer),
            None => (kind.strip_suffix("_call")?, Side::Call),
        },
    };
    let family = match name {
        "function" => Family::Function,
        "custom_tool" => Family::Custom,
        "local_shell" => Family::LocalShell,
        "shell" => Family::Shell,
        "apply_patch" => Family::ApplyPatch,
        "computer" => Family::Computer,
        "tool_search" => Family::ToolSearch,
        _ => return None,
    };
    Some((family, side))
}

/// The id that pairs. The local shell may go by the id of its item.
fn id<'a>(item: &Object<'a>, family: Family) -> Option<Cow<'a, str>> {
    let own = || (family == Family::LocalShell).then(|| item.word("id")).flatten();
    item.word("call_id").or_else(own)
}

fn call<'a>(item: &Object<'a>, family: Family) -> Option<Bit<'a>> {
    // What each built-in tool is called, and where its input stands.
    let (name, input) = match family {
        Family::Function => (None, "arguments"),
        Family::Custom => (None, "input"),
        Family::LocalShell => (Some("local_shell"), "action"),
        Family::Shell => (Some("shell"), "action"),
        Family::ApplyPatch => (Some("apply_patch"), "operation"),
        Family::Computer => (Some("computer"), "action"),
        Family::ToolSearch => (Some("tool_search"), "arguments"),
    };
    // A search that the server runs itself has no id to answer.
    if family == Family::ToolSearch && item.text("call_id").is_none() {
        return None;
    }
    let name = name.map(Cow::Borrowed).or_else(|| item.text("name")).unwrap_or_default();
    let arguments = match family {
        Family::Custom => item.text(input).unwrap_or_default(),
        _ => arguments(item.get(input)),
    };
    Some(Bit::Call(Call { id: id(item, family), name, family, arguments }))
}

fn answer<'a>(item: &Object<'a>, family: Family) -> Bit<'a> {
    let parts = match family {
        Family::Computer => item.object("output").and_then(|output| block(&output)).map(Part::new),
        Family::ToolSearch => item.get("tools").map(told),
        _ => None,
    };
    let parts = match (parts, item.get("output")) {
        (Some(part), _) => vec![part],
        (None, Some(output)) if output.is_object() || is_streams(output) => vec![told(output)],
        (None, output) => body(output, WIRE, block),
    };
    let error = matches!(item.text("status").as_deref(), Some("failed"));
    Bit::Answer(Answer { id: id(item, family), name: None, parts, error })
}

/// Whether an output is a list of what commands printed.
fn is_streams(output: Value<'_>) -> bool {
    let first = output.list().next().and_then(Value::object);
    first.is_some_and(|first| first.get("stdout").is_some() || first.get("stderr").is_some())
}

/// A value told as it stands.
fn told(value: Value<'_>) -> Part<'_> {
    Bit::Text(Cow::Borrowed(value.raw())).into()
}

fn thought<'a>(item: &Object<'a>) -> Bit<'a> {
    let texts = ["summary", "content"].into_iter().filter_map(|key| item.get(key));
    let texts = texts.flat_map(Value::list).filter_map(|part| part.object()?.text("text"));
    reasoning(joined(texts), item.word("encrypted_content").is_some())
}

pub(super) fn block<'a>(block: &Object<'a>) -> Option<Bit<'a>> {
    let name = block.word("filename");
    Some(match &*block.text("type")? {
        "input_text" | "output_text" | "text" => Bit::Text(block.text("text")?),
        "refusal" => Bit::Text(block.text("refusal")?),
        "input_image" | "computer_screenshot" => {
            located(MediaKind::Image, block, "image_url", name)?
        }
        "input_file" => match block.text("file_data") {
            Some(data) => held(MediaKind::File, data, name),
            None => located(MediaKind::File, block, "file_url", name)?,
        },
        "input_audio" => {
            let audio = block.object("input_audio")?;
            let format = audio.text("format").unwrap_or_default();
            let media_type = type_of(MediaKind::Audio, &format).map(Into::into);
            let source = Source::Data(audio.text("data")?);
            Bit::Media(Media { kind: MediaKind::Audio, media_type, source, name })
        }
        _ => return None,
    })
}

/// Media under an address or an id.
fn located<'a>(
    kind: MediaKind,
    block: &Object<'a>,
    key: &str,
    name: Option<Cow<'a, str>>,
) -> Option<Bit<'a>> {
    if let Some(url) = block.word(key) {
        return Some(at_url(kind, url, name));
    }
    let source = Source::Stored { id: block.word("file_id")?, wire: WIRE };
    Some(Bit::Media(Media { kind, media_type: None, source, name }))
}
