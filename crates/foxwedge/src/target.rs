//! Resolves the targets on the command line to files, sessions and stdin.

use std::{
    cell::LazyCell,
    collections::{HashMap, HashSet},
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use foxwedge_sessions::SessionAgent;

use crate::cli::CheckArgs;
use foxwedge_local::{
    agents::{self, LocalSessionEntry, session_lookup},
    database::{self, SessionPath, StoredSizes},
    outcome::TargetFailure,
    output::{self, HelpfulError, clean},
};

mod walk;

use walk::walk;

/// One input to check.
#[derive(Clone, Debug)]
pub(crate) struct CheckTarget {
    pub(crate) display_name: String,
    /// A shorter name for commands: the session id.
    pub(crate) name: Option<String>,
    /// The agent in whose folder it was found.
    pub(crate) agent: Option<SessionAgent>,
    pub(crate) kind: TargetKind,
}

impl CheckTarget {
    /// The file, or the session in a database.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.kind {
            TargetKind::Named(path) | TargetKind::FromFolder(path) => Some(path),
            TargetKind::Stdin | TargetKind::Unreadable(_) => None,
        }
    }
}

/// Source of a target.
#[derive(Clone, Debug)]
pub(crate) enum TargetKind {
    Stdin,
    /// Named by the user: must be a conversation.
    Named(PathBuf),
    /// Found in a folder: may be any file.
    FromFolder(PathBuf),
    /// A missing file, or a folder that cannot be opened.
    Unreadable(TargetFailure),
}

/// Display name of stdin.
pub(crate) const STDIN: &str = "<stdin>";

