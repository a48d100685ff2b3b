//! The outcome of one target as data, the only input of reports.

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use foxwedge_core::{
    Edit, Finding, FindingCounts, FixApplicability, Format, Profile, RepairLosses,
};
use foxwedge_formats::TextPosition;
use foxwedge_sessions::{ParsedSession, SessionAgent, SessionReach};

use crate::{
    agents::{LocalSessionEntry, session_lookup::expected_notation},
    check_settings::shell_quote,
    excerpt::FindingExcerpt,
    output::clean,
    session_health::SessionHealth,
    trace::{TraceCounts, TraceRequest},
};

/// The display name of stdin.
pub const STDIN: &str = "<stdin>";

/// A target with its result.
#[derive(Clone, Debug)]
pub struct TargetOutcome {
    /// As the user typed it, or as found in a folder.
    pub path: String,
    /// A shorter name for commands: the id of a session.
    pub name: Option<String>,
    /// The result.
    pub result: TargetResult,
}

impl TargetOutcome {
    /// Its name in suggested commands.
    pub fn command_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

/// The result for one target.
#[derive(Clone, Debug)]
pub enum TargetResult {
    /// It was read and checked.
    Checked(Box<FileReport>),
    /// It was found in a folder and is not a conversation.
    Skipped,
    /// It could not be read or written.
    Failed(TargetFailure),
}

/// Why a target, or a line of it, could not be read or written.
#[derive(Clone, Debug)]
pub struct TargetFailure {
    /// What went wrong.
    pub message: String,
    /// Where, if that is known.
    pub position: Option<TextPosition>,
    /// What to do about it.
    pub help: Option<String>,
}

impl TargetFailure {
    /// A failure without a position.
    pub fn new(message: impl Into<String>) -> TargetFailure {
        TargetFailure { message: message.into(), position: None, help: None }
    }

    /// From an error with its causes and its help.
    pub fn from_error(error: &anyhow::Error) -> TargetFailure {
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        let help = crate::output::help_of(error).map(str::to_owned);
        TargetFailure { message: causes.join(": "), position: None, help }
    }

    /// Sets the position.
    pub fn at(mut self, position: TextPosition) -> TargetFailure {
        self.position = Some(position);
        self
    }

    /// Sets the hint.
    pub fn help(mut self, help: impl Into<String>) -> TargetFailure {
        self.help = Some(help.into());
        self
    }
}

/// A target that was read.
#[derive(Clone, Debug, Default)]
pub struct FileReport {
    /// Messages in all its documents.
    pub messages: usize,
    /// Its session, if it is a session file.
    pub session: Option<SessionRef>,
    /// Health of the session.
    pub health: Option<SessionHealth>,
    /// How much of the session reaches the model.
    pub reach: Option<SessionReach>,
    /// What it holds, if it is a trace.
    pub trace: Option<TraceCounts>,
    /// The profiles it was checked against, without duplicates.
    pub profiles: Vec<Profile>,
    /// The first findings of each rule; after a repair, those that remain.
    pub findings: Vec<LocatedFinding>,
    /// Counts of all findings, listed or not.
    pub counts: FindingCounts,
    /// The edits of all planned repairs. Findings refer to ranges of them.
    pub edits: Vec<Edit>,
    /// Number of findings that a repair fixed.
    pub fixed: usize,
    /// Number of findings that a repair would fix, where it is only previewed.
    pub planned: usize,
    /// What a repair did: the first edits of each rule.
    pub applied: Vec<AppliedEdit>,
    /// What the repair removed.
    pub losses: RepairLosses,
    /// Number of edits of the repair, listed or not.
    pub steps: usize,
    /// Path of the backup of the replaced file.
    pub backup: Option<PathBuf>,
    /// The diff of a previewed repair.
    pub diff: Option<String>,
    /// The repaired document, if it is written to stdout.
    pub output: Option<Vec<u8>>,
    /// Documents that could not be read.
    pub failures: Vec<TargetFailure>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl FileReport {
    /// Number of findings that are counted but not listed.
    pub fn unlisted(&self) -> usize {
        self.counts.total().saturating_sub(self.findings.len())
    }

    /// The edits of a repair that would fix a finding.
    pub fn edits_of(&self, located: &LocatedFinding) -> &[Edit] {
        self.edits.get(located.edits.start as usize..located.edits.end as usize).unwrap_or_default()
    }
}

/// The session of a file.
#[derive(Clone, Debug)]
pub struct SessionRef {
    /// The agent.
    pub agent: SessionAgent,
    /// The session id.
    pub id: Option<String>,
    /// Working directory of the session.
    pub folder: Option<String>,
    /// Where it lies, if another program than the agent's first one opens it.
    pub store: SessionStore,
}

/// A store of sessions, where products share a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionStore {
    /// The agent's own.
    #[default]
    Own,
    /// The database of Kilo CLI, which shares the schema of opencode.
    Kilo,
    /// The folder of sessions of the command line of Cline.
    ClineCli,
}

impl SessionStore {
    /// Every store.
    pub const ALL: [SessionStore; 3] =
        [SessionStore::Own, SessionStore::Kilo, SessionStore::ClineCli];

