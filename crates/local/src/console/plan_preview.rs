//! Preview of a repair: the plan that `fix` would apply, as JSON.

use std::collections::BTreeMap;

use foxwedge_core::{Edit, EditLog, rules};
use serde_json::{Value, json};

use super::{
    ConsoleSessionFile, FileStamp, LocalSessionError, MAX_FILE_BYTES, RowRange,
    conversation::ConsoleConversation,
    open_session,
    page::ConsolePageRows,
    repair_rows::{self, RepairPlanRow, strategy_word},
    with_source,
};
use crate::{
    check_settings::CheckSettings,
    database,
    disk::ContentFingerprint,
    findings::{ReportDetail, build_file_report},
    outcome::{FileReport, SessionRef},
    repair_plan::RepairPlan,
    session_health::SessionHealth,
    source::{DocumentBody, FileCompression, ParsedInput, decompress_within},
};

/// Edits that are listed in JSON.
const MAX_EDITS: usize = 1_000;

/// A repair plan with the conversation before and after it.
pub(super) struct ConsoleRepairPlan {
    pub(super) stamp: FileStamp,
    version: String,
    /// Identifies the plan; `None` if nothing would change.
    pub(super) id: Option<String>,
    pub(super) edits: EditLog,
    pub(super) before: RepairPlanSide,
    pub(super) after: RepairPlanSide,
    pub(super) rows: Vec<RepairPlanRow>,
    session_ref: Option<SessionRef>,
}

/// The session before or after the repair.
pub(super) struct RepairPlanSide {
    pub(super) view: ConsoleConversation,
    pub(super) bytes: u64,
    pub(super) health: SessionHealth,
    pub(super) findings: BTreeMap<String, usize>,
}

impl ConsoleRepairPlan {
    /// Plans the repair of a session.
    pub(super) fn make(file: &ConsoleSessionFile) -> Result<ConsoleRepairPlan, LocalSessionError> {
        file.check_size()?;
        let content = database::read(&file.entry.path).map_err(super::unreadable_refusal)?;
        let plain = decompress_within(&content, MAX_FILE_BYTES)
            .map_err(|error| super::error_refusal(&error))?;
        let settings = file.check_settings(&plain)?;
        let planned = with_source(&plain, file.input_hint(), &settings, |source| {
            ConsoleRepairPlan::of(file, &content, &plain, source, &settings)
        });
        planned?
    }

    fn of(
        file: &ConsoleSessionFile,
        content: &[u8],
        plain: &[u8],
        source: &ParsedInput<'_>,
        settings: &CheckSettings,
    ) -> Result<ConsoleRepairPlan, LocalSessionError> {
        let none = || LocalSessionError::Unreadable("it contains no conversation".into());
        let document = source.documents.first().ok_or_else(none)?;
        let report = build_file_report(source, ReportDetail::default());
        let before =
            RepairPlanSide::new(ConsoleConversation::of(document)?, content.len(), &report);
        let plan = RepairPlan::new(plain, FileCompression::of(content), source);
        let repair = match &document.body {
            DocumentBody::Wire(reading) => reading.fix(&document.check_options).1,
            DocumentBody::Session(session) => session.fix(&document.check_options).1,
        };
        let origins: Vec<Option<usize>> =
            repair.messages.iter().map(|message| message.origin()).collect();
        let written = planned_bytes(&plan)?;
        let settings = settings.for_session(report.session.as_ref());
        let repaired = decompress_within(&written, MAX_FILE_BYTES)
            .map_err(|error| super::error_refusal(&error))?;
        let after = with_source(&repaired, file.input_hint(), &settings, |source| {
            let document = source.documents.first().ok_or_else(none)?;
            let report = build_file_report(source, ReportDetail::default());
            Ok::<_, LocalSessionError>(RepairPlanSide::new(
                ConsoleConversation::of(document)?,
                written.len(),
                &report,
            ))
        })??;
        let edited: Vec<usize> = repair.edits.iter().map(|edit| edit.message).collect();
        let rows = repair_rows::align_messages(&before.view, &after.view, &origins, &edited);
        Ok(ConsoleRepairPlan {
            stamp: file.stamp,
            version: file.version(),
            id: (!plan.is_empty()).then(|| plan_id(content, &written)),
            edits: repair.edits,
            before,
            after,
            rows,
            session_ref: report.session.map(|session| session.at(&file.entry.path)),
        })
    }

    pub(super) fn session_ref(&self) -> Option<&SessionRef> {
        self.session_ref.as_ref()
    }

    /// One page of rows, with the totals.
    pub(super) fn to_json(&self, page: RowRange) -> Value {
        let from = page.first(self.rows.len());
        let mut rows = ConsolePageRows::new(from);
        for row in self.rows.iter().skip(from) {
            if rows.is_full(page) {
                break;
            }
            rows.next += 1;
            rows.push(repair_rows::row_json(row, &self.before.view, &self.after.view));
        }
        let mut response = rows.into_json(self.rows.len(), &self.version);
        let (before, after) = (&self.before, &self.after);
        response["plan"] = json!(self.id);
        response["changes"] = json!(self.id.is_some());
        response["health"] =
            json!({ "before": before.health.name(), "after": after.health.name() });
        response["findings"] = json!({ "before": before.findings, "after": after.findings });
        response["messages"] = json!({ "before": before.view.len(), "after": after.view.len() });
        response["bytes"] = json!({ "before": before.bytes, "after": after.bytes });
        response["edits"] = self.edits.iter().take(MAX_EDITS).enumerate().map(edit_json).collect();
        response["edits_total"] = json!(self.edits.len());
        response
    }
}

impl RepairPlanSide {
    fn new(view: ConsoleConversation, bytes: usize, report: &FileReport) -> RepairPlanSide {
        let check = open_session::file_check_of(report);
        RepairPlanSide { view, bytes: bytes as u64, health: check.health, findings: check.findings }
    }
}

/// The content of the file after the repair.
pub(super) fn planned_bytes(plan: &RepairPlan<'_>) -> Result<Vec<u8>, LocalSessionError> {
    let mut written = Vec::new();
    plan.write_to(&mut written).map_err(|error| LocalSessionError::Failed(error.to_string()))?;
    Ok(written)
}

/// Identifies a plan by the bytes before and after it.
pub(super) fn plan_id(before: &[u8], after: &[u8]) -> String {
    let [before, after] = [before, after].map(ContentFingerprint::of);
    format!("{}-{}-{}-{}", before.bytes, before.hash, after.bytes, after.hash)
}

fn edit_json((index, edit): (usize, &Edit)) -> Value {
    let rule = rules::ALL.iter().find(|rule| rule.code == edit.code);
    json!({
        "index": index,
        "code": format!("FW{}", edit.code),
        "name": rule.map(|rule| rule.name),
        "summary": rule.map(|rule| rule.summary),
        "strategy": edit.strategy.name(),
        "word": strategy_word(edit.strategy),
        "message": edit.message,
        "calls": edit.ids,
        "note": edit.note,
    })
}
