//! What became of one target, as data: reports read it and nothing else.

use std::{ops::Range, path::PathBuf};

use foxwedge_core::{Applicability, Edit, Finding, FindingCounts, Profile, RepairLosses, Wire};
use foxwedge_dialect::{
    Position,
    session::{Agent, Session},
};

use crate::{ask::quoted, report::excerpt::Excerpt, say::clean, sessions::Health};

/// One target and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// As the user wrote it, or as it was found in a folder.
    pub(crate) path: String,
    /// How a command names it, where that is shorter: the id of a session.
    pub(crate) name: Option<String>,
    pub(crate) result: Verdict,
}

impl Outcome {
    /// How a command names it.
    pub(crate) fn word(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

/// What became of a target.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// Read and judged.
    Judged(Box<Judged>),
    /// Found in a folder, and no conversation.
    Skipped,
    /// It could not be read or written.
    Failed(Failure),
}

/// Why a target, or a line of it, could not be read or written.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) position: Option<Position>,
    pub(crate) help: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), position: None, help: None }
    }

    /// From an error with its causes and its help.
    pub(crate) fn from_error(error: &anyhow::Error) -> Failure {
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        let help = crate::say::help_of(error).map(str::to_owned);
        Failure { message: causes.join(": "), position: None, help }
    }

    pub(crate) fn at(mut self, position: Position) -> Failure {
        self.position = Some(position);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }
}

/// A target that was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judged {
    /// Messages in all its documents.
    pub(crate) messages: usize,
    /// The session it is, if it is the file of one.
    pub(crate) session: Option<Sitting>,
    /// How the session is.
    pub(crate) health: Option<Health>,
    /// Whose rules were applied, each once.
    pub(crate) profiles: Vec<Profile>,
    /// What is wrong; after a repair, what is still wrong: the first findings of each rule.
    pub(crate) findings: Vec<Found>,
    /// How many findings there are, listed or not.
    pub(crate) counts: FindingCounts,
    /// The steps of all repairs that were looked at; findings point into them.
    pub(crate) edits: Vec<Edit>,
    /// How many findings a repair removed.
    pub(crate) fixed: usize,
    /// How many findings a repair would remove, where it is only shown.
    pub(crate) planned: usize,
    /// What a repair did: the first steps of each rule.
    pub(crate) applied: Vec<Applied>,
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
    pub(crate) failures: Vec<Failure>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Judged {
    /// How many findings are counted, but not listed.
    pub(crate) fn unlisted(&self) -> usize {
        self.counts.total().saturating_sub(self.findings.len())
    }

    /// What a repair would do about a finding.
    pub(crate) fn edits_of(&self, found: &Found) -> &[Edit] {
        self.edits.get(found.edits.start as usize..found.edits.end as usize).unwrap_or_default()
    }
}

/// Whose session a file is.
#[derive(Clone, Debug)]
pub(crate) struct Sitting {
    pub(crate) agent: Agent,
    pub(crate) id: Option<String>,
    /// The folder it is about.
    pub(crate) folder: Option<String>,
}

impl Sitting {
    pub(crate) fn of(session: &Session<'_>) -> Sitting {
        Sitting {
            agent: session.agent,
            id: session.about.id.as_deref().map(str::to_owned),
            folder: session.about.folder.as_deref().map(str::to_owned),
        }
    }

    /// The command by which its agent goes on with it, if it has one.
    pub(crate) fn resume_command(&self) -> Option<String> {
        let id = clean(self.id.as_deref()?);
        let folder = self.folder.as_deref().map(|folder| quoted(&clean(folder)));
        let cd = folder.map_or_else(String::new, |folder| format!("cd {folder} && "));
        match self.agent {
            Agent::ClaudeCode => Some(format!("{cd}claude --resume {id}")),
            Agent::Codex => Some(format!("codex resume {id}")),
            Agent::GeminiCli => Some(format!("{cd}gemini --resume {id}")),
            Agent::Neovate => Some(format!("{cd}neovate --resume {id}")),
            Agent::Cline => None,
        }
    }
}

/// A finding with its place in the file.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) finding: Finding,
    pub(crate) position: Position,
    /// The place of the other half.
    pub(crate) partner: Option<Position>,
    pub(crate) wire: Wire,
    /// What a repair would do about it, as a range of its target's edits.
    pub(crate) edits: Range<u32>,
    /// The pair, ready to be drawn.
    pub(crate) excerpt: Option<Box<Excerpt>>,
}

impl Found {
    /// The message, as `messages[3]`.
    pub(crate) fn message(&self) -> String {
        place(self.wire, self.finding.at.message)
    }

    /// Whether a repair takes care of it.
    pub(crate) fn is_fixable(&self, bold: bool) -> bool {
        match self.finding.fix.applicability {
            Applicability::Safe => true,
            Applicability::Unsafe => bold,
            Applicability::None => false,
        }
    }
}

/// One step of a repair that was made.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) edit: Edit,
    pub(crate) wire: Wire,
    /// Who spoke the message.
    pub(crate) role: Option<&'static str>,
    /// Where the message stood in the file.
    pub(crate) position: Option<Position>,
    /// The line of the document, where a file holds several.
    pub(crate) line: Option<usize>,
}

/// A message as people write it.
pub(crate) fn place(wire: Wire, message: usize) -> String {
    let list = match wire {
        Wire::OpenaiChat | Wire::Anthropic | Wire::Bedrock => "messages",
        Wire::OpenaiResponses => "input",
        Wire::Gemini => "contents",
    };
    format!("{list}[{message}]")
}
