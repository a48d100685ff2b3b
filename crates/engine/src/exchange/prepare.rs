//! Reads a request and decides what to do with it, before anybody is asked.

use std::sync::Arc;

use bytes::Bytes;
use foxwedge_core::{Kind as PartKind, Report, Wire};
use foxwedge_dialect::{Envelope, ReadError, Reading, position, read, read_within, text, want};
use serde_json::json;

use super::{
    Inner,
    naming::{RequestIdentity, identify},
};
use crate::{
    Asked, Face, Fault, Kind,
    config::{Reach, Route},
    guard::{Guarded, Judging, Refusal, guard, profile_of},
};

/// A request, understood.
pub(super) struct Prepared {
    pub(super) route: Arc<Route>,
    /// The client's name of the model.
    pub(super) asked_model: Arc<str>,
    /// The upstream's.
    pub(super) model: Arc<str>,
    /// The upstream's format.
    pub(super) wire: Wire,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    /// How many tokens the reply may have.
    pub(super) most: Option<u64>,
    pub(super) guarded: Guarded,
    /// The request whose reply may be named later; `None` if the upstream keeps it itself.
    pub(super) named_later: Option<Bytes>,
    /// The conversation, as a chain of digests.
    pub(super) chain: Vec<u128>,
    /// Ids of the calls that the end of the history answers.
    pub(super) answers: Vec<Arc<str>>,
    /// Those of them whose answer says that the tool failed.
    pub(super) failed: Vec<Arc<str>>,
    /// What tells the request from all others.
    pub(super) identity: RequestIdentity,
}

pub(super) fn prepare(engine: &Inner, asked: &Asked) -> Result<Prepared, Fault> {
    whole(engine, asked, asked.body.clone())
}

/// Prepares a request whose body may be another than what came: everything it named is in it.
fn whole(engine: &Inner, asked: &Asked, body: Bytes) -> Result<Prepared, Fault> {
    let from = asked.face.wire();
    let source = text(&body).map_err(|error| unreadable(&body, &error))?;
    // The route decides what has to be looked at; most routes want the same.
    let usual = want(foxwedge_core::Profile::of(from));
    let reading = read_within(source, from, usual, engine.config.limits.messages)
        .map_err(|error| unreadable(&body, &error))?;
    let envelope = &reading.envelope;
    refuse_foreign(envelope)?;
    let asked_model: Arc<str> = reading.draft.body.model.as_deref().unwrap_or_default().into();
    if asked_model.is_empty() {
        let words = "you must provide a model parameter";
        return Err(Fault::new(Kind::Request, "missing_model", words).at("model"));
    }
    let identity = {
        let again = engine.config.sessions.again;
        identify(asked, envelope, &asked_model, again, &engine.sessions)?
    };
    let route = engine.config.route(&asked_model).ok_or_else(|| unknown(&asked_model))?;
    let model: Arc<str> = route.rename.as_deref().map_or_else(|| asked_model.clone(), Arc::from);
    let wire = upstream_wire(&route, from);
    // What lies on a provider's server is only there.
    let keeps = from == wire && matches!(route.upstream.reach, Reach::Network(_));
    if !keeps {
        refuse_stateful(envelope)?;
        if let Some(body) = engine.recall.resolve(&asked.caller.owner, &reading)? {
            return whole(engine, asked, body.into());
        }
    }

    let reading = again_for(source, &route, from, wire, reading)?;
    let judging =
        Judging { body: &body, reading: &reading, from, to: wire, route: &route, model: &model };
    let guarded = match &route.upstream.reach {
        Reach::Network(_) | Reach::Scripted => {
            guard(judging, &engine.scales).map_err(|refusal| refused(refusal, &body))?
        }
        // An agent that goes on has the history; one that has to be started gets a sound one.
        Reach::Agent(_) => Guarded::untouched(body.clone()),
    };

    let envelope = &reading.envelope;
    let counts = asked.face == Face::CountTokens;
    Ok(Prepared {
        stream: envelope.stream.unwrap_or(false) && !counts,
        include_usage: envelope.include_usage.unwrap_or(false) || from != Wire::OpenaiChat,
        most: envelope.max_output,
        chain: if counts { Vec::new() } else { reading.chain(identity.scope) },
        answers: answers(&reading, |_| true),
        failed: failed(&reading, from),
        identity,
        named_later: (!keeps && from == Wire::OpenaiResponses && envelope.store != Some(false))
            .then(|| body.clone()),
        route,
        asked_model,
        model,
        wire,
        guarded,
    })
}

/// The format in which an upstream is asked: the client's own, if it speaks that.
fn upstream_wire(route: &Route, from: Wire) -> Wire {
    let speaks = &route.upstream.speaks;
    if speaks.contains(&from) { from } else { speaks.first().copied().unwrap_or(from) }
}

/// The same document, read as closely as the route's rules want.
fn again_for<'a>(
    source: &'a str,
    route: &Route,
    from: Wire,
    to: Wire,
    reading: Reading<'a>,
) -> Result<Reading<'a>, Fault> {
    let wanted = want(profile_of(route, from, to));
    if wanted == want(foxwedge_core::Profile::of(from)) {
        return Ok(reading);
    }
    read(source, from, wanted).map_err(|error| unreadable(source.as_bytes(), &error))
}

