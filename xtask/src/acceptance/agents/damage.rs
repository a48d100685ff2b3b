//! What happens to session files: the same story, damaged in several ways.

use serde_json::Value;

use super::{
    history::text_of,
    row_damage,
    script::{CALLS, PROMPTS, REPLIES},
};

/// A session file after an accident.
pub(super) struct DamagedSession {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    /// The call whose answer went with it.
    pub(super) lost: Option<&'static str>,
}

/// Every accident that can happen to a session.
pub(super) fn all(session: &str) -> Vec<DamagedSession> {
    if session.starts_with("{\"row\":") {
        return row_damage::all(session);
    }
    let story = SessionLines::read(session);
    let happened = ACCIDENTS.into_iter().filter_map(|(name, lost, accident)| {
        // What an agent wrote anew is there a second time.
        let lost = lost.filter(|_| story.rewritten().is_none());
        Some(DamagedSession { name, bytes: accident(&story)?, lost })
    });
    happened.collect()
}

/// The calls that a session leaves open, read without any engine.
pub(super) fn open_calls(session: &str) -> Vec<&'static str> {
    let story = SessionLines::read(session);
    let open = |id: &&str| session.contains(*id) && story.answer(id).is_none();
    CALLS.iter().map(|(id, _)| *id).filter(open).collect()
}

/// The calls of the story that reached the disk.
pub(super) fn known_calls(session: &str) -> Vec<&'static str> {
    CALLS.iter().map(|(id, _)| *id).filter(|id| session.contains(id)).collect()
}

