//! What a Responses item says.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{
    arguments, at_url, body, free_text, held, joined, other, reasoning, speaker, strangers, words,
};
use crate::{
    canon::{
        Answer, Bit, Call, Citation, Form, Media, MediaKind, Part, Said, Seal, Source, Speaker,
        media::type_of,
    },
    json::{Object, Value},
};

const WIRE: Wire = Wire::OpenaiResponses;

pub(crate) fn item<'a>(item: &Object<'_, 'a>) -> Option<Said<'a>> {
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
            // What a search of the server found answers nobody.
            Some((Family::ToolSearch, Side::Answer)) if item.text("call_id").is_none() => {
                (Speaker::Assistant, None)
            }
            Some((family, Side::Answer)) => (Speaker::User, Some(answer(item, family))),
            None => (Speaker::Assistant, None),
        },
    };
    let part = match bit {
        Some(bit) => {
            let notes = strangers(item, &KNOWN);
            Part::read(bit, WIRE, Form::Message, item.raw()).with(notes)
        }
        None => other(kind, WIRE, Form::Message, item.raw()),
    };
    Some(Said::read(role, vec![part], WIRE, Vec::new()))
}

/// The fields of items whose meaning we know, or that have none elsewhere.
const KNOWN: [&str; 18] = [
    "type",
    "id",
    "call_id",
    "name",
    "arguments",
    "input",
    "output",
    "status",
    "action",
    "operation",
    "summary",
    "content",
    "encrypted_content",
    "tools",
    "created_by",
    "pending_safety_checks",
    "acknowledged_safety_checks",
    "execution",
];

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
fn id<'a>(item: &Object<'_, 'a>, family: Family) -> Option<Cow<'a, str>> {
    let own = || (family == Family::LocalShell).then(|| item.word("id")).flatten();
    item.word("call_id").or_else(own)
}

fn call<'a>(item: &Object<'_, 'a>, family: Family) -> Option<Bit<'a>> {
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
        Family::Custom => free_text(item.get(input)),
        _ => arguments(item.get(input)),
    };
    Some(Bit::Call(Call { id: id(item, family), name, family, arguments, signature: None }))
}

fn answer<'a>(item: &Object<'_, 'a>, family: Family) -> Bit<'a> {
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
    Bit::Answer(Answer { id: id(item, family), name: None, family, parts, error })
}

/// Whether an output is a list of what commands printed.
fn is_streams(output: Value<'_, '_>) -> bool {
    let first = output.is_list().then(|| output.list().next()?.object()).flatten();
    first.is_some_and(|first| first.get("stdout").is_some() || first.get("stderr").is_some())
}

/// A value told as it stands.
fn told<'a>(value: Value<'_, 'a>) -> Part<'a> {
    Bit::Text(value.raw().into()).into()
}

fn thought<'a>(item: &Object<'_, 'a>) -> Bit<'a> {
    let texts = ["summary", "content"].into_iter().filter_map(|key| item.get(key));
    let texts = texts.flat_map(Value::list).filter_map(|part| part.object()?.text("text"));
    let seal = match words(item.get("encrypted_content")).filter(|content| !content.is_empty()) {
        Some(content) => Seal::Encrypted(content),
        None => Seal::Open,
    };
    reasoning(joined(texts).into(), seal)
}

pub(super) fn block<'a>(block: &Object<'_, 'a>) -> Option<Bit<'a>> {
    let name = block.word("filename");
    Some(match &*block.text("type")? {
        "input_text" | "output_text" | "text" => Bit::Text(words(block.get("text"))?),
        "refusal" => Bit::Text(words(block.get("refusal"))?),
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
    block: &Object<'_, 'a>,
    key: &str,
    name: Option<Cow<'a, str>>,
) -> Option<Bit<'a>> {
    if let Some(url) = block.word(key) {
        return Some(at_url(kind, url, name));
    }
    let source = Source::Stored { id: block.word("file_id")?, wire: WIRE };
    Some(Bit::Media(Media { kind, media_type: None, source, name }))
}

/// A citation of a text; chat has it one object deeper.
pub(super) fn citation<'a>(citation: &Object<'_, 'a>) -> Citation<'a> {
    let inner = citation.object("url_citation");
    let citation = inner.as_ref().unwrap_or(citation);
    Citation {
        url: words(citation.get("url")),
        title: words(citation.any(&["title", "filename"])),
        quote: None,
        span: citation.count("start_index").zip(citation.count("end_index")),
    }
}
