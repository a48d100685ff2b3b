//! `foxwedge run`: starts a program. If it is an agent that resumes a session, the session is
//! repaired first.

use std::{
    env,
    ffi::OsString,
    path::Path,
    process::{Command, ExitCode},
};

use foxwedge_sessions::SessionAgent;

use crate::{
    cli::{RepairArgs, RunArgs},
    sessions::{
        agent_start::{self, SessionReadiness},
        project_filter::ProjectFilter,
    },
};
use foxwedge_local::{
    agents::{self, LocalSessionEntry},
    outcome::{SessionRef, SessionStore},
    output::{HelpfulError, clean},
    session_overview::read_overview,
};

/// Arguments by which agents are told to resume a session.
const RESUME_WORDS: [&str; 10] =
    ["resume", "continue", "--resume", "--continue", "--session", "--last", "-r", "-c", "-C", "-S"];

/// Arguments by which agents are told to resume the newest session of a folder.
const NEWEST_WORDS: [&str; 6] = ["continue", "--continue", "--last", "latest", "-c", "-C"];

/// Repairs the sessions that the command resumes, and starts it.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let mut words = args.command.into_iter();
    let program = words.next().unwrap_or_default();
    let arguments: Vec<OsString> = words.collect();
    let name = program.to_string_lossy().into_owned();
    let Some(path) = agent_start::find_program(&name) else {
        return Err(HelpfulError::new(format!("`{}` is not on PATH", clean(&name)))
            .help("name a program, with its arguments: `foxwedge run -- claude --resume ID`")
            .into());
    };
    if let Some((agent, store)) = agent_of(&path) {
        let readiness = repair_resumed(agent, store, &arguments, &args.repair);
        if readiness == SessionReadiness::StillBroken && !agent_start::start_anyway(&name, true) {
            return Ok(ExitCode::FAILURE);
        }
    }
    let mut command = Command::new(path);
    command.args(arguments);
    agent_start::hand_over(command)
}

/// The agent whose program this is, and where the sessions of the program lie.
fn agent_of(program: &Path) -> Option<(SessionAgent, SessionStore)> {
    let name = program.file_stem()?.to_str()?;
    let mut stores = SessionAgent::on_machine()
        .flat_map(|agent| SessionStore::ALL.into_iter().map(move |store| (agent, store)));
    stores.find(|&(agent, store)| {
        let session = SessionRef { agent, id: Some(String::new()), folder: None, store };
        session.resume().is_some_and(|command| command.program == name)
    })
}

/// Whether an argument tells the agent to resume a session.
fn is_resume_word(agent: SessionAgent, word: &str) -> bool {
    let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
    let is_known = RESUME_WORDS.contains(&flag);
    match agent {
        // Elsewhere `-s` is another option.
        SessionAgent::Opencode => is_known || word.starts_with("-s"),
        // `-c` names a folder there.
        SessionAgent::Cline => ["--id", "--continue"].contains(&flag),
        _ => is_known,
    }
}

/// Repairs the sessions that the arguments name. If they name none, repairs the newest session of the
/// current folder, or all of them if the agent lets the user choose.
fn repair_resumed(
    agent: SessionAgent,
    store: SessionStore,
    arguments: &[OsString],
    flags: &RepairArgs,
) -> SessionReadiness {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    if !words.iter().any(|word| is_resume_word(agent, word)) {
        return SessionReadiness::Ready;
    }
    let mut readiness = SessionReadiness::Ready;
    let mut note = |one: SessionReadiness| {
        if one == SessionReadiness::StillBroken {
            readiness = one;
        }
    };
    let mut entries = agents::find(&[agent]).entries;
    entries.retain(|entry| SessionStore::of_entry(entry) == store);
    let named: Vec<&LocalSessionEntry> =
        entries.iter().filter(|entry| is_named(entry, &words)).collect();
    if !named.is_empty() {
        named.into_iter().for_each(|entry| note(agent_start::check_and_repair(entry, flags)));
        return readiness;
    }
    let Ok(folder) = env::current_dir() else { return readiness };
    let folder = ProjectFilter::new(&folder);
    for entry in entries.iter().filter(|entry| !entry.is_sub_agent()) {
        let overview = read_overview(entry);
        if folder.contains(overview.project.as_deref()) {
            note(agent_start::repair_first(entry, &overview, flags));
            if takes_newest(agent, &words) {
                break;
            }
        }
    }
    readiness
}

/// Whether the agent resumes the newest session, without a choice.
fn takes_newest(agent: SessionAgent, words: &[&str]) -> bool {
    match agent {
        // `-c` sets an option there.
        SessionAgent::Codex => words.contains(&"--last"),
        SessionAgent::GeminiCli | SessionAgent::Goose => true,
        _ => words.iter().any(|word| NEWEST_WORDS.contains(word)),
    }
}

/// Whether an argument is the id of a session, or ends in it: `--resume=ID`, `-sID`.
fn is_named(entry: &LocalSessionEntry, words: &[&str]) -> bool {
    let value = |word: &str| word.split_once('=').map_or(word.to_owned(), |(_, id)| id.to_owned());
    let is_id = |word: &str| word.eq_ignore_ascii_case(&entry.id);
    words.iter().any(|word| is_id(&value(word)) || word.strip_prefix("-s").is_some_and(is_id))
}
