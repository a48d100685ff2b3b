//! What was named on the command line, and the files in it.

use std::{
    cell::LazyCell,
    collections::{HashMap, HashSet},
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use foxwedge_sessions::SessionAgent;

use crate::{
    agents::{self, LocalSessionEntry, session_lookup},
    cli::CheckArgs,
    cli_output::{self, CliError, clean},
    outcome::TargetFailure,
};

mod walk;

use walk::walk;

/// One thing to read.
#[derive(Clone, Debug)]
pub(crate) struct CheckTarget {
    /// As it is shown.
    pub(crate) display_name: String,
    /// How a command names it, where that is shorter: the id of a session.
    pub(crate) name: Option<String>,
    pub(crate) kind: TargetKind,
}

/// Where a target comes from.
#[derive(Clone, Debug)]
pub(crate) enum TargetKind {
    Stdin,
    /// Named by the user: has to be a conversation.
    Named(PathBuf),
    /// Found in a folder: may be anything.
    FromFolder(PathBuf),
    /// A file that is not there, or a folder that cannot be opened.
    Unreadable(TargetFailure),
}

/// The shown name of stdin.
pub(crate) const STDIN: &str = "<stdin>";

/// Everything that was named, folders opened; each file once.
pub(crate) fn expand_targets(args: &CheckArgs) -> Result<Vec<CheckTarget>, CliError> {
    let sessions = LazyCell::new(|| list_sessions(&args.agent));
    let mut targets = Vec::new();
    if args.all || args.targets.is_empty() && !args.agent.is_empty() && !args.last {
        let mut ids: HashMap<&str, usize> = HashMap::new();
        sessions.iter().for_each(|entry| *ids.entry(&entry.id).or_default() += 1);
        let alone = |entry: &LocalSessionEntry| ids.get(&*entry.id) == Some(&1);
        targets.extend(
            sessions
                .iter()
                .map(|entry| session_target(entry, alone(entry), TargetKind::FromFolder)),
        );
        return Ok(targets);
    }
    if args.last {
        let newest = newest_session(&sessions)?;
        return Ok(vec![session_target(
            newest,
            has_unique_id(newest, &sessions),
            TargetKind::Named,
        )]);
    }
    if args.targets.is_empty() {
        if io::stdin().is_terminal() {
            return Err(CliError::new("nothing to read").help(
                "name a file, a folder or a session, or pipe a conversation in: \
                 `foxwedge check session.json`, `… | foxwedge check -`, `foxwedge check --all`",
            ));
        }
        targets.push(stdin_target());
    }
    for path in &args.targets {
        if path.as_os_str() == "-" {
            targets.push(stdin_target());
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk(path, &mut targets),
            Ok(_) => targets.push(file_target(path.clone(), TargetKind::Named)),
            Err(error) => targets.push(match find_session(path, &error, || sessions.as_slice()) {
                Ok(entry) => {
                    session_target(&entry, has_unique_id(&entry, &sessions), TargetKind::Named)
                }
                Err(failure) => {
                    let shown = path.to_string_lossy().into_owned();
                    CheckTarget {
                        display_name: shown,
                        name: None,
                        kind: TargetKind::Unreadable(failure),
                    }
                }
            }),
        }
    }
    let mut seen = HashSet::new();
    targets.retain(|target| match &target.kind {
        TargetKind::Unreadable(_) => true,
        TargetKind::Stdin => seen.insert(PathBuf::from("-")),
        TargetKind::Named(path) | TargetKind::FromFolder(path) => {
            seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
        }
    });
    Ok(targets)
}

/// One thing that was named where only one makes sense.
pub(crate) enum SingleTarget {
    Stdin,
    File(PathBuf),
    /// A session that an agent keeps on this machine.
    Session(Box<LocalSessionEntry>),
}

/// The one session that is meant; the newest of these agents, if none is named.
pub(crate) fn resolve_single(
    target: Option<&Path>,
    agents: &[SessionAgent],
) -> anyhow::Result<SingleTarget> {
    let Some(path) = target else {
        return Ok(SingleTarget::Session(Box::new(
            newest_session(&list_sessions(agents))?.clone(),
        )));
    };
    // Whoever names the stream means what flows in it, not the file behind it.
    if path.as_os_str() == "-" || path == Path::new("/dev/stdin") {
        return Ok(SingleTarget::Stdin);
    }
    let failure = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => TargetFailure::new("this is a folder, not a session")
            .help("`foxwedge list --project FOLDER` lists the sessions about it"),
        Ok(_) => return Ok(SingleTarget::File(path.to_owned())),
        Err(error) => match find_session(path, &error, || list_sessions(agents)) {
            Ok(entry) => return Ok(SingleTarget::Session(Box::new(entry))),
            Err(failure) => failure,
        },
    };
    let shown = clean(&path.to_string_lossy());
    let trouble = CliError::new(format!("{shown}: {}", failure.message));
    Err(match failure.help {
        Some(help) => trouble.help(help),
        None => trouble,
    }
    .into())
}

