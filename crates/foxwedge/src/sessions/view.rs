//! One view of a session: the file as it stands, or as a repair would leave it.

use std::{borrow::Cow, io};

use anyhow::{Context, bail};
use foxwedge_core::{Applicability, EditLog, Finding, Repair, Report};
use foxwedge_dialect::session::Text;

use super::{Health, Loaded};
use crate::{
    cli::View,
    say::{self, Trouble, clean},
    source::{Body, Document},
};

/// One view of a conversation: a whole file, and what was done to get there.
pub(crate) struct Viewed<'l> {
    loaded: &'l Loaded,
    content: Cow<'l, [u8]>,
    /// What is wrong with the file as it stands.
    pub(crate) report: Report,
    /// What its agent copes with.
    pub(crate) coped: Vec<Finding>,
    health: Health,
    /// What the repair did; nothing in the raw view.
    pub(crate) edits: EditLog,
}

impl Loaded {
    /// The wanted view. A clean one is proven: nothing is left in it that could be repaired.
    pub(crate) fn view(&self) -> anyhow::Result<Viewed<'_>> {
        let text = self.text(&self.content)?;
        let (document, notes) = self.read(&text)?;
        notes.iter().for_each(|note| say::note(&clean(note)));
        if let crate::source::Body::Session(session) = &document.body {
            crate::diagnose::session(&self.shown, session);
        }
        if self.strict {
            self.refuse_damaged(&document)?;
        }
        let mut viewed = Viewed {
            loaded: self,
            content: Cow::Borrowed(&self.content),
            health: document.health(),
            coped: document.coped.clone(),
            report: Report::default(),
            edits: EditLog::default(),
        };
        if self.view == View::Raw {
            viewed.report = document.report();
            return Ok(viewed);
        }
        let (content, repair) = repaired(&document)?;
        if let Body::Session(session) = &document.body {
            crate::diagnose::dropped(&self.shown, session, &repair);
        }
        viewed.report = repair.before;
        if !repair.edits.is_empty() {
            viewed.content = Cow::Owned(content);
            viewed.edits = repair.edits;
            viewed.prove()?;
        }
        Ok(viewed)
    }
}

impl Loaded {
    /// Refuses a session in which anything is wrong.
    fn refuse_damaged(&self, document: &Document<'_>) -> Result<(), Trouble> {
        let report = document.report();
        let Some(first) = report.findings.first() else { return Ok(()) };
        let more = match report.total() - 1 {
            0 => String::new(),
            more => format!(" (and {} more)", say::count(more, "finding")),
        };
        let (code, what) = (first.rule.label(), clean(&first.message));
        Err(Trouble::new(format!("{}: {code}: {what}{more}", clean(&self.shown)))
            .help("--strict refuses it; without it the session is repaired in memory"))
    }
}

impl Viewed<'_> {
    /// The file of this view, readable.
    pub(crate) fn text(&self) -> anyhow::Result<Text<'_>> {
        self.loaded.text(&self.content)
    }

    /// The conversation of this view.
    pub(crate) fn document<'a>(&self, text: &'a Text<'_>) -> anyhow::Result<Document<'a>> {
        Ok(self.loaded.read(text)?.0)
    }

    /// Reads the repaired file again: what could be repaired has to be gone.
    fn prove(&self) -> anyhow::Result<()> {
        let text = self.text()?;
        let again = self.document(&text).context("the repair did not hold")?;
        let Some(left) = again.report().findings.into_iter().find(is_repaired) else {
            return Ok(());
        };
        bail!(
            Trouble::new(format!(
                "{} is still there after the repair: {}",
                left.rule.label(),
                clean(&left.message)
            ))
            .help(
                "this is a defect of foxwedge; please report it with the shape of the history. \
                 `--view raw` shows the session as it stands"
            )
        )
    }

    /// How the file is as it stands.
    pub(crate) fn health(&self) -> Health {
        self.health
    }
}

/// What a repair makes of a document, and what was done.
fn repaired<'a>(document: &Document<'a>) -> io::Result<(Vec<u8>, Repair<'a>)> {
    let mut content = Vec::new();
    let repair = match &document.body {
        Body::Wire(reading) => {
            let (patched, repair) = reading.fix(&document.question);
            patched.write_to(&mut content)?;
            repair
        }
        Body::Session(session) => {
            let (rewritten, repair) = session.fix(&document.question);
            rewritten.write_to(&mut content)?;
            repair
        }
    };
    Ok((content, repair))
}

/// Whether a repair takes care of a finding unasked.
pub(super) fn is_repaired(finding: &Finding) -> bool {
    finding.fix.applicability == Applicability::Safe
}
