//! Writes the repaired file of a session whose records are linked.

use crate::chain::ChainStatus;
use foxwedge_core::Repair;

use super::{
    ParsedSession, SessionAgent, claude_code,
    emit::{FileEdits, emit},
    link_changes::{LinkChanges, NewLinkedRecord, link_changes},
    linked_file::LinkedFileRewriter,
    neovate, pi,
    placement::{place_records, stays_in_place},
    plan::{PlannedRecord, RecordOrigin, plan_records},
    qwen_code,
    relink::{relink, removed_records},
    rewritten_file::RewrittenFile,
};
use foxwedge_json::{
    FieldChange, FieldChanges, OutputChunk, SpliceWriter, field_value, write_patched,
};

/// Writes the file that a repair produces. If it `straightens`, all records of the conversation are
/// put in order and linked in that order.
pub(super) fn rewrite<'a>(
    session: &ParsedSession<'a>,
    repair: &Repair<'a>,
    straightens: bool,
) -> RewrittenFile<'a> {
    let mut rewriter = LinkedFileRewriter::new(session);
    rewriter.straightens = straightens;
    let plan = plan_records(&rewriter, repair);
    rewriter.inlines_carried = inlines_carried(&rewriter, &plan, repair);
    let gone = removed_records(&rewriter, &plan, repair);
    let places = place_records(&rewriter, &plan, repair, &gone);
    let links = relink(&rewriter, &plan, repair, gone, &places);
    let mut edits = FileEdits::default();
    for (place, planned) in
        plan.iter().enumerate().filter(|(_, planned)| stays_in_place(planned, &places))
    {
        if let RecordOrigin::Changed(record, _) = planned.origin {
            edits.changed.insert(record, write_record(&rewriter, planned, place, &links, repair));
        }
    }
    if rewriter.inlines_carried && rewriter.agent == SessionAgent::ClaudeCode {
        for (at, record) in (0..).zip(&rewriter.log().records) {
            let standing = rewriter.standing(at);
            let is_read = standing.is_in_conversation() || standing == ChainStatus::Duplicate;
            if record.kind == "system" && is_read {
                let fields = ["preservedMessages", "preservedSegment"];
                let fields: FieldChanges<'_> =
                    fields.into_iter().map(|key| (key, FieldChange::Remove)).collect();
                let mut changes = record_links(&rewriter, at, &links);
                if field_value(rewriter.log().source, record.span, "compactMetadata").is_some() {
                    changes.push(("compactMetadata", FieldChange::Nested(fields)));
                    let mut out = SpliceWriter::new(rewriter.log().source, &repair.surrogates);
                    write_patched(&mut out, record.span, changes);
                    edits.changed.insert(at, out.finish());
                }
            }
        }
    }
    let lone = repair.surrogates.iter().filter_map(|lone| rewriter.record_at(*lone));
    let cut = rewriter.chain().records.iter().copied().filter(|&at| rewriter.cuts_path(at));
    for record in links.parents.keys().chain(links.ids.keys()).copied().chain(lone).chain(cut) {
        edits
            .changed
            .entry(record)
            .or_insert_with(|| write_relinked(&rewriter, record, &links, repair));
    }
    for &record in links.gone.iter().chain(&places.moved) {
        edits.changed.insert(record, Vec::new());
    }
    let write = |&place: &usize| write_record(&rewriter, &plan[place], place, &links, repair);
    edits.first = places.first.iter().map(write).collect();
    edits.last = places.last.iter().map(write).collect();
    for (&record, behind) in &places.behind {
        edits.behind.insert(record, behind.iter().map(write).collect());
    }
    emit(session, repair, edits)
}

/// Whether carried-over records become ordinary ones. A compaction carries messages over by naming them, so a
/// repair that adds, removes or moves one of them would have to update those names. They are put
/// after the summary instead. A record whose content changes keeps its name and its link.
fn inlines_carried(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    repair: &Repair<'_>,
) -> bool {
    let chain = rewriter.chain();
    let carried = |record: u32| chain.statuses.get(record as usize) == Some(&ChainStatus::Carried);
    // Each record still follows the same record.
    let behind = |order: &[u32]| -> Vec<(Option<u32>, u32)> {
        let before = [None].into_iter().chain(order.iter().copied().map(Some));
        before.zip(order.iter().copied()).filter(|(_, record)| carried(*record)).collect()
    };
    let order: Vec<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let same = behind(&order) == behind(&chain.records);
    // Nothing new may stand among them, directly before or directly after them.
    let is_carried = |planned: &PlannedRecord<'_, '_>| planned.record().is_some_and(carried);
    let span = plan.iter().position(is_carried).zip(plan.iter().rposition(is_carried));
    let slice = |from: usize, to: usize| plan.get(from..to.min(plan.len())).unwrap_or(&[]);
    let around = span.map_or(&[][..], |(first, last)| slice(first.saturating_sub(1), last + 2));
    let added = around.iter().any(|planned| matches!(planned.origin, RecordOrigin::New(..)));
    // A record that is linked to one of them has to find it on the path. What follows a compaction of pi
    // is linked to the compaction itself.
    let next = if rewriter.agent == SessionAgent::Pi { 1 } else { 2 };
    let among = span.map_or(&[][..], |(first, last)| slice(first, last + next));
    let defects = &rewriter.draft().body.defects;
    let fixed = repair.body.fixed_defects.iter().copied();
    let mut relinked = fixed
        .filter(|&at| defects.get(at).is_some_and(|it| matches!(it.code, 701..=704)))
        .filter_map(|at| chain.defect_records.get(at));
    let linked = relinked.any(|record| among.iter().any(|it| it.record() == Some(*record)));
    let any = chain.records.iter().any(|&record| carried(record));
    any && (added || linked || !same)
}

