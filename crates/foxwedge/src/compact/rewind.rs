//! Takes the last compaction of a session back.

use std::{borrow::Cow, process::ExitCode};

use anyhow::{Context, bail};
use foxwedge_dialect::session::{self, Text};

use super::{Conversation, Shorter, Subject, check_replaceable, mended};
use crate::{
    cli::{CompactArgs, ReportFormat},
    report,
    say::{self, GOOD, Trouble, clean, count, paint},
    source::{Body, Document, open, text, unpacked},
};

/// What was hidden is visible again.
pub(crate) fn rewind(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    let subject = Subject::load(args)?;
    let plain = unpacked(subject.content()).with_context(|| clean(&subject.shown))?;
    // An agent that was killed since left something that hides what was written.
    let (plain, mut repaired) = mended(&subject, plain)?;
    let text = text(&plain).map_err(|failure| subject.trouble(&failure))?;
    let opened = open(&text, subject.manner, &subject.ask);
    let document = subject.only(&opened)?;
    let Body::Session(session) = &document.body else {
        bail!(
            Trouble::new(format!(
                "{}: only sessions remember what was hidden",
                clean(&subject.shown)
            ))
            .help("`foxwedge undo FILE` puts back what a compaction of a file replaced")
        );
    };
    let Some(rewritten) = session.uncompacted() else {
        bail!(
            Trouble::new(format!(
                "{}: there is no compaction of ours in it",
                clean(&subject.shown)
            ))
            .help("only what `foxwedge compact` wrote into a session can be taken back")
        );
    };
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    let (content, more) = mended(&subject, Cow::Owned(content))?;
    repaired.append(more);
    let content = content.into_owned();
    let before = document.draft().messages.len();
    let after = messages(&content, document)?;
    let conversation = Conversation::of(document);
    let mut backup = None;
    if !args.dry_run {
        let whole = Shorter::of_session(&subject, &conversation, content);
        if subject.is_piped() {
            whole.print()?;
        } else {
            check_replaceable(&subject, &conversation).with_context(|| clean(&subject.shown))?;
            backup = whole.keep()?;
        }
    }
    if !args.quiet {
        let path = clean(&subject.shown);
        for edit in &repaired {
            say::note(&format!("{path}: FW{} {}", edit.code, clean(&edit.note)));
        }
        let more = repaired.len().saturating_sub(repaired.iter().count());
        if more > 0 {
            say::note(&format!("{path}: … and {more} more repairs"));
        }
    }
    tell(args, &subject, before, after)?;
    if let Some(backup) = backup.filter(|_| !args.quiet) {
        let backup = clean(&backup.to_string_lossy());
        say::talk(&format!("{} in place; backup: {backup}\n", paint(GOOD, "Taken back")));
    }
    Ok(ExitCode::SUCCESS)
}

/// How many messages an agent sees of a file.
fn messages(content: &[u8], like: &Document<'_>) -> anyhow::Result<usize> {
    let Body::Session(session) = &like.body else { return Ok(0) };
    let text: Text<'_> = session::text(content)?;
    let want = foxwedge_dialect::want(like.question.profile);
    Ok(session::read(&text, session.agent, want)?.draft().messages.len())
}

fn tell(args: &CompactArgs, subject: &Subject, before: usize, after: usize) -> anyhow::Result<()> {
    match args.output_format {
        ReportFormat::Json => {
            let document = serde_json::json!({
                "version": 1,
                "path": subject.shown,
                "dry_run": args.dry_run,
                "before": { "messages": before },
                "after": { "messages": after },
            });
            if subject.is_piped() && !args.dry_run {
                say::aside(|out| report::pretty(out, &document));
                return Ok(());
            }
            say::plain(|out| report::pretty(out, &document))
        }
        ReportFormat::Full if args.quiet => Ok(()),
        ReportFormat::Full => {
            let path = clean(&subject.shown);
            let text = format!(
                "{path}: the last compaction {} taken back; {} instead of {before}\n",
                if args.dry_run { "would be" } else { "is" },
                count(after, "message"),
            );
            say::talk(&text);
            Ok(())
        }
    }
}