/// All targets of the arguments, with the files of folders. Each file is listed once.
pub(crate) fn expand_targets(args: &CheckArgs) -> Result<Vec<CheckTarget>, HelpfulError> {
    let mut targets = Vec::new();
    if args.all || args.targets.is_empty() && !args.agent.is_empty() && !args.last {
        let (sessions, unreadable) = find_with_failures(&args.agent);
        let mut ids: HashMap<&str, usize> = HashMap::new();
        sessions.iter().for_each(|entry| *ids.entry(&entry.id).or_default() += 1);
        let is_unique = |entry: &LocalSessionEntry| ids.get(&*entry.id) == Some(&1);
        targets.extend(
            sessions
                .iter()
                .map(|entry| session_target(entry, is_unique(entry), TargetKind::FromFolder)),
        );
        targets.extend(unreadable);
        return Ok(targets);
    }
    let sessions = LazyCell::new(|| match args.quiet {
        true => agents::find(&args.agent).entries,
        false => list_sessions(&args.agent),
    });
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
            return Err(HelpfulError::new("nothing to read").help(
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
            Ok(_) if database::is_database(path) => targets.extend(database_targets(path)),
            Err(_) if SessionPath::parse(path).is_some() => {
                targets.push(file_target(path.clone(), TargetKind::Named));
            }
            Ok(_) => targets.push(file_target(path.clone(), TargetKind::Named)),
            Err(error) => targets.push(match find_session(path, &error, || sessions.as_slice()) {
                Ok(entry) => {
                    session_target(&entry, has_unique_id(&entry, &sessions), TargetKind::Named)
                }
                Err(failure) => {
                    let display_name = path.to_string_lossy().into_owned();
                    CheckTarget {
                        display_name,
                        name: None,
                        agent: None,
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
            seen.insert(database::canonicalize(path).unwrap_or_else(|_| path.clone()))
        }
    });
    Ok(targets)
}

/// The target of a command that takes only one.
pub(crate) enum SingleTarget {
    Stdin,
    File(PathBuf),
    /// An agent's session on this machine.
    Session(Box<LocalSessionEntry>),
}

/// Resolves a single target. Without a target, the newest session of these agents.
pub(crate) fn resolve_single(
    target: Option<&Path>,
    agents: &[SessionAgent],
) -> anyhow::Result<SingleTarget> {
    let Some(path) = target else {
        return Ok(SingleTarget::Session(Box::new(
            newest_session(&list_sessions(agents))?.clone(),
        )));
    };
    // `/dev/stdin` means the stream, not the file behind it.
    if path.as_os_str() == "-" || path == Path::new("/dev/stdin") {
        return Ok(SingleTarget::Stdin);
    }
    let failure = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => TargetFailure::new("this is a folder, not a session")
            .help("`foxwedge list --project FOLDER` lists its sessions"),
        Ok(_) if database::is_database(path) => {
            TargetFailure::new("this is a database, not a session")
                .help("name a session in it: `DATABASE/ID`; `foxwedge list` lists them")
        }
        Err(_) if SessionPath::parse(path).is_some() => {
            return Ok(SingleTarget::File(path.to_owned()));
        }
        Ok(_) => return Ok(SingleTarget::File(path.to_owned())),
        Err(error) => match find_session(path, &error, || list_sessions(agents)) {
            Ok(entry) => return Ok(SingleTarget::Session(Box::new(entry))),
            Err(failure) => failure,
        },
    };
    let shown = clean(&path.to_string_lossy());
    let error = HelpfulError::new(format!("{shown}: {}", failure.message));
    Err(match failure.help {
        Some(help) => error.help(help),
        None => error,
    }
    .into())
}

/// The sessions of these agents. Prints a note for each unreadable folder.
pub(crate) fn list_sessions(agents: &[SessionAgent]) -> Vec<LocalSessionEntry> {
    let found = agents::find(agents);
    for (path, error) in &found.unreadable {
        output::print_note(&format!("{}: cannot be read: {error}", clean(&path.to_string_lossy())));
    }
    found.entries
}

/// The sessions of these agents, and a target that fails for each folder and database that cannot be
/// read.
pub(crate) fn find_with_failures(
    agents: &[SessionAgent],
) -> (Vec<LocalSessionEntry>, Vec<CheckTarget>) {
    let found = agents::find(agents);
    let failed = found.unreadable.into_iter().map(|(path, error)| {
        let failure = TargetFailure::new(format!("cannot be read: {error}"));
        file_target(path, |_| TargetKind::Unreadable(failure))
    });
    (found.entries, failed.collect())
}

/// The session that was changed last.
fn newest_session(sessions: &[LocalSessionEntry]) -> Result<&LocalSessionEntry, HelpfulError> {
    let newest = sessions.iter().find(|entry| !entry.is_sub_agent());
    newest.ok_or_else(|| {
        HelpfulError::new("no session was found").help(format!(
            "searched {}; to use another file, pass its path",
            agents::find(&[]).describe_empty_folders()
        ))
    })
}

/// The session whose id is the given name, if no file has that name.
fn find_session<S: std::ops::Deref<Target = [LocalSessionEntry]>>(
    path: &Path,
    error: &io::Error,
    sessions: impl FnOnce() -> S,
) -> Result<LocalSessionEntry, TargetFailure> {
    let missing = missing_failure(path, error);
    let is_missing = error.kind() == io::ErrorKind::NotFound && !path.is_symlink();
    let is_name = is_missing && path.components().count() == 1;
    let Some(id) = path.to_str().filter(|_| is_name) else { return Err(missing) };
    let sessions = sessions();
    // The name of a copied file is an id, too, though only as a whole.
    if !session_lookup::is_session_id(id) && !sessions.iter().any(|entry| entry.id == id) {
        return Err(missing);
    }
    session_lookup::find_session(id, &sessions).cloned().map_err(|error| match similar_file(path) {
        Some(_) => missing,
        None => TargetFailure::from_error(&error.into()),
    })
}

/// The sessions in a database.
fn database_targets(path: &Path) -> Vec<CheckTarget> {
    let unreadable = |error: &anyhow::Error| CheckTarget {
        display_name: path.to_string_lossy().into_owned(),
        name: None,
        agent: None,
        kind: TargetKind::Unreadable(TargetFailure::from_error(error)),
    };
    match database::list_sessions(path, StoredSizes::Unneeded) {
        Ok(sessions) => sessions
            .into_iter()
            .map(|session| file_target(session.path.path(), TargetKind::Named))
            .collect(),
        Err(error) => vec![unreadable(&error)],
    }
}

fn stdin_target() -> CheckTarget {
    CheckTarget { display_name: STDIN.to_owned(), name: None, agent: None, kind: TargetKind::Stdin }
}

fn file_target(path: PathBuf, kind: impl FnOnce(PathBuf) -> TargetKind) -> CheckTarget {
    // Paths below `.` are shown without the prefix.
    let bare = path.strip_prefix(".").ok().filter(|bare| !bare.as_os_str().is_empty());
    let display_name = bare.unwrap_or(&path).to_string_lossy().into_owned();
    CheckTarget { display_name, name: None, agent: None, kind: kind(path) }
}

/// A session of an agent. Its id is its name if the id is unique.
pub(crate) fn session_target(
    entry: &LocalSessionEntry,
    is_unique: bool,
    kind: impl FnOnce(PathBuf) -> TargetKind,
) -> CheckTarget {
    let name = Some(entry.id.clone()).filter(|id| is_unique && session_lookup::is_session_id(id));
    CheckTarget { name, agent: Some(entry.agent), ..file_target(entry.path.clone(), kind) }
}

pub(crate) fn has_unique_id(entry: &LocalSessionEntry, all: &[LocalSessionEntry]) -> bool {
    all.iter().filter(|other| other.id == entry.id).count() == 1
}

fn missing_failure(path: &Path, error: &io::Error) -> TargetFailure {
    if error.kind() != io::ErrorKind::NotFound {
        return TargetFailure::new(format!("cannot be read: {error}"));
    }
    if path.is_symlink() {
        return TargetFailure::new("a link to a file that does not exist")
            .help("the file that it leads to was moved or removed");
    }
    let failure = TargetFailure::new("no such file or folder");
    if let Some(similar) = similar_file(path) {
        return failure.help(format!("did you mean `{similar}`?"));
    }
    failure.help("a target is a file, a folder, a session id, or `-` for stdin")
}

/// A file in the same folder with a similar name.
fn similar_file(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let open = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names: Vec<String> = fs::read_dir(open)
        .ok()?
        .take(2000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let typed = path.file_name()?.to_str()?;
    let similar = foxwedge_core::nearest_name(typed, names.iter().map(String::as_str))?;
    Some(clean(&folder.join(similar).to_string_lossy()))
}
