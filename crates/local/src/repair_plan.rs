//! Plans repairs, writes them atomically, and verifies the result.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, bail};
use foxwedge_core::{Edit, EditLog, Repair, RepairLosses};
use foxwedge_formats::OutlinedDocument;
use foxwedge_sessions::{RewrittenFile, SessionAgent};

use crate::{
    check_settings::CheckSettings,
    database::replace_session,
    disk::{BackupFolder, FileLock, FileSnapshot, check_idle, replace},
    findings::{ReportDetail, build_file_report},
    message_row::role_at,
    outcome::{AppliedEdit, FileReport, SessionRef},
    output::HelpfulError,
    positions::positions,
    source::{
        DocumentBody, FileCompression, InputDocument, InputHint, InputRejection, ParsedInput,
        decode_text, decompress, parse_input,
    },
    user_folders::UserFolders,
};

/// Edits that are listed for one target. The others are only counted.
const MAX_APPLIED: usize = 20_000;

/// The planned repair of one target.
pub struct RepairPlan<'a> {
    /// The decompressed content of the target. Parts without a patch are copied.
    content: &'a [u8],
    /// Compression of the target.
    compression: FileCompression,
    /// Repaired documents with their start and end in the content.
    patches: Vec<(usize, usize, DocumentPatch<'a>)>,
    applied: Vec<AppliedEdit>,
    /// Where the message of each edit begins in the text.
    offsets: Vec<Option<usize>>,
    /// Content that the repair loses.
    losses: RepairLosses,
    /// Number of all edits, listed or not.
    steps: usize,
    /// Number of findings before the repair.
    before: usize,
    /// The session, if the target is a session file.
    session: Option<SessionRef>,
}

/// A repaired document.
enum DocumentPatch<'a> {
    /// The parsed document and its repair. Encoded on each write.
    Wire(Arc<OutlinedDocument<'a>>, Box<Repair<'a>>),
    Session(RewrittenFile<'a>),
}

impl<'a> RepairPlan<'a> {
    /// Plans the repair of every document that needs one.
    pub fn new(
        content: &'a [u8],
        compression: FileCompression,
        source: &ParsedInput<'a>,
    ) -> RepairPlan<'a> {
        // Length of a byte-order mark before the text.
        let shift = content.len() - source.bytes.len();
        let session = source.session().map(SessionRef::of);
        let mut plan = RepairPlan {
            content,
            compression,
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

    /// Adds the repair of a document. A session is the whole file of `length` bytes.
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

    /// Sets the position of each edit from its message.
    fn find_places(&mut self, text: &str) {
        let offsets: Vec<usize> = self.offsets.iter().map(|offset| offset.unwrap_or(0)).collect();
        let found = positions(text, &offsets);
        for ((applied, offset), found) in self.applied.iter_mut().zip(&self.offsets).zip(found) {
            applied.position = offset.map(|_| found);
        }
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// Writes the repaired target with its original compression.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.compression == FileCompression::Plain {
            return self.write_plain(out);
        }
        let mut plain = Vec::with_capacity(self.content.len());
        self.write_plain(&mut plain)?;
        out.write_all(&self.compression.compress(plain))
    }

    fn write_plain(&self, mut out: &mut dyn Write) -> io::Result<()> {
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

    /// Drops the patches, to free memory.
    fn without_patches(self) -> RepairPlan<'a> {
        RepairPlan { patches: Vec::new(), ..self }
    }

    /// Adds the edits of this plan to the report of the repaired target.
    fn into_report(self, mut after: FileReport) -> FileReport {
        after.fixed = self.before.saturating_sub(after.counts.total());
        after.applied = self.applied;
        after.losses = self.losses;
        after.steps = self.steps;
        after
    }
}

/// Repairs a file in place. The plan was made for the snapshot's content.
pub fn repair_file(
    folders: &UserFolders,
    snapshot: &FileSnapshot,
    plan: RepairPlan<'_>,
    hint: InputHint,
    settings: &CheckSettings,
    detail: ReportDetail,
) -> anyhow::Result<FileReport> {
    let settings = &settings.for_session(plan.session.as_ref());
    let session = plan.session.clone();
    let mut applied_plan = None;
    // The parsed documents are dropped after the write, before the result is read again.
    let write = |out: &mut dyn Write| {
        plan.write_to(out)?;
        applied_plan = Some(plan.without_patches());
        Ok(())
    };
    let after = replace_file(folders, snapshot, session.as_ref(), write, hint, settings, detail)?;
    Ok(applied_plan.map_or_else(FileReport::default, |plan| plan.into_report(after)))
}

