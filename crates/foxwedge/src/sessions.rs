//! One session, as `show`, `resume`, `export` and `fork` see it: raw as it stands in the file, or
//! clean as a repair would leave it. All of them look through here, so all tell the same.

use std::{borrow::Cow, path::Path};

use anyhow::{Context, bail};
use foxwedge_core::Policy;
use foxwedge_dialect::session::{Agent, Recognised, Session, Text, recognise};

use crate::{
    agents::Entry,
    ask::Ask,
    cli::{Format, SessionArgs, View},
    outcome::Failure,
    say::{Trouble, clean},
    size_limit,
    source::{self, Body, Closed, Document, Manner, Source, unpacked},
    target::{self, One, STDIN},
};

mod health;
mod view;
mod glance;

pub(crate) use glance::{Glance, glance, glance_within};
pub(crate) use health::Health;
pub(crate) use view::Viewed;

/// A conversation that was named on the command line, and how it is to be seen.
pub(crate) struct Loaded {
    /// As it is shown.
    pub(crate) shown: String,
    /// Where it lies.
    pub(crate) place: One,
    content: Vec<u8>,
    manner: Manner,
    ask: Ask,
    view: View,
    /// Anything that is wrong with it is a reason to refuse it.
    strict: bool,
    /// What a repair may do.
    pub(crate) policy: Policy,
}

/// What is known about a conversation; whatever is not known is `None`.
pub(crate) struct Facts {
    /// The agent, or the format where no agent is known.
    pub(crate) writer: &'static str,
    pub(crate) id: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) project: Option<String>,
}

/// Finds and reads the conversation that is meant.
pub(crate) fn open(args: &SessionArgs, format: Option<Format>) -> anyhow::Result<Loaded> {
    let place = target::one(args.target.as_deref(), &args.agent)?;
    let (shown, manner) = match &place {
        One::Stdin => (STDIN.to_owned(), Manner { lines: false, walked: false }),
        One::File(path) => (path.to_string_lossy().into_owned(), Manner::of_file(path, false)),
        One::Session(entry) => {
            (entry.path.to_string_lossy().into_owned(), Manner::of_file(&entry.path, false))
        }
    };
    let content = match &place {
        One::Stdin => size_limit::read_stdin()?,
        One::File(path) => read(path)?,
        One::Session(entry) => read(&entry.path)?,
    };
    let content = match unpacked(&content).with_context(|| clean(&shown))? {
        Cow::Borrowed(_) => content,
        Cow::Owned(unpacked) => unpacked,
    };
    let policy = args.repair.policy(false);
    let format = match (&place, format) {
        (One::Session(entry), None) => kept_by(entry, &content),
        (_, format) => format,
    };
    let mut ask = Ask::of(format, policy);
    if matches!(place, One::Session(_)) {
        ask = ask.placed();
    }
    if !args.strict {
        ask = ask.sparing(args.repair.spares_tail());
    }
    let (view, strict) = (args.view, args.strict);
    Ok(Loaded { shown, place, content, manner, ask, view, strict, policy })
}

/// A file in an agent's own folder is that agent's, unless it is in a form that we do not know.
pub(crate) fn kept_by(entry: &Entry, content: &[u8]) -> Option<Format> {
    let text = source::text(content).ok()?;
    match recognise(text.as_str()) {
        Recognised::Newer(..) | Recognised::Unsupported(_) => None,
        Recognised::Yes(_) | Recognised::No => Some(Format::Agent(entry.agent)),
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    size_limit::read_file(path).map_err(|error| size_limit::named(path, error))
}

impl Loaded {
    fn text<'t>(&self, content: &'t [u8]) -> anyhow::Result<Text<'t>> {
        source::text(content).map_err(|failure| self.trouble(&failure).into())
    }

    /// The one conversation in a text, and what is to be said about how it was read.
    fn read<'a>(&self, text: &'a Text<'_>) -> anyhow::Result<(Document<'a>, Vec<String>)> {
        let source: Source<'a> = match source::open(text, self.manner, &self.ask) {
            Ok(source) => source,
            Err(Closed::Failed(failure)) => return Err(self.trouble(&failure).into()),
            Err(Closed::Skipped) => bail!("{}: no conversation", clean(&self.shown)),
        };
        if let Some(failure) = source.failures.first() {
            return Err(self.trouble(failure).into());
        }
        let mut documents = source.documents;
        match (documents.pop(), documents.len()) {
            (Some(document), 0) => Ok((document, source.notes)),
            (_, others) => bail!(
                Trouble::new(format!(
                    "{}: there are {} conversations in it, one a line",
                    clean(&self.shown),
                    others + 1
                ))
                .help("take out one: `sed -n 1p FILE | foxwedge show -`")
            ),
        }
    }

    fn trouble(&self, failure: &Failure) -> Trouble {
        let mut shown = clean(&self.shown);
        if let Some(position) = failure.position {
            shown.push_str(&format!(":{}:{}", position.line, position.column));
        }
        let trouble = Trouble::new(format!("{shown}: {}", failure.message));
        match &failure.help {
            Some(help) => trouble.help(help.clone()),
            None => trouble,
        }
    }

    /// What is known about the conversation, from the file and from where it lies.
    pub(crate) fn facts(&self, document: &Document<'_>) -> Facts {
        let session = session(document);
        let about = session.map(|session| &session.about);
        let entry = match &self.place {
            One::Session(entry) => Some(entry),
            One::Stdin | One::File(_) => None,
        };
        let told = |text: Option<&Cow<'_, str>>| text.map(|text| text.to_string());
        let named = entry.map(|entry| entry.id.clone());
        Facts {
            writer: match (entry, &document.body) {
                (Some(entry), _) => entry.product,
                (None, Body::Session(session)) => session.agent.name(),
                (None, Body::Wire(reading)) => reading.draft.wire.name(),
            },
            id: named.or_else(|| told(about.and_then(|about| about.id.as_ref()))),
            title: session
                .and_then(glance::title)
                .or_else(|| entry.and_then(|entry| entry.title.clone())),
            project: told(about.and_then(|about| about.folder.as_ref()))
                .or_else(|| entry.and_then(|entry| entry.project.clone())),
        }
    }

    /// The file it lies in.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            One::Stdin => None,
            One::File(path) => Some(path),
            One::Session(entry) => Some(&entry.path),
        }
    }

    /// The word that names it on a command line.
    pub(crate) fn word(&self) -> String {
        match &self.place {
            One::Stdin => "-".to_owned(),
            One::File(path) => crate::ask::quoted(&clean(&path.to_string_lossy())),
            One::Session(entry) => clean(&entry.id),
        }
    }
}

/// The session in a document, if an agent keeps it.
pub(crate) fn session<'d, 'a>(document: &'d Document<'a>) -> Option<&'d Session<'a>> {
    match &document.body {
        Body::Session(session) => Some(session),
        Body::Wire(_) => None,
    }
}

/// The conversation as a provider takes it, in the format of its document.
pub(crate) fn history(document: &Document<'_>) -> String {
    match &document.body {
        Body::Session(session) => session.history(),
        Body::Wire(reading) => reading.draft.source.to_owned(),
    }
}

/// The question that a session of an agent is asked when nobody says otherwise.
pub(crate) fn usual(agent: Agent) -> foxwedge_core::Question {
    Ask::of(None, Policy::default()).session_question(agent)
}
