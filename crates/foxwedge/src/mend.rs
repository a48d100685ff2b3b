//! Repairs: planned first, written as a whole, read again and judged again.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, bail};
use foxwedge_core::{Edit, EditLog, Repair, RepairLosses};
use foxwedge_dialect::{Reading, session::Rewritten};

use crate::{
    ask::Ask,
    disk::{Backups, Claim, Snapshot, check_idle, replace},
    judge::{Look, judge},
    outcome::{Applied, Judged, Sitting},
    place::positions,
    report::role_at,
    say::Trouble,
    source::{Body, Closed, Document, Manner, Packing, Source, open, text, unpacked},
};

/// Steps that are listed for one target; the rest is counted.
const APPLIED: usize = 20_000;

/// What a repair of one target would do.
pub(crate) struct Plan<'a> {
    /// All bytes of the target, unpacked; what no patch covers is copied.
    content: &'a [u8],
    /// How the target is kept.
    packing: Packing,
    /// Repaired documents, by where they begin and end in the content.
    patches: Vec<(usize, usize, Patch<'a>)>,
    applied: Vec<Applied>,
    /// Where the messages of these steps begin in the text.
    offsets: Vec<Option<usize>>,
    /// What the repair costs.
    losses: RepairLosses,
    /// Steps of all repairs, listed or not.
    steps: usize,
    /// Findings before the repair.
    before: usize,
    /// The session it is, if it is the file of one.
    session: Option<Sitting>,
}

/// A repaired document.
enum Patch<'a> {
    /// What was read, and its repair: written anew whenever it is asked for.
    Wire(Arc<Reading<'a>>, Box<Repair<'a>>),
    Session(Rewritten<'a>),
}

