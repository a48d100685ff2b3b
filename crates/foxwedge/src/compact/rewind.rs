//! Undoes the last compaction of a session.

use std::{borrow::Cow, process::ExitCode};

use anyhow::{Context, bail};
use foxwedge_sessions::{self, SessionText};

use super::{CompactedOutput, CompactionTarget, check_replaceable, repair_session_file};
use crate::{
    cli::{CompactArgs, ReportFormat},
    report::{self, edit_note},
};
use foxwedge_local::{
    language::localize,
    output::{self, GOOD, HelpfulError, clean, paint, pluralize},
    provider_conversation::ProviderConversation,
    source::{DocumentBody, InputDocument, decode_text, decompress, parse_input},
};

/// Undoes the last compaction: the hidden messages become visible again.
pub(crate) fn undo_compaction(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    let target = CompactionTarget::load(args)?;
    let plain = decompress(target.content()).with_context(|| clean(&target.display_name))?;
    // If the agent was killed after the compaction, broken records may hide it.
    let (plain, mut repairs) = repair_session_file(&target, plain)?;
    let text = decode_text(&plain).map_err(|failure| target.failure_error(&failure))?;
    let input = parse_input(&text, target.hint, &target.settings);
    let document = target.single_document(&input)?;
    let DocumentBody::Session(session) = &document.body else {
        bail!(
            HelpfulError::new(format!(
                "{}: only session files keep the messages that a compaction hides",
                clean(&target.display_name)
            ))
            .help("`foxwedge undo FILE` restores the file as it was before the compaction")
        );
    };
    let Some(rewritten) = session.remove_compaction() else {
        bail!(
            HelpfulError::new(format!(
                "{}: the session has no compaction by foxwedge",
                clean(&target.display_name)
            ))
            .help("only compactions written by `foxwedge compact` can be undone")
        );
    };
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    let (content, more) = repair_session_file(&target, Cow::Owned(content))?;
    repairs.append(more);
    let content = content.into_owned();
    let before = document.draft().messages.len();
    let after = count_messages(&content, document)?;
    let conversation = ProviderConversation::of(document);
    let mut backup = None;
    if !args.dry_run {
        let output = CompactedOutput::from_session_content(&target, &conversation, content);
        if target.is_piped() {
            output.print()?;
        } else {
            check_replaceable(&target, &conversation)
                .with_context(|| clean(&target.display_name))?;
            backup = output.write_file()?;
        }
    }
    if !args.quiet {
        let path = clean(&target.display_name);
        for edit in &repairs {
            output::print_note(&format!("{path}: FW{} {}", edit.code, clean(&edit_note(edit))));
        }
        let more = repairs.len().saturating_sub(repairs.iter().count());
        if more > 0 {
            output::print_note(&format!("{path}: … and {more} more repairs"));
        }
    }
    write_report(args, &target, before, after)?;
    if let Some(backup) = backup.filter(|_| !args.quiet) {
        let backup = clean(&backup.to_string_lossy());
        output::write_stderr(&localize(format!(
            "{} in place; backup: {backup}\n",
            paint(GOOD, "Undone")
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// Number of messages in the file that its agent sees.
fn count_messages(content: &[u8], document: &InputDocument<'_>) -> anyhow::Result<usize> {
    let DocumentBody::Session(session) = &document.body else { return Ok(0) };
    let text: SessionText<'_> = foxwedge_sessions::readable_text(content)?;
    let options = foxwedge_formats::outline_options(document.check_options.profile);
    Ok(foxwedge_sessions::read(&text, session.agent, options)?.draft().messages.len())
}

fn write_report(
    args: &CompactArgs,
    target: &CompactionTarget,
    before: usize,
    after: usize,
) -> anyhow::Result<()> {
    match args.output_format {
        ReportFormat::Json => {
            let document = serde_json::json!({
                "version": 1,
                "path": target.display_name,
                "dry_run": args.dry_run,
                "before": { "messages": before },
                "after": { "messages": after },
            });
            if target.is_piped() && !args.dry_run {
                output::write_stderr_with(|out| report::write_pretty(out, &document));
                return Ok(());
            }
            output::write_stdout_raw(|out| report::write_pretty(out, &document))
        }
        ReportFormat::Full if args.quiet => Ok(()),
        ReportFormat::Full => {
            let path = clean(&target.display_name);
            let text = format!(
                "{path}: the last compaction {} undone; {} instead of {before}\n",
                if args.dry_run { "would be" } else { "is" },
                pluralize(after, "message"),
            );
            output::write_stderr(&localize(text));
            Ok(())
        }
    }
}