    /// The store in which a session of this agent lies.
    pub fn of(agent: SessionAgent, path: &Path) -> SessionStore {
        let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
        // A session in a database is named like a file below it.
        let is_kilo = || {
            let mut above = path.ancestors().skip(1).filter_map(name);
            let is_kilo_database = above.next().is_some_and(|name| name.starts_with("kilo"));
            is_kilo_database || above.next().is_some_and(|name| name == "kilo")
        };
        match agent {
            SessionAgent::Opencode if is_kilo() => SessionStore::Kilo,
            SessionAgent::Cline if cline_session_id(path).is_some() => SessionStore::ClineCli,
            _ => SessionStore::Own,
        }
    }

    /// The store of a listed session.
    pub fn of_entry(entry: &LocalSessionEntry) -> SessionStore {
        match (entry.agent, entry.product) {
            (SessionAgent::Opencode, "kilo") => SessionStore::Kilo,
            (SessionAgent::Opencode, _) => SessionStore::Own,
            (agent, _) => SessionStore::of(agent, &entry.path),
        }
    }
}

/// The id in the name of a file in the folder of the command line of Cline.
fn cline_session_id(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_suffix(".messages.json")
}

/// The id by which an agent opens a session file: the name of the file, if the agent looks for that;
/// otherwise the id that the file names. `None` if the agent cannot open it by an id.
fn id_at(agent: SessionAgent, path: &Path, written: Option<String>) -> Option<String> {
    match name_in_store(agent, path) {
        Some(name) => Some(name.to_owned()).filter(|id| expected_notation(agent, id).is_none()),
        None => written,
    }
}

/// The name of a session file in the folder of an agent that opens sessions by the name of their file.
fn name_in_store(agent: SessionAgent, path: &Path) -> Option<&str> {
    match agent {
        SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::QwenCode => {}
        _ => return None,
    }
    let mut folders = path.ancestors().skip(2).take(3).filter_map(Path::file_name);
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    // The file of a sub-agent of Claude Code names its session.
    (folders.any(|folder| folder == "projects") && !name.starts_with("agent-")).then_some(name)
}

impl SessionRef {
    /// The reference to a parsed session.
    pub fn of(session: &ParsedSession<'_>) -> SessionRef {
        SessionRef {
            agent: session.agent,
            id: session.metadata.id.as_deref().map(str::to_owned),
            folder: session.metadata.folder.as_deref().map(str::to_owned),
            store: SessionStore::Own,
        }
    }

    /// The same session, in the store where its file lies.
    pub fn at(self, path: &Path) -> SessionRef {
        let store = SessionStore::of(self.agent, path);
        let id = match store {
            SessionStore::ClineCli => self.id.or_else(|| cline_session_id(path).map(str::to_owned)),
            SessionStore::Own | SessionStore::Kilo => id_at(self.agent, path, self.id),
        };
        SessionRef { id, store, ..self }
    }

    /// The reference to a listed session, with the id and the folder that its file names. What the
    /// file does not say comes from its location.
    pub fn of_entry(
        entry: &LocalSessionEntry,
        id: Option<String>,
        folder: Option<String>,
    ) -> SessionRef {
        let id = id.or_else(|| Some(entry.id.clone()));
        // A folder that is only a name derived from a path leads nowhere.
        let folder =
            folder.or_else(|| entry.project.clone()).filter(|it| Path::new(it).is_absolute());
        SessionRef {
            agent: entry.agent,
            id: id_at(entry.agent, &entry.path, id),
            folder,
            store: SessionStore::of_entry(entry),
        }
    }