impl<'a> Plan<'a> {
    /// Plans the repair of every document that needs one.
    pub(crate) fn new(content: &'a [u8], packing: Packing, source: &Source<'a>) -> Plan<'a> {
        // A byte-order mark stands before the text.
        let shift = content.len() - source.bytes.len();
        let session = source.session().map(Sitting::of);
        let mut plan = Plan {
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
    fn add(&mut self, document: &Document<'a>, shift: usize, length: usize) {
        let draft = document.draft();
        let (length, mut repair, rewritten) = match &document.body {
            Body::Wire(_) => {
                (draft.source.len(), foxwedge_core::repair(draft, &document.question), None)
            }
            Body::Session(session) => {
                let (rewritten, repair) = session.fix(&document.question);
                (length, repair, Some(rewritten))
            }
        };
        self.before += repair.before.total();
        if repair.is_untouched() {
            return;
        }
        let start = shift + document.base;
        self.losses.add(&repair.losses(draft));
        let edits: EditLog = std::mem::take(&mut repair.edits);
        self.steps += edits.len();
        let patch = match (&document.body, rewritten) {
            (Body::Wire(reading), _) => Patch::Wire(reading.clone(), Box::new(repair)),
            (Body::Session(_), rewritten) => {
                Patch::Session(rewritten.unwrap_or_else(|| Rewritten::whole(self.content)))
            }
        };
        self.patches.push((start, start + length, patch));
        let room = APPLIED.saturating_sub(self.applied.len());
        let message = |edit: &Edit| draft.messages.get(edit.message);
        let offset = |edit: &Edit| message(edit).map(|at| document.base + at.span.start as usize);
        self.offsets.extend(edits.iter().take(room).map(offset));
        let applied = |edit: Edit| {
            let role = role_at(draft, edit.message);
            Applied { edit, wire: draft.wire, role, position: None, line: document.line }
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
        if self.packing == Packing::Plain {
            return self.pieces(out);
        }
        let mut plain = Vec::with_capacity(self.content.len());
        self.pieces(&mut plain)?;
        out.write_all(&self.packing.pack(plain))
    }

    fn pieces(&self, mut out: &mut dyn Write) -> io::Result<()> {
        let mut done = 0;
        for (start, end, patch) in &self.patches {
            out.write_all(self.content.get(done..*start).unwrap_or_default())?;
            match patch {
                Patch::Wire(reading, repair) => reading.apply(repair).write_to(&mut out)?,
                Patch::Session(rewritten) => rewritten.write_to(&mut out)?,
            }
            done = *end;
        }
        out.write_all(self.content.get(done..).unwrap_or_default())
    }

    /// The plan without what is needed to write it.
    fn written(self) -> Plan<'a> {
        Plan { patches: Vec::new(), ..self }
    }

    /// What is to be said after the repair.
    fn told(self, mut after: Judged) -> Judged {
        after.fixed = self.before.saturating_sub(after.counts.total());
        after.applied = self.applied;
        after.losses = self.losses;
        after.steps = self.steps;
        after
    }
}

/// Repairs a file in place. The plan was made for the snapshot's content.
pub(crate) fn file(
    snapshot: &Snapshot,
    plan: Plan<'_>,
    manner: Manner,
    ask: &Ask,
    look: Look,
) -> anyhow::Result<Judged> {
    let ask = &ask.as_read(plan.session.as_ref());
    let session = plan.session.clone();
    let mut told = None;
    // What was read is not needed any more when the result is written, and goes before that is
    // read again.
    let write = |out: &mut dyn Write| {
        plan.write_to(out)?;
        told = Some(plan.written());
        Ok(())
    };
    let after = exchange(snapshot, session.as_ref(), write, manner, ask, look)?;
    Ok(told.map_or_else(Judged::default, |plan| plan.told(after)))
}

/// Puts new content in the place of a file that nobody else writes: proven first, and what it
/// replaces is kept. Says what is left to find in it, and where the backup lies.
pub(crate) fn exchange(
    snapshot: &Snapshot,
    session: Option<&Sitting>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    manner: Manner,
    ask: &Ask,
    look: Look,
) -> anyhow::Result<Judged> {
    snapshot.check_writable()?;
    let claim = Claim::take(&snapshot.path)?;
    let _idle = check_idle(&snapshot.path, &snapshot.metadata, session)?;
    let backups = Backups::locate()?;
    let mut proven = None;
    let prepare = |fresh: &Path, after| {
        let written = fs::read(fresh).context("the repaired file cannot be read again")?;
        let judged = verify(&written, manner, ask, look);
        proven = Some(judged.context("the repair did not hold, and the file is as it was")?);
        backups.keep(&snapshot.path, &snapshot.content, after).map(Some)
    };
    let backup = replace(snapshot, write, prepare)?;
    let mut judged = proven.unwrap_or_default();
    judged.backup = backup.map(|backup| backup.content);
    judged.notes.extend(claim.notes());
    Ok(judged)
}

/// Repairs stdin to memory, and proves it as a file is proven.
pub(crate) fn filter(
    plan: Plan<'_>,
    manner: Manner,
    ask: &Ask,
    look: Look,
) -> anyhow::Result<(Vec<u8>, Judged)> {
    let ask = &ask.as_read(plan.session.as_ref());
    let mut written = Vec::with_capacity(plan.content.len());
    plan.write_to(&mut written)?;
    let plan = plan.written();
    let after = verify(&written, manner, ask, look).context("the repair did not hold")?;
    Ok((written, plan.told(after)))
}

/// Reads repaired bytes again: what could be fixed has to be gone.
pub(crate) fn verify(
    written: &[u8],
    manner: Manner,
    ask: &Ask,
    look: Look,
) -> anyhow::Result<Judged> {
    let plain = unpacked(written)?;
    let unread = |message: &str| Trouble::new(format!("the result cannot be read: {message}"));
    let text = text(&plain).map_err(|failure| unread(&failure.message))?;
    let source = match open(&text, manner, ask) {
        Ok(source) => source,
        Err(Closed::Skipped) => bail!("the result is no conversation"),
        Err(Closed::Failed(failure)) => bail!(unread(&failure.message)),
    };
    let judged = judge(&source, look);
    match judged.findings.iter().find(|found| found.is_fixable(ask.is_bold())) {
        None => Ok(judged),
        Some(left) => bail!(
            Trouble::new(format!(
                "{} is still there at {}: {}",
                left.finding.rule.label(),
                left.message(),
                left.finding.message
            ))
            .help("this is a defect of foxwedge; please report it with the shape of the history")
        ),
    }
}
