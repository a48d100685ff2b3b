//! A reply as Gemini CLI keeps it: what is said in its content, the calls in a list of their own,
//! each with its answer.

use foxwedge_core::Span;

use super::{CompactedFileMessage, GeminiMessageVersion, GeminiSnapshotWriter, parts};
use crate::{
    json::{array_elements, field_text, field_value, quote},
    session::compaction::{call_index::AnswerCallIndex, mark, whole_span},
    splice::{FieldChange, FieldChanges, SpliceWriter, patched_text, write_patched},
};

/// A call of a reply, and the parts that answer it.
struct GeminiReplyCall<'p> {
    id: String,
    /// Its place among the parts.
    place: usize,
    part: &'p str,
    answer: Vec<&'p str>,
}

impl GeminiSnapshotWriter<'_, '_> {
    /// Writes a reply with the answers to its calls, and says where the next message begins.
    pub(super) fn write_reply(&mut self, at: usize, shown: CompactedFileMessage<'_>) -> usize {
        let said = parts(shown.json);
        let entry = self.entry_of(&shown);
        let kept = self.session.kept_origin(&shown).is_some();
        let mut calls = listable_calls(&said, kept);
        let behind = self.condensed.messages.get(at + 1).copied();
        let behind = behind.filter(|next| {
            field_text(next.json, whole_span(next.json), "role").as_deref() != Some("model")
        });
        let follows = behind.map(|next| parts(next.json)).unwrap_or_default();
        let has_list = entry.is_some_and(|entry| self.call_list(entry).is_some());
        let own = calls.is_some() && (!kept || has_list);
        let taken = match &mut calls {
            Some(calls) if own => attach_answers(calls, &follows, at, &self.partners),
            _ => 0,
        };
        let calls = calls.filter(|_| own);
        let content = (!kept).then(|| match &calls {
            // What is no call stands before the calls.
            Some(calls) => said.get(..said.len() - calls.len()).unwrap_or(&[]).join(","),
            None => said.join(","),
        });
        self.write_entry(at, &shown, entry, content, calls);
        match behind {
            Some(_) if taken == follows.len() && taken > 0 => at + 2,
            Some(next) if taken > 0 => {
                self.write_user(at + 1, &next, follows.get(taken..).unwrap_or(&[]));
                at + 2
            }
            _ => at + 1,
        }
    }

    fn write_entry(
        &mut self,
        at: usize,
        shown: &CompactedFileMessage<'_>,
        entry: Option<GeminiMessageVersion<'_>>,
        content: Option<String>,
        calls: Option<Vec<GeminiReplyCall<'_>>>,
    ) {
        let list = calls.filter(|calls| !calls.is_empty()).map(|calls| {
            let calls = calls.iter().map(|call| self.call_json(entry, call));
            format!("[{}]", calls.collect::<Vec<_>>().join(","))
        });
        let id = self.fresh.new_id(&["reply", &at.to_string()]);
        let mut changes: FieldChanges<'_> = vec![("id", FieldChange::Text(quote(&id)))];
        changes.extend(content.map(|parts| ("content", FieldChange::Text(format!("[{parts}]")))));
        match list {
            Some(list) => changes.push(("toolCalls", FieldChange::Text(list))),
            None => changes.push(("toolCalls", FieldChange::Remove)),
        }
        if entry.is_none() {
            changes.push(("type", FieldChange::Text("\"gemini\"".to_owned())));
            changes.extend(
                self.message_time(shown).map(|time| ("timestamp", FieldChange::Text(time))),
            );
        }
        changes.push((mark::MARK, FieldChange::Text(self.mark_for(at, shown))));
        let mut out = SpliceWriter::new(self.session.log.source, &[]);
        write_patched(&mut out, entry.map_or(Span::NOWHERE, |entry| entry.span), changes);
        self.written.push(out.finish());
    }

    /// The list of calls of an entry.
    fn call_list(&self, entry: GeminiMessageVersion<'_>) -> Option<Span> {
        field_value(self.session.log.source, entry.span, "toolCalls")
    }

    /// A call with its answer, as it was if it was there.
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
        let made =
            field_value(call.part, whole_span(call.part), "functionCall").unwrap_or(Span::NOWHERE);
        let value = |key: &str, none: &'static str| {
            field_value(call.part, made, key).map_or(none, |value| value.of(call.part))
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

/// The calls of a reply, if a list of its own can hold them: each has an id of its own, and nothing
/// else stands behind or in them.
fn listable_calls<'p>(said: &[&'p str], kept: bool) -> Option<Vec<GeminiReplyCall<'p>>> {
    let mut calls: Vec<GeminiReplyCall<'p>> = Vec::new();
    for (place, part) in said.iter().enumerate() {
        let Some(made) = field_value(part, whole_span(part), "functionCall") else {
            if !calls.is_empty() && !kept {
                return None;
            }
            continue;
        };
        let alone = kept || crate::json::object_fields(part, whole_span(part)).len() == 1;
        let id = field_text(part, made, "id").filter(|id| !id.is_empty() && alone)?.into_owned();
        if calls.iter().any(|call| call.id == id) {
            return None;
        }
        calls.push(GeminiReplyCall { id, place, part, answer: Vec::new() });
    }
    Some(calls)
}

/// Gives the calls of a message the answers that follow it, in the order of the calls; says how many
/// parts were taken.
fn attach_answers<'p>(
    calls: &mut [GeminiReplyCall<'p>],
    follows: &[&'p str],
    message: usize,
    partners: &AnswerCallIndex<'_>,
) -> usize {
    let (mut taken, mut next) = (0, 0);
    for (place, part) in follows.iter().enumerate() {
        if field_value(part, whole_span(part), "functionResponse").is_some() {
            let whose = partners.call_of(message + 1, place).filter(|call| call.message == message);
            let Some(rest) = calls.get_mut(next..) else { break };
            let own =
                |call: &GeminiReplyCall<'_>| whose.is_some_and(|whose| whose.part == call.place);
            let Some(at) = rest.iter().position(own) else { break };
            next += at + 1;
            if let Some(call) = rest.get_mut(at) {
                call.answer.push(part);
            }
        } else if field_text(part, whole_span(part), "text").is_none() && next > 0 {
            // Images of an answer stand behind it.
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
    fn calls_go_into_a_list_of_their_own_if_nothing_is_lost_by_it() {
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
    fn answers_go_to_their_calls_as_long_as_the_order_stays() {
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
            let mut asked = listable_calls(&[one, two], false).unwrap_or_default();
            let said = format!(r#"{{"role":"model","parts":[{one},{two}]}}"#);
            let told = format!(r#"{{"role":"user","parts":[{}]}}"#, follows.join(","));
            let shown = [&*said, &*told].map(|json| CompactedFileMessage {
                origin: None,
                kept: false,
                json,
            });
            let partners = AnswerCallIndex::of(&shown, Format::Gemini);
            assert_eq!(attach_answers(&mut asked, follows, 0, &partners), taken, "{follows:?}");
            let counts: Vec<usize> = asked.iter().map(|call| call.answer.len()).collect();
            assert_eq!(counts, expected, "{follows:?}");
        }
    }
}