/// What it is called, whose answer it takes, and what it makes of a session; nothing, if it
/// cannot happen there.
type SessionAccident =
    (&'static str, Option<&'static str>, fn(&SessionLines<'_>) -> Option<Vec<u8>>);

const ACCIDENTS: [SessionAccident; 15] = [
    ("as the kill left it", None, |story| Some(story.whole())),
    ("half a record at the end", None, |story| {
        let last = story.lines.last()?;
        Some([story.whole(), last.get(..last.len() / 2)?.into()].concat())
    }),
    ("zeros at the end", None, |story| Some([story.whole(), vec![0; 4096]].concat())),
    ("the last line has no end", None, |story| Some(story.whole().strip_suffix(b"\n")?.to_owned())),
    ("half a record in the middle, the next one behind it", Some(TORN), |story| {
        let at = story.answer(TORN)?;
        let line = story.lines.get(at)?;
        let glued = format!("{}{}", line.get(..line.len() / 2)?, story.lines.get(at + 1)?);
        Some(story.with(at, &[glued.as_bytes()], 2))
    }),
    ("the line with the whole history is torn", None, |story| {
        let at = story.rewritten()?;
        let line = story.lines[at].as_bytes();
        Some(story.with(at, &[line.get(..line.len() / 2)?], 1))
    }),
    ("zeros before a record in the middle", None, |story| {
        let at = story.answer(CALLS[0].0)?;
        Some(story.with(at, &[&[vec![0; 512], story.lines[at].into()].concat()], 1))
    }),
    ("bytes in an answer that are no text", None, |story| {
        let (id, output) = CALLS[0];
        let at = story.answer(id)?;
        let (before, behind) = story.lines[at].split_once(output)?;
        let line = [before.as_bytes(), output.as_bytes(), b"\xff\xfe", behind.as_bytes()].concat();
        Some(story.with(at, &[&line], 1))
    }),
    ("an answer in the middle is gone", Some(GONE), |story| {
        Some(story.with(story.answer(GONE)?, &[], 1))
    }),
    ("an answer stands at the end of the file", None, |story| {
        let at = story.answer(CALLS[1].0)?;
        let without = story.with(at, &[], 1);
        Some([without, story.lines[at].into(), b"\n".into()].concat())
    }),
    ("an answer stands once more at the end", None, |story| {
        let at = story.answer(CALLS[1].0)?;
        Some([story.whole(), story.lines[at].into(), b"\n".into()].concat())
    }),
    ("a record in the middle stands twice", None, |story| {
        let at = story.said(REPLIES[2])?;
        // Where records have no ids, it is simply said twice.
        story.records[at].get(story.id_field())?;
        let line = story.lines[at].as_bytes();
        Some(story.with(at, &[line, line], 1))
    }),
    ("a parent in the middle is missing", None, |story| {
        story.linked(&[story.said(PROMPTS[1])?], NOBODY)
    }),
    ("parallel answers name a parent that is missing", None, |story| {
        story.linked(&story.side_answers(), NOBODY)
    }),
    ("parents go round in a circle", None, |story| {
        let later = text_of(story.records.get(story.said(REPLIES[2])?)?, story.id_field());
        story.linked(&[story.said(PROMPTS[1])?], later)
    }),
];

/// The call whose answer is torn, and the one whose answer is gone.
const TORN: &str = CALLS[1].0;
const GONE: &str = CALLS[2].0;

/// No record has this id.
const NOBODY: &str = "00000000-dead-4000-8000-000000000000";

/// A session, line by line.
struct SessionLines<'s> {
    lines: Vec<&'s str>,
    records: Vec<Value>,
}

impl<'s> SessionLines<'s> {
    fn read(session: &'s str) -> SessionLines<'s> {
        let lines: Vec<&str> = session.lines().collect();
        let records = lines.iter().map(|line| {
            let record: Value = serde_json::from_str(line).unwrap_or_default();
            // Of a row, its payload.
            let payload = record["row"]["data"].as_str().map(serde_json::from_str);
            payload.and_then(Result::ok).unwrap_or(record)
        });
        SessionLines { records: records.collect(), lines }
    }

    fn whole(&self) -> Vec<u8> {
        self.with(0, &[], 0)
    }

    /// The session with other lines in the place of so many of its own.
    fn with(&self, at: usize, other: &[&[u8]], instead_of: usize) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = self.lines.iter().map(|line| line.as_bytes()).collect();
        lines.splice(at..at + instead_of, other.iter().copied());
        lines.into_iter().flat_map(|line| [line, b"\n"]).flatten().copied().collect()
    }

    /// The line of an answer.
    fn answer(&self, id: &str) -> Option<usize> {
        self.records.iter().position(|record| {
            let message = &record["message"];
            let contents = [&message["content"], &message["parts"], &record["content"]];
            let mut blocks = contents.into_iter().filter_map(Value::as_array).flatten();
            let payload = &record["payload"];
            let is_result = text_of(record, "type") == "tool.execution_complete";
            let event = &record["event"];
            let is_event = text_of(event, "type") == "tool.result";
            let is_done = matches!(text_of(&record["state"], "status"), "completed" | "error");
            if text_of(&record["message"], "toolCallId") == id
                || is_done && text_of(record, "callID") == id
                || is_event && text_of(event, "toolCallId") == id
                || is_result && text_of(&record["data"], "toolCallId") == id
            {
                return true;
            }
            blocks.any(|block| {
                text_of(block, "tool_use_id") == id
                    || text_of(&block["functionResponse"], "id").ends_with(id)
            }) || text_of(payload, "type") == "function_call_output"
                && text_of(payload, "call_id") == id
        })
    }

    /// The fields in which records name themselves and their parents.
    fn id_field(&self) -> &'static str {
        if self.parent_field() == "parentId" { "id" } else { "uuid" }
    }

    fn parent_field(&self) -> &'static str {
        let is_short = self.records.iter().any(|record| record.get("parentId").is_some());
        if is_short { "parentId" } else { "parentUuid" }
    }

    /// The last line in which an agent wrote the whole history anew.
    fn rewritten(&self) -> Option<usize> {
        self.records.iter().rposition(|record| {
            let messages = record["$set"]["messages"].as_array();
            messages.is_some_and(|messages| messages.len() > 1)
        })
    }

    /// The line of the message in which somebody says this.
    fn said(&self, text: &str) -> Option<usize> {
        self.records.iter().position(|record| {
            let holders = [
                &record["message"]["content"],
                &record["message"]["parts"],
                &record["payload"]["content"],
                &record["data"]["content"],
                &record["event"]["part"]["text"],
            ];
            holders.into_iter().any(|content| {
                let mut blocks = content.as_array().into_iter().flatten();
                content.as_str() == Some(text) || blocks.any(|block| text_of(block, "text") == text)
            })
        })
    }

    /// Answers of the second turn that no other record follows.
    fn side_answers(&self) -> Vec<usize> {
        let followed = |at: &usize| {
            let id = text_of(&self.records[*at], self.id_field());
            self.records.iter().any(|record| text_of(record, self.parent_field()) == id)
        };
        let answers = CALLS.iter().take(3).filter_map(|(id, _)| self.answer(id));
        answers.filter(|at| !followed(at)).collect()
    }

    /// Records with another parent; nothing, if the records of this session have none.
    fn linked(&self, places: &[usize], parent: &str) -> Option<Vec<u8>> {
        let key = self.parent_field();
        let new = format!("\"{key}\":\"{parent}\"");
        let mut bytes = Vec::new();
        let mut changed = 0;
        for (at, line) in self.lines.iter().enumerate() {
            let old = format!("\"{key}\":\"{}\"", text_of(&self.records[at], key));
            if places.contains(&at) && line.contains(&old) {
                bytes.extend(line.replacen(&old, &new, 1).bytes());
                changed += 1;
            } else {
                bytes.extend(line.bytes());
            }
            bytes.push(b'\n');
        }
        (changed > 0).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second turn and what came of the third, as an agent writes it.
    fn session(says: fn(&str, &str) -> String, answers: fn(&str, &str) -> String) -> String {
        let mut lines = vec![says("p", PROMPTS[1])];
        lines.extend(CALLS.iter().take(4).map(|(id, output)| answers(id, output)));
        lines.push(says("a", REPLIES[2]));
        lines.extend(CALLS.iter().skip(4).map(|(id, _)| says(id, id)));
        lines.join("\n") + "\n"
    }

    #[test]
    fn accidents_happen_where_they_can() {
        let linked = session(
            |id, text| {
                format!(r#"{{"uuid":"{id}","parentUuid":"p","message":{{"content":"{text}"}}}}"#)
            },
            |id, output| {
                let answer = format!(r#"{{"tool_use_id":"{id}","content":"{output}"}}"#);
                format!(r#"{{"uuid":"{id}","parentUuid":"p","message":{{"content":[{answer}]}}}}"#)
            },
        );
        let plain = session(
            |_, text| format!(r#"{{"payload":{{"content":"{text}"}}}}"#),
            |id, output| {
                let kind = "function_call_output";
                format!(r#"{{"payload":{{"type":"{kind}","call_id":"{id}","output":"{output}"}}}}"#)
            },
        );
        let rewritten = session(
            |_, text| format!(r#"{{"$set":{{"messages":[{{}},{{"content":"{text}"}}]}}}}"#),
            |id, output| {
                let answer = format!(r#"{{"id":"f__{id}","response":{{"output":"{output}"}}}}"#);
                format!(r#"{{"content":[{{"functionResponse":{answer}}}]}}"#)
            },
        );
        let parts = session(
            |id, text| {
                let parts = format!(r#"[{{"text":"{text}"}}]"#);
                format!(r#"{{"uuid":"{id}","parentUuid":"p","message":{{"parts":{parts}}}}}"#)
            },
            |id, output| {
                let response = format!(r#"{{"id":"{id}","response":{{"output":"{output}"}}}}"#);
                let parts = format!(r#"[{{"functionResponse":{response}}}]"#);
                format!(r#"{{"uuid":"{id}","parentUuid":"p","message":{{"parts":{parts}}}}}"#)
            },
        );
        for (session, accidents) in [(linked, 14), (plain, 10), (rewritten, 11), (parts, 14)] {
            assert_eq!(open_calls(&session), ["call_parallel_2", "call_parallel_3"]);
            let all = all(&session);
            assert_eq!(all.len(), accidents, "{session}");
            for damaged in all {
                let same = damaged.bytes == session.as_bytes();
                assert_eq!(same, damaged.name == ACCIDENTS[0].0, "{}", damaged.name);
            }
        }
    }
}
