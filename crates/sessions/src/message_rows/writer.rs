//! Writes rows of messages: changed ones, and new ones for results that are missing.

use std::borrow::Cow;

use foxwedge_core::{
    CheckOptions, ContentShape, Draft, FileDefect, PartKind, PartSource, Repair, RepairedMessage,
    RepairedPart, Role, RuleSet, Span,
};
use foxwedge_formats::splice::{BlockMessage, write_block_list};
use foxwedge_json::{
    FieldChange, FieldChanges, JsonScanner, OutputChunk, SpliceWriter, quote, write_patched,
};

use super::{
    NewRow, RowFormat,
    faults::{self, readable_list},
};
use crate::{
    ParsedSession,
    emit::FileEdits,
    row_fields::RowFields,
    rows::{RowRecord, read_row},
};

/// The messages of a repair. Text that a repair puts beside results becomes a row of its own.
pub(crate) fn split_messages<'r, 'a>(
    draft: &Draft<'a>,
    repair: &'r Repair<'a>,
) -> Vec<Cow<'r, RepairedMessage<'a>>> {
    let mut messages = Vec::with_capacity(repair.messages.len());
    for message in repair.messages.iter() {
        let is_changed = message.is_touched() || message.origin().is_none();
        if !is_changed || message.role == Role::Assistant {
            messages.push(Cow::Borrowed(message));
            continue;
        }
        let mut results = message.with_parts(draft).into_owned();
        let is_new_text = |part: &RepairedPart<'_>| {
            matches!(part.part.kind, PartKind::Text(_)) && *part.source() != PartSource::Input
        };
        let (text, rest): (Vec<_>, Vec<_>) = results.parts.iter().cloned().partition(is_new_text);
        if text.is_empty() || !rest.iter().any(is_result) {
            messages.push(Cow::Owned(results));
            continue;
        }
        let mut quoted = results.clone();
        quoted.clear_origin();
        quoted.set_content(ContentShape::List);
        (quoted.parts, results.parts) = (text.into(), rest.into());
        messages.extend([Cow::Owned(results), Cow::Owned(quoted)]);
    }
    messages
}

fn is_result(part: &RepairedPart<'_>) -> bool {
    matches!(part.part.kind, PartKind::Answer(_))
}

/// Writes a row whose message changed.
pub(crate) fn write_changed(
    row_format: &RowFormat,
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    record: Span,
    message: &RepairedMessage<'_>,
) {
    write_with_columns(row_format, out, draft, record, message, Vec::new());
}

fn write_with_columns(
    row_format: &RowFormat,
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    record: Span,
    message: &RepairedMessage<'_>,
    mut columns: FieldChanges<'static>,
) {
    let message = &*message.with_parts(draft);
    let origin = message.origin().and_then(|at| draft.messages.get(at));
    let old = origin.map_or(&[][..], |origin| draft.parts_of(origin));
    let had_result = old.iter().any(|part| matches!(part.kind, PartKind::Answer(_)));
    // A result without its call becomes a message of the user.
    if message.has_new_role() || had_result != message.parts.iter().any(is_result) {
        columns.push(("role", FieldChange::Text(quote(role_of(row_format, message)))));
    }
    let mut changes: FieldChanges<'static> = Vec::new();
    if !columns.is_empty() {
        changes.push(("columns", FieldChange::Nested(columns)));
    }
    if message.is_touched() {
        changes.push(("data", FieldChange::Chunks(part_list(row_format, out, draft, message))));
    }
    write_patched(out, record, changes);
}

fn part_list(
    row_format: &RowFormat,
    out: &SpliceWriter<'_>,
    draft: &Draft<'_>,
    message: &RepairedMessage<'_>,
) -> Vec<OutputChunk> {
    let mut inner = out.inner();
    let block = BlockMessage {
        role: message.role,
        pieces: &message.parts,
        content: ContentShape::List,
        role_changed: false,
    };
    write_block_list(&mut inner, draft, None, &block, &row_format.splice);
    inner.finish()
}

