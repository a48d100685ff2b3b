//! Makes a repair, or takes it back, on the way of `fix` and `undo`: claimed, proven idle, proven
//! to hold, backed up, replaced in one step.

use std::fs;

use foxwedge_gateway::console::Refusal;
use serde_json::{Value, json};

use super::{LARGEST, Place, busy, opened, plan, unread, with_source};
use crate::{
    agents,
    command::undo,
    disk::{Fingerprint, Snapshot, Standing},
    judge::{Look, judge},
    mend::{self, Plan},
    outcome::Judged,
    screen::tilde,
    source::{Packing, sitting, unpacked_within},
};

/// Makes the repair of that very plan.
pub(super) fn repair(place: &Place, wanted: &str) -> Result<Value, Refusal> {
    place.check_size()?;
    let snapshot = Snapshot::take(&place.entry.path).map_err(unread)?;
    let plain = unpacked_within(&snapshot.content, LARGEST).map_err(|error| super::told(&error))?;
    let ask = place.ask(&plain)?;
    let manner = place.manner();
    let done = with_source(&plain, manner, &ask, |source| {
        let plan = Plan::new(&plain, Packing::of(&snapshot.content), source);
        if plan.is_empty() {
            return Err(Refusal::NothingToRepair);
        }
        // Other bytes have another name, and other rules make other bytes.
        if plan::name(&snapshot.content, &plan::written(&plan)?) != wanted {
            return Err(Refusal::Changed);
        }
        let session = judge(source, Look::default()).session;
        if let Some(who) = busy(&snapshot.path, session.as_ref()) {
            return Err(Refusal::Live(who));
        }
        mend::file(&snapshot, plan, manner, &ask, Look::default())
            .map_err(|error| failed(&error, &snapshot))
    });
    let judged: Judged = done??;
    let looked = opened::looked(&judged);
    let backup = judged
        .backup
        .as_ref()
        .map(|path| tilde(&path.to_string_lossy(), agents::home().as_deref()));
    Ok(json!({
        "applied": judged.applied.len(),
        "fixed": judged.fixed,
        "left": looked.findings,
        "backup": backup,
    }))
}

/// Puts back what the last repair replaced.
pub(super) fn undo(place: &Place) -> Result<(), Refusal> {
    place.check_size()?;
    let snapshot = Snapshot::take(&place.entry.path).map_err(unread)?;
    let now = Fingerprint::of(&snapshot.content);
    let found = undo::latest(&snapshot.path, &now).map_err(|error| failed(&error, &snapshot))?;
    match found {
        None | Some((_, Standing::Unmade | Standing::Undone)) => {
            return Err(Refusal::NothingToUndo);
        }
        Some((_, Standing::Changed)) => return Err(Refusal::ChangedSince),
        Some((_, Standing::Made)) => {}
    }
    if let Some(who) = busy(&snapshot.path, sitting(&snapshot.content).as_ref()) {
        return Err(Refusal::Live(who));
    }
    undo::one(&snapshot.path).map_err(|error| failed(&error, &snapshot))
}

/// Whether the last repair of a session can be taken back.
pub(super) fn undoable(place: &Place) -> Value {
    let none = json!({ "available": false, "at": null, "standing": null });
    let (Ok(real), Ok(now)) =
        (fs::canonicalize(&place.entry.path), Fingerprint::of_file(&place.entry.path))
    else {
        return none;
    };
    let Ok(Some((at, standing))) = undo::latest(&real, &now) else {
        return none;
    };
    let (available, word) = match standing {
        Standing::Made => (true, Some("made")),
        Standing::Changed => (false, Some("changed")),
        Standing::Unmade | Standing::Undone => (false, None),
    };
    json!({ "available": available, "at": at.saturating_mul(1_000), "standing": word })
}

/// How the file is now.
pub(super) fn after(place: &Place, told: &mut Value) {
    let judged = place.read().and_then(|content| {
        place.with_source(&content, |source| opened::looked(&judge(source, Look::default())))
    });
    let health = judged.map_or("unreadable", |looked| looked.health.name());
    told["version"] = json!(place.version());
    told["health"] = json!(health);
    told["undo"] = undoable(place);
}

/// What went wrong, in the one word that a caller can act upon.
fn failed(error: &anyhow::Error, snapshot: &Snapshot) -> Refusal {
    if let Some(who) = busy(&snapshot.path, sitting(&snapshot.content).as_ref()) {
        return Refusal::Live(who);
    }
    let same = Fingerprint::of_file(&snapshot.path)
        .is_ok_and(|now| now == Fingerprint::of(&snapshot.content));
    if same { Refusal::Failed(format!("{error:#}")) } else { Refusal::Changed }
}
