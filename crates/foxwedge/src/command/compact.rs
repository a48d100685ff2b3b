//! `foxwedge compact`: shortens one conversation and reports what was removed.

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
    compact::{
        self as compaction, CompactedOutput, CompactionBudget, CompactionFlags, CompactionResult,
        CompactionTarget,
    },
    diff, report,
};
use foxwedge_local::{
    disk::write_whole,
    language::localize,
    output::{self, ColorStripper, GOOD, HelpfulError, clean, paint, pluralize},
    provider_conversation::ProviderConversation,
    screen,
    source::{decode_text, decompress, parse_input},
};

/// Number of texts with cached token counts, so that repeated planning does not count them again.
const TOKEN_CACHE_SIZE: usize = 1 << 17;

/// Shortens one conversation.
pub(crate) fn run(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    if args.rewind {
        return compaction::undo_compaction(args);
    }
    let mut loaded = None;
    match compact_target(args, &mut loaded) {
        Ok(code) => Ok(code),
        Err(failure) => {
            failure.print_failure(args, loaded.as_ref());
            Ok(ExitCode::from(if failure.short.is_some() { 1 } else { 2 }))
        }
    }
}

/// Why the conversation was not compacted.
struct CompactFailure {
    error: anyhow::Error,
    /// Set if the content that must stay exceeds the budget.
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
    let flags = CompactionFlags::new(args)?;
    let target = &*loaded.insert(CompactionTarget::load(args)?);
    if let Some(output) = &args.output_file {
        target.check_output(output)?;
    }
    let plain = decompress(target.content()).with_context(|| clean(&target.display_name))?;
    let (plain, file_repairs) = compaction::repair_session_file(target, plain)?;
    let text = decode_text(&plain).map_err(|failure| target.failure_error(&failure))?;
    let input = parse_input(&text, target.hint, &target.settings);
    let document = target.single_document(&input)?;
    if let (Ok(source), ReportFormat::Full, false) = (&input, args.output_format, args.quiet) {
        let path = clean(&target.display_name);
        source.notes.iter().for_each(|note| output::print_note(&format!("{path}: {note}")));
    }
    compaction::check_holds_compactions(target, document)?;
    let conversation = ProviderConversation::of(document);
    if target.is_cline_task() && !args.quiet {
        let path = clean(&target.display_name);
        output::print_note(&format!(
            "{path}: Cline does not support hidden messages and sends all of them"
        ));
    }
    let budget = CompactionBudget::new(args, conversation.model)?;
    let writes = !args.dry_run && !args.diff;
    if writes && !target.is_piped() {
        compaction::check_replaceable(target, &conversation)
            .with_context(|| clean(&target.display_name))?;
    }
    let profile = conversation.check_options.profile;
    let reading = read(&conversation.text, conversation.wire, outline_options(profile))?;
    let mut counter = CachedCounter::new(budget.tokenizer, TOKEN_CACHE_SIZE);
    let total = weigh(&reading.draft, reading.frame, &mut counter).total();
    let messages = reading.draft.messages.len();
    let settings = flags.settings(conversation.check_options, &budget, messages, total)?;
    let mut summarizer = compaction::create_summarizer(args);
    let compacted =
        compact(&conversation.text, conversation.wire, &settings, &mut counter, &mut *summarizer)
            .map_err(|error| compact_failure(&error, target, args))?;
    let result = CompactionResult {
        path: &target.display_name,
        format: conversation.format.name(),
        profile,
        budget,
        reading: &reading,
        tokens_left: compaction::count_tokens_left(
            &compacted,
            &reading.draft,
            profile,
            &mut counter,
        ),
        compacted: &compacted,
        pins: &settings.pins,
        file_repairs: &file_repairs,
        dry_run: !writes,
    };
    let mut backup = None;
    match (writes, target.is_piped()) {
        (true, true) if result.is_unchanged() => {
            output::write_stdout_raw(|out| out.write_all(target.content()))?
        }
        (true, false) if result.is_unchanged() => {}
        (true, piped) => {
            let output = CompactedOutput::new(target, &conversation, document, &plain, &compacted)?;
            if piped { output.print()? } else { backup = output.write_file()? }
        }
        (false, _) => {
            if let Some(diff) =
                diff::of_compaction(&result).filter(|_| args.diff && result.is_changed())
            {
                output::write_stdout(&diff)?;
            }
        }
    }
    write_report(args, &result)?;
    if let Some(backup) = backup.filter(|_| !args.quiet) {
        let backup = clean(&backup.to_string_lossy());
        output::write_stderr(&localize(format!(
            "{} in place; backup: {backup}\n",
            paint(GOOD, "Compacted")
        )));
    }
    let findings_remain = result.is_changed() && !compacted.account.remaining.is_clean();
    Ok(if findings_remain { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Writes the report.
fn write_report(args: &CompactArgs, result: &CompactionResult<'_>) -> anyhow::Result<()> {
    let json = args.output_format == ReportFormat::Json;
    if args.quiet && !json {
        return Ok(());
    }
    let write = |out: &mut dyn Write| -> io::Result<()> {
        match json {
            true => report::write_pretty(out, &compaction::document(result)),
            false => out.write_all(report_text(args, result).as_bytes()),
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
            output::write_stderr_with(write);
            Ok(())
        }
        None if json => output::write_stdout_raw(write),
        None => output::write_stdout_styled(write),
    }
}

/// Whether stdout is used for the document or the diff.
fn uses_stdout(args: &CompactArgs) -> bool {
    let is_stdin =
        |target: &PathBuf| target.as_os_str() == "-" || target == Path::new("/dev/stdin");
    let stdin = args.target.as_ref().is_none_or(is_stdin);
    args.diff || stdin && !args.last && !args.dry_run
}

fn report_text(args: &CompactArgs, result: &CompactionResult<'_>) -> String {
    if result.is_changed() {
        let mut text = compaction::render_report(result, screen::terminal_columns());
        if result.dry_run {
            text.push_str(&localize("Nothing was written.\n"));
        }
        return text;
    }
    let mut text = compaction::render_unchanged(result);
    let repairs = result.all_repairs().len();
    if repairs > 0 && !args.quiet {
        let name = foxwedge_local::check_settings::shell_quote(&clean(result.path));
        let name = if result.path == crate::target::STDIN { "-" } else { &name };
        let steps = pluralize(repairs, "step");
        text.push_str(&localize(format!(
            "It is not valid: `foxwedge fix {name}` repairs it in {steps}.\n"
        )));
    }
    text
}

/// A library error with its help text.
fn compact_failure(
    error: &CompactError,
    target: &CompactionTarget,
    args: &CompactArgs,
) -> CompactFailure {
    let cli_error = HelpfulError::new(format!("{}: {error}", clean(&target.display_name)));
    let next_step = match &args.summarizer {
        Some(_) => "nothing was changed; run the command on its own, or omit --summarizer",
        None => "nothing was changed; choose a --strategy without a summary",
    };
    let (cli_error, short) = match error {
        CompactError::CannotShrink(short) => {
            (cli_error.help(shrink_help(short, args)), Some(short.clone()))
        }
        CompactError::NoSummary { .. } => (
            cli_error.help(format!("{next_step}; --summarizer-timeout SECONDS gives it more time")),
            None,
        ),
        CompactError::Refused(_) => (cli_error.help(next_step), None),
        CompactError::NeedsBudget(_) => (cli_error.help("set a budget: `--budget 32k`"), None),
        CompactError::Unsound(_) => {
            (cli_error.help("nothing was changed; `foxwedge check` lists its findings"), None)
        }
        _ => (cli_error, None),
    };
    CompactFailure { error: cli_error.into(), short }
}

/// The help text for a budget that is too small.
fn shrink_help(short: &ShrinkError, args: &CompactArgs) -> String {
    use foxwedge_core::compact::UnitHold;
    let pinned = args.pin.iter().any(|pin| short.messages.contains(pin));
    let also = match short.hold {
        _ if pinned => ", or pin less",
        UnitHold::Pinned => ", or pin less",
        UnitHold::Free | UnitHold::First | UnitHold::Last | UnitHold::End => ", or add a strategy",
        UnitHold::Instructions => ", or shorten the instructions",
        UnitHold::Open | UnitHold::Remote => ", or wait until its tool calls have results",
        UnitHold::Summary => ", or ask for a shorter summary",
    };
    // A larger budget also keeps more messages and requests a longer summary.
    let more = if args.strategy.contains(&CompactStrategy::Summarize) { "well over " } else { "" };
    let or = if more.is_empty() { " or more" } else { "" };
    format!("nothing was changed; allow {more}{} tokens{or}{also}", short.total_needed)
}

impl CompactFailure {
    /// Prints the error as text. With JSON output, also writes it in place of the report.
    fn print_failure(&self, args: &CompactArgs, target: Option<&CompactionTarget>) {
        if args.output_format == ReportFormat::Json {
            let message: Vec<String> = self.error.chain().map(ToString::to_string).collect();
            let help = output::help_of(&self.error);
            let path = target.map(|target| target.display_name.as_str());
            let document =
                compaction::error_document(path, &message.join(": "), help, self.short.as_deref());
            let write = |out: &mut dyn Write| report::write_pretty(out, &document);
            match &args.output_file {
                Some(path) => drop(write_whole(path, write)),
                None if uses_stdout(args) => return output::write_stderr_with(write),
                None => drop(output::write_stdout_raw(write)),
            }
        }
        output::print_error(&self.error);
    }
}
