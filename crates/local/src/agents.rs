//! Finds the sessions of agents on this machine, from the names and locations of their files.
//!
//! Files are listed, not read. Links are not followed, so the search never leaves an agent's own
//! folders.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use foxwedge_sessions::{ReadOnlyAgent, SessionAgent};

use crate::{
    database::StoredSizes, output::clean, screen::abbreviate_home, user_folders::UserFolders,
};

mod claude_code;
mod codex;
mod gemini_cli;
mod neovate;
mod cline;
mod pi;
mod copilot_cli;
mod kimi_code;
mod qwen_code;
mod opencode;
mod crush;
mod goose;
mod continue_cli;
mod zed;
mod kimi_cli;
mod droid;
mod new_path;
pub mod session_lookup;

pub use new_path::new_session_path;

/// A session file.
#[derive(Clone, Debug)]
pub struct LocalSessionEntry {
    /// The agent.
    pub agent: SessionAgent,
    /// Product that wrote the file. Several products may share a format.
    pub product: &'static str,
    /// The session id.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// Project folder, if the location of the file shows it.
    pub project: Option<String>,
    /// Title, if a file next to the session has it.
    pub title: Option<String>,
    /// Size of the file in bytes; zero if it is not known yet.
    pub size: u64,
    /// When the file was changed last.
    pub modified: SystemTime,
    /// Where the session comes from.
    pub origin: SessionOrigin,
}

/// Whether a user or another session started it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionOrigin {
    /// Started by a user.
    Session,
    /// Started by another session; `None` if its id is not known.
    SubAgent(Option<String>),
}

impl LocalSessionEntry {
    /// Whether it belongs to a sub-agent.
    pub fn is_sub_agent(&self) -> bool {
        matches!(self.origin, SessionOrigin::SubAgent(_))
    }
}

/// The sessions found, and the folders and files that could not be read.
#[derive(Debug, Default)]
pub struct SessionListing {
    /// Newest first.
    pub entries: Vec<LocalSessionEntry>,
    /// Folders and files that could not be read.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Folders that do not exist or are empty.
    pub empty_folders: Vec<PathBuf>,
    /// Links to files where sessions are. They are not followed.
    pub links: BTreeSet<PathBuf>,
}

impl SessionListing {
    /// The searched folders that have no sessions, as text.
    pub fn describe_empty_folders(&self) -> String {
        /// Folders that are listed by name.
        const MAX_NAMED: usize = 8;
        let home = home_folder();
        let name =
            |path: &PathBuf| clean(&abbreviate_home(&path.to_string_lossy(), home.as_deref()));
        let mut names: Vec<String> = self.empty_folders.iter().take(MAX_NAMED).map(name).collect();
        if self.empty_folders.len() > MAX_NAMED {
            names.push(format!("{} more folders", self.empty_folders.len() - MAX_NAMED));
        }
        match names.is_empty() {
            true => "no folder: HOME is not set".to_owned(),
            false => names.join(", "),
        }
    }
}

/// Finds the sessions of these agents, or of all agents if the list is empty. The size of a session in a
/// database is not known until it is read.
pub fn find(agents: &[SessionAgent]) -> SessionListing {
    find_with(&UserFolders::Environment, agents, StoredSizes::Unneeded)
}

/// Finds sessions in the folders of a user, with their sizes.
pub fn find_in(folders: &UserFolders, agents: &[SessionAgent]) -> SessionListing {
    find_with(folders, agents, StoredSizes::Needed)
}

fn find_with(folders: &UserFolders, agents: &[SessionAgent], sizes: StoredSizes) -> SessionListing {
    let mut search = SessionSearch { found: SessionListing::default(), folders, sizes };
    for agent in
        SessionAgent::on_machine().filter(|agent| agents.is_empty() || agents.contains(agent))
    {
        match agent {
            SessionAgent::ClaudeCode => claude_code::find_sessions(&mut search),
            SessionAgent::Codex => codex::find_sessions(&mut search),
            SessionAgent::GeminiCli => gemini_cli::find_sessions(&mut search),
            SessionAgent::Neovate => neovate::find_sessions(&mut search),
            SessionAgent::Cline => cline::find_sessions(&mut search),
            SessionAgent::Pi => pi::find_sessions(&mut search),
            SessionAgent::CopilotCli => copilot_cli::find_sessions(&mut search),
            SessionAgent::KimiCode => kimi_code::find_sessions(&mut search),
            SessionAgent::QwenCode => qwen_code::find_sessions(&mut search),
            SessionAgent::Opencode => opencode::find_sessions(&mut search),
            SessionAgent::Crush => crush::find_sessions(&mut search),
            SessionAgent::Goose => goose::find_sessions(&mut search),
            SessionAgent::ReadOnly(ReadOnlyAgent::Continue) => {
                continue_cli::find_sessions(&mut search)
            }
            SessionAgent::ReadOnly(ReadOnlyAgent::Zed) => zed::find_sessions(&mut search),
            SessionAgent::ReadOnly(ReadOnlyAgent::Droid) => droid::find_sessions(&mut search),
            SessionAgent::ReadOnly(ReadOnlyAgent::KimiCli) => kimi_cli::find_sessions(&mut search),
            // An application keeps its lists where it likes.
            SessionAgent::AiSdkUi | SessionAgent::AiSdkModel => {}
        }
    }
    let mut found = search.found;
    found
        .entries
        .sort_by(|one, two| two.modified.cmp(&one.modified).then_with(|| one.path.cmp(&two.path)));
    found.entries.dedup_by(|one, two| one.path == two.path);
    found
}

