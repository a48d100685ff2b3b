//! Parses session files of agents.

use std::collections::BTreeMap;

use foxwedge_core::Finding;
use foxwedge_formats::{outline_options, position};
use foxwedge_sessions::{self, AgentDetection, ParsedSession, SessionAgent, SessionText};

use super::{
    DocumentBody, InputDocument, InputRejection, ParsedInput, decompress, describe_read_error,
    lost_content, no_rules_note,
};
use crate::{
    check_settings::CheckSettings,
    input_format::InputFormat,
    outcome::{SessionRef, SessionStore, TargetFailure},
    output::{clean, cut},
};

/// Parses a session file; `None` if no agent wrote it.
pub(super) fn parse_session<'a>(
    text: &'a SessionText<'_>,
    settings: &CheckSettings,
) -> Result<Option<ParsedInput<'a>>, InputRejection> {
    let (agent, shows_agent) = match settings.format() {
        Some(InputFormat::Wire(_)) => return Ok(None),
        Some(InputFormat::Agent(agent)) => (agent, true),
        None => match foxwedge_sessions::detect_agent(text.as_str()) {
            AgentDetection::Unknown => match settings.folder_agent() {
                Some(agent) => (agent, false),
                None => return Ok(None),
            },
            AgentDetection::Known(agent) => (agent, true),
            AgentDetection::UnknownVersion(agent, reason) => {
                return Err(newer_version_failure(agent, &reason).into());
            }
            AgentDetection::Unsupported(name) => return Err(unsupported_failure(name).into()),
        },
    };
    let is_stored = settings.is_in_agent_folder() || settings.folder_agent().is_some();
    if let Some(reason) = lost_content(text).filter(|_| is_stored) {
        return Err(TargetFailure::new(reason).into());
    }
    let mut options = settings.options_for_agent(agent);
    let mut notes: Vec<String> = no_rules_note(&options).into_iter().collect();
    match foxwedge_sessions::read(text, agent, outline_options(options.profile)) {
        // Agents keep other files in their folders, too.
        Ok(session)
            if !shows_agent && session.draft().messages.is_empty() && !session.has_records() =>
        {
            Ok(None)
        }
        Err(_) if !shows_agent => Ok(None),
        Ok(session) if is_foreign(text, &session, settings) => {
            let message = format!("it contains no {} records", agent.name());
            Err(TargetFailure::new(message)
                .help("if it has another format, set it with --format")
                .into())
        }
        Ok(mut session) => {
            let tolerated = settings.remove_tolerated(&mut session, &mut options);
            notes.extend(tolerated_note(&session, &tolerated));
            let body = DocumentBody::Session(Box::new(session));
            Ok(Some(ParsedInput {
                text: text.as_str(),
                bytes: text.bytes(),
                documents: vec![InputDocument {
                    offset: 0,
                    line: None,
                    body,
                    check_options: options,
                    tolerated,
                }],
                failures: Vec::new(),
                notes,
            }))
        }
        Err(error) => {
            let failure = TargetFailure::new(describe_read_error(&error))
                .at(position(text.as_str().as_bytes(), error.at()))
                .help(format!(
                    "it was read as a session of {}; set another format with --format",
                    agent.name()
                ));
            Err(failure.into())
        }
    }
}

/// A note about findings that the agent tolerates.
fn tolerated_note(session: &ParsedSession<'_>, tolerated: &[Finding]) -> Option<String> {
    if tolerated.is_empty() {
        return None;
    }
    let mut counts = BTreeMap::new();
    for finding in tolerated {
        *counts.entry(finding.rule.label()).or_insert(0) += 1;
    }
    let version =
        session.metadata.version.as_deref().map(|version| format!(" {}", cut(version, 20)));
    Some(format!(
        "{} tolerates {}; --for-api shows what a provider would reject",
        session.agent.name().to_owned() + &clean(&version.unwrap_or_default()),
        format_rule_counts(&counts),
    ))
}

/// Rules with the number of their findings: `FW101, FW308×2`.
pub fn format_rule_counts(counts: &BTreeMap<String, usize>) -> String {
    let format_count = |(label, count): (&String, &usize)| match count {
        1 => label.clone(),
        count => format!("{label}×{count}"),
    };
    counts.iter().map(format_count).collect::<Vec<_>>().join(", ")
}

/// Whether nothing shows that a text is a session of that agent.
fn is_foreign(
    text: &SessionText<'_>,
    session: &ParsedSession<'_>,
    settings: &CheckSettings,
) -> bool {
    if !session.draft().messages.is_empty() || session.has_records() {
        return false;
    }
    // A new Cline task is an empty list, and so is a new chat of the AI SDK.
    let is_list = text.as_str().trim_start().starts_with('[');
    let is_new_task =
        (session.agent == SessionAgent::Cline || session.agent.is_ai_sdk()) && is_list;
    // A file without messages in the agent's own folder is a new session.
    let is_new = settings.is_in_agent_folder() && session.draft().body.defects.is_empty();
    let is_detected = match foxwedge_sessions::detect_agent(text.as_str()) {
        AgentDetection::Known(other) | AgentDetection::UnknownVersion(other, _) => {
            other == session.agent
        }
        AgentDetection::Unknown | AgentDetection::Unsupported(_) => false,
    };
    !is_new_task && !is_detected && !is_new
}

/// Error for the file of an agent that is not supported.
fn unsupported_failure(name: &str) -> TargetFailure {
    TargetFailure::new(format!("sessions of {name} are only read from their own files"))
        .help("name the session or its file; `foxwedge list` lists all")
}

/// The agent, id and folder of a session.
pub fn identify_session(content: &[u8]) -> Option<SessionRef> {
    let plain = decompress(content).ok()?;
    let text = foxwedge_sessions::readable_text(&plain).ok()?;
    let (AgentDetection::Known(agent) | AgentDetection::UnknownVersion(agent, _)) =
        foxwedge_sessions::detect_agent(text.as_str())
    else {
        return None;
    };
    let read = foxwedge_sessions::read(&text, agent, outline_options(agent.profile()));
    Some(read.map_or(
        SessionRef { agent, id: None, folder: None, store: SessionStore::Own },
        |session| SessionRef::of(&session),
    ))
}

/// Error for a file of an unknown version. The user can force it with `--format`.
fn newer_version_failure(agent: SessionAgent, reason: &str) -> TargetFailure {
    TargetFailure::new(reason.to_owned())
        .help(format!("`--format {}` reads it anyway, as far as possible", agent.name()))
}
