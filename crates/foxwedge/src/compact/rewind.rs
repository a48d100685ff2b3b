//! Takes the last compaction of a session back.

use std::{borrow::Cow, process::ExitCode};

use anyhow::{Context, bail};
use foxwedge_sessions::{self, SessionText};

use super::{
    CompactedOutput, CompactionTarget, ProviderConversation, check_replaceable, repair_session_file,
};
use crate::{
    cli::{CompactArgs, ReportFormat},
    cli_output::{self, CliError, GOOD, clean, paint, pluralize},
    report,
    source::{DocumentBody, InputDocument, decode_text, decompress, parse_input},
};

/// What was hidden is visible again.
pub(crate) fn undo_compaction(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    let subject = CompactionTarget::load(args)?;
    let plain = decompress(subject.content()).with_context(|| clean(&subject.display_name))?;
    // An agent that was killed since left something that hides what was written.
    let (plain, mut repaired) = repair_session_file(&subject, plain)?;
    let text = decode_text(&plain).map_err(|failure| subject.failure_error(&failure))?;
    let opened = parse_input(&text, subject.hint, &subject.settings);
    let document = subject.single_document(&opened)?;
    let DocumentBody::Session(session) = &document.body else {
        bail!(
            CliError::new(format!(
                "{}: only sessions remember what was hidden",
                clean(&subject.display_name)
            ))
            .help("`foxwedge undo FILE` puts back what a compaction of a file replaced")
        );
    };
    let Some(rewritten) = session.remove_compaction() else {
        bail!(
            CliError::new(format!(
                "{}: there is no compaction of ours in it",
                clean(&subject.display_name)
            ))
            .help("only what `foxwedge compact` wrote into a session can be taken back")
        );
    };
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    let (content, more) = repair_session_file(&subject, Cow::Owned(content))?;
    repaired.append(more);
    let content = content.into_owned();
    let before = document.draft().messages.len();
    let after = count_messages(&content, document)?;
    let conversation = ProviderConversation::of(document);
    let mut backup = None;
    if !args.dry_run {
        let whole = CompactedOutput::from_session_content(&subject, &conversation, content);
        if subject.is_piped() {
            whole.print()?;
        } else {
            check_replaceable(&subject, &conversation)
                .with_context(|| clean(&subject.display_name))?;
            backup = whole.write_file()?;
        }
    }
    if !args.quiet {
        let path = clean(&subject.display_name);
        for edit in &repaired {
            cli_output::print_note(&format!("{path}: FW{} {}", edit.code, clean(&edit.note)));
        }
        let more = repaired.len().saturating_sub(repaired.iter().count());
        if more > 0 {
            cli_output::print_note(&format!("{path}: … and {more} more repairs"));
        }
    }
    write_report(args, &subject, before, after)?;
    if let Some(backup) = backup.filter(|_| !args.quiet) {
        let backup = clean(&backup.to_string_lossy());
        cli_output::write_stderr(&format!(
            "{} in place; backup: {backup}\n",
            paint(GOOD, "Taken back")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// How many messages an agent sees of a file.
fn count_messages(content: &[u8], like: &InputDocument<'_>) -> anyhow::Result<usize> {
    let DocumentBody::Session(session) = &like.body else { return Ok(0) };
    let text: SessionText<'_> = foxwedge_sessions::readable_text(content)?;
    let want = foxwedge_formats::outline_options(like.check_options.profile);
    Ok(foxwedge_sessions::read(&text, session.agent, want)?.draft().messages.len())
}

fn write_report(
    args: &CompactArgs,
    subject: &CompactionTarget,
    before: usize,
    after: usize,
) -> anyhow::Result<()> {
    match args.output_format {
        ReportFormat::Json => {
            let document = serde_json::json!({
                "version": 1,
                "path": subject.display_name,
                "dry_run": args.dry_run,
                "before": { "messages": before },
                "after": { "messages": after },
            });
            if subject.is_piped() && !args.dry_run {
                cli_output::write_stderr_with(|out| report::write_pretty(out, &document));
                return Ok(());
            }
            cli_output::write_stdout_raw(|out| report::write_pretty(out, &document))
        }
        ReportFormat::Full if args.quiet => Ok(()),
        ReportFormat::Full => {
            let path = clean(&subject.display_name);
            let text = format!(
                "{path}: the last compaction {} taken back; {} instead of {before}\n",
                if args.dry_run { "would be" } else { "is" },
                pluralize(after, "message"),
            );
            cli_output::write_stderr(&text);
            Ok(())
        }
    }
}
