//! One turn: what was said, and each call in one card with its answer.

use foxwedge_formats::model::{
    ContentPart, MediaPart, ModelRole, ToolCallPart, ToolResultPart, UnknownPart,
};

use super::{arguments, html_document::HtmlDocument, image, role_name_and_class};
use crate::export::{
    export_turns::{ExportCallStatus, ExportTurn, ExportTurnItem, call_status, describe_media},
    pretty::pretty,
    visible::single_line,
};

/// Instructions longer than this are folded.
const LONG: usize = 1_200;

pub(super) fn write(page: &mut HtmlDocument, number: usize, scene: &ExportTurn<'_, '_>) {
    let (name, class) = role_name_and_class(scene.role);
    page.raw(&format!(
        "<section class=\"said {class}\" id=\"m{number}\" aria-labelledby=\"h{number}\">\n"
    ));
    page.raw(&format!("<h2 id=\"h{number}\">{name} <a class=\"number\" href=\"#m{number}\" "));
    page.raw(&format!("aria-label=\"Link to part {number}\">{number}</a></h2>\n"));
    for act in &scene.items {
        self::write_item(page, scene.role, act);
    }
    page.raw("</section>\n");
}

fn write_item(page: &mut HtmlDocument, role: ModelRole, act: &ExportTurnItem<'_, '_>) {
    match act {
        ExportTurnItem::Text(text) => {
            let instructions = matches!(role, ModelRole::System | ModelRole::Developer);
            if instructions && text.len() > LONG {
                let lines = text.lines().count();
                page.folded("long", &format!("Instructions, {lines} lines"), |page| {
                    page.prose(text);
                });
            } else {
                page.prose(text);
            }
        }
        ExportTurnItem::Media(media) => self::write_media(page, media),
        ExportTurnItem::Reasoning(reasoning) => {
            let seal = if reasoning.is_provider_bound() { ", sealed by the provider" } else { "" };
            if reasoning.text.trim().is_empty() {
                page.element("p", "aside", &format!("Reasoning that cannot be read{seal}"));
                page.raw("\n");
            } else {
                let summary = format!("Reasoning{seal}");
                page.folded("reasoning", &summary, |page| page.prose(&reasoning.text));
            }
        }
        ExportTurnItem::Call(call, answer) => write_call(page, Some(call), *answer),
        ExportTurnItem::OrphanAnswer(answer) => write_call(page, None, Some(answer)),
        ExportTurnItem::Other(other) => self::write_other(page, other),
    }
}

/// A call and its answer, side by side in one frame.
fn write_call(
    page: &mut HtmlDocument,
    call: Option<&ToolCallPart<'_>>,
    answer: Option<&ToolResultPart<'_>>,
) {
    let status = call_status(answer);
    let (class, sign) = match status {
        ExportCallStatus::Answered => ("good", "✓"),
        ExportCallStatus::Failed => ("bad", "✕"),
        ExportCallStatus::Placeholder => ("open", "↺"),
        ExportCallStatus::Open => ("open", "○"),
    };
    let own = |answer: &ToolResultPart<'_>| answer.name.as_deref().map(single_line);
    let name = call.map(|call| single_line(&call.name)).or_else(|| answer.and_then(own));
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or("a tool".to_owned());
    page.raw(&format!("<article class=\"pair {class}\">\n<h3><span class=\"tool\">"));
    page.text(&name);
    page.raw("</span> ");
    let id = call.map_or(answer.and_then(|answer| answer.id.as_deref()), |call| call.id.as_deref());
    if let Some(id) = id {
        page.element("span", "id", &single_line(id));
        page.raw(" ");
    }
    page.raw(&format!("<span class=\"status\"><span aria-hidden=\"true\">{sign}</span> "));
    page.raw(&format!("{}</span></h3>\n", status.label()));
    match call {
        Some(call) => {
            page.raw("<div class=\"call\">\n<h4>Call</h4>\n");
            arguments::write(page, call);
            page.raw("</div>\n");
        }
        None => page.raw("<p class=\"aside\">The call is not in this history.</p>\n"),
    }
    if let Some(answer) = answer {
        page.raw("<div class=\"answer\">\n<h4>Answer</h4>\n");
        self::write_answer(page, answer);
        page.raw("</div>\n");
    }
    page.raw("</article>\n");
}

fn write_answer(page: &mut HtmlDocument, answer: &ToolResultPart<'_>) {
    let mut empty = true;
    for part in &answer.parts {
        match part.content() {
            ContentPart::Text(text) if text.trim().is_empty() => continue,
            ContentPart::Text(text) => page.output(text),
            ContentPart::Media(media) => self::write_media(page, media),
            ContentPart::Unknown(other) => self::write_other(page, other),
            ContentPart::Reasoning(_) | ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {
                continue;
            }
        }
        empty = false;
    }
    if empty {
        page.raw("<p class=\"aside\">It says nothing.</p>\n");
    }
}

fn write_media(page: &mut HtmlDocument, media: &MediaPart<'_>) {
    let words = single_line(&describe_media(media));
    page.raw("<figure>\n");
    if let Some((media_type, data)) = image::displayable_image(media) {
        page.raw(&format!("<img src=\"data:{media_type};base64,{data}\" alt=\""));
        page.text(&words);
        page.raw("\">\n");
    }
    page.raw("<figcaption>");
    page.text(&words);
    page.raw("</figcaption>\n</figure>\n");
}

fn write_other(page: &mut HtmlDocument, other: &UnknownPart<'_>) {
    let json = pretty(&other.json).unwrap_or_else(|| other.json.to_string());
    page.folded("other", &format!("Other: {}", single_line(&other.name)), |page| {
        page.output(&json)
    });
}
