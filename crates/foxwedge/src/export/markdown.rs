//! A conversation in Markdown.
//!
//! Text keeps its lists, emphasis and code. Headings, HTML and pictures in it are spelled out, so
//! that only this module writes any.

mod escape;

use foxwedge_dialect::canon::{Answer, Bit, Call, History, Reasoning};

use super::{
    Title,
    pretty::pretty,
    prose::{Block, blocks, fence},
    scene::{Act, Status, described, scenes, speaker, status},
    visible::{line, visible},
};
use escape::{code, escaped};

/// The whole document.
pub(crate) fn markdown(title: &Title, history: &History<'_>) -> String {
    let mut page = Page { out: String::new() };
    page.head(title);
    for (index, scene) in scenes(history).iter().enumerate() {
        page.paragraph(&format!("## {}. {}", index + 1, speaker(scene.role)));
        for act in &scene.acts {
            page.act(act);
        }
    }
    // One line break is enough at the end.
    page.out.pop();
    page.out
}

/// The document so far.
struct Page {
    out: String,
}

impl Page {
    /// One block, with an empty line behind it.
    fn paragraph(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push_str("\n\n");
    }

    fn head(&mut self, title: &Title) {
        self.paragraph(&format!("# Conversation with {}", escaped(&line(&title.agent))));
        for (name, value) in title.facts() {
            self.out.push_str(&format!("- {name}: {}\n", code(&line(&value))));
        }
        self.out.push('\n');
        if !title.notes.is_empty() {
            self.paragraph("What was repaired:");
            for note in &title.notes {
                self.out.push_str(&format!("- {}\n", escaped(&line(note))));
            }
            self.out.push('\n');
        }
    }

    fn act(&mut self, act: &Act<'_, '_>) {
        match act {
            Act::Text(text) => self.prose(text),
            Act::Media(media) => {
                self.paragraph(&format!("*[{}]*", escaped(&line(&described(media)))))
            }
            Act::Reasoning(reasoning) => self.reasoning(reasoning),
            Act::Call(call, answer) => {
                self.call(call);
                self.answer(Some(call), *answer);
            }
            Act::Stray(answer) => self.answer(None, Some(answer)),
            Act::Other(other) => {
                let json = pretty(&other.json).unwrap_or_else(|| other.json.to_string());
                self.folded(&format!("Other: {}", html(&line(&other.name))), "json", &json);
            }
        }
    }

    fn prose(&mut self, text: &str) {
        for block in blocks(&visible(text)) {
            match block {
                Block::Lines(lines) => self.paragraph(&escaped(lines)),
                Block::Code { language, body } => self.fenced(language, &body),
            }
        }
    }

    /// Text that nothing inside can end.
    fn fenced(&mut self, language: &str, text: &str) {
        let text = visible(text);
        let fence = fence(&text);
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

    fn reasoning(&mut self, reasoning: &Reasoning<'_>) {
        let seal = if reasoning.is_sealed() { " (sealed by the provider)" } else { "" };
        if reasoning.text.trim().is_empty() {
            self.paragraph(&format!("*[reasoning that cannot be read{seal}]*"));
        } else {
            self.folded(&format!("Reasoning{seal}"), "text", &reasoning.text);
        }
    }

    fn call(&mut self, call: &Call<'_>) {
        let id = call.id.as_deref().map(|id| format!(" · id {}", code(&line(id))));
        self.paragraph(&format!("**Call** {}{}", code(&line(&call.name)), id.unwrap_or_default()));
        if call.is_free_text() {
            return self.fenced("text", &call.arguments);
        }
        match pretty(&call.arguments) {
            Some(json) => self.fenced("json", &json),
            None => self.fenced("text", &call.arguments),
        }
    }

    fn answer(&mut self, call: Option<&Call<'_>>, answer: Option<&Answer<'_>>) {
        let status = status(answer);
        let mark = match status {
            Status::Answered => String::new(),
            Status::Failed | Status::Placeholder | Status::Open => format!(" · {}", status.word()),
        };
        let name =
            call.map(|call| &*call.name).or(answer.and_then(|answer| answer.name.as_deref()));
        let name = name.map(|name| format!(" of {}", code(&line(name)))).unwrap_or_default();
        let stray = match (call, answer.and_then(|answer| answer.id.as_deref())) {
            (None, Some(id)) => format!(" to a call that is not here, id {}", code(&line(id))),
            (None, None) => " to a call that is not here".to_owned(),
            (Some(_), _) => String::new(),
        };
        self.paragraph(&format!("**Answer**{name}{stray}{mark}"));
        for part in answer.map(|answer| answer.parts.as_slice()).unwrap_or_default() {
            match part.bit() {
                Bit::Text(text) => self.fenced("text", text),
                Bit::Media(media) => self.act(&Act::Media(media)),
                Bit::Other(other) => self.act(&Act::Other(other)),
                Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) => {}
            }
        }
    }
}

/// Text inside of HTML.
fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
