//! Applies and undoes repairs with the code of `fix` and `undo`: the file is locked, checked to be
//! idle, backed up and replaced atomically, and the repair is verified first.

use serde_json::{Value, json};

use super::{
    ConsoleSessionFile, LocalSessionError, MAX_FILE_BYTES, busy_process, open_session,
    plan_preview, unreadable_refusal, with_source,
};
use crate::{
    database,
    disk::{BackupStanding, ContentFingerprint, FileSnapshot},
    findings::{ReportDetail, build_file_report},
    outcome::{FileReport, SessionRef},
    repair_plan::{self, RepairPlan},
    screen::abbreviate_home,
    source::{FileCompression, decompress_within, identify_session},
    undo::{self, RestorableBackups},
};

/// Applies a repair. Fails if the current plan is not `expected_plan`.
pub(super) fn apply_repair(
    file: &ConsoleSessionFile,
    expected_plan: &str,
) -> Result<Value, LocalSessionError> {
    file.check_size()?;
    let snapshot = FileSnapshot::take(&file.entry.path).map_err(unreadable_refusal)?;
    let plain = decompress_within(&snapshot.content, MAX_FILE_BYTES)
        .map_err(|error| super::error_refusal(&error))?;
    let settings = file.check_settings(&plain)?;
    let hint = file.input_hint();
    let done = with_source(&plain, hint, &settings, |source| {
        let plan = RepairPlan::new(&plain, FileCompression::of(&snapshot.content), source);
        if plan.is_empty() {
            return Err(LocalSessionError::NothingToRepair);
        }
        // The plan id covers the bytes before and after, so changed rules change it, too.
        let planned = plan_preview::planned_bytes(&plan)?;
        if plan_preview::plan_id(&snapshot.content, &planned) != expected_plan {
            return Err(LocalSessionError::Changed);
        }
        let session = build_file_report(source, ReportDetail::default()).session;
        if let Some(reason) = busy_process(&file.folders, &snapshot.path, session.as_ref()) {
            return Err(LocalSessionError::Live(reason));
        }
        repair_plan::repair_file(
            &file.folders,
            &snapshot,
            plan,
            hint,
            &settings,
            ReportDetail::default(),
        )
        .map_err(|error| failure_refusal(&error, file, &snapshot))
    });
    let report: FileReport = done??;
    let check = open_session::file_check_of(&report);
    let backup = report
        .backup
        .as_ref()
        .map(|path| abbreviate_home(&path.to_string_lossy(), file.folders.home().as_deref()));
    let session = report.session.clone().map(|session| session.at(&file.entry.path));
    let resume = session.as_ref().and_then(SessionRef::resume_command);
    Ok(json!({
        "applied": report.applied.len(),
        "fixed": report.fixed,
        "left": check.findings,
        "backup": backup,
        "resume": resume,
    }))
}

/// Restores what the last repair replaced.
pub(super) fn undo_repair(file: &ConsoleSessionFile) -> Result<(), LocalSessionError> {
    file.check_size()?;
    let snapshot = FileSnapshot::take(&file.entry.path).map_err(unreadable_refusal)?;
    let now = ContentFingerprint::of(&snapshot.content);
    let found = undo::latest_fix(&file.folders, &snapshot.path, &now)
        .map_err(|error| failure_refusal(&error, file, &snapshot))?;
    match found {
        None | Some((_, BackupStanding::NotApplied | BackupStanding::Undone)) => {
            return Err(LocalSessionError::NothingToUndo);
        }
        Some((_, BackupStanding::Changed)) => return Err(LocalSessionError::ChangedSince),
        Some((_, BackupStanding::Applied)) => {}
    }
    let session = identify_session(&snapshot.content);
    if let Some(reason) = busy_process(&file.folders, &snapshot.path, session.as_ref()) {
        return Err(LocalSessionError::Live(reason));
    }
    RestorableBackups::list(file.folders.clone())
        .and_then(|mut backups| backups.restore(&snapshot.path, false))
        .map_err(|error| failure_refusal(&error, file, &snapshot))
}

/// Whether the last repair of a session can be undone.
pub(super) fn undo_json(file: &ConsoleSessionFile) -> Value {
    let none = json!({ "available": false, "at": null, "standing": null });
    let (Ok(real), Ok(now)) =
        (database::canonicalize(&file.entry.path), database::read(&file.entry.path))
    else {
        return none;
    };
    let now = ContentFingerprint::of(&now);
    let Ok(Some((at, standing))) = undo::latest_fix(&file.folders, &real, &now) else {
        return none;
    };
    let (available, word) = match standing {
        BackupStanding::Applied => (true, Some("made")),
        BackupStanding::Changed => (false, Some("changed")),
        BackupStanding::NotApplied | BackupStanding::Undone => (false, None),
    };
    json!({ "available": available, "at": at.saturating_mul(1_000), "standing": word })
}

/// Adds the current state of the file.
pub(super) fn add_file_state(file: &ConsoleSessionFile, response: &mut Value) {
    let check = file.read().and_then(|content| {
        file.with_source(&content, |source| {
            open_session::file_check_of(&build_file_report(source, ReportDetail::default()))
        })
    });
    let health = check.map_or("unreadable", |check| check.health.name());
    response["version"] = json!(file.version());
    response["health"] = json!(health);
    response["undo"] = undo_json(file);
}

/// The error that a caller can act on.
fn failure_refusal(
    error: &anyhow::Error,
    file: &ConsoleSessionFile,
    snapshot: &FileSnapshot,
) -> LocalSessionError {
    let session = identify_session(&snapshot.content);
    if let Some(reason) = busy_process(&file.folders, &snapshot.path, session.as_ref()) {
        return LocalSessionError::Live(reason);
    }
    let same = database::read(&snapshot.path).is_ok_and(|now| now == snapshot.content);
    if same { LocalSessionError::Failed(format!("{error:#}")) } else { LocalSessionError::Changed }
}
