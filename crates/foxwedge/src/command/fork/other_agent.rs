//! `foxwedge fork --to AGENT`: writes a history as a new session of another agent.

use std::{
    env, io,
    path::PathBuf,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use foxwedge_core::{CheckOptions, RuleSet};
use foxwedge_formats::{model::Loss, outline_options};
use foxwedge_sessions::{
    FindingEffect, NewSessionFacts, SessionAgent, read, readable_text, write_new_session,
};

use super::{MAX_COPIES, create_copy, naming};
use crate::{
    cli::ForkArgs,
    command::resume::{convert_history, print_losses, repair_history},
    sessions::LoadedConversation,
};
use foxwedge_local::{
    agents::{self, new_session_path},
    calendar::format_milliseconds,
    language::localize,
    outcome::{SessionRef, SessionStore},
    output::{self, HelpfulError, clean, format_help, pluralize},
    session_document::{self, default_check_options},
    source::InputDocument,
    user_folders::UserFolders,
};

/// Writes one conversation for another agent.
pub(super) fn run(
    args: &ForkArgs,
    loaded: &LoadedConversation,
    document: &InputDocument<'_>,
    to: SessionAgent,
) -> anyhow::Result<ExitCode> {
    if let Err(reason) = to.accepts_new_sessions() {
        bail!(
            HelpfulError::new(format!("{}: {reason}", to.name())).help(
                "nothing was written; new sessions are written for claude-code, codex and pi"
            )
        );
    }
    let facts = loaded.facts(document);
    let folder = match facts.project.filter(|folder| PathBuf::from(folder).is_absolute()) {
        Some(folder) => folder,
        None => env::current_dir()
            .context("the working folder is not known")?
            .to_string_lossy()
            .into_owned(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let milliseconds = u64::try_from(now).unwrap_or_default();
    let time = format_milliseconds(milliseconds);
    let old = facts.id.unwrap_or_else(|| loaded.display_name.clone());
    let (id, path) = new_place(args, to, &old, &folder, &time)?;
    let new = NewSessionFacts { id: &id, folder: &folder, time: &time, milliseconds };
    let written = write_session(args, loaded, document, to, &new)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error).with_context(|| format!("`{}` cannot be created", folder.display())),
        })?;
    }
    create_copy(to, &path, &written.content)?;
    output::write_stdout(&format!("{}\n", clean(&id)))?;
    print_losses(&written.losses);
    let (agent, place) = (to.name(), clean(&path.to_string_lossy()));
    let messages = pluralize(written.messages, "message");
    let lost = match written.losses.len() {
        0 => "nothing lost".to_owned(),
        losses => format!("{} lost", pluralize(losses, "part")),
    };
    output::write_stderr(&localize(format!(
        "Written as a session of {agent} to {place}: {messages}, {lost}.\n"
    )));
    let session = SessionRef {
        agent: to,
        id: Some(id),
        folder: Some(folder),
        store: SessionStore::of(to, &path),
    };
    if let Some(command) = session.resume_command().filter(|_| args.output.is_none()) {
        output::write_stderr(&format_help(&format!("`{command}` resumes it")));
    }
    Ok(ExitCode::SUCCESS)
}

/// The content of the new session.
struct WrittenSession {
    content: Vec<u8>,
    messages: usize,
    losses: Vec<Loss>,
}

/// Converts the history, writes it as a session, and proves that its agent opens it whole.
fn write_session(
    args: &ForkArgs,
    loaded: &LoadedConversation,
    document: &InputDocument<'_>,
    to: SessionAgent,
    new: &NewSessionFacts<'_>,
) -> anyhow::Result<WrittenSession> {
    let history = session_document::history(document);
    let (history, mut losses) = convert_history(history, document.draft().format, to.wire())?;
    let profile = to.profile();
    let options = CheckOptions { profile, rules: RuleSet::of(profile), policy: loaded.policy };
    let repaired = repair_history(&history, to.wire(), &options, args.session.view)?;
    let Some(file) = write_new_session(to, &repaired.history, new) else {
        bail!("the session has no message to write");
    };
    losses.extend(file.losses);
    let content = file.text.into_bytes();
    let content = repair_for_agent(to, &content, loaded)?.unwrap_or(content);
    let messages = count_messages(to, &content)?;
    Ok(WrittenSession { content, messages, losses })
}

/// Repairs what the format of the session requires beyond that of its provider; `None` if nothing
/// changes.
fn repair_for_agent(
    to: SessionAgent,
    content: &[u8],
    loaded: &LoadedConversation,
) -> anyhow::Result<Option<Vec<u8>>> {
    let options = CheckOptions { policy: loaded.policy, ..default_check_options(to) };
    let text = readable_text(content)?;
    let session =
        read(&text, to, outline_options(options.profile)).context("the copy cannot be read")?;
    let (rewritten, repair) = session.fix(&options);
    if repair.is_untouched() {
        return Ok(None);
    }
    let mut repaired = Vec::new();
    rewritten.write_to(&mut repaired)?;
    Ok(Some(repaired))
}

/// The number of messages in a new session. Fails if its agent would not open it whole.
fn count_messages(to: SessionAgent, content: &[u8]) -> anyhow::Result<usize> {
    let options = default_check_options(to);
    let text = readable_text(content)?;
    let session =
        read(&text, to, outline_options(options.profile)).context("the copy cannot be read")?;
    let worst = session.rate_findings(&options).worst();
    if worst.is_some_and(|worst| worst != FindingEffect::Tolerated) {
        bail!(
            HelpfulError::new(format!("{} would not open the copy whole", to.name()))
                .help("nothing was written; this is a bug in foxwedge, please report it")
        );
    }
    Ok(session.draft().messages.len())
}

/// The id and the path of the new session.
fn new_place(
    args: &ForkArgs,
    to: SessionAgent,
    old: &str,
    folder: &str,
    time: &str,
) -> anyhow::Result<(String, PathBuf)> {
    let known = agents::find(&[to]).entries;
    let is_taken = |id: &str| known.iter().any(|entry| entry.id == id);
    let path_of = |id: &str| match &args.output {
        Some(path) => Ok(path.clone()),
        None => {
            new_session_path(&UserFolders::Environment, to, folder, id, time).ok_or_else(|| {
                HelpfulError::new(format!("the folder of {} is not known", to.name()))
                    .help("nothing was written; `-o FILE` writes the session to a file")
            })
        }
    };
    if let Some(id) = &args.id {
        naming::check(to, id)?;
        if is_taken(id) {
            bail!(
                HelpfulError::new(format!("the id `{}` is taken", clean(id)))
                    .help("omit --id to generate one")
            );
        }
        return Ok((id.clone(), path_of(id)?));
    }
    // Two agents may get the same session, under ids of their own.
    let name = format!("{old} as {}", to.name());
    let mut ids = (1..=MAX_COPIES).map(|number| naming::derive(to, &name, number));
    let Some(id) = ids.find(|id| !is_taken(id)) else {
        bail!("there are already {MAX_COPIES} copies of this session");
    };
    let path = path_of(&id)?;
    Ok((id, path))
}
