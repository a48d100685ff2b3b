//! Session files of agents: whose they are, and whether we may read them.

use foxwedge_dialect::{
    position,
    session::{self, Agent, Recognised, Text},
    want,
};

use super::{Body, Closed, Document, Source, idle, sentence, unpacked};
use crate::{
    ask::Ask,
    cli::Format,
    outcome::{Failure, Sitting},
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
        },
    };
    let question = ask.session_question(agent);
    let notes = idle(ask, &question).into_iter().collect();
    match session::read(text, agent, want(question.profile)) {
        Ok(session) if session.draft().messages.is_empty() && is_stranger(text, agent) => {
            let what = format!("there is no record of {} in it", agent.name());
            Err(Failure::new(what)
                .help("if it is something else, --format names its format")
                .into())
        }
        Ok(session) => Ok(Some(Source {
            text: text.as_str(),
            bytes: text.bytes(),
            documents: vec![Document {
                base: 0,
                line: None,
                body: Body::Session(Box::new(session)),
                question,
            }],
            failures: Vec::new(),
            notes,
        })),
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

/// Whether nothing in a text says that it were a session of that agent.
fn is_stranger(text: &Text<'_>, agent: Agent) -> bool {
    // A task of Cline that has just begun is an empty list.
    let begun = agent == Agent::Cline && text.as_str().trim_start().starts_with('[');
    let known = match session::recognise(text.as_str()) {
        Recognised::Yes(other) | Recognised::Newer(other, _) => other == agent,
        Recognised::No => false,
    };
    !begun && !known
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
