//! One session, as `show`, `resume`, `export` and `fork` see it: raw as it stands in the file, or
//! clean as a repair would leave it. All of them look through here, so all tell the same.

use std::{borrow::Cow, path::Path};

use anyhow::{Context, bail};
use foxwedge_core::Policy;
use foxwedge_sessions::{AgentDetection, ParsedSession, SessionAgent, SessionText, detect_agent};

use crate::{
    agents::LocalSessionEntry,
    check_settings::CheckSettings,
    cli::{InputFormat, SessionArgs, SessionViewMode},
    cli_output::{CliError, clean},
    outcome::TargetFailure,
    size_limit,
    source::{
        self, DocumentBody, InputDocument, InputHint, InputRejection, ParsedInput, decompress,
    },
    target::{self, STDIN, SingleTarget},
};

mod health;
mod view;
mod session_overview;

pub(crate) use health::SessionHealth;
pub(crate) use session_overview::{SessionOverview, read_overview, read_overview_within};
pub(crate) use view::ConversationFileView;

/// A conversation that was named on the command line, and how it is to be seen.
pub(crate) struct LoadedConversation {
    /// As it is shown.
    pub(crate) display_name: String,
    /// Where it lies.
    pub(crate) target: SingleTarget,
    content: Vec<u8>,
    hint: InputHint,
    settings: CheckSettings,
    view: SessionViewMode,
    /// Anything that is wrong with it is a reason to refuse it.
    strict: bool,
    /// What a repair may do.
    pub(crate) policy: Policy,
}

/// What is known about a conversation; whatever is not known is `None`.
pub(crate) struct ConversationFacts {
    /// The agent, or the format where no agent is known.
    pub(crate) writer: &'static str,
    pub(crate) id: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) project: Option<String>,
}

/// Finds and reads the conversation that is meant.
pub(crate) fn open(
    args: &SessionArgs,
    format: Option<InputFormat>,
) -> anyhow::Result<LoadedConversation> {
    let place = target::resolve_single(args.target.as_deref(), &args.agent)?;
    let (shown, manner) = match &place {
        SingleTarget::Stdin => {
            (STDIN.to_owned(), InputHint { is_json_lines: false, from_folder: false })
        }
        SingleTarget::File(path) => {
            (path.to_string_lossy().into_owned(), InputHint::of_file(path, false))
        }
        SingleTarget::Session(entry) => {
            (entry.path.to_string_lossy().into_owned(), InputHint::of_file(&entry.path, false))
        }
    };
    let content = match &place {
        SingleTarget::Stdin => size_limit::read_stdin()?,
        SingleTarget::File(path) => read(path)?,
        SingleTarget::Session(entry) => read(&entry.path)?,
    };
    let content = match decompress(&content).with_context(|| clean(&shown))? {
        Cow::Borrowed(_) => content,
        Cow::Owned(unpacked) => unpacked,
    };
    let policy = args.repair.policy(false);
    let format = match (&place, format) {
        (SingleTarget::Session(entry), None) => agent_format(entry, &content),
        (_, format) => format,
    };
    let mut ask = CheckSettings::of(format, policy);
    if matches!(place, SingleTarget::Session(_)) {
        ask = ask.in_agent_folder();
    }
    if !args.strict {
        ask = ask.skipping_tolerated(args.repair.spares_tail());
    }
    let (view, strict) = (args.view, args.strict);
    Ok(LoadedConversation {
        display_name: shown,
        target: place,
        content,
        hint: manner,
        settings: ask,
        view,
        strict,
        policy,
    })
}

