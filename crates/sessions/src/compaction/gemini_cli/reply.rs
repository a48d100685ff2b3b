//! Writes replies in Gemini CLI's format: text in the content, calls in a separate list, each with
//! its result.

use foxwedge_core::Span;

use super::{CompactedFileMessage, GeminiMessageVersion, GeminiSnapshotWriter, parts};
use crate::compaction::{call_index::AnswerCallIndex, mark, whole_span};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, patched_text, write_patched};
use foxwedge_json::{array_elements, field_text, field_value, quote};

/// A call of a reply, and the parts with its result.
struct GeminiReplyCall<'p> {
    id: String,
    /// Its index among the parts.
    place: usize,
    part: &'p str,
    answer: Vec<&'p str>,
}

impl GeminiSnapshotWriter<'_, '_> {
    /// Writes a reply with the results of its calls. Returns the index of the next message.
    pub(super) fn write_reply(&mut self, at: usize, message: CompactedFileMessage<'_>) -> usize {
        let own_parts = parts(message.json);
        let entry = self.entry_of(&message);
        let unchanged = self.session.kept_origin(&message).is_some();
        let mut calls = listable_calls(&own_parts, unchanged);
        let next_message = self.compacted.messages.get(at + 1).copied();
        let next_message = next_message.filter(|next| {
            field_text(next.json, whole_span(next.json), "role").as_deref() != Some("model")
        });
        let next_parts = next_message.map(|next| parts(next.json)).unwrap_or_default();
        let has_list = entry.is_some_and(|entry| self.call_list(entry).is_some());
        let own = calls.is_some() && (!unchanged || has_list);
        let taken = match &mut calls {
            Some(calls) if own => attach_answers(calls, &next_parts, at, &self.call_index),
            _ => 0,
        };
        let calls = calls.filter(|_| own);
        let content = (!unchanged).then(|| match &calls {
            // Parts other than calls come before the calls.
            Some(calls) => own_parts.get(..own_parts.len() - calls.len()).unwrap_or(&[]).join(","),
            None => own_parts.join(","),
        });
        self.write_entry(at, &message, entry, content, calls);
        match next_message {
            Some(_) if taken == next_parts.len() && taken > 0 => at + 2,
            Some(next) if taken > 0 => {
                self.write_user(at + 1, &next, next_parts.get(taken..).unwrap_or(&[]));
                at + 2
            }
            _ => at + 1,
        }
    }

    fn write_entry(
        &mut self,
        at: usize,
        message: &CompactedFileMessage<'_>,
        entry: Option<GeminiMessageVersion<'_>>,
        content: Option<String>,
        calls: Option<Vec<GeminiReplyCall<'_>>>,
    ) {
        let list = calls.filter(|calls| !calls.is_empty()).map(|calls| {
            let calls = calls.iter().map(|call| self.call_json(entry, call));
            format!("[{}]", calls.collect::<Vec<_>>().join(","))
        });
        let id = self.ids.new_id(&["reply", &at.to_string()]);
        let mut changes: FieldChanges<'_> = vec![("id", FieldChange::Text(quote(&id)))];
        changes.extend(content.map(|parts| ("content", FieldChange::Text(format!("[{parts}]")))));
        match list {
            Some(list) => changes.push(("toolCalls", FieldChange::Text(list))),
            None => changes.push(("toolCalls", FieldChange::Remove)),
        }
        if entry.is_none() {
            changes.push(("type", FieldChange::Text("\"gemini\"".to_owned())));
            changes.extend(
                self.message_time(message).map(|time| ("timestamp", FieldChange::Text(time))),
            );
        }
        changes.push((mark::MARK, FieldChange::Text(self.mark_for(at, message))));
        let mut out = SpliceWriter::new(self.session.log.source, &[]);
        write_patched(&mut out, entry.map_or(Span::NOWHERE, |entry| entry.span), changes);
        self.written.push(out.finish());
    }

    /// The span of an entry's list of calls.
    fn call_list(&self, entry: GeminiMessageVersion<'_>) -> Option<Span> {
        field_value(self.session.log.source, entry.span, "toolCalls")
    }

    /// A call with its result. Keeps the existing object if there is one.
    fn call_json(
        &self,
        entry: Option<GeminiMessageVersion<'_>>,
        call: &GeminiReplyCall<'_>,
    ) -> String {
        let source = self.session.log.source;
        let list = entry.and_then(|entry| self.call_list(entry));
        let known = list.map(|list| array_elements(source, list)).unwrap_or_default();
        let known = known
            .into_iter()
            .find(|known| field_text(source, *known, "id").as_deref() == Some(&call.id));
        let result = match call.answer.as_slice() {
            [] => "null".to_owned(),
            answer => format!("[{}]", answer.join(",")),
        };
        if let Some(known) = known {
            return patched_text(source, known, vec![("result", FieldChange::Text(result))]);
        }
        let function_call =
            field_value(call.part, whole_span(call.part), "functionCall").unwrap_or(Span::NOWHERE);
        let value = |key: &str, none: &'static str| {
            field_value(call.part, function_call, key).map_or(none, |value| value.of(call.part))
        };
        let status = if call.answer.is_empty() { "cancelled" } else { "success" };
        format!(
            "{{\"id\":{},\"name\":{},\"args\":{},\"result\":{result},\"status\":\"{status}\"}}",
            quote(&call.id),
            value("name", "\"\""),
            value("args", "{}")
        )
    }
}

