//! `foxwedge fork`: writes a repaired copy of a session under a new id where its agent finds it.

use foxwedge_local::session_document;
use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use foxwedge_core::{Finding, check};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{FindingEffect, ParsedSession, SessionAgent, read, readable_text};

use crate::{
    cli::{ForkArgs, SessionViewMode},
    sessions::{self, LoadedConversation},
    target::SingleTarget,
};
use foxwedge_local::{
    agents::{self, LocalSessionEntry},
    database::{SessionPath, insert_session},
    disk,
    language::localize,
    outcome::SessionRef,
    output::{self, GOOD, HELP, HelpfulError, clean, paint, pluralize},
    repair_plan,
    source::InputDocument,
    user_folders::UserFolders,
};

mod naming;
mod other_agent;

/// Maximum number of copies of one session.
const MAX_COPIES: u32 = 10_000;

/// Copies one session.
pub(crate) fn run(args: ForkArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, None)?;
    let view = loaded.view()?;
    let raw = view.text()?;
    let document = view.document(&raw)?;
    let own = session_document::session(&document).map(|session| session.agent);
    if let Some(to) = args.to.filter(|to| own != Some(*to)) {
        return other_agent::run(&args, &loaded, &document, to);
    }
    own.map_or(Ok(()), repair_plan::check_writable)?;
    let Some(session) = session_document::session(&document) else {
        bail!(
            HelpfulError::new(format!(
                "{}: this is not an agent session",
                clean(&loaded.display_name)
            ))
            .help(
                "only sessions have an id; copy a conversation with `cp`, or write it as a \
                   session with --to AGENT"
            )
        );
    };
    let old = old_id(&loaded, session)?;
    let (id, path) = copy_target(&args, &loaded, session.agent, &old)?;
    let mut copy = Vec::new();
    session.fork(&id).write_to(&mut copy)?;
    verify_copy(&copy, &document, session, &id, args.session.view)?;
    if let Some(place) = SessionPath::parse(&path) {
        insert_session(&UserFolders::Environment, &place, &copy)?;
    } else {
        create_copy(session.agent, &path, &copy)?;
    }
    output::write_stdout(&format!("{}\n", clean(&id)))?;
    let repaired = match view.edits.len() {
        0 => String::new(),
        steps => {
            format!(", {}", paint(GOOD, format_args!("repaired in {}", pluralize(steps, "step"))))
        }
    };
    output::write_stderr(&localize(format!(
        "Copied to {}{repaired}.\n",
        clean(&path.to_string_lossy())
    )));
    if let Some(finding) = blocking_finding(&document, args.session.view) {
        let (agent, code) = (session.agent.name(), finding.rule.label());
        output::print_note(&format!(
            "{agent} cannot open the copy: {code}: {}",
            clean(&finding.message)
        ));
        return Ok(ExitCode::FAILURE);
    }
    if args.output.is_none() {
        let help = paint(HELP, localize("help"));
        let source = SessionRef::of(session);
        let copy = match &loaded.target {
            SingleTarget::Session(entry) => {
                let entry = LocalSessionEntry { path: path.clone(), ..(**entry).clone() };
                SessionRef::of_entry(&entry, Some(id), source.folder)
            }
            SingleTarget::File(_) | SingleTarget::Stdin => {
                SessionRef { id: Some(id), ..source }.at(&path)
            }
        };
        let command = copy.resume_command().unwrap_or_else(|| "the list of tasks".to_owned());
        output::write_stderr(&localize(format!("  {help}: `{command}` resumes it\n")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates the file of the copy.
fn create_copy(agent: SessionAgent, path: &Path, copy: &[u8]) -> anyhow::Result<()> {
    // Each session of Copilot CLI has a folder of its own.
    let folder = path.parent().filter(|_| agent == SessionAgent::CopilotCli);
    let made = folder.filter(|folder| !folder.exists()).map_or(Ok(()), std::fs::create_dir);
    let create = || disk::create_private(path, |out| out.write_all(copy));
    made.and_then(|()| create()).map_err(|error| {
        let display_name = clean(&path.to_string_lossy());
        match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow::Error::new(
                HelpfulError::new(format!("`{display_name}` already exists"))
                    .help("nothing was written; choose another --id, or another file with -o"),
            ),
            _ => anyhow::Error::new(error).context(format!("`{display_name}` cannot be written")),
        }
    })
}

/// The id of the session that is copied.
fn old_id(loaded: &LoadedConversation, session: &ParsedSession<'_>) -> anyhow::Result<String> {
    let file_id = match &loaded.target {
        SingleTarget::Session(entry) => Some(entry.id.clone()),
        SingleTarget::File(path) => {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
        }
        SingleTarget::Stdin => None,
    };
    let metadata_id = session.metadata.id.as_deref().map(str::to_owned);
    metadata_id.or(file_id).context("the session has no id to derive a new one from")
}

/// The id and the path of the copy.
fn copy_target(
    args: &ForkArgs,
    loaded: &LoadedConversation,
    agent: SessionAgent,
    old: &str,
) -> anyhow::Result<(String, PathBuf)> {
    let path_of = |id: &str| match &args.output {
        Some(output) => Ok(output.clone()),
        None => naming::path(agent, sibling_file(loaded, agent)?, id).ok_or_else(|| {
            HelpfulError::new(format!(
                "{}: cannot derive a file name for the copy",
                clean(&loaded.display_name)
            ))
            .help("nothing was written; `-o FILE` writes the copy to a file")
        }),
    };
    let known = agents::find(&[agent]).entries;
    let is_taken = |id: &str| id == old || known.iter().any(|entry| entry.id == id);
    if let Some(id) = &args.id {
        naming::check(agent, id)?;
        if is_taken(id) {
            bail!(
                HelpfulError::new(format!("the id `{}` is taken", clean(id)))
                    .help("omit --id to generate one")
            );
        }
        return Ok((id.clone(), path_of(id)?));
    }
    for number in 1..=MAX_COPIES {
        let id = naming::derive(agent, old, number);
        let path = path_of(&id)?;
        if !is_taken(&id) && (args.output.is_some() || !path.exists()) {
            return Ok((id, path));
        }
    }
    bail!(
        HelpfulError::new(format!("there are already {MAX_COPIES} copies of this session"))
            .help("fork one of the copies, or set --id")
    )
}

/// The file next to which the copy is written.
fn sibling_file(loaded: &LoadedConversation, agent: SessionAgent) -> Result<&Path, HelpfulError> {
    let message = match (&loaded.target, agent) {
        (_, SessionAgent::Cline) => {
            "the extension finds tasks through its own index, so it would not find a copy"
        }
        (_, SessionAgent::KimiCode) => {
            "Kimi Code finds sessions through its own index, so it would not find a copy; after a \
             repair, `kimi fork` makes one"
        }
        (_, SessionAgent::AiSdkUi | SessionAgent::AiSdkModel) => {
            "a message list has no id under which an application would find a copy"
        }
        (SingleTarget::Stdin, _) => "a session from stdin has no folder",
        (SingleTarget::Session(entry), _) if entry.is_sub_agent() => {
            "a sub-agent is started by its session, not by the user"
        }
        (SingleTarget::Session(entry), _) => return Ok(&entry.path),
        (SingleTarget::File(path), _) => return Ok(path),
    };
    Err(HelpfulError::new(message).help("nothing was written; `-o FILE` writes the copy to a file"))
}

/// What keeps the agent from opening the copy of a document. A raw copy is as broken as the original.
fn blocking_finding(document: &InputDocument<'_>, view: SessionViewMode) -> Option<Finding> {
    let session = session_document::session(document).filter(|_| view == SessionViewMode::Clean)?;
    let rated = session.rate_findings(&document.check_options).findings;
    let mut blocking = rated.into_iter().filter(|(_, effect)| *effect == FindingEffect::Blocks);
    blocking.next().map(|(finding, _)| finding)
}

/// Reads the copy again. It must have the new id, the same history and no new findings.
fn verify_copy(
    copy: &[u8],
    document: &InputDocument<'_>,
    session: &ParsedSession<'_>,
    id: &str,
    view: SessionViewMode,
) -> anyhow::Result<()> {
    let text = readable_text(copy)?;
    let mut reread = read(&text, session.agent, outline_options(document.check_options.profile))
        .context("the copy cannot be read")?;
    reread.spare_same_as(session);
    let count_findings =
        |session: &ParsedSession<'_>| check(session.draft(), &document.check_options).total();
    let has_id = reread.metadata.id.as_deref().is_none_or(|own| own == id);
    let same_history = reread.history() == session.history();
    let no_new_findings =
        view == SessionViewMode::Raw || count_findings(&reread) <= count_findings(session);
    if has_id && same_history && no_new_findings {
        return Ok(());
    }
    bail!(
        HelpfulError::new("the copy differs from the session")
            .help("nothing was written; this is a bug in foxwedge, please report it")
    )
}
