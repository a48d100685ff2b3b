//! Repairs: planned first, written as a whole, read again and judged again.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, bail};
use foxwedge_core::{Edit, EditLog, Repair, RepairLosses};
use foxwedge_formats::OutlinedDocument;
use foxwedge_sessions::RewrittenFile;

use crate::{
    check_settings::CheckSettings,
    cli_output::CliError,
    disk::{BackupFolder, FileLock, FileSnapshot, check_idle, replace},
    findings::{ReportDetail, build_file_report},
    outcome::{AppliedEdit, FileReport, SessionRef},
    positions::positions,
    report::role_at,
    source::{
        DocumentBody, FileCompression, InputDocument, InputHint, InputRejection, ParsedInput,
        decode_text, decompress, parse_input,
    },
};

/// Steps that are listed for one target; the rest is counted.
const MAX_APPLIED: usize = 20_000;

/// What a repair of one target would do.
pub(crate) struct RepairPlan<'a> {
    /// All bytes of the target, unpacked; what no patch covers is copied.
    content: &'a [u8],
    /// How the target is kept.
    packing: FileCompression,
    /// Repaired documents, by where they begin and end in the content.
    patches: Vec<(usize, usize, DocumentPatch<'a>)>,
    applied: Vec<AppliedEdit>,
    /// Where the messages of these steps begin in the text.
    offsets: Vec<Option<usize>>,
    /// What the repair costs.
    losses: RepairLosses,
    /// Steps of all repairs, listed or not.
    steps: usize,
    /// Findings before the repair.
    before: usize,
    /// The session it is, if it is the file of one.
    session: Option<SessionRef>,
}

/// A repaired document.
enum DocumentPatch<'a> {
    /// What was read, and its repair: written anew whenever it is asked for.
    Wire(Arc<OutlinedDocument<'a>>, Box<Repair<'a>>),
    Session(RewrittenFile<'a>),
}

impl<'a> RepairPlan<'a> {
    /// Plans the repair of every document that needs one.
    pub(crate) fn new(
        content: &'a [u8],
        packing: FileCompression,
        source: &ParsedInput<'a>,
    ) -> RepairPlan<'a> {
        // A byte-order mark stands before the text.
        let shift = content.len() - source.bytes.len();
        let session = source.session().map(SessionRef::of);
        let mut plan = RepairPlan {
            content,
            packing,
            patches: Vec::new(),
            applied: Vec::new(),
            offsets: Vec::new(),
            steps: 0,
            losses: RepairLosses::default(),
            before: 0,
            session,
        };
        for document in &source.documents {
            plan.add(document, shift, source.bytes.len());
        }
        plan.find_places(source.text);
        plan
    }

    /// A session is the whole file, `length` bytes of it.
    fn add(&mut self, document: &InputDocument<'a>, shift: usize, length: usize) {
        let draft = document.draft();
        let (length, mut repair, rewritten) = match &document.body {
            DocumentBody::Wire(_) => {
                (draft.source.len(), foxwedge_core::repair(draft, &document.check_options), None)
            }
            DocumentBody::Session(session) => {
                let (rewritten, repair) = session.fix(&document.check_options);
                (length, repair, Some(rewritten))
            }
        };
        self.before += repair.before.total();
        if repair.is_untouched() {
            return;
        }
        let start = shift + document.offset;
        self.losses.add(&repair.losses(draft));
        let edits: EditLog = std::mem::take(&mut repair.edits);
        self.steps += edits.len();
        let patch = match (&document.body, rewritten) {
            (DocumentBody::Wire(reading), _) => {
                DocumentPatch::Wire(reading.clone(), Box::new(repair))
            }
            (DocumentBody::Session(_), rewritten) => DocumentPatch::Session(
                rewritten.unwrap_or_else(|| RewrittenFile::unchanged(self.content)),
            ),
        };
        self.patches.push((start, start + length, patch));
        let room = MAX_APPLIED.saturating_sub(self.applied.len());
        let message = |edit: &Edit| draft.messages.get(edit.message);
        let offset = |edit: &Edit| message(edit).map(|at| document.offset + at.span.start as usize);
        self.offsets.extend(edits.iter().take(room).map(offset));
        let applied = |edit: Edit| {
            let role = role_at(draft, edit.message);
            AppliedEdit { edit, wire: draft.format, role, position: None, line: document.line }
        };
        self.applied.extend(edits.into_iter().take(room).map(applied));
    }

    /// Gives each step the place of its message.
    fn find_places(&mut self, text: &str) {
        let known: Vec<usize> = self.offsets.iter().map(|offset| offset.unwrap_or(0)).collect();
        let found = positions(text, &known);
        for ((applied, offset), found) in self.applied.iter_mut().zip(&self.offsets).zip(found) {
            applied.position = offset.map(|_| found);
        }
    }

    /// Whether nothing would change.
    pub(crate) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// Writes the repaired target, packed as it was.
    pub(crate) fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.packing == FileCompression::Plain {
            return self.write_pieces(out);
        }
        let mut plain = Vec::with_capacity(self.content.len());
        self.write_pieces(&mut plain)?;
        out.write_all(&self.packing.compress(plain))
    }

    fn write_pieces(&self, mut out: &mut dyn Write) -> io::Result<()> {
        let mut done = 0;
        for (start, end, patch) in &self.patches {
            out.write_all(self.content.get(done..*start).unwrap_or_default())?;
            match patch {
                DocumentPatch::Wire(reading, repair) => reading.apply(repair).write_to(&mut out)?,
                DocumentPatch::Session(rewritten) => rewritten.write_to(&mut out)?,
            }
            done = *end;
        }
        out.write_all(self.content.get(done..).unwrap_or_default())
    }

    /// The plan without what is needed to write it.
    fn without_patches(self) -> RepairPlan<'a> {
        RepairPlan { patches: Vec::new(), ..self }
    }

    /// What is to be said after the repair.
    fn into_report(self, mut after: FileReport) -> FileReport {
        after.fixed = self.before.saturating_sub(after.counts.total());
        after.applied = self.applied;
        after.losses = self.losses;
        after.steps = self.steps;
        after
    }
}

