//! A conversation in Markdown.
//!
//! Text keeps its lists, emphasis and code. Headings, HTML and pictures in it are spelled out, so
//! that only this module writes any.

mod escape;

use foxwedge_formats::model::{
    ContentPart, ModelHistory, ReasoningPart, ToolCallPart, ToolResultPart,
};

use super::{
    ExportHeader,
    export_turns::{
        ExportCallStatus, ExportTurnItem, call_status, describe_media, role_title, split_turns,
    },
    pretty::pretty,
    prose::{ProseBlock, blocks, safe_fence},
    visible::{make_visible, single_line},
};
use escape::{code_span, escape_markdown};

/// The whole document.
pub(crate) fn markdown(title: &ExportHeader, history: &ModelHistory<'_>) -> String {
    let mut page = MarkdownDocument { out: String::new() };
    page.header(title);
    for (index, scene) in split_turns(history).iter().enumerate() {
        page.paragraph(&format!("## {}. {}", index + 1, role_title(scene.role)));
        for act in &scene.items {
            page.item(act);
        }
    }
    // One line break is enough at the end.
    page.out.pop();
    page.out
}

/// The document so far.
struct MarkdownDocument {
    out: String,
}

impl MarkdownDocument {
    /// One block, with an empty line behind it.
    fn paragraph(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push_str("\n\n");
    }

    fn header(&mut self, title: &ExportHeader) {
        self.paragraph(&format!(
            "# Conversation with {}",
            escape_markdown(&single_line(&title.agent))
        ));
        for (name, value) in title.facts() {
            self.out.push_str(&format!("- {name}: {}\n", code_span(&single_line(&value))));
        }
        self.out.push('\n');
        if !title.notes.is_empty() {
            self.paragraph("What was repaired:");
            for note in &title.notes {
                self.out.push_str(&format!("- {}\n", escape_markdown(&single_line(note))));
            }
            self.out.push('\n');
        }
    }

    fn item(&mut self, act: &ExportTurnItem<'_, '_>) {
        match act {
            ExportTurnItem::Text(text) => self.prose(text),
            ExportTurnItem::Media(media) => self.paragraph(&format!(
                "*[{}]*",
                escape_markdown(&single_line(&describe_media(media)))
            )),
            ExportTurnItem::Reasoning(reasoning) => self.reasoning(reasoning),
            ExportTurnItem::Call(call, answer) => {
                self.call(call);
                self.answer(Some(call), *answer);
            }
            ExportTurnItem::OrphanAnswer(answer) => self.answer(None, Some(answer)),
            ExportTurnItem::Other(other) => {
                let json = pretty(&other.json).unwrap_or_else(|| other.json.to_string());
                self.folded(
                    &format!("Other: {}", escape_html(&single_line(&other.name))),
                    "json",
                    &json,
                );
            }
        }
    }

    fn prose(&mut self, text: &str) {
        for block in blocks(&make_visible(text)) {
            match block {
                ProseBlock::Lines(lines) => self.paragraph(&escape_markdown(lines)),
                ProseBlock::Code { language, body } => self.fenced(language, &body),
            }
        }
    }

    /// Text that nothing inside can end.
    fn fenced(&mut self, language: &str, text: &str) {
        let text = make_visible(text);
        let fence = safe_fence(&text);
        let plain =
            |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '-' | '_');
        let language: String = language.chars().filter(plain).take(24).collect();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.paragraph(&format!("{fence}{language}\n{text}{end}{fence}"));
    }

    fn folded(&mut self, summary: &str, language: &str, text: &str) {
        self.paragraph(&format!("<details>\n<summary>{summary}</summary>"));
        self.fenced(language, text);
        self.paragraph("</details>");
    }

    fn reasoning(&mut self, reasoning: &ReasoningPart<'_>) {
        let seal = if reasoning.is_provider_bound() { " (sealed by the provider)" } else { "" };
        if reasoning.text.trim().is_empty() {
            self.paragraph(&format!("*[reasoning that cannot be read{seal}]*"));
        } else {
            self.folded(&format!("Reasoning{seal}"), "text", &reasoning.text);
        }
    }

    fn call(&mut self, call: &ToolCallPart<'_>) {
        let id = call.id.as_deref().map(|id| format!(" · id {}", code_span(&single_line(id))));
        self.paragraph(&format!(
            "**Call** {}{}",
            code_span(&single_line(&call.name)),
            id.unwrap_or_default()
        ));
        if call.is_free_text() {
            return self.fenced("text", &call.arguments);
        }
        match pretty(&call.arguments) {
            Some(json) => self.fenced("json", &json),
            None => self.fenced("text", &call.arguments),
        }
    }

    fn answer(&mut self, call: Option<&ToolCallPart<'_>>, answer: Option<&ToolResultPart<'_>>) {
        let status = call_status(answer);
        let mark = match status {
            ExportCallStatus::Answered => String::new(),
            ExportCallStatus::Failed | ExportCallStatus::Placeholder | ExportCallStatus::Open => {
                format!(" · {}", status.label())
            }
        };
        let name =
            call.map(|call| &*call.name).or(answer.and_then(|answer| answer.name.as_deref()));
        let name =
            name.map(|name| format!(" of {}", code_span(&single_line(name)))).unwrap_or_default();
        let stray = match (call, answer.and_then(|answer| answer.id.as_deref())) {
            (None, Some(id)) => {
                format!(" to a call that is not here, id {}", code_span(&single_line(id)))
            }
            (None, None) => " to a call that is not here".to_owned(),
            (Some(_), _) => String::new(),
        };
        self.paragraph(&format!("**Answer**{name}{stray}{mark}"));
        for part in answer.map(|answer| answer.parts.as_slice()).unwrap_or_default() {
            match part.content() {
                ContentPart::Text(text) => self.fenced("text", text),
                ContentPart::Media(media) => self.item(&ExportTurnItem::Media(media)),
                ContentPart::Unknown(other) => self.item(&ExportTurnItem::Other(other)),
                ContentPart::Reasoning(_)
                | ContentPart::ToolCall(_)
                | ContentPart::ToolResult(_) => {}
            }
        }
    }
}

/// Text inside of HTML.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
