//! Messages of agents that store events, in the format of Chat Completions.

use foxwedge_core::{Draft, Message, Part, PartKind, RepairedMessage, Role, Span};

use foxwedge_formats::splice::{BlockMessage, BlockSpliceFormat, ElementQuoting, write_block_list};
use foxwedge_json::{SpliceWriter, array_elements, field_value, quote, unescape};

/// Writes the texts of a message as a list of strings.
const TEXTS: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("", ""),
    changes: |_, _, _, _| Vec::new(),
    answer: |_, words| quote(words),
    repeated: None,
    extra_media: |_, _| Vec::new(),
    element: |_, _| ElementQuoting::AsJson,
};

/// The texts of a message, joined.
pub(super) fn joined_text(
    source: &str,
    draft: &Draft<'_>,
    message: &RepairedMessage<'_>,
) -> String {
    let texts = message
        .parts
        .iter()
        .filter(|part| !matches!(part.part.kind, PartKind::Call(_) | PartKind::Reasoning(_)));
    let texts: Vec<_> = texts.cloned().collect();
    let mut out = SpliceWriter::new(source, &[]);
    let content = foxwedge_core::ContentShape::List;
    let blocks = BlockMessage { role: message.role, pieces: &texts, content, role_changed: false };
    write_block_list(&mut out, draft, None, &blocks, &TEXTS);
    let list: String = out.finish().iter().flat_map(|chunk| chunk.pieces(source)).collect();
    let strings = array_elements(&list, Span::new(0, list.len())).into_iter().map(|text| {
        let raw = text.of(&list);
        unescape(raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default())
    });
    strings.collect::<Vec<_>>().join("\n\n")
}

/// Writes a message in the format of Chat Completions. Reasoning is left out.
pub(super) fn write_message(out: &mut String, source: &str, message: &Message, parts: &[Part<'_>]) {
    let value = |span: Span, key: &str| field_value(source, span, key).map(|at| at.of(source));
    let text = parts.iter().find(|part| matches!(part.kind, PartKind::Text(_)));
    let text = text.map(|part| part.span.of(source));
    match message.role {
        Role::Answer => {
            let Some(Part { kind: PartKind::Answer(answer), .. }) = parts.first() else { return };
            let id = quote(answer.id.as_deref().unwrap_or(""));
            let content = answer.content.of(source);
            let content = if content.starts_with(['"', '[']) { content } else { "\"\"" };
            out.push_str(&format!(
                "{{\"role\":\"tool\",\"tool_call_id\":{id},\"content\":{content}}}"
            ));
        }
        Role::Assistant => {
            out.push_str("{\"role\":\"assistant\",\"content\":");
            out.push_str(text.unwrap_or("null"));
            let mut first = true;
            for part in parts {
                let PartKind::Call(call) = &part.kind else { continue };
                out.push_str(if first { ",\"tool_calls\":[" } else { "," });
                first = false;
                let id = quote(call.id.as_deref().unwrap_or(""));
                let name = quote(call.name.as_deref().unwrap_or(""));
                let arguments = value(part.span, "arguments").or(value(part.span, "args"));
                let arguments = arguments.unwrap_or("{}");
                let arguments = match arguments.starts_with('"') {
                    true => arguments.to_owned(),
                    false => quote(arguments),
                };
                out.push_str(&format!(
                    "{{\"id\":{id},\"type\":\"function\",\"function\":{{\"name\":{name},\
                     \"arguments\":{arguments}}}}}"
                ));
            }
            out.push_str(if first { "}" } else { "]}" });
        }
        _ => {
            let text = text.unwrap_or("\"\"");
            out.push_str(&format!("{{\"role\":\"user\",\"content\":{text}}}"));
        }
    }
}