/// Agents with sessions on this machine in a format that is not supported, and their paths.
pub fn find_unsupported() -> Vec<(&'static str, PathBuf)> {
    const LOCATIONS: [(&str, &str); 3] = [
        ("Cursor CLI", ".cursor/chats"),
        ("Amp", ".local/share/amp/threads"),
        ("Antigravity", ".gemini/antigravity-cli/conversations"),
    ];
    let home = home_folder();
    let locate = |(name, path): (&'static str, &str)| {
        let path = home.as_ref()?.join(path);
        // An empty folder does not count.
        let exists = match fs::read_dir(&path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(_) => path.is_file(),
        };
        exists.then_some((name, path))
    };
    LOCATIONS.into_iter().filter_map(locate).collect()
}

/// The home folder of the user.
pub fn home_folder() -> Option<PathBuf> {
    UserFolders::Environment.home()
}

struct SessionSearch<'f> {
    found: SessionListing,
    folders: &'f UserFolders,
    sizes: StoredSizes,
}

/// A file or folder in a listed folder.
struct FolderItem {
    name: String,
    path: PathBuf,
}

impl SessionSearch<'_> {
    fn list_folders(&mut self, folder: &Path) -> Vec<FolderItem> {
        self.list_folder(folder, |kind| kind.is_dir())
    }

    fn list_files(&mut self, folder: &Path) -> Vec<FolderItem> {
        self.list_folder(folder, |kind| kind.is_file())
    }

    /// All files in a folder and its subfolders, down to `depth` levels.
    fn list_files_below(&mut self, folder: &Path, depth: usize) -> Vec<FolderItem> {
        let mut files = self.list_files(folder);
        if depth > 0 {
            for inner in self.list_folders(folder) {
                files.extend(self.list_files_below(&inner.path, depth - 1));
            }
        }
        files
    }

    /// The items of a folder; none if the folder does not exist. Names that are not UTF-8 are
    /// skipped: no agent writes them.
    fn list_folder(
        &mut self,
        folder: &Path,
        wanted: impl Fn(fs::FileType) -> bool,
    ) -> Vec<FolderItem> {
        let read = fs::read_dir(folder).and_then(|entries| {
            let mut items = Vec::new();
            for entry in entries {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_symlink() && is_link_to_session(&entry.path()) {
                    self.found.links.insert(entry.path());
                }
                if wanted(kind)
                    && let Ok(name) = entry.file_name().into_string()
                {
                    items.push(FolderItem { name, path: entry.path() });
                }
            }
            Ok(items)
        });
        if read.as_ref().map_or(true, Vec::is_empty)
            && !self.found.empty_folders.iter().any(|it| it == folder)
        {
            self.found.empty_folders.push(folder.to_owned());
        }
        match read {
            Ok(items) => items,
            Err(error) => {
                let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
                let known = self.found.unreadable.iter().any(|(path, _)| path == folder);
                if !absent.contains(&error.kind()) && !known {
                    self.found.unreadable.push((folder.to_owned(), error));
                }
                Vec::new()
            }
        }
    }

    /// Adds a session file with its size and modification time.
    fn add(
        &mut self,
        agent: SessionAgent,
        path: PathBuf,
        id: &str,
        origin: SessionOrigin,
        project: Option<String>,
    ) {
        match fs::symlink_metadata(&path) {
            Ok(metadata) => self.found.entries.push(LocalSessionEntry {
                agent,
                product: agent.name(),
                id: id.to_owned(),
                path,
                project,
                title: None,
                size: metadata.len(),
                modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                origin,
            }),
            // The file was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.found.unreadable.push((path, error)),
        }
    }
}

/// Whether a link leads to a file that may be a session.
fn is_link_to_session(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|end| end == "jsonl" || end == "json");
    is_named && fs::metadata(path).is_ok_and(|file| file.is_file())
}

/// The session id in the first bytes of a file.
fn read_session_id(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(4096).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    let (_, rest) = head.split_once("\"sessionId\"")?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let id = value.split_once('"')?.0;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!id.is_empty() && id.chars().all(plain)).then(|| id.to_owned())
}
