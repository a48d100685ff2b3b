//! Session files of agents: whose they are, and whether we may read them.

use std::collections::BTreeMap;

use foxwedge_core::Finding;
use foxwedge_formats::{outline_options, position};
use foxwedge_sessions::{self, AgentDetection, ParsedSession, SessionAgent, SessionText};

use super::{
    DocumentBody, InputDocument, InputRejection, ParsedInput, decompress, describe_read_error,
    no_rules_note,
};
use crate::{
    check_settings::CheckSettings,
    cli::InputFormat,
    cli_output::{clean, cut},
    outcome::{SessionRef, TargetFailure},
};

/// Reads a session file; `None` if it is no agent's.
pub(super) fn parse_session<'a>(
    text: &'a SessionText<'_>,
    ask: &CheckSettings,
) -> Result<Option<ParsedInput<'a>>, InputRejection> {
    let agent = match ask.format() {
        Some(InputFormat::Wire(_)) => return Ok(None),
        Some(InputFormat::Agent(agent)) => agent,
        None => match foxwedge_sessions::detect_agent(text.as_str()) {
            AgentDetection::Unknown => return Ok(None),
            AgentDetection::Known(agent) => agent,
            AgentDetection::UnknownVersion(agent, why) => {
                return Err(newer_version_failure(agent, &why).into());
            }
            AgentDetection::Unsupported(name) => return Err(unsupported_failure(name).into()),
        },
    };
    let mut question = ask.options_for_agent(agent);
    let mut notes: Vec<String> = no_rules_note(ask, &question).into_iter().collect();
    match foxwedge_sessions::read(text, agent, outline_options(question.profile)) {
        Ok(session) if is_foreign(text, &session, ask) => {
            let what = format!("there is no record of {} in it", agent.name());
            Err(TargetFailure::new(what)
                .help("if it is something else, --format names its format")
                .into())
        }
        Ok(mut session) => {
            let coped = ask.remove_tolerated(&mut session, &mut question);
            notes.extend(tolerated_note(&session, &coped));
            let body = DocumentBody::Session(Box::new(session));
            Ok(Some(ParsedInput {
                text: text.as_str(),
                bytes: text.bytes(),
                documents: vec![InputDocument {
                    offset: 0,
                    line: None,
                    body,
                    check_options: question,
                    tolerated: coped,
                }],
                failures: Vec::new(),
                notes,
            }))
        }
        Err(error) => {
            let failure = TargetFailure::new(describe_read_error(&error))
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
fn tolerated_note(session: &ParsedSession<'_>, coped: &[Finding]) -> Option<String> {
    if coped.is_empty() {
        return None;
    }
    let mut counts = BTreeMap::new();
    for finding in coped {
        *counts.entry(finding.rule.label()).or_insert(0) += 1;
    }
    let version =
        session.metadata.version.as_deref().map(|version| format!(" {}", cut(version, 20)));
    Some(format!(
        "{} copes with {} by itself; --for-api shows what a provider would refuse",
        session.agent.name().to_owned() + &clean(&version.unwrap_or_default()),
        format_rule_counts(&counts),
    ))
}

/// Rules with the number of their findings: `FW101, FW308×2`.
pub(crate) fn format_rule_counts(counts: &BTreeMap<String, usize>) -> String {
    let times = |(label, times): (&String, &usize)| match times {
        1 => label.clone(),
        times => format!("{label}×{times}"),
    };
    counts.iter().map(times).collect::<Vec<_>>().join(", ")
}

/// Whether nothing in a text says that it were a session of that agent.
fn is_foreign(text: &SessionText<'_>, session: &ParsedSession<'_>, ask: &CheckSettings) -> bool {
    if !session.draft().messages.is_empty() || session.has_records() {
        return false;
    }
    // A task of Cline that has just begun is an empty list.
    let list = text.as_str().trim_start().starts_with('[');
    let begun = session.agent == SessionAgent::Cline && list;
    // So is a file in which nothing stands yet, where the agent keeps its files.
    let nothing = ask.is_in_agent_folder() && session.draft().body.defects.is_empty();
    let known = match foxwedge_sessions::detect_agent(text.as_str()) {
        AgentDetection::Known(other) | AgentDetection::UnknownVersion(other, _) => {
            other == session.agent
        }
        AgentDetection::Unknown | AgentDetection::Unsupported(_) => false,
    };
    !begun && !known && !nothing
}

/// A file of an agent that we know by name only.
fn unsupported_failure(name: &str) -> TargetFailure {
    TargetFailure::new(format!("a session of {name}, which is not supported yet"))
        .help("`foxwedge list` names the agents whose sessions are read")
}

/// Whose session some content is, without a question about it.
pub(crate) fn identify_session(content: &[u8]) -> Option<SessionRef> {
    let plain = decompress(content).ok()?;
    let text = foxwedge_sessions::readable_text(&plain).ok()?;
    let (AgentDetection::Known(agent) | AgentDetection::UnknownVersion(agent, _)) =
        foxwedge_sessions::detect_agent(text.as_str())
    else {
        return None;
    };
    let read = foxwedge_sessions::read(&text, agent, outline_options(agent.profile()));
    Some(
        read.map_or(SessionRef { agent, id: None, folder: None }, |session| {
            SessionRef::of(&session)
        }),
    )
}

/// A file of a version that we do not know is left alone, unless somebody insists.
fn newer_version_failure(agent: SessionAgent, why: &str) -> TargetFailure {
    TargetFailure::new(why.to_owned())
        .help(format!("`--format {}` reads it all the same, as far as we know it", agent.name()))
}