/// Repairs a file in place. The plan was made for the snapshot's content.
pub(crate) fn repair_file(
    snapshot: &FileSnapshot,
    plan: RepairPlan<'_>,
    manner: InputHint,
    ask: &CheckSettings,
    look: ReportDetail,
) -> anyhow::Result<FileReport> {
    let ask = &ask.for_session(plan.session.as_ref());
    let session = plan.session.clone();
    let mut told = None;
    // What was read is not needed any more when the result is written, and goes before that is
    // read again.
    let write = |out: &mut dyn Write| {
        plan.write_to(out)?;
        told = Some(plan.without_patches());
        Ok(())
    };
    let after = replace_file(snapshot, session.as_ref(), write, manner, ask, look)?;
    Ok(told.map_or_else(FileReport::default, |plan| plan.into_report(after)))
}

/// Puts new content in the place of a file that nobody else writes: proven first, and what it
/// replaces is kept. Says what is left to find in it, and where the backup lies.
pub(crate) fn replace_file(
    snapshot: &FileSnapshot,
    session: Option<&SessionRef>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    manner: InputHint,
    ask: &CheckSettings,
    look: ReportDetail,
) -> anyhow::Result<FileReport> {
    snapshot.check_writable()?;
    let claim = FileLock::acquire(&snapshot.path)?;
    let _idle = check_idle(&snapshot.path, &snapshot.metadata, session)?;
    let backups = BackupFolder::locate()?;
    let mut proven = None;
    let prepare = |fresh: &Path, after| {
        let written = fs::read(fresh).context("the repaired file cannot be read again")?;
        let judged = verify(&written, manner, ask, look);
        proven = Some(judged.context("the repair did not hold, and the file is as it was")?);
        backups.save_copy(&snapshot.path, &snapshot.content, after).map(Some)
    };
    let backup = replace(snapshot, write, prepare)?;
    let mut judged = proven.unwrap_or_default();
    judged.backup = backup.map(|backup| backup.content);
    judged.notes.extend(claim.notes());
    Ok(judged)
}

/// Repairs stdin to memory, and proves it as a file is proven.
pub(crate) fn repair_stream(
    plan: RepairPlan<'_>,
    manner: InputHint,
    ask: &CheckSettings,
    look: ReportDetail,
) -> anyhow::Result<(Vec<u8>, FileReport)> {
    let ask = &ask.for_session(plan.session.as_ref());
    let mut written = Vec::with_capacity(plan.content.len());
    plan.write_to(&mut written)?;
    let plan = plan.without_patches();
    let after = verify(&written, manner, ask, look).context("the repair did not hold")?;
    Ok((written, plan.into_report(after)))
}

/// Reads repaired bytes again: what could be fixed has to be gone.
pub(crate) fn verify(
    written: &[u8],
    manner: InputHint,
    ask: &CheckSettings,
    look: ReportDetail,
) -> anyhow::Result<FileReport> {
    let plain = decompress(written)?;
    let unread = |message: &str| CliError::new(format!("the result cannot be read: {message}"));
    let text = decode_text(&plain).map_err(|failure| unread(&failure.message))?;
    let source = match parse_input(&text, manner, ask) {
        Ok(source) => source,
        Err(InputRejection::Skipped) => bail!("the result is no conversation"),
        Err(InputRejection::Failed(failure)) => bail!(unread(&failure.message)),
    };
    let judged = build_file_report(&source, look);
    match judged.findings.iter().find(|found| found.is_fixable(ask.allows_unsafe_fixes())) {
        None => Ok(judged),
        Some(left) => bail!(
            CliError::new(format!(
                "{} is still there at {}: {}",
                left.finding.rule.label(),
                left.message(),
                left.finding.message
            ))
            .help("this is a defect of foxwedge; please report it with the shape of the history")
        ),
    }
}
