//! What a repair of a session would do: the same plan that `fix` makes, shown instead of made.

use std::{collections::BTreeMap, fs};

use foxwedge_core::{Edit, EditLog, rules};
use foxwedge_gateway::console::{Health, Page, Refusal};
use serde_json::{Value, json};

use super::{
    LARGEST, Place, Stamp,
    opened::{self, Rows},
    rows::{self, Row, word},
    told::{self, Answers},
    view::View,
    with_source,
};
use crate::{
    ask::Ask,
    disk::Fingerprint,
    judge::{Look, judge},
    mend::Plan,
    outcome::{Judged, Sitting},
    source::{Body, Packing, Source, unpacked_within},
};

/// Edits that are listed.
const EDITS: usize = 1_000;

/// What a repair would do.
pub(super) struct Planned {
    pub(super) stamp: Stamp,
    version: String,
    /// The name of this very plan; `None` if nothing would change.
    pub(super) name: Option<String>,
    pub(super) edits: EditLog,
    pub(super) before: Side,
    pub(super) after: Side,
    pub(super) rows: Vec<Row>,
    sitting: Option<Sitting>,
}

/// The session before or after.
pub(super) struct Side {
    pub(super) view: View,
    pub(super) bytes: u64,
    pub(super) health: Health,
    pub(super) findings: BTreeMap<String, usize>,
}

impl Planned {
    /// Plans the repair of a session.
    pub(super) fn make(place: &Place) -> Result<Planned, Refusal> {
        place.check_size()?;
        let content = fs::read(&place.entry.path).map_err(super::unread)?;
        let plain = unpacked_within(&content, LARGEST).map_err(|error| super::told(&error))?;
        let ask = place.ask(&plain)?;
        let planned = with_source(&plain, place.manner(), &ask, |source| {
            Planned::of(place, &content, &plain, source, &ask)
        });
        planned?
    }

    fn of(
        place: &Place,
        content: &[u8],
        plain: &[u8],
        source: &Source<'_>,
        ask: &Ask,
    ) -> Result<Planned, Refusal> {
        let none = || Refusal::Unreadable("there is no conversation in it".into());
        let document = source.documents.first().ok_or_else(none)?;
        let judged = judge(source, Look::default());
        let before = Side::new(View::of(document)?, content.len(), &judged);
        let plan = Plan::new(plain, Packing::of(content), source);
        let repair = match &document.body {
            Body::Wire(reading) => reading.fix(&document.question).1,
            Body::Session(session) => session.fix(&document.question).1,
        };
        let origins: Vec<Option<usize>> = repair.slots.iter().map(|slot| slot.origin).collect();
        let written = written(&plan)?;
        let ask = ask.as_read(judged.session.as_ref());
        let fresh = unpacked_within(&written, LARGEST).map_err(|error| super::told(&error))?;
        let after = with_source(&fresh, place.manner(), &ask, |source| {
            let document = source.documents.first().ok_or_else(none)?;
            let left = judge(source, Look::default());
            Ok::<_, Refusal>(Side::new(View::of(document)?, written.len(), &left))
        })??;
        let rows = rows::rows(&before.view, &after.view, &origins, &repair.edits);
        Ok(Planned {
            stamp: place.stamp,
            version: place.version(),
            name: (!plan.is_empty()).then(|| name(content, &written)),
            edits: repair.edits,
            before,
            after,
            rows,
            sitting: judged.session,
        })
    }

    pub(super) fn sitting(&self) -> Option<&Sitting> {
        self.sitting.as_ref()
    }

    /// A page of it.
    pub(super) fn told(&self, page: Page) -> Value {
        let from = page.first(self.rows.len());
        let mut rows = Rows::new(from);
        for row in self.rows.iter().skip(from) {
            if rows.is_full(page) {
                break;
            }
            rows.next += 1;
            rows.push(self.row(row));
        }
        let mut told = rows.told(self.rows.len(), &self.version);
        let (before, after) = (&self.before, &self.after);
        told["plan"] = json!(self.name);
        told["changes"] = json!(self.name.is_some());
        told["health"] = json!({ "before": before.health.name(), "after": after.health.name() });
        told["findings"] = json!({ "before": before.findings, "after": after.findings });
        told["messages"] = json!({ "before": before.view.len(), "after": after.view.len() });
        told["bytes"] = json!({ "before": before.bytes, "after": after.bytes });
        told["edits"] = self.edits.iter().take(EDITS).enumerate().map(edit).collect();
        told["edits_total"] = json!(self.edits.len());
        told
    }

    fn row(&self, row: &Row) -> Value {
        let old = |at: usize| told::message(&self.before.view, at, Answers::AtHome);
        let new = |at: usize| told::message(&self.after.view, at, Answers::AtHome);
        match row {
            Row::Gap { before, after, count } => {
                json!({ "kind": "gap", "count": count, "before": before, "after": after })
            }
            Row::Kept { before, after } => json!({
                "kind": "kept",
                "before": old(*before),
                "after": { "index": after, "same": true },
                "edits": [],
            }),
            Row::Changed { before, after, edits } => json!({
                "kind": "changed",
                "before": old(*before),
                "after": new(*after),
                "edits": edits,
            }),
            Row::Removed { before, edits } => json!({
                "kind": "removed",
                "before": old(*before),
                "after": null,
                "edits": edits,
            }),
            Row::Added { after, edits } => json!({
                "kind": "added",
                "before": null,
                "after": new(*after),
                "edits": edits,
            }),
        }
    }
}

impl Side {
    fn new(view: View, bytes: usize, judged: &Judged) -> Side {
        let looked = opened::looked(judged);
        Side { view, bytes: bytes as u64, health: looked.health, findings: looked.findings }
    }
}

/// What the file would hold.
pub(super) fn written(plan: &Plan<'_>) -> Result<Vec<u8>, Refusal> {
    let mut written = Vec::new();
    plan.write_to(&mut written).map_err(|error| Refusal::Failed(error.to_string()))?;
    Ok(written)
}

/// The name of a plan: of these bytes, becoming those bytes.
pub(super) fn name(before: &[u8], after: &[u8]) -> String {
    let [before, after] = [before, after].map(Fingerprint::of);
    format!("{}-{}-{}-{}", before.bytes, before.hash, after.bytes, after.hash)
}

fn edit((index, edit): (usize, &Edit)) -> Value {
    let rule = rules::ALL.iter().find(|rule| rule.code == edit.code);
    json!({
        "index": index,
        "code": format!("FW{}", edit.code),
        "name": rule.map(|rule| rule.name),
        "summary": rule.map(|rule| rule.summary),
        "strategy": edit.strategy.name(),
        "word": word(edit.strategy),
        "message": edit.message,
        "calls": edit.ids,
        "note": edit.note,
    })
}
