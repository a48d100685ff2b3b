//! A conversation as Markdown.
//!
//! Text keeps its lists, emphasis and code. Headings, HTML and images in it are escaped, so that
//! only this module writes any.

mod escape;
mod markdown_index;

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

pub use markdown_index::markdown_index;

/// Writes the document.
pub fn markdown(header: &ExportHeader, history: &ModelHistory<'_>) -> String {
    let mut document = MarkdownDocument { out: String::new() };
    document.header(header);
    for (index, turn) in split_turns(history).iter().enumerate() {
        document.paragraph(&format!("## {}. {}", index + 1, role_title(turn.role)));
        for item in &turn.items {
            document.item(item);
        }
    }
    // The document ends with one line break.
    document.out.pop();
    document.out
}

/// A Markdown document under construction.
struct MarkdownDocument {
    out: String,
}

impl MarkdownDocument {
    /// Adds a block and an empty line.
    fn paragraph(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push_str("\n\n");
    }

    fn header(&mut self, header: &ExportHeader) {
        self.paragraph(&format!("# {}", escape_markdown(&single_line(&header.heading()))));
        for (name, value) in header.facts() {
            self.out.push_str(&format!("- {name}: {}\n", code_span(&single_line(&value))));
        }
        self.out.push('\n');
        if !header.notes.is_empty() {
            self.paragraph("Repairs:");
            for note in &header.notes {
                self.out.push_str(&format!("- {}\n", escape_markdown(&single_line(note))));
            }
            self.out.push('\n');
        }
    }

    fn item(&mut self, item: &ExportTurnItem<'_, '_>) {
        match item {
            ExportTurnItem::Text(text) => self.prose(text),
            ExportTurnItem::Media(media) => self.paragraph(&format!(
                "*[{}]*",
                escape_markdown(&single_line(&describe_media(media)))
            )),
            ExportTurnItem::Reasoning(reasoning) => self.reasoning(reasoning),
            ExportTurnItem::Call(call, result) => {
                self.call(call);
                self.result(Some(call), *result);
            }
            ExportTurnItem::OrphanAnswer(result) => self.result(None, Some(result)),
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

    /// Adds fenced text. The fence is longer than any inside.
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

    fn result(&mut self, call: Option<&ToolCallPart<'_>>, result: Option<&ToolResultPart<'_>>) {
        let status = call_status(result);
        let mark = match status {
            ExportCallStatus::Answered => String::new(),
            ExportCallStatus::Failed | ExportCallStatus::Placeholder | ExportCallStatus::Open => {
                format!(" · {}", status.label())
            }
        };
        let name =
            call.map(|call| &*call.name).or(result.and_then(|result| result.name.as_deref()));
        let name =
            name.map(|name| format!(" of {}", code_span(&single_line(name)))).unwrap_or_default();
        let orphan = match (call, result.and_then(|result| result.id.as_deref())) {
            (None, Some(id)) => {
                format!(
                    " for a call that is not in this history, id {}",
                    code_span(&single_line(id))
                )
            }
            (None, None) => " for a call that is not in this history".to_owned(),
            (Some(_), _) => String::new(),
        };
        self.paragraph(&format!("**Result**{name}{orphan}{mark}"));
        for part in result.map(|result| result.parts.as_slice()).unwrap_or_default() {
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

/// Escapes text for HTML.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
