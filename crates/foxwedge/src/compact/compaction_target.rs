//! The conversation that shall become shorter: where it lies, and what of it a provider sees.

use std::{
    borrow::Cow,
    fs,
    io::{self, IsTerminal},
    path::Path,
};

use anyhow::{Context, bail};
use foxwedge_core::{CheckOptions, Format};

use crate::{
    check_settings::CheckSettings,
    cli::{CompactArgs, InputFormat},
    cli_output::{CliError, clean},
    disk::{FileIdentity, FileSnapshot},
    outcome::{SessionRef, TargetFailure},
    size_limit,
    source::{DocumentBody, InputDocument, InputHint, InputRejection, ParsedInput},
    target::{self, STDIN, SingleTarget},
};

/// What was named, and what is in it.
pub(crate) struct CompactionTarget {
    /// As it is shown.
    pub(crate) display_name: String,
    pub(crate) settings: CheckSettings,
    pub(crate) hint: InputHint,
    input: TargetContent,
}

/// Where the bytes come from.
enum TargetContent {
    Stdin(Vec<u8>),
    File(Box<FileSnapshot>),
    /// A pipe, a device: read once, and never replaced.
    Stream(Vec<u8>),
}

/// One conversation, as a provider takes it.
pub(crate) struct ProviderConversation<'d> {
    pub(crate) text: Cow<'d, str>,
    pub(crate) wire: Format,
    pub(crate) check_options: CheckOptions,
    /// The model that it names itself.
    pub(crate) model: Option<&'d str>,
    /// As its format is called.
    pub(crate) format: InputFormat,
    /// The session it is, if it is the file of one.
    pub(crate) session: Option<SessionRef>,
}

impl CompactionTarget {
    /// Finds and reads what was named.
    pub(crate) fn load(args: &CompactArgs) -> anyhow::Result<CompactionTarget> {
        let nothing = args.target.is_none() && !args.last;
        if nothing && (!args.agent.is_empty() || io::stdin().is_terminal()) {
            bail!(CliError::new("a compaction needs the name of what becomes shorter").help(
                "name a file or a session: `foxwedge compact session.json`, or pipe one in: \
                 `… | foxwedge compact -`"
            ));
        }
        let place = match nothing {
            true => SingleTarget::Stdin,
            false => target::resolve_single(args.target.as_deref(), &args.agent)?,
        };
        let policy = args.repair.policy(false);
        let ask = CheckSettings::of(args.format, policy).with_profile(args.profile);
        let path = match place {
            SingleTarget::Stdin => {
                let content = size_limit::read_stdin()?;
                let manner = InputHint { is_json_lines: false, from_folder: false };
                let bytes = TargetContent::Stdin(content);
                return Ok(CompactionTarget {
                    display_name: STDIN.to_owned(),
                    settings: ask,
                    hint: manner,
                    input: bytes,
                });
            }
            SingleTarget::File(path) => path,
            SingleTarget::Session(entry) => entry.path,
        };
        let shown = path.to_string_lossy().into_owned();
        let bytes = read_content(&path).with_context(|| clean(&shown))?;
        let ask = ask.for_file(&path).into_owned();
        Ok(CompactionTarget {
            display_name: shown,
            settings: ask,
            hint: InputHint::of_file(&path, false),
            input: bytes,
        })
    }

    /// All its bytes.
    pub(crate) fn content(&self) -> &[u8] {
        match &self.input {
            TargetContent::Stdin(content) | TargetContent::Stream(content) => content,
            TargetContent::File(snapshot) => &snapshot.content,
        }
    }

    /// Whether it lies where Cline keeps its tasks: others read the same format, and know more.
    pub(crate) fn is_cline_task(&self) -> bool {
        Path::new(&self.display_name)
            .components()
            .any(|part| part.as_os_str() == "saoudrizwan.claude-dev")
    }

