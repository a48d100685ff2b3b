//! What the writers of all formats share.

use std::{borrow::Cow, collections::HashMap};

use foxwedge_core::{
    ArgumentsFix, Language, Layout, Profile, Span, Wire, is_placeholder, media_heading,
};

use super::{
    Loss, Lost, Outline, Spot, Target,
    bedrock::plain,
    blocks::document,
    pen::{is_too_deep, string, tight, tight_into},
    system::lead,
};
use crate::{
    canon::{
        Answer, At, Bit, Call, Form, History, Media, MediaKind, Pairs, Part, Raw, Reasoning, Said,
        Seal, Source, Speaker, Words,
        ledger::{Entry, Ledger},
    },
    outline::is_object,
    splice::{Encoding, respelled},
};

/// A history on its way into a format.
pub(super) struct Page<'h, 'a> {
    pub(super) history: &'h History<'a>,
    pub(super) wire: Wire,
    pub(super) target: &'h Target,
    pub(super) ledger: Ledger<'h>,
    /// How many messages at the beginning are instructions.
    pub(super) lead: usize,
    pub(super) losses: Vec<Loss>,
    /// How often the name of a document was used.
    documents: HashMap<String, usize>,
    /// What is written, as a reader would see it.
    pub(super) outline: Outline<'h>,
}

/// A piece of content.
pub(super) enum Piece<'h> {
    /// Text, as it was spelled.
    Text(&'h Words<'h>),
    /// Text that we say ourselves.
    Ours(Words<'h>),
    /// A finished block.
    Block(Cow<'h, str>),
}

impl<'h> Piece<'h> {
    /// What a text says.
    pub(super) fn words(&self) -> Option<&Words<'h>> {
        match self {
            Piece::Text(words) => Some(words),
            Piece::Ours(words) => Some(words),
            Piece::Block(_) => None,
        }
    }
}

/// An answer, told in pieces, and the blocks that have to stand behind the run of answers.
pub(super) struct Told<'h> {
    pub(super) pieces: Vec<Piece<'h>>,
    pub(super) behind: Vec<String>,
}

