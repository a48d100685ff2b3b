//! The conversation that shall become shorter: where it lies, and what of it a provider sees.

use std::{
    borrow::Cow,
    fs,
    io::{self, IsTerminal},
    path::Path,
};

use anyhow::{Context, bail};
use foxwedge_core::{Question, Wire};

use crate::{
    ask::Ask,
    cli::{CompactArgs, Format},
    disk::{Identity, Snapshot},
    outcome::{Failure, Sitting},
    say::{Trouble, clean},
    size_limit,
    source::{Body, Closed, Document, Manner, Source},
    target::{self, One, STDIN},
};

/// What was named, and what is in it.
pub(crate) struct Subject {
    /// As it is shown.
    pub(crate) shown: String,
    pub(crate) ask: Ask,
    pub(crate) manner: Manner,
    bytes: Bytes,
}

/// Where the bytes come from.
enum Bytes {
    Stdin(Vec<u8>),
    File(Box<Snapshot>),
    /// A pipe, a device: read once, and never replaced.
    Stream(Vec<u8>),
}

/// One conversation, as a provider takes it.
pub(crate) struct Conversation<'d> {
    pub(crate) text: Cow<'d, str>,
    pub(crate) wire: Wire,
    pub(crate) question: Question,
    /// The model that it names itself.
    pub(crate) model: Option<&'d str>,
    /// As its format is called.
    pub(crate) format: Format,
    /// The session it is, if it is the file of one.
    pub(crate) session: Option<Sitting>,
}

impl Subject {
    /// Finds and reads what was named.
    pub(crate) fn load(args: &CompactArgs) -> anyhow::Result<Subject> {
        let nothing = args.target.is_none() && !args.last;
        if nothing && (!args.agent.is_empty() || io::stdin().is_terminal()) {
            bail!(Trouble::new("a compaction needs the name of what becomes shorter").help(
                "name a file or a session: `foxwedge compact session.json`, or pipe one in: \
                 `… | foxwedge compact -`"
            ));
        }
        let place = match nothing {
            true => One::Stdin,
            false => target::one(args.target.as_deref(), &args.agent)?,
        };
        let policy = args.repair.policy(false);
        let ask = Ask::of(args.format, policy).with_profile(args.profile);
        let path = match place {
            One::Stdin => {
                let content = size_limit::read_stdin()?;
                let manner = Manner { lines: false, walked: false };
                let bytes = Bytes::Stdin(content);
                return Ok(Subject { shown: STDIN.to_owned(), ask, manner, bytes });
            }
            One::File(path) => path,
            One::Session(entry) => entry.path,
        };
        let shown = path.to_string_lossy().into_owned();
        let bytes = read(&path).with_context(|| clean(&shown))?;
        let ask = ask.of_file(&path).into_owned();
        Ok(Subject { shown, ask, manner: Manner::of_file(&path, false), bytes })
    }

    /// All its bytes.
    pub(crate) fn content(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Stdin(content) | Bytes::Stream(content) => content,
            Bytes::File(snapshot) => &snapshot.content,
        }
    }

    /// Whether it lies where Cline keeps its tasks: others read the same format, and know more.
    pub(crate) fn is_of_cline(&self) -> bool {
        Path::new(&self.shown).components().any(|part| part.as_os_str() == "saoudrizwan.claude-dev")
    }

    /// Whether the result goes to stdout.
    pub(crate) fn is_piped(&self) -> bool {
        matches!(self.bytes, Bytes::Stdin(_))
    }

    /// The file to replace.
    pub(crate) fn snapshot(&self) -> anyhow::Result<&Snapshot> {
        match &self.bytes {
            Bytes::File(snapshot) => Ok(snapshot),
            Bytes::Stdin(_) | Bytes::Stream(_) => bail!(
                Trouble::new("this is not a file that can be replaced")
                    .help("use `foxwedge compact -` to make a stream shorter")
            ),
        }
    }

    /// Refuses to write a report over what is to be read.
    pub(crate) fn check_output(&self, output: &Path) -> Result<(), Trouble> {
        let input = match &self.bytes {
            Bytes::Stdin(_) => Identity::of_stdin(),
            Bytes::File(snapshot) => Identity::of(&snapshot.path),
            Bytes::Stream(_) => None,
        };
        if input.is_none() || Identity::of(output) != input {
            return Ok(());
        }
        let shown = clean(&output.to_string_lossy());
        Err(Trouble::new(format!("the report would be written over the input `{shown}`"))
            .help("nothing was written; give --output-file a name of its own"))
    }

    /// The one conversation of a source.
    pub(crate) fn only<'s, 'a>(
        &self,
        opened: &'s Result<Source<'a>, Closed>,
    ) -> Result<&'s Document<'a>, Trouble> {
        let source = match opened {
            Ok(source) => source,
            Err(Closed::Failed(failure)) => return Err(self.trouble(failure)),
            Err(Closed::Skipped) => {
                return Err(Trouble::new(format!("{}: no conversation", clean(&self.shown))));
            }
        };
        if let Some(failure) = source.failures.first() {
            return Err(self.trouble(failure));
        }
        match source.documents.as_slice() {
            [only] => Ok(only),
            several => Err(Trouble::new(format!(
                "{}: there are {} conversations in it, one a line",
                clean(&self.shown),
                several.len()
            ))
            .help("take out one: `sed -n 1p FILE | foxwedge compact -`")),
        }
    }

    /// A failure, with its place.
    pub(crate) fn trouble(&self, failure: &Failure) -> Trouble {
        let place = failure
            .position
            .map(|position| format!(":{}:{}", position.line, position.column))
            .unwrap_or_default();
        let trouble =
            Trouble::new(format!("{}{place}: {}", clean(&self.shown), clean(&failure.message)));
        match &failure.help {
            Some(help) => trouble.help(help.clone()),
            None => trouble,
        }
    }
}

impl<'d> Conversation<'d> {
    /// What a provider sees of a document.
    pub(crate) fn of(document: &'d Document<'_>) -> Conversation<'d> {
        let draft = document.draft();
        let (text, model, format, session) = match &document.body {
            Body::Wire(_) => {
                let model = draft.body.model.as_deref();
                (Cow::Borrowed(draft.source), model, Format::Wire(draft.wire), None)
            }
            Body::Session(session) => {
                let model = session.about.model.as_deref();
                let sitting = Sitting::of(session);
                (Cow::Owned(session.history()), model, Format::Agent(session.agent), Some(sitting))
            }
        };
        let question = document.question;
        Conversation { text, wire: draft.wire, question, model, format, session }
    }
}

fn read(path: &Path) -> anyhow::Result<Bytes> {
    let metadata = fs::metadata(path).context("cannot be read")?;
    size_limit::check(metadata.len())?;
    if !metadata.is_file() {
        return Ok(Bytes::Stream(size_limit::read_file(path)?));
    }
    Ok(Bytes::File(Box::new(Snapshot::take(path).context("cannot be read")?)))
}
