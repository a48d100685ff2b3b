//! Requests and responses: read as a whole, told as a whole.

use std::{borrow::Cow, sync::Arc};

use anyhow::Context;
use foxwedge_core::{EditLog, Question, RuleSet, Wire};
use foxwedge_dialect::{
    ReadError,
    convert::{self, Options},
    position, read, want,
};

use super::{
    Input,
    recognise::is_session,
    told::{Ending, Told},
};
use crate::{
    ask::Ask,
    cli::{ConvertArgs, Format, Kind, ReportFormat},
    compact::Conversation,
    diagnose, export,
    judge::{Look, judge},
    outcome::{Failure, Judged},
    say::{self, Trouble, clean, cut},
    source::{Body, Closed, Document, Source, open, text, unpacked},
};

/// A result, and what there is to say about it.
pub(crate) struct Made {
    pub(crate) text: String,
    pub(crate) told: Told,
}

/// Converts a request, a list of messages, or the history of a session.
pub(crate) fn request(
    args: &ConvertArgs,
    input: &Input,
    options: &Options,
) -> anyhow::Result<Made> {
    let ask = Ask::of(args.from, options.policy);
    let ask = input.path().map_or(Cow::Borrowed(&ask), |path| ask.of_file(path));
    let plain = unpacked(&input.head).with_context(|| clean(&input.shown))?;
    let (plain, mut before) = mended(input, &ask, plain)?;
    let readable = text(&plain).map_err(|failure| trouble(input, &failure))?;
    let opened = open(&readable, input.manner, &ask);
    let document = only(input, args.to, &opened)?;
    if let (Ok(source), ReportFormat::Full, false) = (&opened, args.output_format, args.quiet) {
        let path = clean(&input.shown);
        source.notes.iter().for_each(|note| say::note(&format!("{path}: {}", here(note))));
    }
    check_spoken(input, document)?;
    let conversation = Conversation::of(document);
    let converted = convert::request(&conversation.text, conversation.wire, args.to, options)
        .map_err(|error| match &document.body {
            Body::Wire(_) => {
                let at = document.base + error.at();
                unreadable(input, readable.as_str(), at, &error, Kind::Request, conversation.wire)
            }
            Body::Session(_) => trouble(input, &Failure::new(sentence(&error))),
        })?;
    before.append(converted.before);
    let profile = options.profile(args.to);
    let mut told = Told {
        path: shown(args),
        kind: Kind::Request,
        from: conversation.format,
        wire: conversation.wire,
        to: args.to,
        profile,
        messages: converted.messages,
        losses: converted.losses.into_iter().map(Into::into).collect(),
        renamed: converted.renamed,
        names: converted.names,
        before,
        behind: converted.behind,
        remaining: Judged::default(),
        ending: Ending::Whole,
    };
    let text = spread(args, converted.body);
    if !converted.left.is_empty() {
        let rules = RuleSet::of(profile);
        let question = Question { profile, rules, policy: options.policy };
        told.remaining = judged(&text, args.to, question)?;
    }
    Ok(Made { text, told })
}

/// Converts a response.
pub(crate) fn response(
    args: &ConvertArgs,
    input: &Input,
    from: Wire,
    options: &Options,
) -> anyhow::Result<Made> {
    let plain = unpacked(&input.head).with_context(|| clean(&input.shown))?;
    let bytes = plain.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&plain);
    let source = foxwedge_dialect::text(bytes).map_err(|error| {
        let place = position(bytes, error.at());
        trouble(input, &Failure::new(sentence(&error)).at(place))
    })?;
    let answered = convert::response(source, from, args.to, options)
        .map_err(|error| unreadable(input, source, error.at(), &error, Kind::Response, from))?;
    let told = Told {
        path: shown(args),
        kind: Kind::Response,
        from: Format::Wire(from),
        wire: from,
        to: args.to,
        profile: options.profile(args.to),
        messages: usize::from(!answered.failed),
        losses: answered.losses.into_iter().map(Into::into).collect(),
        renamed: answered.renamed,
        names: Vec::new(),
        before: EditLog::default(),
        behind: EditLog::default(),
        remaining: Judged::default(),
        ending: if answered.failed { Ending::Failed } else { Ending::Whole },
    };
    Ok(Made { text: spread(args, answered.body), told })
}

/// Where the result goes, as it is shown.
pub(crate) fn shown(args: &ConvertArgs) -> String {
    let file = args.output.as_ref().map(|path| path.to_string_lossy().into_owned());
    file.unwrap_or_else(|| "<stdout>".to_owned())
}

