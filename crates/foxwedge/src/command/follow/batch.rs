//! What a store takes at once.

use foxwedge_run::{Body, Event};
use foxwedge_store::{NewRecord, limits};

/// Bytes that go into one append.
const BYTES: usize = 32 << 20;
/// Bytes of an event or a record besides what can be large.
const REST: usize = 512;

/// Events in pieces that a store takes, in their order.
pub(super) fn of_events(events: Vec<Event>) -> Vec<Vec<Event>> {
    batches(events, limits::APPEND_EVENTS, weight)
}

/// Records in pieces that a store takes, in their order.
pub(super) fn of_records(records: Vec<NewRecord>) -> Vec<Vec<NewRecord>> {
    batches(records, limits::APPEND_RECORDS, |record| record.body.len() + REST)
}

fn batches<T>(all: Vec<T>, most: usize, weight: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    let mut bytes = 0;
    for one in all {
        let size = weight(&one);
        let is_full = |batch: &Vec<T>| batch.len() == most;
        if bytes + size > BYTES || batches.last().is_none_or(is_full) {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(batch) = batches.last_mut() {
            batch.push(one);
        }
    }
    batches
}

/// About how many bytes an event takes: only what can be large is looked at.
fn weight(event: &Event) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let large = match &event.body {
        Body::Text(said) | Body::Thought(said) => text(&said.delta) + text(&said.full),
        Body::Call(call) => call.input.as_ref().map_or(0, |input| input.raw().len()),
        Body::Arguments { delta, .. } => delta.len(),
        Body::Progress { content, .. } => content.raw().len(),
        Body::Result(result) => result.content.as_ref().map_or(0, |content| content.raw().len()),
        Body::Asked(ask) => {
            text(&ask.prompt) + ask.choices.as_ref().map_or(0, |choices| choices.raw().len())
        }
        Body::Replied(reply) => reply.answer.as_ref().map_or(0, |answer| answer.raw().len()),
        Body::Tasks(tasks) => tasks.iter().map(|task| task.content.len() + REST).sum(),
        Body::Activity(activity) => activity.content.raw().len(),
        Body::Ended(ended) => text(&ended.text),
        Body::Unknown { raw, .. } => raw.raw().len(),
        Body::ToolsAvailable(available) => available.tools.iter().map(|tool| tool.len() + 4).sum(),
        Body::Problem(problem) => problem.message.len(),
        Body::Started(_)
        | Body::Turn(_)
        | Body::Cancelled { .. }
        | Body::Usage(_)
        | Body::Stop(_)
        | Body::TimedOut { .. } => 0,
    };
    REST + large
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{Id, Text};

    use super::*;

    fn said(bytes: usize) -> Event {
        let text = Text { delta: Some("x".repeat(bytes)), ..Text::default() };
        Event::new(&Id::from("r"), Body::Text(text))
    }

    #[test]
    fn nothing_is_lost_between_two_batches() {
        let sizes =
            |events: Vec<Event>| -> Vec<usize> { of_events(events).iter().map(Vec::len).collect() };
        assert_eq!(sizes(Vec::new()), [0; 0]);
        assert_eq!(sizes(vec![said(1); 3]), [3]);
        assert_eq!(sizes(vec![said(BYTES / 2); 3]), [1, 1, 1]);
        assert_eq!(sizes(vec![said(BYTES / 3 - REST); 4]), [3, 1]);
        assert_eq!(sizes(vec![said(2 * BYTES)]), [1]);
        assert_eq!(sizes(vec![said(1); limits::APPEND_EVENTS + 1]), [limits::APPEND_EVENTS, 1]);
    }
}