/// A request never chooses where it goes, and a wish to do so is not passed over in silence.
fn refuse_foreign(envelope: &Envelope<'_>) -> Result<(), Fault> {
    let Some(key) = envelope.foreign else { return Ok(()) };
    let words = format!("`{key}` is not allowed: upstreams are chosen by the operator");
    Err(Fault::new(Kind::Request, "upstream_not_yours", words).at(key))
}

/// Conversations and threads are kept by some providers. Clients that hear otherwise send
/// everything again.
fn refuse_stateful(envelope: &Envelope<'_>) -> Result<(), Fault> {
    if let Some(id) = &envelope.conversation {
        let words = format!("Conversation with id '{}' not found.", shortened(id));
        return Err(Fault::new(Kind::NotFound, "conversation_not_found", words).at("conversation"));
    }
    if envelope.thread {
        let words = "message threads are not kept here: send the whole conversation";
        return Err(Fault::new(Kind::Request, "thread_unsupported_request", words)
            .with("error_code", json!("thread_unsupported_request")));
    }
    if envelope.background == Some(true) {
        let words = "replies are not made in the background here";
        return Err(Fault::new(Kind::Request, "background_unsupported", words).at("background"));
    }
    Ok(())
}

/// Ids of the calls whose answer is marked as a failure. Only one format has a mark for that.
fn failed(reading: &Reading<'_>, wire: Wire) -> Vec<Arc<str>> {
    #[derive(serde::Deserialize)]
    struct Block {
        is_error: Option<bool>,
    }
    if wire != Wire::Anthropic {
        return Vec::new();
    }
    answers(reading, |block| {
        // Most answers have no mark, and need no closer look.
        block.contains("\"is_error\"")
            && serde_json::from_str(block).is_ok_and(|block: Block| block.is_error == Some(true))
    })
}

/// Ids of the calls that the end of the history answers, if their block is wanted.
fn answers(reading: &Reading<'_>, wanted: impl Fn(&str) -> bool) -> Vec<Arc<str>> {
    let draft = &reading.draft;
    let last = draft.messages.iter().rposition(|message| message.role.is_assistant());
    let tail = draft.messages.iter().skip(last.map_or(0, |last| last + 1));
    let parts = tail.flat_map(|message| draft.parts_of(message));
    parts
        .filter_map(|part| match &part.kind {
            PartKind::Answer(answer) => {
                let id = answer.id.as_deref().filter(|_| wanted(part.span.of(draft.source)));
                id.map(Arc::from)
            }
            PartKind::Text(_)
            | PartKind::Media
            | PartKind::Reasoning(_)
            | PartKind::Call(_)
            | PartKind::ServerCall(_)
            | PartKind::ServerAnswer(_)
            | PartKind::Other => None,
        })
        .collect()
}

fn unknown(model: &str) -> Fault {
    let words = format!("the model `{}` is not known here", shortened(model));
    Fault::new(Kind::NotFound, "model_not_found", words).at("model")
}

pub(super) fn unreadable(body: &[u8], error: &ReadError) -> Fault {
    if let ReadError::TooMany { .. } = error {
        return Fault::new(Kind::TooLarge, "too_many_messages", format!("the request has {error}"));
    }
    let at = position(body, error.at());
    let words =
        format!("the body cannot be read: {error} (line {}, column {})", at.line, at.column);
    Fault::new(Kind::Request, "invalid_body", words)
}

pub(super) fn refused(refusal: Refusal, body: &Bytes) -> Fault {
    match refusal {
        Refusal::Unreadable(error) => unreadable(body, &error),
        Refusal::Findings(report) => findings(&report),
    }
}

/// Strict: every finding, with its rule, its place and what would repair it.
fn findings(report: &Report) -> Fault {
    let list: Vec<_> = report
        .findings
        .iter()
        .take(100)
        .map(|finding| {
            json!({
                "code": finding.rule.label(),
                "name": finding.rule.name,
                "message": finding.message,
                "message_index": finding.at.message,
                "call_ids": finding.ids,
                "fix": { "applicability": finding.fix.applicability.name(),
                         "strategy": finding.fix.strategy.name() },
            })
        })
        .collect();
    let Some(first) = report.findings.first() else {
        return Fault::new(Kind::Server, "no_finding", "refused without a finding");
    };
    let label = first.rule.label();
    let words = format!("{label} {}: {}", first.rule.name, first.message);
    Fault::new(Kind::Request, "invalid_history", words)
        .at(format!("messages[{}]", first.at.message))
        .with("rule", json!(label))
        .with("findings", json!(list))
}

/// A name as it may stand in an error: short and printable.
pub(super) fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_marked_as_failures_are_told() {
        let blocks = [
            r#"{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true}"#,
            r#"{"type":"tool_result","tool_use_id":"b","is_error": false,"content":"x"}"#,
            r#"{"type":"tool_result","tool_use_id":"c","content":"{\"is_error\":true}"}"#,
            r#"{"is_error" : true,"tool_use_id":"d","type":"tool_result","content":[]}"#,
        ];
        let body =
            format!(r#"{{"messages":[{{"role":"user","content":[{}]}}]}}"#, blocks.join(","));
        let wanted = want(foxwedge_core::Profile::Anthropic);
        let reading = read(&body, Wire::Anthropic, wanted).expect("a document");
        let told = |ids: Vec<Arc<str>>| ids.join(" ");
        assert_eq!(told(answers(&reading, |_| true)), "a b c d");
        assert_eq!(told(failed(&reading, Wire::Anthropic)), "a d");
    }
}
