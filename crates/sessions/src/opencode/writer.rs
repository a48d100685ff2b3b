//! Repairs the rows of a session. A tool part holds the result of its call, so a placeholder changes
//! the state of the part.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{
    ArgumentsFix, PartKind, PartSource, Repair, RepairedMessage, RepairedPart, Role, Span,
};
use foxwedge_formats::splice::{ArgumentsEncoding, encode_arguments};
use foxwedge_json::{
    FieldChange, FieldChanges, JsonScanner, OutputChunk, SpliceWriter, quote, write_patched,
};

use super::{
    RowFields, faults, read_row, readable_parts,
    required::{RowContext, added_fields, missing_in_message, missing_in_part},
    role_of,
};
use crate::{
    ParsedSession,
    derived_id::derive_uuid,
    emit::{FileEdits, emit},
    nested_changes::write_with_changes,
    open_calls::OpenCalls,
    rewritten_file::RewrittenFile,
    rows::RowRecord,
};

/// Writes the rows that a repair produces.
pub(crate) fn rewrite<'a>(session: &ParsedSession<'a>, repair: &Repair<'a>) -> RewrittenFile<'a> {
    let mut plan = PartPlan::default();
    let mut edits = FileEdits::default();
    let donor = ModelDonor::of(session);
    for message in repair.messages.iter() {
        plan.add_message(session, message);
        // The only new message is the one that keeps a session from becoming empty.
        let is_text = |part: &&RepairedPart<'_>| matches!(part.part.kind, PartKind::Text(_));
        if let Some(part) =
            message.parts.iter().find(is_text).filter(|_| message.origin().is_none())
        {
            edits.first.push(new_message(session, &donor, part));
        }
    }
    let sent: HashSet<u32> = session.chain.records.iter().copied().collect();
    let fixed: HashSet<(u16, Span)> = repair
        .body
        .fixed_defects
        .iter()
        .filter_map(|&at| {
            let defect = session.draft().body.defects.get(at)?;
            Some((defect.code, defect.span))
        })
        .collect();
    let mut parent = quote("");
    for (at, record) in session.log.records.iter().enumerate() {
        if record.kind != "message" {
            continue;
        }
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let source = session.log.source;
        let mut scan = JsonScanner::within(source, record.span);
        let Ok(row) = read_row(&mut scan, source) else { continue };
        let rewriter =
            RowRewriter { source, plan: &plan, fixed: &fixed, donor: &donor, parent: &parent };
        let (role, chunks) = rewriter.changed_record(session, at, &row, sent.contains(&at));
        if let Some(chunks) = chunks {
            edits.changed.insert(at, chunks);
        }
        if role == Role::User || parent == "\"\"" {
            parent = quote(row.id);
        }
    }
    emit(session, repair, edits)
}

/// What happens to the parts of a session.
#[derive(Default)]
struct PartPlan<'a> {
    /// Parts that stay.
    kept: HashSet<Span>,
    /// The texts that tool parts get, by their position.
    placeholders: HashMap<Span, String>,
    /// Calls whose id or arguments change.
    patched: HashMap<Span, RepairedPart<'a>>,
    /// The calls of the current turn.
    open: OpenCalls,
    in_reply: bool,
}

impl<'a> PartPlan<'a> {
    fn add_message(&mut self, session: &ParsedSession<'a>, message: &RepairedMessage<'a>) {
        let is_reply = message.role == Role::Assistant;
        if is_reply && !self.in_reply {
            self.open = OpenCalls::default();
        }
        self.in_reply = is_reply;
        let message = message.with_parts(session.draft());
        // A result belongs to the tool part that holds it, whatever its id.
        for repaired in message.parts.iter().filter(|part| *part.source() == PartSource::Input) {
            let (span, kind) = (repaired.part.span, &repaired.part.kind);
            if matches!(kind, PartKind::Answer(_)) {
                self.open.mark_answered(span);
                continue;
            }
            self.kept.insert(span);
            self.open.note(kind, span);
            if matches!(kind, PartKind::Call(_)) && !repaired.patch.is_empty() {
                self.patched.insert(span, repaired.clone());
            }
        }
        for repaired in &message.parts {
            let PartSource::Text(text) = repaired.source() else { continue };
            if matches!(repaired.part.kind, PartKind::Answer(_))
                && let Some(call) = self.open.note(&repaired.part.kind, Span::NOWHERE)
            {
                self.placeholders.insert(call, text.to_string());
            }
        }
    }
}