fn role_of(row_format: &RowFormat, message: &RepairedMessage<'_>) -> &'static str {
    match message.role {
        Role::Assistant => "assistant",
        _ if message.parts.iter().any(is_result) => row_format.results_role,
        _ => "user",
    }
}

/// Writes a new row, or one that moves. It gets the time of the row before it.
pub(crate) fn write_new(
    row_format: &RowFormat,
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    near: u32,
    message: &RepairedMessage<'_>,
) {
    let draft = session.draft();
    let time = session.log.records.get(near as usize).and_then(|record| record.time);
    let own = message.origin().and_then(|at| session.chain.records_of(at).first().copied());
    if let Some(record) = own {
        let time = time.map(|time| (row_format.time, FieldChange::Text(time.to_owned())));
        let columns = time.into_iter().collect();
        let span = session.span(record);
        return write_with_columns(row_format, out, draft, span, message, columns);
    }
    let message = &*message.with_parts(draft);
    let id = session.metadata.id.as_deref().unwrap_or_default();
    let before = session.log.links.get(near as usize).and_then(|link| link.id).unwrap_or_default();
    // Several new rows may follow one row: their parts come from different places.
    let mut seed = [id, before, role_of(row_format, message)].join(" ");
    for part in message.parts.iter() {
        let id = part.part.kind.id().unwrap_or_default();
        seed.push_str(&format!(" {id} {}", part.part.span.start));
    }
    let source = session.log.source;
    let template = read_row(&mut JsonScanner::within(source, session.span(near)), source);
    let columns = template.map_or(Span::NOWHERE, |template| template.columns);
    let row = NewRow {
        session: quote(id),
        role: role_of(row_format, message),
        time: time.unwrap_or("0"),
        seed: &seed,
        before: &RowFields::of(source, columns),
    };
    out.text(&format!(
        "{{\"store\":\"{}\",\"table\":\"messages\",\"id\":{},\"columns\":{},\"data\":",
        row_format.store,
        quote(&(row_format.new_id)(&seed)),
        (row_format.new_columns)(&row)
    ));
    out.append(part_list(row_format, out, draft, message));
    out.text("}");
}

/// The options of the first round, if rows of a database were cut off or lack a field. These are repaired
/// first: what they hold may be the result that is missing elsewhere, or a compaction that hides what else
/// is wrong.
pub(crate) fn first_round(
    session: &ParsedSession<'_>,
    options: &CheckOptions,
) -> Option<CheckOptions> {
    let mut rules = RuleSet::default();
    for code in [801, 805].into_iter().filter(|&code| options.rules.has(code)) {
        rules.add(code);
    }
    let is_row_defect = |defect: &FileDefect| rules.has(defect.code);
    let is_first =
        session.agent.is_in_database() && session.draft().body.defects.iter().any(is_row_defect);
    is_first.then_some(CheckOptions { rules, ..*options })
}

/// Writes the rows that the agent cannot decode, without what cannot be decoded.
pub(crate) fn repair_rows(
    row_format: &RowFormat,
    session: &ParsedSession<'_>,
    repair: &Repair<'_>,
    edits: &mut FileEdits,
) {
    let source = session.log.source;
    for (record, row) in undecoded_rows(session, repair) {
        edits.changed.entry(record).or_insert_with(|| written_anew(row_format, source, &row));
    }
}

/// How many parts are removed because the agent cannot decode them.
pub(crate) fn lost_parts(
    row_format: &RowFormat,
    session: &ParsedSession<'_>,
    repair: &Repair<'_>,
) -> usize {
    let source = session.log.source;
    let rows = undecoded_rows(session, repair);
    rows.map(|(_, row)| faults::broken_parts(row_format, source, &row)).sum()
}

/// The rows that the agent cannot decode, and that the repair changes.
fn undecoded_rows<'s, 'a>(
    session: &'s ParsedSession<'a>,
    repair: &'s Repair<'_>,
) -> impl Iterator<Item = (u32, RowRecord<'a>)> {
    repair.body.fixed_defects.iter().filter_map(|&at| {
        let defect = session.draft().body.defects.get(at)?;
        let record = *session.chain.defect_records.get(at).filter(|_| defect.code == 801)?;
        let source = session.log.source;
        let row = read_row(&mut JsonScanner::within(source, session.span(record)), source);
        Some((record, row.ok()?))
    })
}

/// A row with the parts that can be decoded; empty if there is none.
fn written_anew(row_format: &RowFormat, source: &str, row: &RowRecord<'_>) -> Vec<OutputChunk> {
    let Some(list) = readable_list(row_format, source, row) else { return Vec::new() };
    let mut out = SpliceWriter::new(source, &[]);
    write_patched(&mut out, row.span, vec![("data", FieldChange::Text(list))]);
    out.finish()
}
