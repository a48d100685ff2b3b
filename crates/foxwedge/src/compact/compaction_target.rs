//! The conversation to compact, and where it comes from.

use std::{
    fs,
    io::{self, IsTerminal},
    path::Path,
};

use anyhow::{Context, bail};

use crate::{
    cli::CompactArgs,
    target::{self, SingleTarget},
};
use foxwedge_local::outcome::STDIN;
use foxwedge_local::{
    check_settings::CheckSettings,
    disk::{FileIdentity, FileSnapshot},
    outcome::TargetFailure,
    output::{HelpfulError, clean},
    size_limit,
    source::{InputDocument, InputHint, InputRejection, ParsedInput},
};

/// The target of `foxwedge compact` with its content.
pub(crate) struct CompactionTarget {
    /// Path or name in messages.
    pub(crate) display_name: String,
    pub(crate) settings: CheckSettings,
    pub(crate) hint: InputHint,
    input: TargetContent,
}

/// Content of the target by its source.
enum TargetContent {
    Stdin(Vec<u8>),
    File(Box<FileSnapshot>),
    /// A pipe or a device: read once, never replaced.
    Stream(Vec<u8>),
}

impl CompactionTarget {
    /// Finds and reads the target.
    pub(crate) fn load(args: &CompactArgs) -> anyhow::Result<CompactionTarget> {
        let no_target = args.target.is_none() && !args.last;
        if no_target && (!args.agent.is_empty() || io::stdin().is_terminal()) {
            bail!(HelpfulError::new("no conversation to compact was given").help(
                "name a file or a session: `foxwedge compact session.json`, or pipe one in: \
                 `… | foxwedge compact -`"
            ));
        }
        let target = match no_target {
            true => SingleTarget::Stdin,
            false => target::resolve_single(args.target.as_deref(), &args.agent)?,
        };
        let policy = args.repair.policy(false);
        let settings = CheckSettings::of(args.format, policy).with_profile(args.profile);
        let path = match target {
            SingleTarget::Stdin => {
                let content = size_limit::read_stdin()?;
                let hint = InputHint { is_json_lines: false, from_folder: false };
                let input = TargetContent::Stdin(content);
                return Ok(CompactionTarget {
                    display_name: STDIN.to_owned(),
                    settings,
                    hint,
                    input,
                });
            }
            SingleTarget::File(path) => path,
            SingleTarget::Session(entry) => entry.path,
        };
        let display_name = path.to_string_lossy().into_owned();
        let input = read_content(&path).with_context(|| clean(&display_name))?;
        let settings = settings.for_file(&path).into_owned();
        Ok(CompactionTarget {
            display_name,
            settings,
            hint: InputHint::of_file(&path, false),
            input,
        })
    }

    /// All its bytes.
    pub(crate) fn content(&self) -> &[u8] {
        match &self.input {
            TargetContent::Stdin(content) | TargetContent::Stream(content) => content,
            TargetContent::File(snapshot) => &snapshot.content,
        }
    }

    /// Whether it lies in the task folder of Cline. Roo Code and Kilo Code use the same format, but
    /// only they support hidden messages.
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
                HelpfulError::new("this is not a file that can be replaced")
                    .help("use `foxwedge compact -` to compact a stream")
            ),
        }
    }

    /// Refuses to write the report over the input.
    pub(crate) fn check_output(&self, output: &Path) -> Result<(), HelpfulError> {
        let input = match &self.input {
            TargetContent::Stdin(_) => FileIdentity::of_stdin(),
            TargetContent::File(snapshot) => FileIdentity::of(&snapshot.path),
            TargetContent::Stream(_) => None,
        };
        if input.is_none() || FileIdentity::of(output) != input {
            return Ok(());
        }
        let shown = clean(&output.to_string_lossy());
        Err(HelpfulError::new(format!("the report would be written over the input `{shown}`"))
            .help("nothing was written; give --output-file a name of its own"))
    }

    /// The only conversation of the input.
    pub(crate) fn single_document<'s, 'a>(
        &self,
        input: &'s Result<ParsedInput<'a>, InputRejection>,
    ) -> Result<&'s InputDocument<'a>, HelpfulError> {
        let source = match input {
            Ok(source) => source,
            Err(InputRejection::Failed(failure)) => return Err(self.failure_error(failure)),
            Err(InputRejection::Skipped) => {
                return Err(HelpfulError::new(format!(
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
            several => Err(HelpfulError::new(format!(
                "{}: there are {} conversations in it, one per line",
                clean(&self.display_name),
                several.len()
            ))
            .help("extract one: `sed -n 1p FILE | foxwedge compact -`")),
        }
    }

    /// The error for a failure, with its position.
    pub(crate) fn failure_error(&self, failure: &TargetFailure) -> HelpfulError {
        let position = failure
            .position
            .map(|position| format!(":{}:{}", position.line, position.column))
            .unwrap_or_default();
        let error = HelpfulError::new(format!(
            "{}{position}: {}",
            clean(&self.display_name),
            clean(&failure.message)
        ));
        match &failure.help {
            Some(help) => error.help(help.clone()),
            None => error,
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