/// Writes the changes to one message and its parts.
struct RowRewriter<'r, 'a> {
    source: &'a str,
    plan: &'r PartPlan<'a>,
    fixed: &'r HashSet<(u16, Span)>,
    donor: &'r ModelDonor,
    /// The id of the message that a reply answers, as JSON.
    parent: &'r str,
}

impl<'a> RowRewriter<'_, 'a> {
    /// The role of a message, and its record if that changes; empty if it is removed.
    fn changed_record(
        &self,
        session: &ParsedSession<'a>,
        at: u32,
        row: &RowRecord<'a>,
        is_sent: bool,
    ) -> (Role, Option<Vec<OutputChunk>>) {
        let data = RowFields::of(self.source, row.object(self.source).unwrap_or(Span::NOWHERE));
        let parts = readable_parts(self.source, row);
        let role = role_of(self.source, row, &data, &parts);
        let columns = RowFields::of(self.source, row.columns);
        let created = columns.get("time_created").map_or("0", |time| time.of(self.source));
        let context = RowContext {
            role,
            created: created.to_owned(),
            parent: self.parent.to_owned(),
            provider: self.donor.provider.clone(),
            model: self.donor.model.clone(),
            folder: quote(session.metadata.folder.as_deref().unwrap_or("/")),
        };
        let mut changes: Vec<(Span, Vec<OutputChunk>)> = Vec::new();
        let mut left = 0;
        for part in &row.rows {
            let payload = part.data.unwrap_or(part.span);
            let is_removed = match part.object(self.source) {
                Some(data) => is_sent && !self.plan.kept.contains(&data),
                None => {
                    self.is_fixed(801, payload)
                        && faults::completed_part(self.source, part).is_none()
                }
            };
            if is_removed {
                changes.push((part.span, Vec::new()));
                continue;
            }
            left += 1;
            changes.extend(self.changed_part(part, &context).map(|chunks| (payload, chunks)));
        }
        let payload = row.data.unwrap_or(row.span);
        let is_broken = self.is_fixed(801, payload);
        // Parts that are no content stay with a message as long as others do.
        if (is_sent && !row.rows.is_empty() || is_broken && parts.is_empty()) && left == 0 {
            return (role, Some(Vec::new()));
        }
        if is_broken || self.is_fixed(805, payload) {
            let object = if is_broken { Span::NOWHERE } else { payload };
            let added = added_fields(&data, &missing_in_message(&data, role), &context);
            changes.push((payload, self.patch(object, added)));
        }
        if changes.is_empty() {
            return (role, None);
        }
        (role, Some(write_with_changes(session, at, changes)))
    }

    fn is_fixed(&self, code: u16, payload: Span) -> bool {
        self.fixed.contains(&(code, payload))
    }

    fn patch(&self, object: Span, changes: FieldChanges<'_>) -> Vec<OutputChunk> {
        let mut out = SpliceWriter::new(self.source, &[]);
        write_patched(&mut out, object, changes);
        out.finish()
    }

    /// The new payload of a part; `None` if it stays.
    fn changed_part(&self, part: &RowRecord<'a>, context: &RowContext) -> Option<Vec<OutputChunk>> {
        let Some(data) = part.object(self.source) else {
            part.data.filter(|payload| self.is_fixed(801, *payload))?;
            let completed = faults::completed_part(self.source, part)?;
            return Some(vec![OutputChunk::Text(completed)]);
        };
        let fields = RowFields::of(self.source, data);
        let mut changes: FieldChanges<'_> = Vec::new();
        let mut state: FieldChanges<'_> = Vec::new();
        if let Some(patched) = self.plan.patched.get(&data) {
            if let (true, PartKind::Call(call)) = (patched.patch.id, &patched.part.kind) {
                let id = call.id.as_deref().unwrap_or_default();
                changes.push(("callID", FieldChange::Text(quote(id))));
            }
            if let Some(fix) = patched.patch.arguments {
                let input = fields.inner("state").get("input");
                state.push(("input", FieldChange::Text(self.encode_input(input, fix))));
            }
        }
        if let Some(text) = self.plan.placeholders.get(&data) {
            let columns = RowFields::of(self.source, part.columns);
            let time = columns.get("time_updated").map_or("0", |time| time.of(self.source));
            close_state(&fields, text, time, &mut state);
        }
        if !state.is_empty() {
            changes.push(("state", FieldChange::Nested(state)));
        }
        // Fields are added in the next round if the part changes for another reason.
        if changes.is_empty() && self.is_fixed(805, data) {
            changes = added_fields(&fields, &missing_in_part(&fields), context);
        }
        (!changes.is_empty()).then(|| self.patch(data, changes))
    }

    fn encode_input(&self, input: Option<Span>, fix: ArgumentsFix) -> String {
        encode_arguments(self.source, input, fix, ArgumentsEncoding::Object)
    }
}