    /// Whether the result goes to stdout.
    pub(crate) fn is_piped(&self) -> bool {
        matches!(self.input, TargetContent::Stdin(_))
    }

    /// The file to replace.
    pub(crate) fn snapshot(&self) -> anyhow::Result<&FileSnapshot> {
        match &self.input {
            TargetContent::File(snapshot) => Ok(snapshot),
            TargetContent::Stdin(_) | TargetContent::Stream(_) => bail!(
                CliError::new("this is not a file that can be replaced")
                    .help("use `foxwedge compact -` to make a stream shorter")
            ),
        }
    }

    /// Refuses to write a report over what is to be read.
    pub(crate) fn check_output(&self, output: &Path) -> Result<(), CliError> {
        let input = match &self.input {
            TargetContent::Stdin(_) => FileIdentity::of_stdin(),
            TargetContent::File(snapshot) => FileIdentity::of(&snapshot.path),
            TargetContent::Stream(_) => None,
        };
        if input.is_none() || FileIdentity::of(output) != input {
            return Ok(());
        }
        let shown = clean(&output.to_string_lossy());
        Err(CliError::new(format!("the report would be written over the input `{shown}`"))
            .help("nothing was written; give --output-file a name of its own"))
    }

    /// The one conversation of a source.
    pub(crate) fn single_document<'s, 'a>(
        &self,
        opened: &'s Result<ParsedInput<'a>, InputRejection>,
    ) -> Result<&'s InputDocument<'a>, CliError> {
        let source = match opened {
            Ok(source) => source,
            Err(InputRejection::Failed(failure)) => return Err(self.failure_error(failure)),
            Err(InputRejection::Skipped) => {
                return Err(CliError::new(format!(
                    "{}: no conversation",
                    clean(&self.display_name)
                )));
            }
        };
        if let Some(failure) = source.failures.first() {
            return Err(self.failure_error(failure));
        }
        match source.documents.as_slice() {
            [only] => Ok(only),
            several => Err(CliError::new(format!(
                "{}: there are {} conversations in it, one a line",
                clean(&self.display_name),
                several.len()
            ))
            .help("take out one: `sed -n 1p FILE | foxwedge compact -`")),
        }
    }

    /// A failure, with its place.
    pub(crate) fn failure_error(&self, failure: &TargetFailure) -> CliError {
        let place = failure
            .position
            .map(|position| format!(":{}:{}", position.line, position.column))
            .unwrap_or_default();
        let trouble = CliError::new(format!(
            "{}{place}: {}",
            clean(&self.display_name),
            clean(&failure.message)
        ));
        match &failure.help {
            Some(help) => trouble.help(help.clone()),
            None => trouble,
        }
    }
}

impl<'d> ProviderConversation<'d> {
    /// What a provider sees of a document.
    pub(crate) fn of(document: &'d InputDocument<'_>) -> ProviderConversation<'d> {
        let draft = document.draft();
        let (text, model, format, session) = match &document.body {
            DocumentBody::Wire(_) => {
                let model = draft.body.model.as_deref();
                (Cow::Borrowed(draft.source), model, InputFormat::Wire(draft.format), None)
            }
            DocumentBody::Session(session) => {
                let model = session.metadata.model.as_deref();
                let sitting = SessionRef::of(session);
                (
                    Cow::Owned(session.history()),
                    model,
                    InputFormat::Agent(session.agent),
                    Some(sitting),
                )
            }
        };
        let question = document.check_options;
        ProviderConversation {
            text,
            wire: draft.format,
            check_options: question,
            model,
            format,
            session,
        }
    }
}

fn read_content(path: &Path) -> anyhow::Result<TargetContent> {
    let metadata = fs::metadata(path).context("cannot be read")?;
    size_limit::check(metadata.len())?;
    if !metadata.is_file() {
        return Ok(TargetContent::Stream(size_limit::read_file(path)?));
    }
    Ok(TargetContent::File(Box::new(FileSnapshot::take(path).context("cannot be read")?)))
}
