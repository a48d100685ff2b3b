//! One turn: what was said, and each call in one card with its answer.

use foxwedge_dialect::canon::{Answer, Bit, Call, Media, Other, Speaker};

use super::{arguments, image, named, page::Page};
use crate::export::{
    pretty::pretty,
    scene::{Act, Scene, Status, described, status},
    visible::line,
};

/// Instructions longer than this are folded.
const LONG: usize = 1_200;

pub(super) fn write(page: &mut Page, number: usize, scene: &Scene<'_, '_>) {
    let (name, class) = named(scene.role);
    page.raw(&format!(
        "<section class=\"said {class}\" id=\"m{number}\" aria-labelledby=\"h{number}\">\n"
    ));
    page.raw(&format!("<h2 id=\"h{number}\">{name} <a class=\"number\" href=\"#m{number}\" "));
    page.raw(&format!("aria-label=\"Link to part {number}\">{number}</a></h2>\n"));
    for act in &scene.acts {
        self::act(page, scene.role, act);
    }
    page.raw("</section>\n");
}

fn act(page: &mut Page, role: Speaker, act: &Act<'_, '_>) {
    match act {
        Act::Text(text) => {
            let instructions = matches!(role, Speaker::System | Speaker::Developer);
            if instructions && text.len() > LONG {
                let lines = text.lines().count();
                page.folded("long", &format!("Instructions, {lines} lines"), |page| {
                    page.prose(text);
                });
            } else {
                page.prose(text);
            }
        }
        Act::Media(media) => self::media(page, media),
        Act::Reasoning(reasoning) => {
            let seal = if reasoning.is_sealed() { ", sealed by the provider" } else { "" };
            if reasoning.text.trim().is_empty() {
                page.element("p", "aside", &format!("Reasoning that cannot be read{seal}"));
                page.raw("\n");
            } else {
                let summary = format!("Reasoning{seal}");
                page.folded("reasoning", &summary, |page| page.prose(&reasoning.text));
            }
        }
        Act::Call(call, answer) => card(page, Some(call), *answer),
        Act::Stray(answer) => card(page, None, Some(answer)),
        Act::Other(other) => self::other(page, other),
    }
}

/// A call and its answer, side by side in one frame.
fn card(page: &mut Page, call: Option<&Call<'_>>, answer: Option<&Answer<'_>>) {
    let status = status(answer);
    let (class, sign) = match status {
        Status::Answered => ("good", "✓"),
        Status::Failed => ("bad", "✕"),
        Status::Placeholder => ("open", "↺"),
        Status::Open => ("open", "○"),
    };
    let own = |answer: &Answer<'_>| answer.name.as_deref().map(line);
    let name = call.map(|call| line(&call.name)).or_else(|| answer.and_then(own));
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or("a tool".to_owned());
    page.raw(&format!("<article class=\"pair {class}\">\n<h3><span class=\"tool\">"));
    page.text(&name);
    page.raw("</span> ");
    let id = call.map_or(answer.and_then(|answer| answer.id.as_deref()), |call| call.id.as_deref());
    if let Some(id) = id {
        page.element("span", "id", &line(id));
        page.raw(" ");
    }
    page.raw(&format!("<span class=\"status\"><span aria-hidden=\"true\">{sign}</span> "));
    page.raw(&format!("{}</span></h3>\n", status.word()));
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
        self::answer(page, answer);
        page.raw("</div>\n");
    }
    page.raw("</article>\n");
}

fn answer(page: &mut Page, answer: &Answer<'_>) {
    let mut empty = true;
    for part in &answer.parts {
        match part.bit() {
            Bit::Text(text) if text.trim().is_empty() => continue,
            Bit::Text(text) => page.output(text),
            Bit::Media(media) => self::media(page, media),
            Bit::Other(other) => self::other(page, other),
            Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) => continue,
        }
        empty = false;
    }
    if empty {
        page.raw("<p class=\"aside\">It says nothing.</p>\n");
    }
}

fn media(page: &mut Page, media: &Media<'_>) {
    let words = line(&described(media));
    page.raw("<figure>\n");
    if let Some((media_type, data)) = image::shown(media) {
        page.raw(&format!("<img src=\"data:{media_type};base64,{data}\" alt=\""));
        page.text(&words);
        page.raw("\">\n");
    }
    page.raw("<figcaption>");
    page.text(&words);
    page.raw("</figcaption>\n</figure>\n");
}

fn other(page: &mut Page, other: &Other<'_>) {
    let json = pretty(&other.json).unwrap_or_else(|| other.json.to_string());
    page.folded("other", &format!("Other: {}", line(&other.name)), |page| page.output(&json));
}