/// Refuses an agent whose sessions are read and never written.
///
/// # Errors
/// The reason.
pub fn check_writable(agent: SessionAgent) -> Result<(), HelpfulError> {
    let Some(reason) = agent.read_only_reason() else { return Ok(()) };
    Err(HelpfulError::new(format!("sessions of {} are only read: {reason}", agent.name())).help(
        "nothing was changed; `foxwedge fork --to AGENT` writes the repaired history as a session of \
         another agent, `foxwedge resume` and `foxwedge export` as a document",
    ))
}

/// Replaces the content of a file that no other process writes. The new content is verified first,
/// and the old content is backed up. Returns the remaining findings and the path of the backup.
pub fn replace_file(
    folders: &UserFolders,
    snapshot: &FileSnapshot,
    session: Option<&SessionRef>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    hint: InputHint,
    settings: &CheckSettings,
    detail: ReportDetail,
) -> anyhow::Result<FileReport> {
    session.map_or(Ok(()), |session| check_writable(session.agent))?;
    let session = session.cloned().map(|session| session.at(&snapshot.path));
    snapshot.check_writable()?;
    let lock = FileLock::acquire(folders, &snapshot.path)?;
    let _idle = check_idle(folders, &snapshot.path, &snapshot.metadata, session.as_ref())?;
    let backups = BackupFolder::locate(folders)?;
    let mut verified = None;
    let mut prepare = |written: &[u8], after| {
        let report = verify(written, hint, settings, detail);
        verified = Some(report.context("the repair failed verification; the file is not changed")?);
        backups.save_copy(&snapshot.path, &snapshot.content, after).map(Some)
    };
    let backup = match &snapshot.session {
        Some(session) => replace_session(folders, session, &snapshot.content, write, prepare)?,
        None => replace(snapshot, write, |temporary: &Path, after| {
            let written = fs::read(temporary).context("the repaired file cannot be read again")?;
            prepare(&written, after)
        })?,
    };
    let mut report = verified.unwrap_or_default();
    report.backup = backup.map(|backup| backup.content);
    report.notes.extend(lock.notes());
    Ok(report)
}

/// Repairs stdin in memory, and verifies the result.
pub fn repair_stream(
    plan: RepairPlan<'_>,
    hint: InputHint,
    settings: &CheckSettings,
    detail: ReportDetail,
) -> anyhow::Result<(Vec<u8>, FileReport)> {
    let settings = &settings.for_session(plan.session.as_ref());
    let mut written = Vec::with_capacity(plan.content.len());
    plan.write_to(&mut written)?;
    let plan = plan.without_patches();
    let after =
        verify(&written, hint, settings, detail).context("the repair failed verification")?;
    Ok((written, plan.into_report(after)))
}

/// Parses repaired bytes again. Fails if a fixable finding is left.
pub fn verify(
    written: &[u8],
    hint: InputHint,
    settings: &CheckSettings,
    detail: ReportDetail,
) -> anyhow::Result<FileReport> {
    let plain = decompress(written)?;
    let read_error =
        |message: &str| HelpfulError::new(format!("the result cannot be read: {message}"));
    let text = decode_text(&plain).map_err(|failure| read_error(&failure.message))?;
    let source = match parse_input(&text, hint, settings) {
        Ok(source) => source,
        Err(InputRejection::Skipped) => bail!("the result is not a conversation"),
        Err(InputRejection::Failed(failure)) => bail!(read_error(&failure.message)),
    };
    let report = build_file_report(&source, detail);
    match report.findings.iter().find(|found| found.is_fixable(settings.allows_unsafe_fixes())) {
        None => Ok(report),
        Some(left) => bail!(
            HelpfulError::new(format!(
                "{} remains at {}: {}",
                left.finding.rule.label(),
                left.message(),
                left.finding.message
            ))
            .help("this is a bug in foxwedge; please report it with the structure of the history")
        ),
    }
}
