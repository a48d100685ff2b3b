//! Splits events and records into batches within the limits of the store.

use foxwedge_run::{EventPayload, RunEvent};
use foxwedge_store::{NewRecord, limits};

/// Maximum size of one append.
const MAX_BATCH_BYTES: usize = 32 << 20;
/// Estimated size of an event or record without its large fields.
const EVENT_OVERHEAD_BYTES: usize = 512;

/// Splits events into batches, in order.
pub(super) fn event_batches(events: Vec<RunEvent>) -> Vec<Vec<RunEvent>> {
    split_batches(events, limits::APPEND_EVENTS, event_size)
}

/// Splits records into batches, in order.
pub(super) fn record_batches(records: Vec<NewRecord>) -> Vec<Vec<NewRecord>> {
    split_batches(records, limits::APPEND_RECORDS, |record| {
        record.body.len() + EVENT_OVERHEAD_BYTES
    })
}

fn split_batches<T>(items: Vec<T>, max_count: usize, size_of: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    let mut bytes = 0;
    for item in items {
        let size = size_of(&item);
        let is_full = |batch: &Vec<T>| batch.len() == max_count;
        if bytes + size > MAX_BATCH_BYTES || batches.last().is_none_or(is_full) {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(batch) = batches.last_mut() {
            batch.push(item);
        }
    }
    batches
}

/// Estimated size of an event in bytes. Only large fields are counted.
fn event_size(event: &RunEvent) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let large = match &event.body {
        EventPayload::Text(update) | EventPayload::Thought(update) => {
            text(&update.delta) + text(&update.full)
        }
        EventPayload::ToolCall(call) => call.input.as_ref().map_or(0, |input| input.raw().len()),
        EventPayload::ToolArguments { delta, .. } => delta.len(),
        EventPayload::ToolProgress { content, .. } => content.raw().len(),
        EventPayload::ToolResult(result) => {
            result.content.as_ref().map_or(0, |content| content.raw().len())
        }
        EventPayload::ApprovalRequested(request) => {
            text(&request.prompt)
                + request.choices.as_ref().map_or(0, |choices| choices.raw().len())
        }
        EventPayload::ApprovalReplied(reply) => {
            reply.answer.as_ref().map_or(0, |answer| answer.raw().len())
        }
        EventPayload::Tasks(tasks) => {
            tasks.iter().map(|task| task.content.len() + EVENT_OVERHEAD_BYTES).sum()
        }
        EventPayload::Activity(activity) => activity.content.raw().len(),
        EventPayload::Ended(ended) => text(&ended.text),
        EventPayload::Unknown { raw, .. } => raw.raw().len(),
        EventPayload::ToolsAvailable(available) => {
            available.tools.iter().map(|tool| tool.len() + 4).sum()
        }
        EventPayload::Problem(problem) => problem.message.len(),
        EventPayload::Started(_)
        | EventPayload::TurnStarted(_)
        | EventPayload::ToolCancelled { .. }
        | EventPayload::Usage(_)
        | EventPayload::Stop(_)
        | EventPayload::TimedOut { .. } => 0,
    };
    EVENT_OVERHEAD_BYTES + large
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{SharedId, TextUpdate};

    use super::*;

    fn text_event(bytes: usize) -> RunEvent {
        let text = TextUpdate { delta: Some("x".repeat(bytes)), ..TextUpdate::default() };
        RunEvent::new(&SharedId::from("r"), EventPayload::Text(text))
    }

    #[test]
    fn nothing_is_lost_between_two_batches() {
        let sizes = |events: Vec<RunEvent>| -> Vec<usize> {
            event_batches(events).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(Vec::new()), [0; 0]);
        assert_eq!(sizes(vec![text_event(1); 3]), [3]);
        assert_eq!(sizes(vec![text_event(MAX_BATCH_BYTES / 2); 3]), [1, 1, 1]);
        assert_eq!(sizes(vec![text_event(MAX_BATCH_BYTES / 3 - EVENT_OVERHEAD_BYTES); 4]), [3, 1]);
        assert_eq!(sizes(vec![text_event(2 * MAX_BATCH_BYTES)]), [1]);
        assert_eq!(
            sizes(vec![text_event(1); limits::APPEND_EVENTS + 1]),
            [limits::APPEND_EVENTS, 1]
        );
    }
}
