//! Writes one turn, each call with its result in one card.

use foxwedge_formats::model::{
    ContentPart, MediaPart, ModelRole, ToolCallPart, ToolResultPart, UnknownPart,
};

use super::{arguments, html_document::HtmlDocument, image, role_name_and_class};
use crate::export::{
    export_turns::{ExportCallStatus, ExportTurn, ExportTurnItem, call_status, describe_media},
    pretty::pretty,
    visible::single_line,
};

/// Longer system instructions are folded.
const MAX_UNFOLDED: usize = 1_200;

pub(super) fn write(document: &mut HtmlDocument, number: usize, turn: &ExportTurn<'_, '_>) {
    let (name, class) = role_name_and_class(turn.role);
    document.raw(&format!(
        "<section class=\"said {class}\" id=\"m{number}\" aria-labelledby=\"h{number}\">\n"
    ));
    document.raw(&format!("<h2 id=\"h{number}\">{name} <a class=\"number\" href=\"#m{number}\" "));
    document.raw(&format!("aria-label=\"Link to part {number}\">{number}</a></h2>\n"));
    for item in &turn.items {
        self::write_item(document, turn.role, item);
    }
    document.raw("</section>\n");
}

fn write_item(document: &mut HtmlDocument, role: ModelRole, item: &ExportTurnItem<'_, '_>) {
    match item {
        ExportTurnItem::Text(text) => {
            let instructions = matches!(role, ModelRole::System | ModelRole::Developer);
            if instructions && text.len() > MAX_UNFOLDED {
                let lines = text.lines().count();
                document.folded("long", &format!("Instructions, {lines} lines"), |document| {
                    document.prose(text);
                });
            } else {
                document.prose(text);
            }
        }
        ExportTurnItem::Media(media) => self::write_media(document, media),
        ExportTurnItem::Reasoning(reasoning) => {
            let seal = if reasoning.is_provider_bound() { ", sealed by the provider" } else { "" };
            if reasoning.text.trim().is_empty() {
                document.element("p", "aside", &format!("Reasoning that cannot be read{seal}"));
                document.raw("\n");
            } else {
                let summary = format!("Reasoning{seal}");
                document.folded("reasoning", &summary, |document| document.prose(&reasoning.text));
            }
        }
        ExportTurnItem::Call(call, result) => write_call(document, Some(call), *result),
        ExportTurnItem::OrphanAnswer(result) => write_call(document, None, Some(result)),
        ExportTurnItem::Other(other) => self::write_other(document, other),
    }
}

/// Writes a call and its result in one card.
fn write_call(
    document: &mut HtmlDocument,
    call: Option<&ToolCallPart<'_>>,
    result: Option<&ToolResultPart<'_>>,
) {
    let status = call_status(result);
    let (class, sign) = match status {
        ExportCallStatus::Answered => ("good", "✓"),
        ExportCallStatus::Failed => ("bad", "✕"),
        ExportCallStatus::Placeholder => ("open", "↺"),
        ExportCallStatus::Open => ("open", "○"),
    };
    let own_name = |result: &ToolResultPart<'_>| result.name.as_deref().map(single_line);
    let name = call.map(|call| single_line(&call.name)).or_else(|| result.and_then(own_name));
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or("a tool".to_owned());
    document.raw(&format!("<article class=\"pair {class}\">\n<h3><span class=\"tool\">"));
    document.text(&name);
    document.raw("</span> ");
    let id = call.map_or(result.and_then(|result| result.id.as_deref()), |call| call.id.as_deref());
    if let Some(id) = id {
        document.element("span", "id", &single_line(id));
        document.raw(" ");
    }
    document.raw(&format!("<span class=\"status\"><span aria-hidden=\"true\">{sign}</span> "));
    document.raw(&format!("{}</span></h3>\n", status.label()));
    match call {
        Some(call) => {
            document.raw("<div class=\"call\">\n<h4>Call</h4>\n");
            arguments::write(document, call);
            document.raw("</div>\n");
        }
        None => document.raw("<p class=\"aside\">The call is not in this history.</p>\n"),
    }
    if let Some(result) = result {
        document.raw("<div class=\"answer\">\n<h4>Result</h4>\n");
        self::write_answer(document, result);
        document.raw("</div>\n");
    }
    document.raw("</article>\n");
}

fn write_answer(document: &mut HtmlDocument, result: &ToolResultPart<'_>) {
    let mut empty = true;
    for part in &result.parts {
        match part.content() {
            ContentPart::Text(text) if text.trim().is_empty() => continue,
            ContentPart::Text(text) => document.output(text),
            ContentPart::Media(media) => self::write_media(document, media),
            ContentPart::Unknown(other) => self::write_other(document, other),
            ContentPart::Reasoning(_) | ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {
                continue;
            }
        }
        empty = false;
    }
    if empty {
        document.raw("<p class=\"aside\">The result is empty.</p>\n");
    }
}

fn write_media(document: &mut HtmlDocument, media: &MediaPart<'_>) {
    let description = single_line(&describe_media(media));
    document.raw("<figure>\n");
    if let Some((media_type, data)) = image::displayable_image(media) {
        document.raw(&format!("<img src=\"data:{media_type};base64,{data}\" alt=\""));
        document.text(&description);
        document.raw("\">\n");
    }
    document.raw("<figcaption>");
    document.text(&description);
    document.raw("</figcaption>\n</figure>\n");
}

fn write_other(document: &mut HtmlDocument, other: &UnknownPart<'_>) {
    let json = pretty(&other.json).unwrap_or_else(|| other.json.to_string());
    document.folded("other", &format!("Other: {}", single_line(&other.name)), |document| {
        document.output(&json)
    });
}
