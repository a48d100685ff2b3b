//! `foxwedge compact`: makes one conversation shorter, and says what it gave up.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use foxwedge_core::compact::ShrinkError;
use foxwedge_formats::{
    compact::{CompactError, compact, weigh},
    outline_options, read,
};
use foxwedge_tokens::CachedCounter;

use crate::{
    cli::{CompactArgs, CompactStrategy, ReportFormat},
    cli_output,
    cli_output::{CliError, ColorStripper, GOOD, clean, paint, pluralize},
    compact::{
        self as shorter, CompactedOutput, CompactionBudget, CompactionFlags, CompactionResult,
        CompactionTarget, ProviderConversation,
    },
    diff,
    disk::write_whole,
    report, screen,
    source::{decode_text, decompress, parse_input},
};

/// Texts whose tokens are remembered: each is counted once, however often a plan is made.
const TOKEN_CACHE_SIZE: usize = 1 << 17;

/// Makes one conversation shorter.
pub(crate) fn run(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    if args.rewind {
        return shorter::undo_compaction(args);
    }
    let mut loaded = None;
    match compact_target(args, &mut loaded) {
        Ok(code) => Ok(code),
        Err(stop) => {
            stop.print_failure(args, loaded.as_ref());
            Ok(ExitCode::from(if stop.short.is_some() { 1 } else { 2 }))
        }
    }
}

/// Why nothing was done.
struct CompactFailure {
    error: anyhow::Error,
    /// What has to stay is too much.
    short: Option<Box<ShrinkError>>,
}

impl<E: Into<anyhow::Error>> From<E> for CompactFailure {
    fn from(error: E) -> CompactFailure {
        CompactFailure { error: error.into(), short: None }
    }
}

