//! Whole answers of providers: response bodies, read into an [`Outcome`] and written for any
//! format.
//!
//! What a format spelled itself is written as it was; everything else is spelled anew, with the
//! fields that strict readers of the format insist on. What a provider says about itself and about
//! the request (fingerprints, tiers, settings, ratings) is no part of an answer and is not kept.

mod reader;
mod writer;
mod left_out;
mod sources;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use std::borrow::Cow;

use foxwedge_core::{Profile, Wire, fresh_id};

use super::{Loss, Lost, Outcome, Renamed, Spot, failures};
use crate::{
    document::Unread,
    error::ReadError,
    json::{Object, Tape, Trouble, Value},
};
use reader::Reader;
use writer::Writer;

/// What a response body says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told<'a> {
    /// An answer, or a failure.
    pub outcome: Outcome<'a>,
    /// What the body says beyond that. Blocks that only their own format knows are still parts of
    /// the answer, and are lost when it is written for another.
    pub losses: Vec<Loss>,
}

/// A response body for a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// The body.
    pub body: String,
    /// What the format cannot hold.
    pub losses: Vec<Loss>,
    /// The ids of calls that the format does not take, and what stands for them.
    pub renamed: Vec<Renamed>,
}

/// Reads a response body that came in one piece.
///
/// # Errors
/// If the text is not JSON, or neither an answer nor a failure in that format.
pub fn decode_reply(source: &str, wire: Wire) -> Result<Told<'_>, ReadError> {
    let refused = |trouble| ReadError::from_unread(Unread { trouble, place: None, full: None });
    let tape = Tape::read(source).map_err(refused)?;
    let root = tape.root(source);
    let body = one_object(root, wire).ok_or_else(|| {
        refused(Trouble::new(root.span().start as usize, "a response is not an object"))
    })?;
    let mut reader = Reader::default();
    let read = match wire {
        Wire::OpenaiChat => chat::read,
        Wire::OpenaiResponses => responses::read,
        Wire::Anthropic => anthropic::read,
        Wire::Gemini => gemini::read,
        Wire::Bedrock => bedrock::read,
    };
    let outcome = read(&mut reader, &body)
        .map_err(|what| refused(Trouble::new(root.span().start as usize, what)))?;
    Ok(Told { outcome, losses: reader.losses })
}

/// Writes a response body in one piece. The seed tells answers apart that have no id.
pub fn encode_reply(outcome: &Outcome<'_>, wire: Wire, seed: &str) -> Encoded {
    match outcome {
        Outcome::Reply(reply) => {
            let mut writer = Writer::new(reply, wire, seed);
            match wire {
                Wire::OpenaiChat => chat::write(&mut writer),
                Wire::OpenaiResponses => responses::write(&mut writer),
                Wire::Anthropic => anthropic::write(&mut writer),
                Wire::Gemini => gemini::write(&mut writer),
                Wire::Bedrock => bedrock::write(&mut writer),
            }
            writer.finish()
        }
        Outcome::Failure(failure) => {
            let mut body = String::with_capacity(failure.message.len() + 128);
            failures::write(wire, failure, &mut body);
            let code = failure.code.as_deref().filter(|_| failures::loses(wire, failure));
            let losses = code.map(|code| {
                let name = failures::spelled(wire, failure);
                let note = format!("the failure `{code}` is called `{name}` in this format");
                Loss { what: Lost::Unknown, at: Spot::Reply, note }
            });
            Encoded { body, losses: losses.into_iter().collect(), renamed: Vec::new() }
        }
    }
}

/// The id of an answer: its own, or one that is computed from the seed.
pub(crate) fn reply_id<'i>(wire: Wire, id: Option<&'i str>, seed: &str) -> Cow<'i, str> {
    let prefix = match wire {
        Wire::OpenaiChat => "chatcmpl-",
        Wire::OpenaiResponses => "resp_",
        Wire::Anthropic => "msg_",
        Wire::Gemini | Wire::Bedrock => "",
    };
    match id.filter(|id| !id.is_empty()) {
        Some(id) => Cow::Borrowed(id),
        None => Cow::Owned(format!("{prefix}{}", digits(&format!("reply {seed}")))),
    }
}

/// The id of an item of a Responses answer: `msg`, `fc`, `ctc` or `rs`, and what comes of the id of
/// the answer and the index of the item in its output.
pub(crate) fn item_id(prefix: &str, reply: &str, index: usize) -> String {
    format!("{prefix}_{}", digits(&format!("item {index} {reply}")))
}

/// Whether a signature under reasoning means anything in a format. Only its maker can check it;
/// Anthropic and Bedrock serve the same models.
pub(crate) fn carries_signature(from: Option<Wire>, to: Wire) -> bool {
    let claude = |wire| matches!(wire, Wire::Anthropic | Wire::Bedrock);
    from.is_some_and(|from| from == to || claude(from) && claude(to))
}

/// Google wraps failures into a list where answers would be a list.
fn one_object<'t, 'a>(root: Value<'t, 'a>, wire: Wire) -> Option<Object<'t, 'a>> {
    let mut list = root.list();
    match (list.next(), list.next()) {
        (Some(only), None) if wire == Wire::Gemini => {
            only.object().filter(|body| body.object("error").is_some())
        }
        _ => root.object(),
    }
}

fn digits(seed: &str) -> String {
    let wire = Wire::OpenaiResponses;
    let id = fresh_id(wire, Profile::of(wire).ids(), seed);
    id.rsplit('_').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