/// A file in an agent's own folder is that agent's, unless it is in a form that we do not know.
pub(crate) fn agent_format(entry: &LocalSessionEntry, content: &[u8]) -> Option<InputFormat> {
    let text = source::decode_text(content).ok()?;
    match detect_agent(text.as_str()) {
        AgentDetection::UnknownVersion(..) | AgentDetection::Unsupported(_) => None,
        AgentDetection::Known(_) | AgentDetection::Unknown => Some(InputFormat::Agent(entry.agent)),
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    size_limit::read_file(path).map_err(|error| size_limit::with_path(path, error))
}

impl LoadedConversation {
    fn text<'t>(&self, content: &'t [u8]) -> anyhow::Result<SessionText<'t>> {
        source::decode_text(content).map_err(|failure| self.failure_error(&failure).into())
    }

    /// The one conversation in a text, and what is to be said about how it was read.
    fn read<'a>(
        &self,
        text: &'a SessionText<'_>,
    ) -> anyhow::Result<(InputDocument<'a>, Vec<String>)> {
        let source: ParsedInput<'a> = match source::parse_input(text, self.hint, &self.settings) {
            Ok(source) => source,
            Err(InputRejection::Failed(failure)) => {
                return Err(self.failure_error(&failure).into());
            }
            Err(InputRejection::Skipped) => bail!("{}: no conversation", clean(&self.display_name)),
        };
        if let Some(failure) = source.failures.first() {
            return Err(self.failure_error(failure).into());
        }
        let mut documents = source.documents;
        match (documents.pop(), documents.len()) {
            (Some(document), 0) => Ok((document, source.notes)),
            (_, others) => bail!(
                CliError::new(format!(
                    "{}: there are {} conversations in it, one a line",
                    clean(&self.display_name),
                    others + 1
                ))
                .help("take out one: `sed -n 1p FILE | foxwedge show -`")
            ),
        }
    }

    fn failure_error(&self, failure: &TargetFailure) -> CliError {
        let mut shown = clean(&self.display_name);
        if let Some(position) = failure.position {
            shown.push_str(&format!(":{}:{}", position.line, position.column));
        }
        let trouble = CliError::new(format!("{shown}: {}", failure.message));
        match &failure.help {
            Some(help) => trouble.help(help.clone()),
            None => trouble,
        }
    }

    /// What is known about the conversation, from the file and from where it lies.
    pub(crate) fn facts(&self, document: &InputDocument<'_>) -> ConversationFacts {
        let session = session(document);
        let about = session.map(|session| &session.metadata);
        let entry = match &self.target {
            SingleTarget::Session(entry) => Some(entry),
            SingleTarget::Stdin | SingleTarget::File(_) => None,
        };
        let told = |text: Option<&Cow<'_, str>>| text.map(|text| text.to_string());
        let named = entry.map(|entry| entry.id.clone());
        ConversationFacts {
            writer: match (entry, &document.body) {
                (Some(entry), _) => entry.product,
                (None, DocumentBody::Session(session)) => session.agent.name(),
                (None, DocumentBody::Wire(reading)) => reading.draft.format.name(),
            },
            id: named.or_else(|| told(about.and_then(|about| about.id.as_ref()))),
            title: session
                .and_then(session_overview::session_title)
                .or_else(|| entry.and_then(|entry| entry.title.clone())),
            project: told(about.and_then(|about| about.folder.as_ref()))
                .or_else(|| entry.and_then(|entry| entry.project.clone())),
        }
    }

    /// The file it lies in.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.target {
            SingleTarget::Stdin => None,
            SingleTarget::File(path) => Some(path),
            SingleTarget::Session(entry) => Some(&entry.path),
        }
    }

    /// The word that names it on a command line.
    pub(crate) fn command_name(&self) -> String {
        match &self.target {
            SingleTarget::Stdin => "-".to_owned(),
            SingleTarget::File(path) => {
                crate::check_settings::shell_quote(&clean(&path.to_string_lossy()))
            }
            SingleTarget::Session(entry) => clean(&entry.id),
        }
    }
}

/// The session in a document, if an agent keeps it.
pub(crate) fn session<'d, 'a>(document: &'d InputDocument<'a>) -> Option<&'d ParsedSession<'a>> {
    match &document.body {
        DocumentBody::Session(session) => Some(session),
        DocumentBody::Wire(_) => None,
    }
}

/// The conversation as a provider takes it, in the format of its document.
pub(crate) fn history(document: &InputDocument<'_>) -> String {
    match &document.body {
        DocumentBody::Session(session) => session.history(),
        DocumentBody::Wire(reading) => reading.draft.source.to_owned(),
    }
}

/// The question that a session of an agent is asked when nobody says otherwise.
pub(crate) fn default_check_options(agent: SessionAgent) -> foxwedge_core::CheckOptions {
    CheckSettings::of(None, Policy::default()).options_for_agent(agent)
}