/// Writes a record of the plan. `place` is its index in the plan.
fn write_record(
    rewriter: &LinkedFileRewriter<'_, '_>,
    planned: &PlannedRecord<'_, '_>,
    place: usize,
    links: &LinkChanges,
    repair: &Repair<'_>,
) -> Vec<OutputChunk> {
    let mut out = SpliceWriter::new(rewriter.log().source, &repair.surrogates);
    match planned.origin {
        RecordOrigin::Unchanged(record) => return write_relinked(rewriter, record, links, repair),
        RecordOrigin::Changed(record, parts) => {
            let mut changes = match rewriter.agent {
                SessionAgent::ClaudeCode => {
                    claude_code::message_changes(rewriter, &out, record, planned.role, parts)
                }
                SessionAgent::Neovate => {
                    neovate::content_changes(rewriter, &out, record, planned.role, parts)
                }
                SessionAgent::Pi => {
                    pi::content_changes(rewriter, &out, record, planned.role, parts)
                }
                SessionAgent::QwenCode => {
                    qwen_code::content_changes(rewriter, &out, record, planned.role, parts)
                }
                SessionAgent::Codex
                | SessionAgent::CopilotCli
                | SessionAgent::KimiCode
                | SessionAgent::GeminiCli
                | SessionAgent::Cline
                | SessionAgent::Opencode
                | SessionAgent::Crush
                | SessionAgent::Goose
                | SessionAgent::AiSdkUi
                | SessionAgent::AiSdkModel
                | SessionAgent::ReadOnly(_) => Vec::new(),
            };
            changes.extend(record_links(rewriter, record, links));
            write_patched(&mut out, rewriter.log().records[record as usize].span, changes);
        }
        RecordOrigin::New(template, parts) => {
            let Some(link) = links.new.get(&place) else { return Vec::new() };
            let new = NewLinkedRecord { template, link, role: planned.role, joins: planned.joins };
            match rewriter.agent {
                SessionAgent::ClaudeCode => {
                    claude_code::write_new_record(rewriter, &mut out, &new, parts)
                }
                SessionAgent::Neovate => neovate::write_new_record(rewriter, &mut out, &new, parts),
                SessionAgent::Pi => pi::write_new_record(rewriter, &mut out, &new, parts),
                SessionAgent::QwenCode => {
                    qwen_code::write_new_record(rewriter, &mut out, &new, parts)
                }
                SessionAgent::Codex
                | SessionAgent::CopilotCli
                | SessionAgent::KimiCode
                | SessionAgent::GeminiCli
                | SessionAgent::Cline
                | SessionAgent::Opencode
                | SessionAgent::Crush
                | SessionAgent::Goose
                | SessionAgent::AiSdkUi
                | SessionAgent::AiSdkModel
                | SessionAgent::ReadOnly(_) => {}
            }
        }
    }
    out.finish()
}

/// The changed link fields of a record.
fn record_links(
    rewriter: &LinkedFileRewriter<'_, '_>,
    record: u32,
    links: &LinkChanges,
) -> FieldChanges<'static> {
    let changes = link_changes(rewriter.agent, record, links);
    if !rewriter.cuts_path(record) {
        return changes.collect();
    }
    let id = links.ids.get(&record).map_or_else(|| rewriter.id(record), String::as_str);
    let own = changes.filter(|(key, _)| *key != "parentId");
    own.chain(pi::cut_changes(id)).collect()
}

/// Writes a record with the same content and possibly new links.
fn write_relinked(
    rewriter: &LinkedFileRewriter<'_, '_>,
    record: u32,
    links: &LinkChanges,
    repair: &Repair<'_>,
) -> Vec<OutputChunk> {
    let mut out = SpliceWriter::new(rewriter.log().source, &repair.surrogates);
    let span = rewriter.log().records[record as usize].span;
    let changes = record_links(rewriter, record, links);
    if changes.is_empty() {
        out.copy(span)
    } else {
        write_patched(&mut out, span, changes)
    }
    out.finish()
}