fn compact_target(
    args: &CompactArgs,
    loaded: &mut Option<CompactionTarget>,
) -> Result<ExitCode, CompactFailure> {
    let wishes = CompactionFlags::new(args)?;
    let subject = &*loaded.insert(CompactionTarget::load(args)?);
    if let Some(output) = &args.output_file {
        subject.check_output(output)?;
    }
    let plain = decompress(subject.content()).with_context(|| clean(&subject.display_name))?;
    let (plain, mended) = shorter::repair_session_file(subject, plain)?;
    let text = decode_text(&plain).map_err(|failure| subject.failure_error(&failure))?;
    let opened = parse_input(&text, subject.hint, &subject.settings);
    let document = subject.single_document(&opened)?;
    if let (Ok(source), ReportFormat::Full, false) = (&opened, args.output_format, args.quiet) {
        let path = clean(&subject.display_name);
        source.notes.iter().for_each(|note| cli_output::print_note(&format!("{path}: {note}")));
    }
    let conversation = ProviderConversation::of(document);
    if subject.is_cline_task() && !args.quiet {
        let path = clean(&subject.display_name);
        cli_output::print_note(&format!(
            "{path}: Cline does not know what hides a message, and sends everything"
        ));
    }
    let room = CompactionBudget::new(args, conversation.model)?;
    let writes = !args.dry_run && !args.diff;
    if writes && !subject.is_piped() {
        shorter::check_replaceable(subject, &conversation)
            .with_context(|| clean(&subject.display_name))?;
    }
    let profile = conversation.check_options.profile;
    let reading = read(&conversation.text, conversation.wire, outline_options(profile))?;
    let mut counter = CachedCounter::new(room.tokenizer, TOKEN_CACHE_SIZE);
    let total = weigh(&reading.draft, reading.frame, &mut counter).total();
    let messages = reading.draft.messages.len();
    let settings = wishes.settings(conversation.check_options, &room, messages, total)?;
    let mut summarizer = shorter::create_summarizer(args);
    let compacted =
        compact(&conversation.text, conversation.wire, &settings, &mut counter, &mut *summarizer)
            .map_err(|error| compact_failure(&error, subject, args))?;
    let told = CompactionResult {
        path: &subject.display_name,
        format: conversation.format.name(),
        profile,
        budget: room,
        reading: &reading,
        tokens_left: shorter::count_tokens_left(&compacted, &reading.draft, profile, &mut counter),
        compacted: &compacted,
        pins: &settings.pins,
        file_repairs: &mended,
        dry_run: !writes,
    };
    let mut backup = None;
    match (writes, subject.is_piped()) {
        (true, true) if told.is_unchanged() => {
            cli_output::write_stdout_raw(|out| out.write_all(subject.content()))?
        }
        (true, false) if told.is_unchanged() => {}
        (true, piped) => {
            let whole = CompactedOutput::new(subject, &conversation, document, &plain, &compacted)?;
            if piped { whole.print()? } else { backup = whole.write_file()? }
        }
        (false, _) => {
            if let Some(diff) =
                diff::of_compaction(&told).filter(|_| args.diff && told.is_changed())
            {
                cli_output::write_stdout(&diff)?;
            }
        }
    }
    write_report(args, &told)?;
    if let Some(backup) = backup.filter(|_| !args.quiet) {
        let backup = clean(&backup.to_string_lossy());
        cli_output::write_stderr(&format!(
            "{} in place; backup: {backup}\n",
            paint(GOOD, "Compacted")
        ));
    }
    let remain = told.is_changed() && !compacted.account.remaining.is_clean();
    Ok(if remain { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says what was done, or would be.
fn write_report(args: &CompactArgs, told: &CompactionResult<'_>) -> anyhow::Result<()> {
    let json = args.output_format == ReportFormat::Json;
    if args.quiet && !json {
        return Ok(());
    }
    let write = |out: &mut dyn Write| -> io::Result<()> {
        match json {
            true => report::write_pretty(out, &shorter::document(told)),
            false => out.write_all(report_text(args, told).as_bytes()),
        }
    };
    match &args.output_file {
        Some(path) => {
            write_whole(
                path,
                |out| if json { write(out) } else { write(&mut ColorStripper::new(out)) },
            )
            .with_context(|| format!("`{}` cannot be written", clean(&path.to_string_lossy())))
        }
        None if uses_stdout(args) => {
            cli_output::write_stderr_with(write);
            Ok(())
        }
        None if json => cli_output::write_stdout_raw(write),
        None => cli_output::write_stdout_styled(write),
    }
}

/// Whether stdout belongs to the document, or to the diff.
fn uses_stdout(args: &CompactArgs) -> bool {
    let stream = |target: &PathBuf| target.as_os_str() == "-" || target == Path::new("/dev/stdin");
    let stdin = args.target.as_ref().is_none_or(stream);
    args.diff || stdin && !args.last && !args.dry_run
}

fn report_text(args: &CompactArgs, told: &CompactionResult<'_>) -> String {
    if told.is_changed() {
        let mut text = shorter::render_report(told, screen::terminal_columns());
        if told.dry_run {
            text.push_str("Nothing was written.\n");
        }
        return text;
    }
    let mut text = shorter::render_unchanged(told);
    let broken = told.all_repairs().len();
    if broken > 0 && !args.quiet {
        let word = crate::check_settings::shell_quote(&clean(told.path));
        let word = if told.path == crate::target::STDIN { "-" } else { &word };
        let steps = pluralize(broken, "step");
        text.push_str(&format!("It is not sound: `foxwedge fix {word}` repairs it in {steps}.\n"));
    }
    text
}

/// An error of the library, and what to do about it.
fn compact_failure(
    error: &CompactError,
    subject: &CompactionTarget,
    args: &CompactArgs,
) -> CompactFailure {
    let trouble = CliError::new(format!("{}: {error}", clean(&subject.display_name)));
    let again = match &args.summarizer {
        Some(_) => "nothing was changed; try the command by itself, or leave --summarizer out",
        None => "nothing was changed; another --strategy needs no summary",
    };
    let (trouble, short) = match error {
        CompactError::CannotShrink(short) => {
            (trouble.help(shrink_help(short, args)), Some(short.clone()))
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
    CompactFailure { error: trouble.into(), short }
}

/// What would have to change.
fn shrink_help(short: &ShrinkError, args: &CompactArgs) -> String {
    use foxwedge_core::compact::UnitHold;
    let pinned = args.pin.iter().any(|pin| short.messages.contains(pin));
    let also = match short.hold {
        _ if pinned => ", or pin less",
        UnitHold::Pinned => ", or pin less",
        UnitHold::Free | UnitHold::First | UnitHold::Last | UnitHold::End => ", or add a strategy",
        UnitHold::Instructions => ", or shorten the instructions",
        UnitHold::Open | UnitHold::Remote => ", or wait until its calls are answered",
        UnitHold::Summary => ", or ask for a shorter summary",
    };
    // A larger budget also leaves more as it is, and asks for a longer summary.
    let more = if args.strategy.contains(&CompactStrategy::Summarize) { "well over " } else { "" };
    let or = if more.is_empty() { " or more" } else { "" };
    format!("nothing was changed; allow {more}{} tokens{or}{also}", short.total_needed)
}

impl CompactFailure {
    /// Says why: to people always, to programs where the report would have been.
    fn print_failure(&self, args: &CompactArgs, subject: Option<&CompactionTarget>) {
        if args.output_format == ReportFormat::Json {
            let message: Vec<String> = self.error.chain().map(ToString::to_string).collect();
            let help = cli_output::help_of(&self.error);
            let path = subject.map(|subject| subject.display_name.as_str());
            let document =
                shorter::error_document(path, &message.join(": "), help, self.short.as_deref());
            let write = |out: &mut dyn Write| report::write_pretty(out, &document);
            match &args.output_file {
                Some(path) => drop(write_whole(path, write)),
                None if uses_stdout(args) => return cli_output::write_stderr_with(write),
                None => drop(cli_output::write_stdout_raw(write)),
            }
        }
        cli_output::print_error(&self.error);
    }
}