/// Spells media, if the format can hold it there.
pub(super) type Spell = fn(&Media<'_>) -> Option<String>;

impl<'h, 'a> Page<'h, 'a> {
    pub(super) fn new(history: &'h History<'a>, target: &'h Target, pairs: Pairs) -> Page<'h, 'a> {
        let ledger = Ledger::new(history, target.wire, target.profile, &target.restore, pairs);
        let outline = Outline::new(target.wire);
        Page {
            history,
            wire: target.wire,
            target,
            ledger,
            lead: lead(history),
            losses: Vec::new(),
            documents: HashMap::new(),
            outline,
        }
    }

    pub(super) fn lose(&mut self, message: usize, what: Lost, note: impl Into<String>) {
        self.losses.push(Loss { what, at: Spot::Message(message), note: note.into() });
    }

    /// What is written for a call or an answer.
    pub(super) fn entry(&self, at: At) -> Option<Entry<'h>> {
        self.ledger.entry(at).cloned()
    }

    /// How this format spelled a part, unless it needs another id now.
    pub(super) fn spelled<'r>(&self, at: At, part: &Part<'r>) -> Option<Raw<'r>> {
        let raw = part.spelled(self.wire).copied();
        match part.bit() {
            Bit::Call(_) | Bit::Answer(_) => {
                raw.filter(|_| self.ledger.entry(at).is_some_and(|entry| entry.as_spelled))
            }
            Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_) => raw,
        }
    }

    /// Whether a part has a place in the format; notes it if not.
    pub(super) fn takes(&mut self, at: At, role: Speaker, part: &Part<'_>) -> bool {
        if part.spelled(self.wire).is_some() {
            return true;
        }
        let takes = match part.bit() {
            Bit::Call(call) => {
                if call.signature.is_some() && self.wire != Wire::Gemini {
                    self.lose(at.message, Lost::Signature, "a call loses its signature");
                }
                true
            }
            Bit::Answer(_) => true,
            Bit::Text(text) => match self.wire {
                // Refused as a block of its own, and it says nothing.
                Wire::Anthropic | Wire::Gemini => !text.is_empty(),
                Wire::Bedrock => !text.trim().is_empty(),
                Wire::OpenaiChat | Wire::OpenaiResponses => true,
            },
            // Only Gemini shows what the model drew.
            Bit::Media(media) if role == Speaker::Assistant && self.wire != Wire::Gemini => {
                let what = media.kind.name();
                self.lose(at.message, Lost::Media, format!("the model's own {what} is left out"));
                false
            }
            Bit::Media(_) => true,
            Bit::Reasoning(reasoning) => self.reasons(at, part, reasoning),
            Bit::Other(other) => {
                let what = match &*other.name {
                    "cachePoint" => Lost::CacheMark,
                    name if is_server(name) => Lost::ServerCall,
                    _ => Lost::Unknown,
                };
                let name = if other.name.is_empty() { "a value" } else { &other.name };
                self.lose(at.message, what, format!("`{name}` has no meaning in this format"));
                false
            }
        };
        if takes {
            self.noted(at, part);
        }
        takes
    }

    /// Whether reasoning goes over.
    fn reasons(&mut self, at: At, part: &Part<'_>, reasoning: &Reasoning<'_>) -> bool {
        let from = part.raw().map(|raw| raw.wire);
        let claude = |wire: Wire| matches!(wire, Wire::Anthropic | Wire::Bedrock);
        // The same models sign at both places.
        if from.is_some_and(claude) && claude(self.wire) && reasoning.is_sealed() {
            return true;
        }
        // Mistral refuses the field; the rest pass over it, or want it.
        let known = !matches!(self.target.profile, Profile::Mistral | Profile::Strict);
        let chat = self.wire == Wire::OpenaiChat && known && !reasoning.text.is_empty();
        let carried = chat && (self.target.reasoning || !reasoning.is_sealed());
        match (carried, &reasoning.seal) {
            (true, Seal::Open) => {}
            (true, Seal::Signed(_) | Seal::Redacted(_) | Seal::Encrypted(_)) => {
                self.lose(at.message, Lost::Signature, "reasoning loses its signature");
            }
            (false, _) => {
                let note = "reasoning goes back to its own format only";
                self.lose(at.message, Lost::Reasoning, note);
            }
        }
        carried
    }

    /// Tells which notes of a part the format has no place for.
    pub(super) fn noted(&mut self, at: At, part: &Part<'_>) {
        let Some(notes) = part.notes().filter(|_| part.spelled(self.wire).is_none()) else {
            return;
        };
        if notes.cache.is_some() && !matches!(self.wire, Wire::Anthropic | Wire::Bedrock) {
            self.lose(at.message, Lost::CacheMark, "the prompt is not marked for caching any more");
        }
        if notes.refusal && !matches!(self.wire, Wire::OpenaiChat | Wire::OpenaiResponses) {
            self.lose(at.message, Lost::Refusal, "a refusal becomes plain text");
        }
        let openai = matches!(self.wire, Wire::OpenaiChat | Wire::OpenaiResponses);
        if notes.detail.is_some() && !openai {
            let note = "how closely an image is to be looked at cannot be said in this format";
            self.lose(at.message, Lost::Setting, note);
        }
        if notes.signed {
            self.lose(at.message, Lost::Signature, "a text loses its signature");
        }
        if !notes.citations.is_empty() {
            self.lose(
                at.message,
                Lost::Citation,
                "a text does not say any more where it comes from",
            );
        }
        for key in &notes.others {
            let note = format!("the field `{key}` has no place in this format");
            self.lose(at.message, Lost::Unknown, note);
        }
    }

    /// Tells which fields of a message the format has no place for.
    pub(super) fn fields(&mut self, index: usize, said: &Said<'_>) {
        if said.wire().is_none_or(|wire| wire == self.wire) {
            return;
        }
        for member in said.all_members() {
            let (key, value) = member.split_once(':').unwrap_or((member, ""));
            let key = key.trim().trim_matches('"');
            // Numbers of what lies on a server, and what says nothing.
            let idle = matches!(key, "id" | "status" | "type" | "index" | "object");
            if !idle && !matches!(value.trim(), "null" | "[]" | "{}" | "\"\"") {
                let note = format!("the field `{key}` of a message has no place in this format");
                self.lose(index, Lost::Unknown, note);
            }
        }
    }

    /// Adds the arguments of a call as a JSON object.
    pub(super) fn object(&mut self, out: &mut String, at: At, call: &Call<'_>) {
        let start = out.len();
        if let Some(note) = object(out, call) {
            self.lose(at.message, Lost::Arguments, note);
        }
        // What was the text of a string before may hold half a character: a reader sees it.
        let written = out.get(start..).unwrap_or_default();
        if written.contains("\\ud") || written.contains("\\uD") {
            self.outline.give_up();
        }
    }

    /// What an answer says and shows, for a format that holds media inside answers by `inside`
    /// and beside them by `beside`.
    pub(super) fn tell(
        &mut self,
        at: At,
        answer: &'h Answer<'a>,
        inside: Spell,
        beside: Spell,
    ) -> Told<'h> {
        let mut told = Told { pieces: Vec::with_capacity(answer.parts.len()), behind: Vec::new() };
        for part in &answer.parts {
            if let Some(raw) = part.spelled(self.wire).filter(|raw| raw.form == Form::Block) {
                told.pieces.push(Piece::Block(tight(raw.json)));
                continue;
            }
            self.noted(at, part);
            // Nothing inside an answer can be marked, but by Anthropic.
            if self.wire == Wire::Bedrock && part.notes().is_some_and(|notes| notes.cache.is_some())
            {
                let note = "a mark for caching inside an answer has no place in this format";
                self.lose(at.message, Lost::CacheMark, note);
            }
            match part.bit() {
                Bit::Text(text) => told.pieces.push(Piece::Text(text)),
                Bit::Media(media) => match (inside(&self.named(at, media)), beside(media)) {
                    (Some(block), _) => told.pieces.push(Piece::Block(block.into())),
                    (None, _) if matches!(media.source, Source::Text(_)) => {
                        told.pieces.extend(worded(media).map(Piece::Ours));
                    }
                    (None, Some(block)) => {
                        told.pieces.push(Piece::Ours(BEHIND.into()));
                        told.behind.push(block);
                    }
                    (None, None) => told.pieces.push(Piece::Ours(self.left_out(at, media).into())),
                },
                // Whatever it is, the model was meant to read it.
                Bit::Other(other) => told.pieces.push(Piece::Ours(tight(&other.json).into())),
                Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) => {
                    self.lose(at.message, Lost::Unknown, "an answer holds more than an answer can");
                }
            }
        }
        if self.wire.layout() == Layout::Blocks {
            told.pieces.retain(|piece| !piece.words().is_some_and(Words::is_empty));
        }
        told
    }

    /// Media under a name that the format takes: Bedrock refuses two documents of one name, and
    /// Gemini's files have none.
    pub(super) fn named<'m>(&mut self, at: At, media: &'m Media<'a>) -> Cow<'m, Media<'a>> {
        if media.kind != MediaKind::File {
            return Cow::Borrowed(media);
        }
        let said = matches!(media.source, Source::Text(_));
        if self.wire == Wire::Gemini && media.name.is_some() && !said {
            self.lose(at.message, Lost::Unknown, "the name of a file has no place in this format");
        }
        if self.wire != Wire::Bedrock || said {
            return Cow::Borrowed(media);
        }
        let name = plain(media.name.as_deref());
        let mut free = name.clone();
        let count = self.documents.entry(name.clone()).or_default();
        if *count > 0 {
            free = format!("{name} {}", *count + 1);
        }
        *count += 1;
        Cow::Owned(Media { name: Some(free.into()), ..media.clone() })
    }

    /// A note in the place of media that the format cannot hold.
    pub(super) fn left_out(&mut self, at: At, media: &Media<'_>) -> String {
        let what = media.kind.name();
        self.lose(at.message, Lost::Media, format!("the {what} has no place in this format"));
        let article = if what.starts_with(['a', 'i']) { "An" } else { "A" };
        format!("[foxwedge] {article} {what} was left out: this format cannot hold it.")
    }

    /// Notes that the mark of a failed answer is gone.
    pub(super) fn unmarked(&mut self, at: At, answer: &Answer<'_>) {
        if answer.error && !is_invented(answer) {
            let note = "the mark of a failed answer has no place in this format";
            self.lose(at.message, Lost::ErrorMark, note);
        }
    }
}

