//! Repairs: planned first, written as a whole, read again and judged again.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, bail};
use foxwedge_dialect::Patched;

use crate::{
    ask::Ask,
    disk::{Backup, Backups, Snapshot, replace},
    judge::{Look, judge},
    outcome::{Applied, Judged},
    say::Trouble,
    source::{Closed, Document, Manner, Source, open},
};

/// What a repair of one target would do.
pub(crate) struct Plan<'a> {
    /// All bytes of the target; what no patch covers is copied.
    content: &'a [u8],
    /// Repaired documents, by where they begin and end in the content.
    patches: Vec<(usize, usize, Patched<'a>)>,
    applied: Vec<Applied>,
    /// Findings before the repair.
    before: usize,
}

impl<'a> Plan<'a> {
    /// Plans the repair of every document that needs one.
    pub(crate) fn new(content: &'a [u8], source: &Source<'a>) -> Plan<'a> {
        // A byte-order mark stands before the text.
        let shift = content.len() - source.text.len();
        let mut plan = Plan { content, patches: Vec::new(), applied: Vec::new(), before: 0 };
        for document in &source.documents {
            plan.add(document, shift);
        }
        plan
    }

    fn add(&mut self, document: &Document<'a>, shift: usize) {
        let draft = &document.reading.draft;
        let (patched, repair) = document.reading.fix(&document.question);
        self.before += repair.before.findings.len();
        if repair.is_untouched() {
            return;
        }
        let start = shift + document.base;
        self.patches.push((start, start + draft.source.len(), patched));
        let applied = |edit| Applied { edit, wire: draft.wire, line: document.line };
        self.applied.extend(repair.edits.into_iter().map(applied));
    }

    /// Whether nothing would change.
    pub(crate) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// Writes the repaired target, piece by piece.
    pub(crate) fn write_to(&self, mut out: &mut dyn Write) -> io::Result<()> {
        let mut done = 0;
        for (start, end, patched) in &self.patches {
            out.write_all(self.content.get(done..*start).unwrap_or_default())?;
            patched.write_to(&mut out)?;
            done = *end;
        }
        out.write_all(self.content.get(done..).unwrap_or_default())
    }

    /// What is to be said after the repair.
    fn told(self, mut after: Judged) -> Judged {
        after.fixed = self.before.saturating_sub(after.findings.len());
        after.applied = self.applied;
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
    snapshot.check_writable()?;
    let mut backup = Backups::locate()?.keep(&snapshot.path, &snapshot.content)?;
    let after = match replace(snapshot, |out| plan.write_to(out)) {
        Ok(after) => after,
        Err(error) => {
            backup.discard();
            return Err(error);
        }
    };
    backup.done(after)?;
    let written = fs::read(&snapshot.path).context("the repaired file cannot be read again")?;
    match verify(&written, manner, ask, look) {
        Ok(after) => {
            let mut judged = plan.told(after);
            judged.backup = Some(backup.content);
            Ok(judged)
        }
        Err(error) => {
            roll_back(&snapshot.path, &mut backup)?;
            Err(error.context("the repair did not hold, and the file is as it was"))
        }
    }
}

/// Repairs stdin to memory, and proves it as a file is proven.
pub(crate) fn filter(
    plan: Plan<'_>,
    manner: Manner,
    ask: &Ask,
    look: Look,
) -> anyhow::Result<(Vec<u8>, Judged)> {
    let mut written = Vec::with_capacity(plan.content.len());
    plan.write_to(&mut written)?;
    let after = verify(&written, manner, ask, look).context("the repair did not hold")?;
    Ok((written, plan.told(after)))
}

/// Reads repaired bytes again: what could be fixed has to be gone.
fn verify(written: &[u8], manner: Manner, ask: &Ask, look: Look) -> anyhow::Result<Judged> {
    let source = match open(written, manner, ask) {
        Ok(source) => source,
        Err(Closed::Skipped) => bail!("the result is no conversation"),
        Err(Closed::Failed(failure)) => bail!("the result cannot be read: {}", failure.message),
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

/// Puts the copied content back.
pub(crate) fn roll_back(path: &Path, backup: &mut Backup) -> anyhow::Result<()> {
    let trouble = || {
        Trouble::new("the file could not be put back")
            .help(format!("what it held is in `{}`", backup.content.display()))
    };
    let now = Snapshot::take(path).with_context(trouble)?;
    let mut kept = fs::File::open(&backup.content).with_context(trouble)?;
    replace(&now, |mut out| io::copy(&mut kept, &mut out).map(drop)).with_context(trouble)?;
    backup.undone()
}
