//! What the writers of all formats share.

use std::borrow::Cow;

use foxwedge_core::Wire;

use super::{Encoded, carries_signature, reply_id};
use crate::canon::{
    Bit, Call, CallIds, Form, Loss, Lost, Part, Reasoning, Reply, Seal, Spot, Stop, Words,
    encode::{
        object,
        pen::{next, string, tight_into},
    },
    stops, usages,
};

/// An answer on its way into a format.
pub(super) struct Writer<'r, 'a> {
    pub(super) reply: &'r Reply<'a>,
    pub(super) wire: Wire,
    pub(super) out: String,
    seed: &'r str,
    ids: CallIds,
    losses: Vec<Loss>,
}

/// Reasoning, as far as a format takes it.
pub(super) struct Thought<'p, 'a> {
    /// What can be read.
    pub(super) text: Option<&'p Words<'a>>,
    /// The signature under it.
    pub(super) signature: Option<&'p Words<'a>>,
    /// All there is, where nothing can be read.
    pub(super) redacted: Option<&'p Words<'a>>,
    /// All of it, encrypted.
    pub(super) encrypted: Option<&'p Words<'a>>,
}

impl<'r, 'a> Writer<'r, 'a> {
    pub(super) fn new(reply: &'r Reply<'a>, wire: Wire, seed: &'r str) -> Writer<'r, 'a> {
        let size = |part: &Part<'_>| match (part.raw(), part.bit()) {
            (Some(raw), _) => raw.json.len() + 64,
            (None, Bit::Text(text)) => text.len() + 64,
            (None, _) => 256,
        };
        let size = reply.parts.iter().map(size).sum::<usize>() + 512;
        Writer {
            reply,
            wire,
            out: String::with_capacity(size),
            seed,
            ids: CallIds::new(wire, seed),
            losses: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Encoded {
        let renamed = self.ids.renamed().to_vec();
        Encoded { body: self.out, losses: self.losses, renamed }
    }

    /// Notes that something has no place in the format, once for each sentence.
    pub(super) fn lose(&mut self, what: Lost, note: impl Into<String>) {
        let loss = Loss { what, at: Spot::Reply, note: note.into() };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    /// The id of the answer.
    pub(super) fn id(&self) -> Cow<'r, str> {
        reply_id(self.wire, self.reply.id.as_deref(), self.seed)
    }

    /// Adds the id of the answer as a string.
    pub(super) fn write_id(&mut self) {
        match &self.reply.id {
            Some(id) if !id.is_empty() => id.write(&mut self.out),
            _ => string(&mut self.out, &reply_id(self.wire, None, self.seed)),
        }
    }

    /// Adds the name of the model as a string.
    pub(super) fn write_model(&mut self) {
        match &self.reply.model {
            Some(model) => model.write(&mut self.out),
            None => self.out.push_str("\"unknown\""),
        }
    }

    /// Adds a number.
    pub(super) fn write_count(&mut self, count: u64) {
        use std::fmt::Write as _;
        let _ = write!(self.out, "{count}");
    }

    /// Adds a field that holds a text.
    pub(super) fn write_field(&mut self, key: &str, text: &Words<'_>) {
        next(&mut self.out);
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
        text.write(&mut self.out);
    }

    /// Adds the figures of what it cost.
    pub(super) fn write_usage(&mut self) {
        if let Some(figure) = usages::unsaid(self.wire, &self.reply.usage) {
            self.lose(Lost::Usage, format!("{figure} has no figure in this format"));
        }
        usages::write(self.wire, &self.reply.usage, &mut self.out);
    }

    /// The format's word for why the model stopped; `None` if it was cut off.
    pub(super) fn stop(&mut self) -> Option<&'static str> {
        let calls = || self.reply.parts.iter().any(|part| matches!(part.bit(), Bit::Call(_)));
        let stop = match self.reply.stop.as_ref()? {
            // Servers say so where a call was asked for. These formats name every wait for answers.
            Stop::End if matches!(self.wire, Wire::Anthropic | Wire::Bedrock) && calls() => {
                &Stop::Calls
            }
            // Whoever waits for calls that are not there waits for ever.
            Stop::Calls if !calls() => &Stop::End,
            stop => stop,
        };
        let word = stops::spelled(self.wire, stop);
        if stops::loses(self.wire, stop) {
            let note = match stop {
                // Told beside the word.
                Stop::Sequence(_) if self.wire == Wire::Bedrock => return Some(word),
                Stop::Sequence(Some(text)) => {
                    format!(
                        "the text that stopped the model, `{text}`, has no place in this format"
                    )
                }
                Stop::Other(reason) => {
                    format!("the model stopped for `{reason}`, which is told as `{word}`")
                }
                _ => format!("why the model stopped is told as `{word}`"),
            };
            self.lose(Lost::StopReason, note);
        }
        Some(word)
    }

