//! Writes OpenAI Responses: numbered events about items.
//!
//! Text and refusals directly behind each other are parts of one message; every other block is an
//! item of its own, and text behind it begins another message. The format tells every text again
//! when it is whole, and all items in the last event, so this writer keeps the answer. A last event
//! that tells of a failure holds only items that were whole. A block in which nothing is said is not
//! written.

mod item;

use foxwedge_core::{Family, Wire};

use super::{
    Brief, NAMELESS, Notes, UNQUOTED, UNREADABLE, UNSIGNED, UNSIGNED_CALL, cut, figures,
    pen::{characters, number, string, url_citation},
    stopped,
};
use crate::{
    canon::{
        Citation, Failure, Lost, Stop, Trouble, Usage, Words,
        replies::{item_id, reply_id},
    },
    stream::{
        event::{Event, Head, Opened, Piece},
        order::{lent, owned_stop},
    },
};
use item::{Item, Kind};

pub(crate) struct Responses {
    brief: Brief,
    line: String,
    id: String,
    /// The fields of the response that never change.
    about: String,
    sequence: u64,
    /// The whole items.
    output: String,
    items: usize,
    item: Option<Item>,
    /// A block of which nothing is written yet.
    waiting: Option<Waiting>,
    usage: Usage,
    stop: Option<Stop<'static>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    Text,
    Refusal,
    Reasoning,
}

