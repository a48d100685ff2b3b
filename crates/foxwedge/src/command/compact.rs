//! `foxwedge compact`: makes one conversation shorter, and says what it gave up.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use foxwedge_core::compact::CannotShrink;
use foxwedge_dialect::{
    compact::{CompactError, compact, weigh},
    read, want,
};
use foxwedge_tokens::Remembering;

use crate::{
    cli::{CompactArgs, ReportFormat, Strategy},
    compact::{self as shorter, Conversation, Room, Shorter, Subject, Told, Wishes},
    diff,
    disk::write_whole,
    report, say,
    say::{GOOD, Trouble, Undressed, clean, count, paint},
    screen,
    source::{open, text, unpacked},
};

/// Texts whose tokens are remembered: each is counted once, however often a plan is made.
const REMEMBERED: usize = 1 << 17;

/// Makes one conversation shorter.
pub(crate) fn run(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    if args.rewind {
        return shorter::rewind(args);
    }
    let mut loaded = None;
    match work(args, &mut loaded) {
        Ok(code) => Ok(code),
        Err(stop) => {
            stop.tell(args, loaded.as_ref());
            Ok(ExitCode::from(if stop.short.is_some() { 1 } else { 2 }))
        }
    }
}

/// Why nothing was done.
struct Stop {
    error: anyhow::Error,
    /// What has to stay is too much.
    short: Option<Box<CannotShrink>>,
}

impl<E: Into<anyhow::Error>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop { error: error.into(), short: None }
    }
}