    /// A word that says that an answer is not whole, for formats that insist on a word.
    pub(super) fn cut_off(&mut self, word: &'static str) -> &'static str {
        self.lose(Lost::StopReason, format!("that the answer was cut off is told as `{word}`"));
        word
    }

    /// The id that a call gets. `None` only where the format can do without.
    pub(super) fn call_id(&mut self, call: &'r Call<'a>) -> Option<Cow<'r, str>> {
        self.ids.next(self.reply.id.as_deref(), call.id.as_deref())
    }

    /// How this format spelled a part that stands in a list.
    pub(super) fn spelled(&self, part: &Part<'a>) -> Option<&'a str> {
        let raw = part.spelled(self.wire).filter(|raw| raw.form != Form::Field)?;
        Some(raw.json)
    }

    /// How this format spelled a call, unless it needs another id now.
    pub(super) fn spelled_call(
        &self,
        part: &Part<'a>,
        call: &Call<'_>,
        id: Option<&str>,
    ) -> Option<&'a str> {
        self.spelled(part).filter(|_| id == call.id.as_deref())
    }

    /// Adds a JSON text of the same format.
    pub(super) fn write_spelled(&mut self, json: &str) {
        tight_into(&mut self.out, json);
    }

    /// Adds the arguments of a call as a JSON object.
    pub(super) fn write_object(&mut self, call: &Call<'_>) {
        if let Some(note) = object(&mut self.out, call) {
            self.lose(Lost::Arguments, note);
        }
    }

    /// Adds the arguments of a call as a string.
    pub(super) fn write_text(&mut self, call: &Call<'_>) {
        if call.arguments.is_empty() && !call.is_free_text() {
            return self.out.push_str("\"{}\"");
        }
        call.arguments.write(&mut self.out);
    }

    /// Google's signature of a call. Everybody else loses it.
    pub(super) fn unsigned(&mut self, call: &Call<'_>) {
        if call.signature.is_some() {
            self.lose(Lost::Signature, "the signature of a call means nothing in this format");
        }
    }

    /// What the format takes of reasoning.
    pub(super) fn thought<'p>(
        &mut self,
        part: &Part<'_>,
        reasoning: &'p Reasoning<'a>,
    ) -> Thought<'p, 'a> {
        let text = Some(&reasoning.text).filter(|text| !text.is_empty());
        let mut thought = Thought { text, signature: None, redacted: None, encrypted: None };
        match &reasoning.seal {
            Seal::Open => {}
            Seal::Signed(signature) if carries_signature(self.maker(part), self.wire) => {
                thought.signature = Some(signature);
            }
            Seal::Redacted(data) if self.wire == Wire::Anthropic => thought.redacted = Some(data),
            // Readers decode it at once.
            Seal::Redacted(data) if self.wire == Wire::Bedrock && is_base64(data) => {
                thought.redacted = Some(data);
            }
            Seal::Encrypted(content) if self.wire == Wire::OpenaiResponses => {
                thought.encrypted = Some(content);
            }
            Seal::Signed(_) => {
                let note = "the signature of reasoning means nothing to another maker";
                self.lose(Lost::Signature, note);
            }
            Seal::Redacted(_) => {
                self.lose(Lost::Reasoning, "redacted reasoning has no place in this format");
            }
            Seal::Encrypted(_) => {
                self.lose(Lost::Signature, "encrypted reasoning has no place in this format");
            }
        }
        thought
    }

    /// Whose reasoning it is, if anybody knows.
    fn maker(&self, part: &Part<'_>) -> Option<Wire> {
        part.raw().map(|raw| raw.wire).or(self.reply.wire)
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(letter)
}
