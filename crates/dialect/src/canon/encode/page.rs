//! What the writers of all formats share.

use std::borrow::Cow;

use foxwedge_core::{ArgumentsFix, Layout, Span, Wire};

use super::{Loss, Lost};
use crate::{
    canon::{
        Answer, At, Bit, Call, Form, History, Media, Part, Raw, Speaker,
        ledger::{Entry, Ledger},
    },
    json::quote,
    outline::is_object,
    splice::{Encoding, respelled},
};

/// A history on its way into a format.
pub(super) struct Page<'h, 'a> {
    pub(super) history: &'h History<'a>,
    pub(super) wire: Wire,
    pub(super) ledger: Ledger<'h>,
    pub(super) losses: Vec<Loss>,
}

/// A piece of content.
pub(super) enum Piece<'h> {
    /// Text that is spelled anew.
    Text(Cow<'h, str>),
    /// A finished block.
    Block(String),
}

/// An answer, told in pieces, and the blocks that have to stand behind the run of answers.
pub(super) struct Told<'h> {
    pub(super) pieces: Vec<Piece<'h>>,
    pub(super) behind: Vec<String>,
}

/// Spells media, if the format can hold it there.
pub(super) type Spell = fn(&Media<'_>) -> Option<String>;

impl<'h, 'a> Page<'h, 'a> {
    pub(super) fn new(history: &'h History<'a>, wire: Wire) -> Page<'h, 'a> {
        Page { history, wire, ledger: Ledger::new(history, wire), losses: Vec::new() }
    }

    pub(super) fn lose(&mut self, message: usize, what: Lost, note: impl Into<String>) {
        self.losses.push(Loss { what, message, note: note.into() });
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
        match part.bit() {
            Bit::Call(_) | Bit::Answer(_) => true,
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
            Bit::Reasoning(_) => {
                let note = "reasoning goes back to its own format only";
                self.lose(at.message, Lost::Reasoning, note);
                false
            }
            Bit::Other(other) => {
                let note = format!("`{}` has no meaning in this format", other.name);
                self.lose(at.message, Lost::Unknown, note);
                false
            }
        }
    }

    /// The arguments of a call as a JSON object.
    pub(super) fn object(&mut self, at: At, call: &Call<'_>) -> String {
        let text = &*call.arguments;
        if call.is_free_text() {
            return format!("{{\"input\":{}}}", quote(text));
        }
        if is_object(text) && depth(text) <= DEEPEST {
            return tight(text).into_owned();
        }
        if text.trim().is_empty() {
            return "{}".to_owned();
        }
        let note = format!("the arguments of `{}` are no JSON object and are mended", call.name);
        self.lose(at.message, Lost::Arguments, note);
        let whole = Some(Span::new(0, text.len()));
        let mended = respelled(text, whole, ArgumentsFix::Mend, Encoding::Object);
        if depth(&mended) > DEEPEST {
            return format!("{{\"value\":{}}}", quote(text));
        }
        tight(&mended).into_owned()
    }

    /// What an answer says and shows, for a format that holds media inside answers by `inside`
    /// and beside them by `beside`.
    pub(super) fn tell<'p>(
        &mut self,
        at: At,
        answer: &'p Answer<'_>,
        inside: Spell,
        beside: Spell,
    ) -> Told<'p> {
        let mut told = Told { pieces: Vec::new(), behind: Vec::new() };
        for part in &answer.parts {
            if let Some(raw) = part.spelled(self.wire).filter(|raw| raw.form == Form::Block) {
                told.pieces.push(Piece::Block(tight(raw.json).into_owned()));
                continue;
            }
            match part.bit() {
                Bit::Text(text) => told.pieces.push(Piece::Text(Cow::Borrowed(&**text))),
                Bit::Media(media) => match (inside(media), beside(media)) {
                    (Some(block), _) => told.pieces.push(Piece::Block(block)),
                    (None, Some(block)) => {
                        told.pieces.push(Piece::Text(Cow::Borrowed(BEHIND)));
                        told.behind.push(block);
                    }
                    (None, None) => {
                        told.pieces.push(Piece::Text(Cow::Owned(self.left_out(at, media))));
                    }
                },
                // Whatever it is, the model was meant to read it.
                Bit::Other(other) => told.pieces.push(Piece::Text(tight(&other.json))),
                Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) => {
                    self.lose(at.message, Lost::Unknown, "an answer holds more than an answer can");
                }
            }
        }
        if self.wire.layout() == Layout::Blocks {
            told.pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        }
        told
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
        if answer.error {
            let note = "the mark of a failed answer has no place in this format";
            self.lose(at.message, Lost::ErrorMark, note);
        }
    }
}

/// Stands in an answer whose media stands behind it.
const BEHIND: &str = "(the media follows behind the answers)";

/// Heads the media of an answer behind the run of answers.
pub(super) fn heading(entry: &Entry<'_>) -> String {
    let id = entry.id.as_deref().unwrap_or(&entry.name);
    format!("[foxwedge] Media from the answer to tool call {id}:")
}

/// Containers inside containers that still fit into a document.
const DEEPEST: usize = 480;

/// How deep the containers of a JSON text are nested.
fn depth(json: &str) -> usize {
    let (mut deepest, mut open) = (0_usize, 0_usize);
    outside_strings(json, |byte| match byte {
        b'{' | b'[' => {
            open += 1;
            deepest = deepest.max(open);
        }
        b'}' | b']' => open = open.saturating_sub(1),
        _ => {}
    });
    deepest
}

fn outside_strings(json: &str, mut each: impl FnMut(u8)) {
    let (mut inside, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ if inside => {}
            byte => each(byte),
        }
    }
}

/// A JSON text without white space between its values. Its strings stay as they are spelled.
pub(super) fn tight(json: &str) -> Cow<'_, str> {
    if !json.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut escaped) = (false, false);
    for character in json.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            ' ' | '\n' | '\r' | '\t' if !inside => continue,
            _ => {}
        }
        out.push(character);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_between_values_goes() {
        let table = [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("{ \"a b\" :\n[1, \"x \\\" y\"]\t}", r#"{"a b":[1,"x \" y"]}"#),
            (r#""\\" "#, r#""\\""#),
        ];
        for (json, expected) in table {
            assert_eq!(tight(json), expected);
        }
        assert_eq!(depth(r#"{"a":[{"[[[":"]"}],"b":{}}"#), 3);
    }
}