/// Adds the arguments of a call as a JSON object, and says so if they had to be mended.
pub(crate) fn object(out: &mut String, call: &Call<'_>) -> Option<String> {
    let text = &*call.arguments;
    if call.is_free_text() {
        out.push_str("{\"input\":");
        call.arguments.write(out);
        out.push('}');
        return None;
    }
    if is_object(text) && !is_too_deep(text) {
        tight_into(out, text);
        return None;
    }
    if text.trim().is_empty() {
        out.push_str("{}");
        return None;
    }
    let whole = Some(Span::new(0, text.len()));
    let mended = respelled(text, whole, ArgumentsFix::Mend, Encoding::Object);
    if is_too_deep(&mended) {
        out.push_str("{\"value\":");
        string(out, text);
        out.push('}');
    } else {
        tight_into(out, &mended);
    }
    Some(format!("the arguments of `{}` are no JSON object and are mended", call.name))
}

/// Whether an answer is one of the engine's placeholders, which say themselves that nothing came.
fn is_invented(answer: &Answer<'_>) -> bool {
    let [part] = answer.parts.as_slice() else { return false };
    let Bit::Text(words) = part.bit() else { return false };
    if !words.starts_with("[foxwedge] ") {
        return false;
    }
    let mut spelled = String::new();
    words.write(&mut spelled);
    is_placeholder(&spelled)
}

/// Whether a block we do not know is a call that the provider runs itself, or its answer.
fn is_server(name: &str) -> bool {
    name.ends_with("_call")
        || name.ends_with("_tool_result")
        || name.ends_with("_call_output")
        || matches!(
            name,
            "server_tool_use"
                | "mcp_tool_use"
                | "mcp_list_tools"
                | "mcp_approval_request"
                | "executableCode"
                | "codeExecutionResult"
                | "executable_code"
                | "code_execution_result"
                | "toolUse"
                | "toolResult"
        )
}

/// The text of a document that is text.
fn worded<'m>(media: &'m Media<'_>) -> Option<Words<'m>> {
    let Source::Text(words) = &media.source else { return None };
    Some(document(media.name.as_deref(), words).into())
}

/// Stands in an answer whose media stands behind it.
pub(crate) const BEHIND: &str = "(the media follows behind the answers)";

/// Heads the media of an answer behind the run of answers.
pub(super) fn heading(entry: &Entry<'_>) -> String {
    let id = entry.id.as_deref().unwrap_or(&entry.name);
    media_heading(Some(id), Language::English)
}
