//! What was named on the command line, and the files in it.

use std::{
    cell::LazyCell,
    collections::{HashMap, HashSet},
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use foxwedge_dialect::session::Agent;

use crate::{
    agents::{self, Entry, pick},
    cli::CheckArgs,
    outcome::Failure,
    say::{self, Trouble, clean},
};

mod walk;

use walk::walk;

/// One thing to read.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// As it is shown.
    pub(crate) shown: String,
    /// How a command names it, where that is shorter: the id of a session.
    pub(crate) name: Option<String>,
    pub(crate) kind: Kind,
}

/// Where a target comes from.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Stdin,
    /// Named by the user: has to be a conversation.
    Named(PathBuf),
    /// Found in a folder: may be anything.
    Walked(PathBuf),
    /// A file that is not there, or a folder that cannot be opened.
    Closed(Failure),
}

/// The shown name of stdin.
pub(crate) const STDIN: &str = "<stdin>";

/// Everything that was named, folders opened; each file once.
pub(crate) fn expand(args: &CheckArgs) -> Result<Vec<Target>, Trouble> {
    let sessions = LazyCell::new(|| sessions(&args.agent));
    let mut targets = Vec::new();
    if args.all || args.targets.is_empty() && !args.agent.is_empty() && !args.last {
        let mut ids: HashMap<&str, usize> = HashMap::new();
        sessions.iter().for_each(|entry| *ids.entry(&entry.id).or_default() += 1);
        let alone = |entry: &Entry| ids.get(&*entry.id) == Some(&1);
        targets.extend(sessions.iter().map(|entry| known(entry, alone(entry), Kind::Walked)));
        return Ok(targets);
    }
    if args.last {
        let newest = newest(&sessions)?;
        return Ok(vec![known(newest, is_alone(newest, &sessions), Kind::Named)]);
    }
    if args.targets.is_empty() {
        if io::stdin().is_terminal() {
            return Err(Trouble::new("nothing to read").help(
                "name a file, a folder or a session, or pipe a conversation in: \
                 `foxwedge check session.json`, `… | foxwedge check -`, `foxwedge check --all`",
            ));
        }
        targets.push(stdin());
    }
    for path in &args.targets {
        if path.as_os_str() == "-" {
            targets.push(stdin());
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk(path, &mut targets),
            Ok(_) => targets.push(file(path.clone(), Kind::Named)),
            Err(error) => targets.push(match session(path, &error, || sessions.as_slice()) {
                Ok(entry) => known(&entry, is_alone(&entry, &sessions), Kind::Named),
                Err(failure) => {
                    let shown = path.to_string_lossy().into_owned();
                    Target { shown, name: None, kind: Kind::Closed(failure) }
                }
            }),
        }
    }
    let mut seen = HashSet::new();
    targets.retain(|target| match &target.kind {
        Kind::Closed(_) => true,
        Kind::Stdin => seen.insert(PathBuf::from("-")),
        Kind::Named(path) | Kind::Walked(path) => {
            seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
        }
    });
    Ok(targets)
}

/// One thing that was named where only one makes sense.
pub(crate) enum One {
    Stdin,
    File(PathBuf),
    /// A session that an agent keeps on this machine.
    Session(Box<Entry>),
}

/// The one session that is meant; the newest of these agents, if none is named.
pub(crate) fn one(target: Option<&Path>, agents: &[Agent]) -> anyhow::Result<One> {
    let Some(path) = target else {
        return Ok(One::Session(Box::new(newest(&sessions(agents))?.clone())));
    };
    // Whoever names the stream means what flows in it, not the file behind it.
    if path.as_os_str() == "-" || path == Path::new("/dev/stdin") {
        return Ok(One::Stdin);
    }
    let failure = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Failure::new("this is a folder, not a session")
            .help("`foxwedge list --project FOLDER` lists the sessions about it"),
        Ok(_) => return Ok(One::File(path.to_owned())),
        Err(error) => match session(path, &error, || sessions(agents)) {
            Ok(entry) => return Ok(One::Session(Box::new(entry))),
            Err(failure) => failure,
        },
    };
    let shown = clean(&path.to_string_lossy());
    let trouble = Trouble::new(format!("{shown}: {}", failure.message));
    Err(match failure.help {
        Some(help) => trouble.help(help),
        None => trouble,
    }
    .into())
}

/// The sessions of these agents. What cannot be looked into is worth a note.
pub(crate) fn sessions(agents: &[Agent]) -> Vec<Entry> {
    let found = agents::find(agents);
    for (path, error) in &found.closed {
        say::note(&format!("{}: cannot be read: {error}", clean(&path.to_string_lossy())));
    }
    found.entries
}

/// The session that was written to last.
fn newest(sessions: &[Entry]) -> Result<&Entry, Trouble> {
    let newest = sessions.iter().find(|entry| !entry.is_sub_agent());
    newest.ok_or_else(|| {
        Trouble::new("no session was found").help(format!(
            "looked in {}; a file can be named by its path",
            agents::find(&[]).places()
        ))
    })
}

/// The session that a name stands for, if no file bears it.
fn session<S: std::ops::Deref<Target = [Entry]>>(
    path: &Path,
    error: &io::Error,
    sessions: impl FnOnce() -> S,
) -> Result<Entry, Failure> {
    let missing = missing(path, error);
    let word = path.to_str().filter(|word| pick::is_id(word));
    let Some(word) = word.filter(|_| error.kind() == io::ErrorKind::NotFound) else {
        return Err(missing);
    };
    pick::pick(word, &sessions()).cloned().map_err(|trouble| match neighbour(path) {
        Some(_) => missing,
        None => Failure::from_error(&trouble.into()),
    })
}

fn stdin() -> Target {
    Target { shown: STDIN.to_owned(), name: None, kind: Kind::Stdin }
}

fn file(path: PathBuf, kind: impl FnOnce(PathBuf) -> Kind) -> Target {
    // Files of the folder `.` are shown as one would type them.
    let bare = path.strip_prefix(".").ok().filter(|bare| !bare.as_os_str().is_empty());
    let shown = bare.unwrap_or(&path).to_string_lossy().into_owned();
    Target { shown, name: None, kind: kind(path) }
}

/// A session that an agent keeps; its id names it, if no other has the same.
fn known(entry: &Entry, alone: bool, kind: impl FnOnce(PathBuf) -> Kind) -> Target {
    let name = Some(entry.id.clone()).filter(|id| alone && pick::is_id(id));
    Target { name, ..file(entry.path.clone(), kind) }
}

fn is_alone(entry: &Entry, all: &[Entry]) -> bool {
    all.iter().filter(|other| other.id == entry.id).count() == 1
}

fn missing(path: &Path, error: &io::Error) -> Failure {
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::new(format!("cannot be read: {error}"));
    }
    let failure = Failure::new("no such file or folder");
    if let Some(near) = neighbour(path) {
        return failure.help(format!("did you mean `{near}`?"));
    }
    failure.help("a target is a file, a folder, the id of a session, or `-` for stdin")
}

/// A file beside it with nearly the same name.
fn neighbour(path: &Path) -> Option<String> {
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