fn work(args: &CompactArgs, loaded: &mut Option<Subject>) -> Result<ExitCode, Stop> {
    let wishes = Wishes::new(args)?;
    let subject = &*loaded.insert(Subject::load(args)?);
    if let Some(output) = &args.output_file {
        subject.check_output(output)?;
    }
    let plain = unpacked(subject.content()).with_context(|| clean(&subject.shown))?;
    let (plain, mended) = shorter::mended(subject, plain)?;
    let text = text(&plain).map_err(|failure| subject.trouble(&failure))?;
    let opened = open(&text, subject.manner, &subject.ask);
    let document = subject.only(&opened)?;
    if let (Ok(source), ReportFormat::Full, false) = (&opened, args.output_format, args.quiet) {
        let path = clean(&subject.shown);
        source.notes.iter().for_each(|note| say::note(&format!("{path}: {note}")));
    }
    let conversation = Conversation::of(document);
    if subject.is_of_cline() && !args.quiet {
        let path = clean(&subject.shown);
        say::note(&format!(
            "{path}: Cline does not know what hides a message, and sends everything"
        ));
    }
    let room = Room::new(args, conversation.model)?;
    let writes = !args.dry_run && !args.diff;
    if writes && !subject.is_piped() {
        shorter::check_replaceable(subject, &conversation)
            .with_context(|| clean(&subject.shown))?;
    }
    let profile = conversation.question.profile;
    let reading = read(&conversation.text, conversation.wire, want(profile))?;
    let mut counter = Remembering::new(room.tokenizer, REMEMBERED);
    let total = weigh(&reading.draft, reading.frame, &mut counter).total();
    let messages = reading.draft.messages.len();
    let settings = wishes.settings(conversation.question, &room, messages, total)?;
    let mut summarizer = shorter::summarizer(args);
    let compacted =
        compact(&conversation.text, conversation.wire, &settings, &mut counter, &mut *summarizer)
            .map_err(|error| stop(&error, subject, args))?;
    let told = Told {
        path: &subject.shown,
        format: conversation.format.name(),
        profile,
        room,
        reading: &reading,
        left: shorter::left(&compacted, &reading.draft, profile, &mut counter),
        compacted: &compacted,
        pins: &settings.pins,
        mended: &mended,
        dry_run: !writes,
    };
    let mut backup = None;
    match (writes, subject.is_piped()) {
        (true, true) if told.is_idle() => say::plain(|out| out.write_all(subject.content()))?,
        (true, false) if told.is_idle() => {}
        (true, piped) => {
            let whole = Shorter::new(subject, &conversation, document, &plain, &compacted)?;
            if piped { whole.print()? } else { backup = whole.keep()? }
        }
        (false, _) => {
            if let Some(diff) = diff::between(&told).filter(|_| args.diff && told.is_changed()) {
                say::out(&diff)?;
            }
        }
    }
    report(args, &told)?;
    if let Some(backup) = backup.filter(|_| !args.quiet) {
        let backup = clean(&backup.to_string_lossy());
        say::talk(&format!("{} in place; backup: {backup}\n", paint(GOOD, "Compacted")));
    }
    let remain = told.is_changed() && !compacted.account.remaining.is_clean();
    Ok(if remain { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says what was done, or would be.
fn report(args: &CompactArgs, told: &Told<'_>) -> anyhow::Result<()> {
    let json = args.output_format == ReportFormat::Json;
    if args.quiet && !json {
        return Ok(());
    }
    let write = |out: &mut dyn Write| -> io::Result<()> {
        match json {
            true => report::pretty(out, &shorter::document(told)),
            false => out.write_all(words(args, told).as_bytes()),
        }
    };
    match &args.output_file {
        Some(path) => {
            write_whole(path, |out| if json { write(out) } else { write(&mut Undressed::new(out)) })
                .with_context(|| format!("`{}` cannot be written", clean(&path.to_string_lossy())))
        }
        None if is_taken(args) => {
            say::aside(write);
            Ok(())
        }
        None if json => say::plain(write),
        None => say::dressed(write),
    }
}

/// Whether stdout belongs to the document, or to the diff.
fn is_taken(args: &CompactArgs) -> bool {
    let stream = |target: &PathBuf| target.as_os_str() == "-" || target == Path::new("/dev/stdin");
    let stdin = args.target.as_ref().is_none_or(stream);
    args.diff || stdin && !args.last && !args.dry_run
}

fn words(args: &CompactArgs, told: &Told<'_>) -> String {
    if told.is_changed() {
        let mut text = shorter::draw(told, screen::columns());
        if told.dry_run {
            text.push_str("Nothing was written.\n");
        }
        return text;
    }
    let mut text = shorter::idle(told);
    let broken = told.repaired().len();
    if broken > 0 && !args.quiet {
        let word = crate::ask::quoted(&clean(told.path));
        let word = if told.path == crate::target::STDIN { "-" } else { &word };
        let steps = count(broken, "step");
        text.push_str(&format!("It is not sound: `foxwedge fix {word}` repairs it in {steps}.\n"));
    }
    text
}

/// An error of the library, and what to do about it.
fn stop(error: &CompactError, subject: &Subject, args: &CompactArgs) -> Stop {
    let trouble = Trouble::new(format!("{}: {error}", clean(&subject.shown)));
    let again = match &args.summarizer {
        Some(_) => "nothing was changed; try the command by itself, or leave --summarizer out",
        None => "nothing was changed; another --strategy needs no summary",
    };
    let (trouble, short) = match error {
        CompactError::CannotShrink(short) => {
            (trouble.help(room_for(short, args)), Some(short.clone()))
        }
        CompactError::NoSummary { .. } => (
            trouble.help(format!("{again}; --summarizer-timeout SECONDS gives it more time")),
            None,
        ),
        CompactError::Refused(_) => (trouble.help(again), None),
        CompactError::NeedsBudget(_) => {
            (trouble.help("name what it may take: `--budget 32k`"), None)
        }
        CompactError::Unsound(_) => {
            (trouble.help("nothing was changed; `foxwedge check` says what is wrong with it"), None)
        }
        _ => (trouble, None),
    };
    Stop { error: trouble.into(), short }
}

/// What would have to change.
fn room_for(short: &CannotShrink, args: &CompactArgs) -> String {
    use foxwedge_core::compact::Hold;
    let pinned = args.pin.iter().any(|pin| short.messages.contains(pin));
    let also = match short.hold {
        _ if pinned => ", or pin less",
        Hold::Pinned => ", or pin less",
        Hold::Free | Hold::First | Hold::Last | Hold::End => ", or add a strategy",
        Hold::Instructions => ", or shorten the instructions",
        Hold::Open | Hold::Remote => ", or wait until its calls are answered",
        Hold::Summary => ", or ask for a shorter summary",
    };
    // A larger budget also leaves more as it is, and asks for a longer summary.
    let more = if args.strategy.contains(&Strategy::Summarize) { "well over " } else { "" };
    let or = if more.is_empty() { " or more" } else { "" };
    format!("nothing was changed; allow {more}{} tokens{or}{also}", short.least)
}

impl Stop {
    /// Says why: to people always, to programs where the report would have been.
    fn tell(&self, args: &CompactArgs, subject: Option<&Subject>) {
        if args.output_format == ReportFormat::Json {
            let message: Vec<String> = self.error.chain().map(ToString::to_string).collect();
            let help = say::help_of(&self.error);
            let path = subject.map(|subject| subject.shown.as_str());
            let document = shorter::refusal(path, &message.join(": "), help, self.short.as_deref());
            let write = |out: &mut dyn Write| report::pretty(out, &document);
            match &args.output_file {
                Some(path) => drop(write_whole(path, write)),
                None if is_taken(args) => return say::aside(write),
                None => drop(say::plain(write)),
            }
        }
        say::error(&self.error);
    }
}