    /// The agent's command that resumes the session, if the agent has one.
    pub fn resume(&self) -> Option<ResumeCommand> {
        let id = clean(self.id.as_deref()?);
        let folder = self.folder.as_deref().map(clean);
        let (program, arguments) = match self.agent {
            SessionAgent::ClaudeCode => ("claude", vec!["--resume".to_owned(), id]),
            // Codex goes to the folder of the session by itself.
            SessionAgent::Codex => {
                let arguments = vec!["resume".to_owned(), id];
                return Some(ResumeCommand { program: "codex", arguments, folder: None });
            }
            SessionAgent::GeminiCli => ("gemini", vec!["--resume".to_owned(), id]),
            SessionAgent::Neovate => ("neovate", vec!["--resume".to_owned(), id]),
            SessionAgent::KimiCode => ("kimi", vec!["--session".to_owned(), id]),
            SessionAgent::QwenCode => ("qwen", vec!["--resume".to_owned(), id]),
            SessionAgent::CopilotCli => ("copilot", vec![format!("--resume={id}")]),
            SessionAgent::Pi => ("pi", vec!["--session".to_owned(), id]),
            SessionAgent::Opencode => {
                let program = if self.store == SessionStore::Kilo { "kilo" } else { "opencode" };
                (program, vec!["--session".to_owned(), id])
            }
            SessionAgent::Crush => ("crush", vec!["--session".to_owned(), id]),
            SessionAgent::Goose => {
                let flags = ["session", "--resume", "--session-id"].map(str::to_owned);
                ("goose", flags.into_iter().chain([id]).collect())
            }
            SessionAgent::Cline if self.store == SessionStore::ClineCli => {
                ("cline", vec!["--id".to_owned(), id])
            }
            SessionAgent::Cline
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => return None,
        };
        Some(ResumeCommand { program, arguments, folder })
    }

    /// The same as a line for a shell.
    pub fn resume_command(&self) -> Option<String> {
        self.resume().map(|command| command.to_string())
    }
}

/// The command of an agent that resumes a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResumeCommand {
    /// The agent's program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder to start it in, if the agent finds the session only there.
    pub folder: Option<String>,
}

impl fmt::Display for ResumeCommand {
    /// A line for a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(folder) = &self.folder {
            write!(f, "cd {} && ", shell_quote(folder))?;
        }
        f.write_str(self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// A finding with its position in the file.
#[derive(Clone, Debug)]
pub struct LocatedFinding {
    /// The finding.
    pub finding: Finding,
    /// Its position in the file.
    pub position: TextPosition,
    /// Position of the matching call or result.
    pub partner: Option<TextPosition>,
    /// The format of its document.
    pub wire: Format,
    /// The edits that would fix it, as a range of [`FileReport::edits`].
    pub edits: Range<u32>,
    /// The messages around it, ready to be drawn.
    pub excerpt: Option<Box<FindingExcerpt>>,
    /// The request that it belongs to, in a trace.
    pub request: Option<Arc<TraceRequest>>,
}

impl LocatedFinding {
    /// The message, as `messages[3]`.
    pub fn message(&self) -> String {
        let message = self.finding.location.message;
        match self.request {
            Some(_) => format!("gen_ai.input.messages[{message}]"),
            None => message_path(self.wire, message),
        }
    }

    /// Whether a repair fixes it.
    pub fn is_fixable(&self, unsafe_fixes: bool) -> bool {
        match self.finding.fix.applicability {
            FixApplicability::Safe => true,
            FixApplicability::Unsafe => unsafe_fixes,
            FixApplicability::None => false,
        }
    }
}

/// One edit of a repair that was applied.
#[derive(Clone, Debug)]
pub struct AppliedEdit {
    /// The edit.
    pub edit: Edit,
    /// The format of its document.
    pub wire: Format,
    /// Role of the message.
    pub role: Option<&'static str>,
    /// Position of the message in the file before the repair.
    pub position: Option<TextPosition>,
    /// Line of the document, if the file has several documents.
    pub line: Option<usize>,
}

/// The path of a message in the request: `messages[3]`, `input[3]` or `contents[3]`.
pub fn message_path(format: Format, message: usize) -> String {
    let list = match format {
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
        Format::OpenaiResponses | Format::GeminiInteractions => "input",
        Format::Gemini => "contents",
    };
    format!("{list}[{message}]")
}
