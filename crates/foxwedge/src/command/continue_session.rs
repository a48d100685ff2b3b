//! `foxwedge continue`: starts the agent of a session on it, repaired if needed.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::bail;

use crate::{
    cli::ContinueArgs,
    sessions::agent_start::{self, SessionReadiness},
    target::{self, SingleTarget},
};
use foxwedge_local::{
    agents::{self, LocalSessionEntry},
    check_settings::shell_argument,
    database,
    outcome::{ResumeCommand, SessionRef},
    output::{self, HelpfulError, clean},
    session_overview::{SessionOverview, read_overview},
};
use foxwedge_sessions::SessionAgent;

/// Repairs one session if needed, and starts its agent on it.
pub(crate) fn run(args: ContinueArgs) -> anyhow::Result<ExitCode> {
    let entry = match target::resolve_single(args.target.as_deref(), &args.agent)? {
        SingleTarget::Session(entry) => *entry,
        SingleTarget::File(path) => entry_of_file(&path)?,
        SingleTarget::Stdin => {
            bail!(HelpfulError::new("a session from stdin cannot be continued").help("name its id"))
        }
    };
    if entry.is_sub_agent() {
        bail!(
            HelpfulError::new("a sub-agent is started by its session, not by the user")
                .help("continue the session that started it")
        );
    }
    let overview = read_overview(&entry);
    let session = session_ref(&entry, &overview);
    if session.id.is_none() {
        bail!(no_id_error(&entry));
    }
    let Some(mut resume) = session.resume() else {
        bail!(
            HelpfulError::new(format!("{} has no command that resumes a session", entry.product))
                .help("open it in the list of tasks of the extension")
        );
    };
    resume.arguments.extend(args.arguments);
    if args.print {
        output::write_stdout(&format!("{resume}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let command = start_command(&resume)?;
    if resume.folder.is_none() && entry.agent != SessionAgent::Codex {
        let program = resume.program;
        output::print_note(&format!(
            "the folder of its project is not known, so `{program}` starts in this one"
        ));
    }
    if !args.no_fix
        && agent_start::repair_first(&entry, &overview, &args.repair)
            == SessionReadiness::StillBroken
        && !agent_start::start_anyway(resume.program, false)
    {
        bail!(
            HelpfulError::new("the session is still broken, so its agent was not started")
                .help("--no-fix starts it anyway, on the session as it is")
        );
    }
    agent_start::hand_over(command)
}

/// The error for a file whose name is not an id, such as the copy that a synchronization made.
fn no_id_error(entry: &LocalSessionEntry) -> HelpfulError {
    let name = entry.agent.name();
    HelpfulError::new(format!("{name} opens a session by the name of its file, and this is no id"))
        .help(format!(
            "`foxwedge fork {}` copies it under an id",
            shell_argument(&entry.path.to_string_lossy())
        ))
}

/// The session whose file this is.
pub(super) fn entry_of_file(path: &Path) -> anyhow::Result<LocalSessionEntry> {
    let real = |path: &Path| database::canonicalize(path).ok();
    let wanted = real(path);
    let mut entries = agents::find(&[]).entries.into_iter();
    let found = entries.find(|entry| wanted.is_some() && real(&entry.path) == wanted);
    let Some(entry) = found else {
        bail!(
            HelpfulError::new(format!(
                "{}: it is not where an agent finds it",
                clean(&path.to_string_lossy())
            ))
            .help("`foxwedge list` lists the sessions that can be continued")
        );
    };
    Ok(entry)
}

/// The session with its id and folder.
pub(crate) fn session_ref(entry: &LocalSessionEntry, overview: &SessionOverview) -> SessionRef {
    SessionRef::of_entry(entry, overview.id.clone(), overview.project.clone())
}

/// The command, ready to start.
fn start_command(resume: &ResumeCommand) -> Result<Command, HelpfulError> {
    let Some(program) = agent_start::find_program(resume.program) else {
        return Err(HelpfulError::new(format!("`{}` is not on PATH", resume.program))
            .help(format!("where it is installed, type: `{resume}`")));
    };
    let mut command = Command::new(program);
    command.args(&resume.arguments);
    if let Some(folder) = &resume.folder {
        if !Path::new(folder).is_dir() {
            return Err(HelpfulError::new(format!("its folder `{folder}` does not exist"))
                .help(format!("the agent finds the session only there: `{resume}`")));
        }
        command.current_dir(folder);
    }
    Ok(command)
}
