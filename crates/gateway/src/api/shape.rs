//! Sessions and runs as JSON. Times are milliseconds since 1970.

use foxwedge_run::{RunSummary, RunUsage, TextItem, TextKind, ToolCallState, ToolStatus};
use foxwedge_store::{RunRow, RunState, SessionRow};
use serde_json::{Map, Value, json};

/// A page of a list, and where the next one begins.
pub(crate) fn page<T>(
    mut rows: Vec<T>,
    limit: usize,
    id: impl Fn(&T) -> String,
    shape: impl Fn(&T) -> Value,
) -> Value {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(id);
    let data: Vec<Value> = rows.iter().map(shape).collect();
    json!({ "data": data, "has_more": more, "next": next })
}

pub(crate) fn session(row: &SessionRow) -> Value {
    let meta: Value =
        row.meta.as_deref().and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
    json!({
        "id": row.id,
        "owner": row.owner,
        "title": row.title,
        "meta": meta,
        "created": row.created,
        "touched": row.touched,
        "runs": row.epoch,
        "records": row.records,
    })
}

pub(super) fn run(row: &RunRow) -> Value {
    let mut run = json!({
        "id": row.id,
        "session": row.session,
        "epoch": row.epoch,
        "agent": row.agent,
        "model": row.model,
        "started": row.started,
        "events": row.last,
        "state": "open",
        "ended": null,
        "outcome": null,
        "text": null,
        "problem": null,
        "calls": null,
        "usage": null,
    });
    if let RunState::Ended { ended, summary: counts, at } = &row.state {
        run["state"] = json!("ended");
        run["ended"] = json!(at);
        run["outcome"] = json!(ended.outcome.map(|outcome| outcome.name()));
        run["text"] = json!(ended.text);
        run["problem"] = json!(ended.problem.as_ref().map(|problem| {
            json!({ "code": problem.code.as_deref(), "message": problem.message })
        }));
        run["calls"] = summary(counts);
        run["usage"] = json!(ended.usage.as_ref().map(usage));
    }
    run
}

/// The tool call counts of a run.
pub(super) fn summary(summary: &RunSummary) -> Value {
    let by_status: Map<String, Value> = ToolStatus::ALL
        .into_iter()
        .map(|status| (status.name().to_owned(), summary.count(status)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name, json!(count)))
        .collect();
    json!({ "total": summary.calls, "by_status": by_status })
}

pub(super) fn usage(usage: &RunUsage) -> Value {
    let RunUsage { input, output, cached, reasoning } = *usage;
    json!({ "input": input, "output": output, "cached": cached, "reasoning": reasoning })
}

/// A tool call of a run.
pub(super) fn tool(tool: &ToolCallState) -> Value {
    json!({
        "id": &*tool.call,
        "name": tool.name.as_deref(),
        "turn": tool.turn(),
        "parent": tool.parent.as_deref(),
        "status": tool.status().name(),
        "reason": tool.reason.map(|reason| reason.name()),
        "input": tool.input.as_ref().map(|input| input.value()),
        "output": tool.result_content().value(),
    })
}

/// A text of a run.
pub(super) fn text(item: &TextItem) -> Value {
    let kind = match item.kind {
        TextKind::Text => "text",
        TextKind::Thought => "thought",
    };
    json!({ "id": &*item.id, "kind": kind, "turn": item.turn, "text": item.text })
}