/// The file of a session as a repair leaves it: the history that every other command tells.
fn mended<'p>(
    input: &Input,
    ask: &Ask,
    plain: Cow<'p, [u8]>,
) -> anyhow::Result<(Cow<'p, [u8]>, EditLog)> {
    if !matches!(ask.format(), Some(Format::Agent(_))) && !is_session(input) {
        return Ok((plain, EditLog::default()));
    }
    let text = text(&plain).map_err(|failure| trouble(input, &failure))?;
    let opened = open(&text, input.manner, ask);
    let Some(session) = opened.as_ref().ok().and_then(Source::session) else {
        return Ok((plain, EditLog::default()));
    };
    diagnose::session(&input.shown, session);
    let question = ask.session_question(session.agent);
    let (rewritten, repair) = session.fix(&question);
    if repair.is_untouched() {
        return Ok((plain, EditLog::default()));
    }
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    Ok((Cow::Owned(content), repair.edits))
}

/// The one conversation of an input.
fn only<'s, 'a>(
    input: &Input,
    to: Wire,
    opened: &'s Result<Source<'a>, Closed>,
) -> Result<&'s Document<'a>, Trouble> {
    let path = clean(&input.shown);
    let source = match opened {
        Ok(source) => source,
        Err(Closed::Failed(failure)) => return Err(trouble(input, failure)),
        Err(Closed::Skipped) => return Err(Trouble::new(format!("{path}: no conversation"))),
    };
    if let Some(failure) = source.failures.first() {
        return Err(trouble(input, failure));
    }
    match source.documents.as_slice() {
        [only] => Ok(only),
        several => {
            let many = several.len();
            let to = to.name();
            Err(Trouble::new(format!("{path}: there are {many} conversations in it, one a line"))
                .help(format!("take out one: `sed -n 1p FILE | foxwedge convert --to {to} -`")))
        }
    }
}

/// Refuses a session in which nothing was said.
fn check_spoken(input: &Input, document: &Document<'_>) -> Result<(), Trouble> {
    match &document.body {
        Body::Session(session) if session.draft().messages.is_empty() => {
            let path = clean(&input.shown);
            Err(Trouble::new(format!("{path}: nothing was said in it")).help(
                "there is no history to convert; `foxwedge list` shows sessions that have one",
            ))
        }
        Body::Session(_) | Body::Wire(_) => Ok(()),
    }
}

/// What the target's provider would refuse of a result, with the places in it.
fn judged(text: &str, wire: Wire, question: Question) -> anyhow::Result<Judged> {
    let reading =
        read(text, wire, want(question.profile)).context("the result cannot be read again")?;
    let body = Body::Wire(Arc::new(reading));
    let document = Document { base: 0, line: None, body, question, coped: Vec::new() };
    let source = Source {
        text,
        bytes: text.as_bytes(),
        documents: vec![document],
        failures: Vec::new(),
        notes: Vec::new(),
    };
    Ok(judge(&source, Look { edits: usize::MAX, excerpts: 0 }))
}

/// The result as it is written: with one line end behind it.
fn spread(args: &ConvertArgs, body: String) -> String {
    let pretty = args.pretty.then(|| export::pretty(&body)).flatten();
    let mut text = pretty.unwrap_or(body);
    text.truncate(text.trim_ascii_end().len());
    text.push('\n');
    text
}

/// A failure, with its place.
fn trouble(input: &Input, failure: &Failure) -> Trouble {
    let place = failure.position.map(|place| format!(":{}:{}", place.line, place.column));
    let path = clean(&input.shown);
    let message = here(&clean(&failure.message));
    let trouble = Trouble::new(format!("{path}{}: {message}", place.unwrap_or_default()));
    match &failure.help {
        Some(help) => trouble.help(here(help)),
        None => trouble,
    }
}

/// Something that is not written as its format says.
fn unreadable(
    input: &Input,
    text: &str,
    at: usize,
    error: &ReadError,
    kind: Kind,
    wire: Wire,
) -> Trouble {
    let failure = Failure::new(sentence(error)).at(position(text.as_bytes(), at)).help(format!(
        "it was read as a {} of {}; --from names another format",
        kind.name(),
        wire.name()
    ));
    trouble(input, &failure)
}

/// What a reader says, fit to be shown: it may quote a key of the input.
fn sentence(error: &ReadError) -> String {
    cut(&clean(&error.to_string()), 200)
}

/// Advice of other commands, whose option has another name.
fn here(advice: &str) -> String {
    advice.replace("--format", "--from")
}
