//! Session files of agents: whose they are, and whether we may read them.

use std::collections::BTreeMap;

use foxwedge_core::Finding;
use foxwedge_dialect::{
    position,
    session::{self, Agent, Recognised, Session, Text},
    want,
};

use super::{Body, Closed, Document, Source, idle, sentence, unpacked};
use crate::{
    ask::Ask,
    cli::Format,
    outcome::{Failure, Sitting},
    say::{clean, cut},
};

/// Reads a session file; `None` if it is no agent's.
pub(super) fn open<'a>(text: &'a Text<'_>, ask: &Ask) -> Result<Option<Source<'a>>, Closed> {
    let agent = match ask.format() {
        Some(Format::Wire(_)) => return Ok(None),
        Some(Format::Agent(agent)) => agent,
        None => match session::recognise(text.as_str()) {
            Recognised::No => return Ok(None),
            Recognised::Yes(agent) => agent,
            Recognised::Newer(agent, why) => return Err(newer(agent, &why).into()),
            Recognised::Unsupported(name) => return Err(unsupported(name).into()),
        },
    };
    let mut question = ask.session_question(agent);
    let mut notes: Vec<String> = idle(ask, &question).into_iter().collect();
    match session::read(text, agent, want(question.profile)) {
        Ok(session) if is_stranger(text, &session, ask) => {
            let what = format!("there is no record of {} in it", agent.name());
            Err(Failure::new(what)
                .help("if it is something else, --format names its format")
                .into())
        }
        Ok(mut session) => {
            let coped = ask.spare(&mut session, &mut question);
            notes.extend(coped_note(&session, &coped));
            let body = Body::Session(Box::new(session));
            Ok(Some(Source {
                text: text.as_str(),
                bytes: text.bytes(),
                documents: vec![Document { base: 0, line: None, body, question, coped }],
                failures: Vec::new(),
                notes,
            }))
        }
        Err(error) => {
            let failure = Failure::new(sentence(&error))
                .at(position(text.as_str().as_bytes(), error.at()))
                .help(format!(
                    "it was read as a session of {}; --format names another format",
                    agent.name()
                ));
            Err(failure.into())
        }
    }
}

/// What is said about findings that the agent copes with.
fn coped_note(session: &Session<'_>, coped: &[Finding]) -> Option<String> {
    if coped.is_empty() {
        return None;
    }
    let mut counts = BTreeMap::new();
    for finding in coped {
        *counts.entry(finding.rule.label()).or_insert(0) += 1;
    }
    let version = session.about.version.as_deref().map(|version| format!(" {}", cut(version, 20)));
    Some(format!(
        "{} copes with {} by itself; --for-api shows what a provider would refuse",
        session.agent.name().to_owned() + &clean(&version.unwrap_or_default()),
        labels(&counts),
    ))
}

/// Rules with the number of their findings: `FW101, FW308×2`.
pub(crate) fn labels(counts: &BTreeMap<String, usize>) -> String {
    let times = |(label, times): (&String, &usize)| match times {
        1 => label.clone(),
        times => format!("{label}×{times}"),
    };
    counts.iter().map(times).collect::<Vec<_>>().join(", ")
}

/// Whether nothing in a text says that it were a session of that agent.
fn is_stranger(text: &Text<'_>, session: &Session<'_>, ask: &Ask) -> bool {
    if !session.draft().messages.is_empty() || session.has_records() {
        return false;
    }
    // A task of Cline that has just begun is an empty list.
    let list = text.as_str().trim_start().starts_with('[');
    let begun = session.agent == Agent::Cline && list;
    // So is a file in which nothing stands yet, where the agent keeps its files.
    let nothing = ask.is_placed() && session.draft().body.flaws.is_empty();
    let known = match session::recognise(text.as_str()) {
        Recognised::Yes(other) | Recognised::Newer(other, _) => other == session.agent,
        Recognised::No | Recognised::Unsupported(_) => false,
    };
    !begun && !known && !nothing
}

/// A file of an agent that we know by name only.
fn unsupported(name: &str) -> Failure {
    Failure::new(format!("a session of {name}, which is not supported yet"))
        .help("`foxwedge list` names the agents whose sessions are read")
}

/// Whose session some content is, without a question about it.
pub(crate) fn sitting(content: &[u8]) -> Option<Sitting> {
    let plain = unpacked(content).ok()?;
    let text = session::text(&plain).ok()?;
    let (Recognised::Yes(agent) | Recognised::Newer(agent, _)) = session::recognise(text.as_str())
    else {
        return None;
    };
    let read = session::read(&text, agent, want(agent.profile()));
    Some(read.map_or(Sitting { agent, id: None, folder: None }, |session| Sitting::of(&session)))
}

/// A file of a version that we do not know is left alone, unless somebody insists.
fn newer(agent: Agent, why: &str) -> Failure {
    Failure::new(why.to_owned())
        .help(format!("`--format {}` reads it all the same, as far as we know it", agent.name()))
}