/// Closes a tool call as failed with this text.
fn close_state(fields: &RowFields<'_>, text: &str, time: &str, state: &mut FieldChanges<'_>) {
    let known = fields.inner("state");
    state.push(("status", FieldChange::Text(quote("error"))));
    if known.get("input").is_none() && !state.iter().any(|(key, _)| *key == "input") {
        state.push(("input", FieldChange::Text("{}".to_owned())));
    }
    state.push(("error", FieldChange::Text(quote(text))));
    let start = known.inner("time").get("start").map(|start| start.of(known.source));
    let end = start.unwrap_or(time).to_owned();
    let mut times = vec![("end", FieldChange::Text(end.clone()))];
    if start.is_none() {
        times.insert(0, ("start", FieldChange::Text(end)));
    }
    state.push(("time", FieldChange::Nested(times)));
}

/// The provider and the model of some message, for messages without one. Both are JSON.
struct ModelDonor {
    provider: String,
    model: String,
}

impl ModelDonor {
    fn of(session: &ParsedSession<'_>) -> ModelDonor {
        let source = session.log.source;
        let rows = session.log.records.iter().rev().filter(|record| record.kind == "message");
        let found = rows.filter_map(|record| {
            let mut scan = JsonScanner::within(source, record.span);
            let row = read_row(&mut scan, source).ok()?;
            let data = RowFields::of(source, row.object(source)?);
            let inner = data.inner("model");
            let value = |key: &str| data.text(key).or_else(|| inner.text(key));
            Some(ModelDonor {
                provider: quote(&value("providerID")?),
                model: quote(&value("modelID")?),
            })
        });
        let unknown = || ModelDonor { provider: quote("unknown"), model: quote("unknown") };
        found.into_iter().next().unwrap_or_else(unknown)
    }
}

/// A new message of the user, as a row with one part.
fn new_message(
    session: &ParsedSession<'_>,
    donor: &ModelDonor,
    part: &RepairedPart<'_>,
) -> Vec<OutputChunk> {
    let PartSource::Text(text) = part.source() else { return Vec::new() };
    let id = session.metadata.id.as_deref().unwrap_or_default();
    let key = derive_uuid(&["message", id, text], 0).replace('-', "");
    let key = key.get(..26).unwrap_or(&key);
    let time = session.metadata.started.as_deref().unwrap_or("0");
    let (message, session) = (quote(&format!("msg_{key}")), quote(id));
    let times = format!("\"time_created\":{time},\"time_updated\":{time}");
    let (provider, model, part_id) = (&donor.provider, &donor.model, quote(&format!("prt_{key}")));
    vec![OutputChunk::Text(format!(
        "{{\"store\":\"opencode\",\"table\":\"message\",\"id\":{message},\"columns\":{{\"session_id\":{session},{times}}},\
         \"data\":{{\"role\":\"user\",\"time\":{{\"created\":{time}}},\"agent\":\"build\",\"model\":{{\"providerID\":{provider},\"modelID\":{model}}}}},\
         \"rows\":[{{\"table\":\"part\",\"id\":{part_id},\"columns\":{{\"message_id\":{message},\"session_id\":{session},{times}}},\
         \"data\":{{\"type\":\"text\",\"text\":{}}}}}]}}",
        quote(text)
    ))]
}
