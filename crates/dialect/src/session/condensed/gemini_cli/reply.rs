//! A reply as Gemini CLI keeps it: what is said in its content, the calls in a list of their own,
//! each with its answer.

use foxwedge_core::Span;

use super::{Entry, Job, Shown, parts};
use crate::{
    json::{elements, field, quote, says},
    session::condensed::{all, mark, partners::Partners},
    splice::{Change, Changes, Writer, patch, patched},
};

/// A call of a reply, and the parts that answer it.
struct Called<'p> {
    id: String,
    /// Its place among the parts.
    place: usize,
    part: &'p str,
    answer: Vec<&'p str>,
}

impl Job<'_, '_> {
    /// Writes a reply with the answers to its calls, and says where the next message begins.
    pub(super) fn reply(&mut self, at: usize, shown: Shown<'_>) -> usize {
        let said = parts(shown.json);
        let entry = self.entry_of(&shown);
        let kept = self.session.kept(&shown).is_some();
        let mut calls = calls(&said, kept);
        let behind = self.condensed.messages.get(at + 1).copied();
        let behind = behind
            .filter(|next| says(next.json, all(next.json), "role").as_deref() != Some("model"));
        let follows = behind.map(|next| parts(next.json)).unwrap_or_default();
        let has_list = entry.is_some_and(|entry| self.list(entry).is_some());
        let own = calls.is_some() && (!kept || has_list);
        let taken = match &mut calls {
            Some(calls) if own => answer(calls, &follows, at, &self.partners),
            _ => 0,
        };
        let calls = calls.filter(|_| own);
        let content = (!kept).then(|| match &calls {
            // What is no call stands before the calls.
            Some(calls) => said.get(..said.len() - calls.len()).unwrap_or(&[]).join(","),
            None => said.join(","),
        });
        self.write(at, &shown, entry, content, calls);
        match behind {
            Some(_) if taken == follows.len() && taken > 0 => at + 2,
            Some(next) if taken > 0 => {
                self.user(at + 1, &next, follows.get(taken..).unwrap_or(&[]));
                at + 2
            }
            _ => at + 1,
        }
    }

    fn write(
        &mut self,
        at: usize,
        shown: &Shown<'_>,
        entry: Option<Entry<'_>>,
        content: Option<String>,
        calls: Option<Vec<Called<'_>>>,
    ) {
        let list = calls.filter(|calls| !calls.is_empty()).map(|calls| {
            let calls = calls.iter().map(|call| self.call(entry, call));
            format!("[{}]", calls.collect::<Vec<_>>().join(","))
        });
        let id = self.fresh.id(&["reply", &at.to_string()]);
        let mut changes: Changes<'_> = vec![("id", Change::Text(quote(&id)))];
        changes.extend(content.map(|parts| ("content", Change::Text(format!("[{parts}]")))));
        match list {
            Some(list) => changes.push(("toolCalls", Change::Text(list))),
            None => changes.push(("toolCalls", Change::Remove)),
        }
        if entry.is_none() {
            changes.push(("type", Change::Text("\"gemini\"".to_owned())));
            changes.extend(self.time(shown).map(|time| ("timestamp", Change::Text(time))));
        }
        changes.push((mark::MARK, Change::Text(self.mark(at, shown))));
        let mut out = Writer::new(self.session.log.source, &[]);
        patch(&mut out, entry.map_or(Span::NOWHERE, |entry| entry.span), changes);
        self.written.push(out.finish());
    }

    /// The list of calls of an entry.
    fn list(&self, entry: Entry<'_>) -> Option<Span> {
        field(self.session.log.source, entry.span, "toolCalls")
    }

    /// A call with its answer, as it was if it was there.
    fn call(&self, entry: Option<Entry<'_>>, call: &Called<'_>) -> String {
        let source = self.session.log.source;
        let list = entry.and_then(|entry| self.list(entry));
        let known = list.map(|list| elements(source, list)).unwrap_or_default();
        let known =
            known.into_iter().find(|known| says(source, *known, "id").as_deref() == Some(&call.id));
        let result = match call.answer.as_slice() {
            [] => "null".to_owned(),
            answer => format!("[{}]", answer.join(",")),
        };
        if let Some(known) = known {
            return patched(source, known, vec![("result", Change::Text(result))]);
        }
        let made = field(call.part, all(call.part), "functionCall").unwrap_or(Span::NOWHERE);
        let value = |key: &str, none: &'static str| {
            field(call.part, made, key).map_or(none, |value| value.of(call.part))
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
fn calls<'p>(said: &[&'p str], kept: bool) -> Option<Vec<Called<'p>>> {
    let mut calls: Vec<Called<'p>> = Vec::new();
    for (place, part) in said.iter().enumerate() {
        let Some(made) = field(part, all(part), "functionCall") else {
            if !calls.is_empty() && !kept {
                return None;
            }
            continue;
        };
        let alone = kept || crate::json::fields(part, all(part)).len() == 1;
        let id = says(part, made, "id").filter(|id| !id.is_empty() && alone)?.into_owned();
        if calls.iter().any(|call| call.id == id) {
            return None;
        }
        calls.push(Called { id, place, part, answer: Vec::new() });
    }
    Some(calls)
}

/// Gives the calls of a message the answers that follow it, in the order of the calls; says how many
/// parts were taken.
fn answer<'p>(
    calls: &mut [Called<'p>],
    follows: &[&'p str],
    message: usize,
    partners: &Partners<'_>,
) -> usize {
    let (mut taken, mut next) = (0, 0);
    for (place, part) in follows.iter().enumerate() {
        if field(part, all(part), "functionResponse").is_some() {
            let whose = partners.call(message + 1, place).filter(|call| call.message == message);
            let Some(rest) = calls.get_mut(next..) else { break };
            let own = |call: &Called<'_>| whose.is_some_and(|whose| whose.part == call.place);
            let Some(at) = rest.iter().position(own) else { break };
            next += at + 1;
            if let Some(call) = rest.get_mut(at) {
                call.answer.push(part);
            }
        } else if says(part, all(part), "text").is_none() && next > 0 {
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
    use foxwedge_core::Wire;

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
            assert_eq!(calls(said, false).map(|calls| calls.len()), expected, "{said:?}");
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
            let mut asked = calls(&[one, two], false).unwrap_or_default();
            let said = format!(r#"{{"role":"model","parts":[{one},{two}]}}"#);
            let told = format!(r#"{{"role":"user","parts":[{}]}}"#, follows.join(","));
            let shown = [&*said, &*told].map(|json| Shown { origin: None, kept: false, json });
            let partners = Partners::of(&shown, Wire::Gemini);
            assert_eq!(answer(&mut asked, follows, 0, &partners), taken, "{follows:?}");
            let counts: Vec<usize> = asked.iter().map(|call| call.answer.len()).collect();
            assert_eq!(counts, expected, "{follows:?}");
        }
    }
}
