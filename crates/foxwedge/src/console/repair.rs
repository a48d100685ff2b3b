//! Makes a repair, or takes it back, on the way of `fix` and `undo`: claimed, proven idle, proven
//! to hold, backed up, replaced in one step.

use std::fs;

use foxwedge_gateway::console::LocalSessionError;
use serde_json::{Value, json};

use super::{
    ConsoleSessionFile, MAX_FILE_BYTES, busy_process, open_session, plan_preview,
    unreadable_refusal, with_source,
};
use crate::{
    agents,
    command::undo,
    disk::{BackupStanding, ContentFingerprint, FileSnapshot},
    findings::{ReportDetail, build_file_report},
    outcome::FileReport,
    repair_plan::{self, RepairPlan},
    screen::abbreviate_home,
    source::{FileCompression, decompress_within, identify_session},
};

/// Makes the repair of that very plan.
pub(super) fn apply_repair(
    place: &ConsoleSessionFile,
    wanted: &str,
) -> Result<Value, LocalSessionError> {
    place.check_size()?;
    let snapshot = FileSnapshot::take(&place.entry.path).map_err(unreadable_refusal)?;
    let plain = decompress_within(&snapshot.content, MAX_FILE_BYTES)
        .map_err(|error| super::error_refusal(&error))?;
    let ask = place.check_settings(&plain)?;
    let manner = place.input_hint();
    let done = with_source(&plain, manner, &ask, |source| {
        let plan = RepairPlan::new(&plain, FileCompression::of(&snapshot.content), source);
        if plan.is_empty() {
            return Err(LocalSessionError::NothingToRepair);
        }
        // Other bytes have another name, and other rules make other bytes.
        if plan_preview::plan_id(&snapshot.content, &plan_preview::planned_bytes(&plan)?) != wanted
        {
            return Err(LocalSessionError::Changed);
        }
        let session = build_file_report(source, ReportDetail::default()).session;
        if let Some(who) = busy_process(&snapshot.path, session.as_ref()) {
            return Err(LocalSessionError::Live(who));
        }
        repair_plan::repair_file(&snapshot, plan, manner, &ask, ReportDetail::default())
            .map_err(|error| failure_refusal(&error, &snapshot))
    });
    let judged: FileReport = done??;
    let looked = open_session::file_check_of(&judged);
    let backup = judged
        .backup
        .as_ref()
        .map(|path| abbreviate_home(&path.to_string_lossy(), agents::home_folder().as_deref()));
    Ok(json!({
        "applied": judged.applied.len(),
        "fixed": judged.fixed,
        "left": looked.findings,
        "backup": backup,
    }))
}

/// Puts back what the last repair replaced.
pub(super) fn undo_repair(place: &ConsoleSessionFile) -> Result<(), LocalSessionError> {
    place.check_size()?;
    let snapshot = FileSnapshot::take(&place.entry.path).map_err(unreadable_refusal)?;
    let now = ContentFingerprint::of(&snapshot.content);
    let found = undo::latest_fix(&snapshot.path, &now)
        .map_err(|error| failure_refusal(&error, &snapshot))?;
    match found {
        None | Some((_, BackupStanding::NotApplied | BackupStanding::Undone)) => {
            return Err(LocalSessionError::NothingToUndo);
        }
        Some((_, BackupStanding::Changed)) => return Err(LocalSessionError::ChangedSince),
        Some((_, BackupStanding::Applied)) => {}
    }
    if let Some(who) = busy_process(&snapshot.path, identify_session(&snapshot.content).as_ref()) {
        return Err(LocalSessionError::Live(who));
    }
    undo::undo_file(&snapshot.path).map_err(|error| failure_refusal(&error, &snapshot))
}

/// Whether the last repair of a session can be taken back.
pub(super) fn undo_json(place: &ConsoleSessionFile) -> Value {
    let none = json!({ "available": false, "at": null, "standing": null });
    let (Ok(real), Ok(now)) =
        (fs::canonicalize(&place.entry.path), ContentFingerprint::of_file(&place.entry.path))
    else {
        return none;
    };
    let Ok(Some((at, standing))) = undo::latest_fix(&real, &now) else {
        return none;
    };
    let (available, word) = match standing {
        BackupStanding::Applied => (true, Some("made")),
        BackupStanding::Changed => (false, Some("changed")),
        BackupStanding::NotApplied | BackupStanding::Undone => (false, None),
    };
    json!({ "available": available, "at": at.saturating_mul(1_000), "standing": word })
}

/// How the file is now.
pub(super) fn add_file_state(place: &ConsoleSessionFile, told: &mut Value) {
    let judged = place.read().and_then(|content| {
        place.with_source(&content, |source| {
            open_session::file_check_of(&build_file_report(source, ReportDetail::default()))
        })
    });
    let health = judged.map_or("unreadable", |looked| looked.health.name());
    told["version"] = json!(place.version());
    told["health"] = json!(health);
    told["undo"] = undo_json(place);
}

/// What went wrong, in the one word that a caller can act upon.
fn failure_refusal(error: &anyhow::Error, snapshot: &FileSnapshot) -> LocalSessionError {
    if let Some(who) = busy_process(&snapshot.path, identify_session(&snapshot.content).as_ref()) {
        return LocalSessionError::Live(who);
    }
    let same = ContentFingerprint::of_file(&snapshot.path)
        .is_ok_and(|now| now == ContentFingerprint::of(&snapshot.content));
    if same { LocalSessionError::Failed(format!("{error:#}")) } else { LocalSessionError::Changed }
}