/// The sessions of these agents. What cannot be looked into is worth a note.
pub(crate) fn list_sessions(agents: &[SessionAgent]) -> Vec<LocalSessionEntry> {
    let found = agents::find(agents);
    for (path, error) in &found.unreadable {
        cli_output::print_note(&format!(
            "{}: cannot be read: {error}",
            clean(&path.to_string_lossy())
        ));
    }
    found.entries
}

/// The session that was written to last.
fn newest_session(sessions: &[LocalSessionEntry]) -> Result<&LocalSessionEntry, CliError> {
    let newest = sessions.iter().find(|entry| !entry.is_sub_agent());
    newest.ok_or_else(|| {
        CliError::new("no session was found").help(format!(
            "looked in {}; a file can be named by its path",
            agents::find(&[]).describe_empty_folders()
        ))
    })
}

/// The session that a name stands for, if no file bears it.
fn find_session<S: std::ops::Deref<Target = [LocalSessionEntry]>>(
    path: &Path,
    error: &io::Error,
    sessions: impl FnOnce() -> S,
) -> Result<LocalSessionEntry, TargetFailure> {
    let missing = missing_failure(path, error);
    let word = path.to_str().filter(|word| session_lookup::is_session_id(word));
    let Some(word) = word.filter(|_| error.kind() == io::ErrorKind::NotFound) else {
        return Err(missing);
    };
    session_lookup::find_session(word, &sessions()).cloned().map_err(|trouble| {
        match similar_file(path) {
            Some(_) => missing,
            None => TargetFailure::from_error(&trouble.into()),
        }
    })
}

fn stdin_target() -> CheckTarget {
    CheckTarget { display_name: STDIN.to_owned(), name: None, kind: TargetKind::Stdin }
}

fn file_target(path: PathBuf, kind: impl FnOnce(PathBuf) -> TargetKind) -> CheckTarget {
    // Files of the folder `.` are shown as one would type them.
    let bare = path.strip_prefix(".").ok().filter(|bare| !bare.as_os_str().is_empty());
    let shown = bare.unwrap_or(&path).to_string_lossy().into_owned();
    CheckTarget { display_name: shown, name: None, kind: kind(path) }
}

/// A session that an agent keeps; its id names it, if no other has the same.
fn session_target(
    entry: &LocalSessionEntry,
    alone: bool,
    kind: impl FnOnce(PathBuf) -> TargetKind,
) -> CheckTarget {
    let name = Some(entry.id.clone()).filter(|id| alone && session_lookup::is_session_id(id));
    CheckTarget { name, ..file_target(entry.path.clone(), kind) }
}

fn has_unique_id(entry: &LocalSessionEntry, all: &[LocalSessionEntry]) -> bool {
    all.iter().filter(|other| other.id == entry.id).count() == 1
}

fn missing_failure(path: &Path, error: &io::Error) -> TargetFailure {
    if error.kind() != io::ErrorKind::NotFound {
        return TargetFailure::new(format!("cannot be read: {error}"));
    }
    let failure = TargetFailure::new("no such file or folder");
    if let Some(near) = similar_file(path) {
        return failure.help(format!("did you mean `{near}`?"));
    }
    failure.help("a target is a file, a folder, the id of a session, or `-` for stdin")
}

/// A file beside it with nearly the same name.
fn similar_file(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let open = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names: Vec<String> = fs::read_dir(open)
        .ok()?
        .take(2000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let typed = path.file_name()?.to_str()?;
    let near = crate::nearest::nearest(typed, names.iter().map(String::as_str))?;
    Some(clean(&folder.join(near).to_string_lossy()))
}
