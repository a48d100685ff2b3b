//! `foxwedge fork`: a copy of a session under a new id, repaired, where its agent finds it.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use foxwedge_core::check;
use foxwedge_formats::outline_options;
use foxwedge_sessions::{ParsedSession, SessionAgent, read, readable_text};

use crate::{
    agents,
    cli::{ForkArgs, SessionViewMode},
    cli_output::{self, CliError, GOOD, HELP, clean, paint, pluralize},
    disk,
    outcome::SessionRef,
    sessions::{self, LoadedConversation},
    source::InputDocument,
    target::SingleTarget,
};

mod naming;

/// Copies of one session.
const MOST: u32 = 10_000;

/// Copies one session.
pub(crate) fn run(args: ForkArgs) -> anyhow::Result<ExitCode> {
    let loaded = sessions::open(&args.session, None)?;
    let viewed = loaded.view()?;
    let raw = viewed.text()?;
    let document = viewed.document(&raw)?;
    let Some(session) = sessions::session(&document) else {
        bail!(
            CliError::new(format!(
                "{}: this is no session of an agent",
                clean(&loaded.display_name)
            ))
            .help("only sessions have an id; a conversation is copied with `cp`")
        );
    };
    let old = old_id(&loaded, session)?;
    let (id, path) = copy_target(&args, &loaded, session.agent, &old)?;
    let mut copy = Vec::new();
    session.fork(&id).write_to(&mut copy)?;
    verify_copy(&copy, &document, session, &id, args.session.view)?;
    disk::create_private(&path, |out| out.write_all(&copy)).map_err(|error| {
        let shown = clean(&path.to_string_lossy());
        match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow::Error::new(
                CliError::new(format!("`{shown}` is there already"))
                    .help("nothing was written; name another --id or another file with -o"),
            ),
            _ => anyhow::Error::new(error).context(format!("`{shown}` cannot be written")),
        }
    })?;
    cli_output::write_stdout(&format!("{}\n", clean(&id)))?;
    let repaired = match viewed.edits.len() {
        0 => String::new(),
        steps => {
            format!(", {}", paint(GOOD, format_args!("repaired in {}", pluralize(steps, "step"))))
        }
    };
    cli_output::write_stderr(&format!("Copied to {}{repaired}.\n", clean(&path.to_string_lossy())));
    if args.output.is_none() {
        let help = paint(HELP, "help");
        let copy = SessionRef { id: Some(id), ..SessionRef::of(session) };
        let command = copy.resume_command().unwrap_or_else(|| "the list of tasks".to_owned());
        cli_output::write_stderr(&format!("  {help}: `{command}` goes on with it\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The id of the session that is copied.
fn old_id(loaded: &LoadedConversation, session: &ParsedSession<'_>) -> anyhow::Result<String> {
    let named = match &loaded.target {
        SingleTarget::Session(entry) => Some(entry.id.clone()),
        SingleTarget::File(path) => {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
        }
        SingleTarget::Stdin => None,
    };
    let told = session.metadata.id.as_deref().map(str::to_owned);
    told.or(named).context("the session has no id to make a new one from")
}

/// The new id, and where the copy goes.
fn copy_target(
    args: &ForkArgs,
    loaded: &LoadedConversation,
    agent: SessionAgent,
    old: &str,
) -> anyhow::Result<(String, PathBuf)> {
    let path_of = |id: &str| match &args.output {
        Some(output) => Ok(output.clone()),
        None => naming::path(agent, sibling_file(loaded, agent)?, id).ok_or_else(|| {
            CliError::new(format!(
                "{}: the name tells no place for a copy",
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
                CliError::new(format!("the id `{}` is taken", clean(id)))
                    .help("leave --id out to get a new one")
            );
        }
        return Ok((id.clone(), path_of(id)?));
    }
    for number in 1..=MOST {
        let id = naming::derive(agent, old, number);
        let path = path_of(&id)?;
        if !is_taken(&id) && (args.output.is_some() || !path.exists()) {
            return Ok((id, path));
        }
    }
    bail!(
        CliError::new(format!("there are {MOST} copies of this session"))
            .help("copy one of the copies, or name an --id")
    )
}

/// The file beside which the copy of a session goes.
fn sibling_file(loaded: &LoadedConversation, agent: SessionAgent) -> Result<&Path, CliError> {
    let why = match (&loaded.target, agent) {
        (_, SessionAgent::Cline) => {
            "an extension finds its tasks by a list of its own, so a copy would not be found"
        }
        (SingleTarget::Stdin, _) => "a session from stdin lies in no folder",
        (SingleTarget::Session(entry), _) if entry.is_sub_agent() => {
            "a sub-agent is started by its session and not by you"
        }
        (SingleTarget::Session(entry), _) => return Ok(&entry.path),
        (SingleTarget::File(path), _) => return Ok(path),
    };
    Err(CliError::new(why).help("nothing was written; `-o FILE` writes the copy to a file"))
}

/// Reads the copy again: it has the new id, and says what the original says.
fn verify_copy(
    copy: &[u8],
    document: &InputDocument<'_>,
    session: &ParsedSession<'_>,
    id: &str,
    view: SessionViewMode,
) -> anyhow::Result<()> {
    let text = readable_text(copy)?;
    let mut again = read(&text, session.agent, outline_options(document.check_options.profile))
        .context("the copy cannot be read")?;
    again.spare_same_as(session);
    let sound =
        |session: &ParsedSession<'_>| check(session.draft(), &document.check_options).total();
    let named = again.metadata.id.as_deref().is_none_or(|own| own == id);
    let same = again.history() == session.history();
    let healthy = view == SessionViewMode::Raw || sound(&again) <= sound(session);
    if named && same && healthy {
        return Ok(());
    }
    bail!(
        CliError::new("the copy does not say what the session says")
            .help("nothing was written; this is a defect of foxwedge, please report it")
    )
}