/// The calls of a reply, if they fit into a separate list: each has a unique id, and no other parts
/// follow them or are inside them.
fn listable_calls<'p>(parts: &[&'p str], unchanged: bool) -> Option<Vec<GeminiReplyCall<'p>>> {
    let mut calls: Vec<GeminiReplyCall<'p>> = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let Some(function_call) = field_value(part, whole_span(part), "functionCall") else {
            if !calls.is_empty() && !unchanged {
                return None;
            }
            continue;
        };
        let alone = unchanged || foxwedge_json::object_fields(part, whole_span(part)).len() == 1;
        let id = field_text(part, function_call, "id")
            .filter(|id| !id.is_empty() && alone)?
            .into_owned();
        if calls.iter().any(|call| call.id == id) {
            return None;
        }
        calls.push(GeminiReplyCall { id, place, part, answer: Vec::new() });
    }
    Some(calls)
}

/// Assigns the results that follow a message to its calls, in the order of the calls. Returns how
/// many parts were used.
fn attach_answers<'p>(
    calls: &mut [GeminiReplyCall<'p>],
    next_parts: &[&'p str],
    message: usize,
    call_index: &AnswerCallIndex<'_>,
) -> usize {
    let (mut taken, mut next) = (0, 0);
    for (place, part) in next_parts.iter().enumerate() {
        if field_value(part, whole_span(part), "functionResponse").is_some() {
            let target =
                call_index.call_of(message + 1, place).filter(|call| call.message == message);
            let Some(rest) = calls.get_mut(next..) else { break };
            let own =
                |call: &GeminiReplyCall<'_>| target.is_some_and(|target| target.part == call.place);
            let Some(at) = rest.iter().position(own) else { break };
            next += at + 1;
            if let Some(call) = rest.get_mut(at) {
                call.answer.push(part);
            }
        } else if field_text(part, whole_span(part), "text").is_none() && next > 0 {
            // Images of a result follow it.
            if let Some(call) = calls.get_mut(next - 1) {
                call.answer.push(part);
            }
        } else {
            break;
        }
        taken += 1;
    }
    taken
}

#[cfg(test)]
mod tests {
    use foxwedge_core::Format;

    use super::*;

    #[test]
    fn calls_go_into_a_separate_list_only_if_nothing_is_lost() {
        let text = r#"{"text":"so"}"#;
        let one = r#"{"functionCall":{"id":"1","name":"grep"}}"#;
        let two = r#"{"functionCall":{"id":"2","name":"grep"}}"#;
        let nameless = r#"{"functionCall":{"name":"grep"}}"#;
        let signed = r#"{"functionCall":{"id":"1","name":"grep"},"thoughtSignature":"c2ln"}"#;
        let table: [(&[&str], Option<usize>); 7] = [
            (&[], Some(0)),
            (&[text], Some(0)),
            (&[text, one, two], Some(2)),
            (&[one, text], None),
            (&[one, one], None),
            (&[nameless], None),
            (&[text, signed], None),
        ];
        for (said, expected) in table {
            assert_eq!(listable_calls(said, false).map(|calls| calls.len()), expected, "{said:?}");
        }
    }

    #[test]
    fn results_are_attached_to_their_calls_while_the_order_matches() {
        let one = r#"{"functionCall":{"id":"1","name":"grep"}}"#;
        let two = r#"{"functionCall":{"id":"2","name":"grep"}}"#;
        let first = r#"{"functionResponse":{"id":"1","name":"grep","response":{}}}"#;
        let second = r#"{"functionResponse":{"id":"2","name":"grep","response":{}}}"#;
        let image = r#"{"inlineData":{"mimeType":"image/png","data":"aGk="}}"#;
        let text = r#"{"text":"and?"}"#;
        let table: [(&[&str], usize, [usize; 2]); 6] = [
            (&[first, second], 2, [1, 1]),
            (&[second, first], 1, [0, 1]),
            (&[first, image, second, text], 3, [2, 1]),
            (&[first, first], 1, [1, 0]),
            (&[image, first], 0, [0, 0]),
            (&[text], 0, [0, 0]),
        ];
        for (follows, taken, expected) in table {
            let mut calls = listable_calls(&[one, two], false).unwrap_or_default();
            let model_json = format!(r#"{{"role":"model","parts":[{one},{two}]}}"#);
            let user_json = format!(r#"{{"role":"user","parts":[{}]}}"#, follows.join(","));
            let messages = [&*model_json, &*user_json].map(|json| CompactedFileMessage {
                origin: None,
                kept: false,
                json,
            });
            let call_index = AnswerCallIndex::of(&messages, Format::Gemini);
            assert_eq!(attach_answers(&mut calls, follows, 0, &call_index), taken, "{follows:?}");
            let counts: Vec<usize> = calls.iter().map(|call| call.answer.len()).collect();
            assert_eq!(counts, expected, "{follows:?}");
        }
    }
}
