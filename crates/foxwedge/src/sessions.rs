//! Loads one session for `show`, `resume`, `export` and `fork`: raw as in the file, or clean as a
//! repair would leave it.

use std::{borrow::Cow, path::Path};

use anyhow::{Context, bail};
use foxwedge_core::Policy;
use foxwedge_sessions::SessionText;

use crate::{
    cli::{SessionArgs, SessionViewMode},
    target::{self, SingleTarget},
};
use foxwedge_local::outcome::STDIN;
use foxwedge_local::{
    agents::session_lookup,
    check_settings::CheckSettings,
    input_format::InputFormat,
    outcome::TargetFailure,
    output::{HelpfulError, clean},
    size_limit,
    source::{
        self, DocumentBody, InputDocument, InputHint, InputRejection, ParsedInput, decompress,
    },
};
use foxwedge_local::{
    session_document::{agent_format, session},
    session_overview::session_title,
};

pub(crate) mod agent_start;
pub(crate) mod project_filter;
pub(crate) mod question;
mod view;

pub(crate) use view::ConversationFileView;

/// A conversation from the command line, with the settings to view it.
pub(crate) struct LoadedConversation {
    pub(crate) display_name: String,
    /// Where it comes from.
    pub(crate) target: SingleTarget,
    content: Vec<u8>,
    hint: InputHint,
    settings: CheckSettings,
    view: SessionViewMode,
    /// Whether any finding is an error.
    strict: bool,
    pub(crate) policy: Policy,
}

/// Metadata of a conversation. Unknown values are `None`.
pub(crate) struct ConversationFacts {
    /// The agent, or the format if no agent is known.
    pub(crate) writer: &'static str,
    pub(crate) id: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) project: Option<String>,
}

/// Finds and reads the conversation that the arguments name.
pub(crate) fn open(
    args: &SessionArgs,
    format: Option<InputFormat>,
) -> anyhow::Result<LoadedConversation> {
    open_target(target::resolve_single(args.target.as_deref(), &args.agent)?, args, format)
}

/// Reads a conversation.
pub(crate) fn open_target(
    target: SingleTarget,
    args: &SessionArgs,
    format: Option<InputFormat>,
) -> anyhow::Result<LoadedConversation> {
    let (display_name, hint) = match &target {
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
    let content = match &target {
        SingleTarget::Stdin => size_limit::read_stdin()?,
        SingleTarget::File(path) => read(path)?,
        SingleTarget::Session(entry) => read(&entry.path)?,
    };
    let content = match decompress(&content).with_context(|| clean(&display_name))? {
        Cow::Borrowed(_) => content,
        Cow::Owned(decompressed) => decompressed,
    };
    let policy = args.repair.policy(false);
    let format = match (&target, format) {
        (SingleTarget::Session(entry), None) => agent_format(entry, &content),
        (_, format) => format,
    };
    let mut settings = CheckSettings::of(format, policy);
    match &target {
        SingleTarget::Stdin => {}
        SingleTarget::File(path) => settings = settings.for_file(path).into_owned(),
        SingleTarget::Session(_) => settings = settings.in_agent_folder(),
    }
    if !args.strict {
        settings = settings.skipping_tolerated(args.repair.spares_tail());
    }
    let (view, strict) = (args.view, args.strict);
    Ok(LoadedConversation { display_name, target, content, hint, settings, view, strict, policy })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    size_limit::read_file(path).map_err(|error| size_limit::with_path(path, error))
}

impl LoadedConversation {
    fn text<'t>(&self, content: &'t [u8]) -> anyhow::Result<SessionText<'t>> {
        source::decode_text(content).map_err(|failure| self.failure_error(&failure).into())
    }

    /// The only conversation in a text, and notes about how it was read.
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
                HelpfulError::new(format!(
                    "{}: there are {} conversations in it, one per line",
                    clean(&self.display_name),
                    others + 1
                ))
                .help("extract one: `sed -n 1p FILE | foxwedge show -`")
            ),
        }
    }

    fn failure_error(&self, failure: &TargetFailure) -> HelpfulError {
        let mut location = clean(&self.display_name);
        if let Some(position) = failure.position {
            location.push_str(&format!(":{}:{}", position.line, position.column));
        }
        let error = HelpfulError::new(format!("{location}: {}", failure.message));
        match &failure.help {
            Some(help) => error.help(help.clone()),
            None => error,
        }
    }

    /// Metadata of the conversation, from the content and the location of the file.
    pub(crate) fn facts(&self, document: &InputDocument<'_>) -> ConversationFacts {
        let session = session(document);
        let metadata = session.map(|session| &session.metadata);
        let entry = match &self.target {
            SingleTarget::Session(entry) => Some(entry),
            SingleTarget::Stdin | SingleTarget::File(_) => None,
        };
        let owned = |text: Option<&Cow<'_, str>>| text.map(|text| text.to_string());
        let listed_id = entry.map(|entry| entry.id.clone());
        ConversationFacts {
            writer: match (entry, &document.body) {
                (Some(entry), _) => entry.product,
                (None, DocumentBody::Session(session)) => session.agent.name(),
                (None, DocumentBody::Wire(reading)) => reading.draft.format.name(),
            },
            id: listed_id.or_else(|| owned(metadata.and_then(|metadata| metadata.id.as_ref()))),
            title: session
                .and_then(session_title)
                .or_else(|| entry.and_then(|entry| entry.title.clone())),
            project: owned(metadata.and_then(|metadata| metadata.folder.as_ref()))
                .or_else(|| entry.and_then(|entry| entry.project.clone())),
        }
    }

    /// The file it was read from.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.target {
            SingleTarget::Stdin => None,
            SingleTarget::File(path) => Some(path),
            SingleTarget::Session(entry) => Some(&entry.path),
        }
    }

    /// The argument that names it on a command line.
    pub(crate) fn command_name(&self) -> String {
        match &self.target {
            SingleTarget::Stdin => "-".to_owned(),
            SingleTarget::File(path) => {
                foxwedge_local::check_settings::shell_quote(&clean(&path.to_string_lossy()))
            }
            SingleTarget::Session(entry) => session_lookup::command_argument(entry, &entry.id),
        }
    }
}