impl Responses {
    pub(super) fn new(brief: Brief) -> Responses {
        Responses {
            brief,
            line: String::new(),
            id: String::new(),
            about: String::new(),
            sequence: 0,
            output: String::new(),
            items: 0,
            item: None,
            waiting: None,
            usage: Usage::default(),
            stop: None,
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match event {
            Event::Start(head) => self.start(head, out),
            Event::Open { kind, .. } => self.open(kind, out, notes),
            Event::More { piece, .. } => self.more(piece, out, notes),
            Event::Close { .. } => self.close(out),
            Event::Usage(usage) => self.usage = *usage,
            // The figures may still follow, and stand in the same event.
            Event::Stop(stop) => {
                self.finish(out);
                self.stop = Some(owned_stop(stop));
            }
            Event::End => self.end(out, notes),
            Event::Failed(trouble) => self.fail(trouble, out, notes),
            Event::Cut => self.fail(&cut(), out, notes),
        }
    }

    pub(super) fn held(&self) -> usize {
        self.output.len() + self.item.as_ref().map_or(0, Item::bytes)
    }

    fn start(&mut self, head: &Head<'_>, out: &mut Vec<u8>) {
        let id = reply_id(Wire::OpenaiResponses, head.id.as_deref(), &self.brief.seed);
        self.id = id.into_owned();
        let about = &mut self.about;
        about.push_str("\"id\":");
        Words::from(&*self.id).write(about);
        about.push_str(",\"object\":\"response\",\"created_at\":");
        number(about, head.created.unwrap_or(0));
        about.push_str(",\"model\":");
        string(about, head.model.as_ref(), "unknown");
        about.push_str(",\"instructions\":null,\"metadata\":{},\"parallel_tool_calls\":true");
        about
            .push_str(",\"temperature\":null,\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":null");
        for name in ["response.created", "response.in_progress"] {
            self.begin(name);
            self.response("in_progress", |line| {
                line.push_str("\"error\":null,\"incomplete_details\":null,\"usage\":null");
            });
            self.done(out);
        }
    }

    fn open(&mut self, kind: &Opened<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match kind {
            Opened::Text => self.waiting = Some(Waiting::Text),
            Opened::Refusal => self.waiting = Some(Waiting::Refusal),
            Opened::Reasoning => {
                self.finish(out);
                self.waiting = Some(Waiting::Reasoning);
            }
            Opened::Redacted(_) => {
                self.finish(out);
                notes.add(Lost::Reasoning, UNREADABLE);
            }
            Opened::Call { id, name, family, signature } => {
                if signature.is_some() {
                    notes.add(Lost::Signature, UNSIGNED_CALL);
                }
                let mut about = String::from("\"call_id\":");
                string(&mut about, id.as_ref(), "");
                about.push_str(",\"name\":");
                name.write(&mut about);
                let custom = *family == Family::Custom;
                self.add(if custom { Kind::Custom } else { Kind::Function }, about, out);
            }
        }
    }

    /// Begins an item.
    fn add(&mut self, kind: Kind, about: String, out: &mut Vec<u8>) {
        self.finish(out);
        let item = Item::new(kind, item_id(kind.prefix(), &self.id, self.items), about);
        self.begin("response.output_item.added");
        self.index();
        self.line.push_str(",\"item\":");
        item.write(&mut self.line, "in_progress");
        self.done(out);
        self.item = Some(item);
    }

    /// Begins the block that waits for something to be said in it.
    fn begin_block(&mut self, out: &mut Vec<u8>) {
        match self.waiting.take() {
            None => {}
            Some(Waiting::Reasoning) => self.add(Kind::Reasoning, String::new(), out),
            Some(part @ (Waiting::Text | Waiting::Refusal)) => {
                if self.item.as_ref().is_none_or(|item| item.kind != Kind::Message) {
                    self.add(Kind::Message, String::new(), out);
                }
                self.open_part(part == Waiting::Refusal, out);
            }
        }
    }

    fn open_part(&mut self, refusal: bool, out: &mut Vec<u8>) {
        let Some(item) = &mut self.item else { return };
        item.open_part(refusal);
        self.part("response.content_part.added", out, |line, item| {
            line.push_str(",\"part\":");
            item.write_part(line);
        });
    }

    fn more(&mut self, piece: &Piece<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match piece {
            Piece::Text(words) => {
                self.begin_block(out);
                self.text(words, out);
            }
            Piece::Encrypted(words) => {
                self.begin_block(out);
                let Some(item) = &mut self.item else { return };
                item.sealed.clear();
                words.write_inside(&mut item.sealed);
            }
            Piece::Signature(_) => notes.add(Lost::Signature, UNSIGNED),
            Piece::Citation(citation) => self.citation(citation, out, notes),
        }
    }

    fn text(&mut self, words: &Words<'_>, out: &mut Vec<u8>) {
        let Some(item) = &mut self.item else { return };
        let (kind, refusal) = (item.kind, item.refusal);
        if kind == Kind::Reasoning && !item.open {
            item.open_part(false);
            self.part("response.reasoning_summary_part.added", out, |line, item| {
                line.push_str(",\"part\":");
                item.write_part(line);
            });
        }
        let name = match kind {
            Kind::Message if refusal => "response.refusal.delta",
            Kind::Message => "response.output_text.delta",
            Kind::Reasoning => "response.reasoning_summary_text.delta",
            Kind::Function => "response.function_call_arguments.delta",
            Kind::Custom => "response.custom_tool_call_input.delta",
        };
        self.part(name, out, |line, item| {
            line.push_str(",\"delta\":\"");
            let start = line.len();
            words.write_inside(line);
            item.text.push_str(line.get(start..).unwrap_or(""));
            line.push('"');
            if kind == Kind::Message && !refusal {
                line.push_str(",\"logprobs\":[]");
            }
        });
    }

    fn citation(&mut self, citation: &Citation<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        if citation.url.is_none() {
            return notes.add(Lost::Citation, NAMELESS);
        }
        if citation.quote.as_ref().is_some_and(|quote| !quote.is_empty()) {
            notes.add(Lost::Citation, UNQUOTED);
        }
        self.begin_block(out);
        self.part("response.output_text.annotation.added", out, |line, item| {
            line.push_str(",\"annotation_index\":");
            number(line, item.annotated);
            line.push_str(",\"annotation\":");
            let start = line.len();
            line.push_str("{\"type\":\"url_citation\",");
            url_citation(line, citation, 0, characters(&item.text));
            line.push('}');
            item.annotate(line.get(start..).unwrap_or(""));
        });
    }

    /// The open block is whole.
    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(item) = self.item.as_ref().filter(|_| self.waiting.is_none()) else {
            self.waiting = None;
            return;
        };
        let whole: &[&str] = match item.kind {
            Kind::Message if item.refusal => {
                &["response.refusal.done", "response.content_part.done"]
            }
            Kind::Message => &["response.output_text.done", "response.content_part.done"],
            Kind::Reasoning if !item.open => &[],
            Kind::Reasoning => {
                &["response.reasoning_summary_text.done", "response.reasoning_summary_part.done"]
            }
            Kind::Function => &["response.function_call_arguments.done"],
            Kind::Custom => &["response.custom_tool_call_input.done"],
        };
        for name in whole {
            self.part(name, out, |line, item| item.write_whole(line, name.ends_with("part.done")));
        }
        let Some(item) = &mut self.item else { return };
        item.close_part();
        // A message may go on with the next block.
        if item.kind != Kind::Message {
            self.finish(out);
        }
    }

    /// The open item is whole.
    fn finish(&mut self, out: &mut Vec<u8>) {
        let Some(item) = self.item.take() else { return };
        self.begin("response.output_item.done");
        self.index();
        self.line.push_str(",\"item\":");
        let start = self.line.len();
        item.write(&mut self.line, if item.is_broken() { "incomplete" } else { "completed" });
        if self.items > 0 {
            self.output.push(',');
        }
        self.output.push_str(self.line.get(start..).unwrap_or(""));
        self.items += 1;
        self.done(out);
    }

    fn end(&mut self, out: &mut Vec<u8>, notes: &mut Notes) {
        self.finish(out);
        let stop = self.stop.take().unwrap_or(Stop::End);
        let (name, status, reason) = match stopped(Wire::OpenaiResponses, &stop, notes) {
            "completed" => ("response.completed", "completed", None),
            reason => ("response.incomplete", "incomplete", Some(reason)),
        };
        let mut usage = String::new();
        self.figures(&mut usage, notes);
        self.begin(name);
        self.response(status, |line| {
            line.push_str("\"error\":null,\"incomplete_details\":");
            match reason {
                Some(reason) => {
                    line.push_str("{\"reason\":\"");
                    line.push_str(reason);
                    line.push_str("\"}");
                }
                None => line.push_str("null"),
            }
            line.push_str(",\"usage\":");
            line.push_str(&usage);
        });
        self.done(out);
    }

    fn fail(&mut self, trouble: &Failure<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match &self.item {
            // All its parts are whole.
            Some(item) if item.kind == Kind::Message && !item.open => self.finish(out),
            Some(_) => {
                notes.add(Lost::Unknown, "a block that was cut off is not in the last event");
            }
            None => {}
        }
        let code = code(self.brief.from, trouble);
        if let Some(own) = trouble.code.as_ref().filter(|own| **own != code) {
            let note = format!("the failure `{own}` is called `{code}` in this format");
            notes.add(Lost::Unknown, &note);
        }
        let mut usage = String::new();
        self.figures(&mut usage, notes);
        self.begin("response.failed");
        self.response("failed", |line| {
            line.push_str("\"error\":{\"code\":");
            code.write(line);
            line.push_str(",\"message\":");
            trouble.message.write(line);
            line.push_str("},\"incomplete_details\":null,\"usage\":");
            line.push_str(&usage);
        });
        self.done(out);
    }

    fn figures(&self, usage: &mut String, notes: &mut Notes) {
        if self.usage.is_empty() {
            usage.push_str("null");
        } else {
            figures(Wire::OpenaiResponses, &self.usage, usage, notes);
        }
    }

    /// Adds the response with the items so far.
    fn response(&mut self, status: &str, fields: impl FnOnce(&mut String)) {
        let line = &mut self.line;
        line.push_str(",\"response\":{");
        line.push_str(&self.about);
        line.push_str(",\"status\":\"");
        line.push_str(status);
        line.push_str("\",\"output\":[");
        line.push_str(&self.output);
        line.push_str("],");
        fields(line);
        line.push('}');
    }

    /// Writes an event about the open item and its open part.
    fn part(&mut self, name: &str, out: &mut Vec<u8>, fields: impl FnOnce(&mut String, &mut Item)) {
        self.begin(name);
        self.index();
        let Some(item) = &mut self.item else { return };
        item.write_place(&mut self.line);
        fields(&mut self.line, item);
        self.done(out);
    }

    fn index(&mut self) {
        self.line.push_str(",\"output_index\":");
        number(&mut self.line, self.items as u64);
    }

    fn begin(&mut self, name: &str) {
        self.line.clear();
        self.line.push_str("event: ");
        self.line.push_str(name);
        self.line.push_str("\ndata: {\"type\":\"");
        self.line.push_str(name);
        self.line.push_str("\",\"sequence_number\":");
        number(&mut self.line, self.sequence);
    }

    fn done(&mut self, out: &mut Vec<u8>) {
        self.sequence += 1;
        self.line.push_str("}\n\n");
        out.extend_from_slice(self.line.as_bytes());
    }
}

/// The names of troubles that OpenAI's own readers know.
const CODES: [&str; 18] = [
    "server_error",
    "rate_limit_exceeded",
    "invalid_prompt",
    "vector_store_timeout",
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "invalid_image_url",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_content_policy_violation",
    "invalid_image_mode",
    "image_file_too_large",
    "unsupported_image_media_type",
    "empty_image_file",
    "failed_to_download_image",
    "image_file_not_found",
];

/// The name of the trouble. Strict readers take OpenAI's own only.
fn code<'f>(from: Option<Wire>, trouble: &'f Failure<'_>) -> Words<'f> {
    let known = |code: &&Words<'_>| match from {
        Some(Wire::OpenaiResponses) => true,
        Some(Wire::OpenaiChat) => CODES.contains(&&***code),
        _ => false,
    };
    match (trouble.code.as_ref().filter(known), trouble.kind) {
        (Some(code), _) => lent(code),
        (None, Trouble::RateLimit) => "rate_limit_exceeded".into(),
        (None, Trouble::Request | Trouble::TooLarge) => "invalid_prompt".into(),
        (
            None,
            Trouble::Credentials
            | Trouble::Permission
            | Trouble::NotFound
            | Trouble::Overloaded
            | Trouble::Timeout
            | Trouble::Server,
        ) => "server_error".into(),
    }
}
