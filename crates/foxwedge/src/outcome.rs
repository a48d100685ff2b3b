//! What became of one target, as data: reports read it and nothing else.

use std::{ops::Range, path::PathBuf};

use foxwedge_core::{
    Edit, Finding, FindingCounts, FixApplicability, Format, Profile, RepairLosses,
};
use foxwedge_formats::TextPosition;
use foxwedge_sessions::{ParsedSession, SessionAgent};

use crate::{
    check_settings::shell_quote, cli_output::clean, report::excerpt::FindingExcerpt,
    sessions::SessionHealth,
};

/// One target and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct TargetOutcome {
    /// As the user wrote it, or as it was found in a folder.
    pub(crate) path: String,
    /// How a command names it, where that is shorter: the id of a session.
    pub(crate) name: Option<String>,
    pub(crate) result: TargetResult,
}

impl TargetOutcome {
    /// How a command names it.
    pub(crate) fn command_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

/// What became of a target.
#[derive(Clone, Debug)]
pub(crate) enum TargetResult {
    /// Read and judged.
    Checked(Box<FileReport>),
    /// Found in a folder, and no conversation.
    Skipped,
    /// It could not be read or written.
    Failed(TargetFailure),
}

/// Why a target, or a line of it, could not be read or written.
#[derive(Clone, Debug)]
pub(crate) struct TargetFailure {
    pub(crate) message: String,
    pub(crate) position: Option<TextPosition>,
    pub(crate) help: Option<String>,
}

impl TargetFailure {
    pub(crate) fn new(message: impl Into<String>) -> TargetFailure {
        TargetFailure { message: message.into(), position: None, help: None }
    }

    /// From an error with its causes and its help.
    pub(crate) fn from_error(error: &anyhow::Error) -> TargetFailure {
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        let help = crate::cli_output::help_of(error).map(str::to_owned);
        TargetFailure { message: causes.join(": "), position: None, help }
    }

    pub(crate) fn at(mut self, position: TextPosition) -> TargetFailure {
        self.position = Some(position);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> TargetFailure {
        self.help = Some(help.into());
        self
    }
}

/// A target that was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileReport {
    /// Messages in all its documents.
    pub(crate) messages: usize,
    /// The session it is, if it is the file of one.
    pub(crate) session: Option<SessionRef>,
    /// How the session is.
    pub(crate) health: Option<SessionHealth>,
    /// Whose rules were applied, each once.
    pub(crate) profiles: Vec<Profile>,
    /// What is wrong; after a repair, what is still wrong: the first findings of each rule.
    pub(crate) findings: Vec<LocatedFinding>,
    /// How many findings there are, listed or not.
    pub(crate) counts: FindingCounts,
    /// The steps of all repairs that were looked at; findings point into them.
    pub(crate) edits: Vec<Edit>,
    /// How many findings a repair removed.
    pub(crate) fixed: usize,
    /// How many findings a repair would remove, where it is only shown.
    pub(crate) planned: usize,
    /// What a repair did: the first steps of each rule.
    pub(crate) applied: Vec<AppliedEdit>,
    /// What that cost.
    pub(crate) losses: RepairLosses,
    /// How many steps a repair had, listed or not.
    pub(crate) steps: usize,
    /// Where the replaced file lies.
    pub(crate) backup: Option<PathBuf>,
    /// The repair, shown and not made.
    pub(crate) diff: Option<String>,
    /// The repaired document, where it goes to stdout.
    pub(crate) output: Option<Vec<u8>>,
    /// Documents that could not be read.
    pub(crate) failures: Vec<TargetFailure>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl FileReport {
    /// How many findings are counted, but not listed.
    pub(crate) fn unlisted(&self) -> usize {
        self.counts.total().saturating_sub(self.findings.len())
    }

    /// What a repair would do about a finding.
    pub(crate) fn edits_of(&self, found: &LocatedFinding) -> &[Edit] {
        self.edits.get(found.edits.start as usize..found.edits.end as usize).unwrap_or_default()
    }
}

/// Whose session a file is.
#[derive(Clone, Debug)]
pub(crate) struct SessionRef {
    pub(crate) agent: SessionAgent,
    pub(crate) id: Option<String>,
    /// The folder it is about.
    pub(crate) folder: Option<String>,
}

impl SessionRef {
    pub(crate) fn of(session: &ParsedSession<'_>) -> SessionRef {
        SessionRef {
            agent: session.agent,
            id: session.metadata.id.as_deref().map(str::to_owned),
            folder: session.metadata.folder.as_deref().map(str::to_owned),
        }
    }

    /// The command by which its agent goes on with it, if it has one.
    pub(crate) fn resume_command(&self) -> Option<String> {
        let id = clean(self.id.as_deref()?);
        let folder = self.folder.as_deref().map(|folder| shell_quote(&clean(folder)));
        let cd = folder.map_or_else(String::new, |folder| format!("cd {folder} && "));
        match self.agent {
            SessionAgent::ClaudeCode => Some(format!("{cd}claude --resume {id}")),
            SessionAgent::Codex => Some(format!("codex resume {id}")),
            SessionAgent::GeminiCli => Some(format!("{cd}gemini --resume {id}")),
            SessionAgent::Neovate => Some(format!("{cd}neovate --resume {id}")),
            SessionAgent::Cline => None,
        }
    }
}

/// A finding with its place in the file.
#[derive(Clone, Debug)]
pub(crate) struct LocatedFinding {
    pub(crate) finding: Finding,
    pub(crate) position: TextPosition,
    /// The place of the other half.
    pub(crate) partner: Option<TextPosition>,
    pub(crate) wire: Format,
    /// What a repair would do about it, as a range of its target's edits.
    pub(crate) edits: Range<u32>,
    /// The pair, ready to be drawn.
    pub(crate) excerpt: Option<Box<FindingExcerpt>>,
}

impl LocatedFinding {
    /// The message, as `messages[3]`.
    pub(crate) fn message(&self) -> String {
        message_path(self.wire, self.finding.location.message)
    }

    /// Whether a repair takes care of it.
    pub(crate) fn is_fixable(&self, bold: bool) -> bool {
        match self.finding.fix.applicability {
            FixApplicability::Safe => true,
            FixApplicability::Unsafe => bold,
            FixApplicability::None => false,
        }
    }
}

/// One step of a repair that was made.
#[derive(Clone, Debug)]
pub(crate) struct AppliedEdit {
    pub(crate) edit: Edit,
    pub(crate) wire: Format,
    /// Who spoke the message.
    pub(crate) role: Option<&'static str>,
    /// Where the message stood in the file.
    pub(crate) position: Option<TextPosition>,
    /// The line of the document, where a file holds several.
    pub(crate) line: Option<usize>,
}

/// A message as people write it.
pub(crate) fn message_path(wire: Format, message: usize) -> String {
    let list = match wire {
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
        Format::OpenaiResponses => "input",
        Format::Gemini => "contents",
    };
    format!("{list}[{message}]")
}
