//! What has to hold for every file and every compaction of it.

use foxwedge_sessions::{CompactionError, SessionAgent};
use foxwedge_testkit::{session_view, told};
use serde_json::Value;

use super::workshop::{Told, WAYS, Way, continued, joined, lengthen, repaired, shorten, tell};

/// What was met.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Files that were made shorter.
    pub(crate) compacted: usize,
    /// Files that were made shorter twice.
    pub(crate) twice: usize,
}

/// Whether all laws hold for a file; the first that does not is told.
pub(crate) fn judge(
    agent: SessionAgent,
    bytes: &[u8],
    way: Way,
    tally: &mut Tally,
) -> Result<(), String> {
    let Some(before) = tell(agent, bytes) else { return Ok(()) };
    let Some(shorter) = shorten(agent, bytes, way) else { return Ok(()) };
    let after = match shorter.bytes {
        Ok(after) => after,
        Err(CompactionError::NothingChanged | CompactionError::Empty) => return Ok(()),
        // Not written for every agent.
        Err(CompactionError::NotWritten(_)) => return Ok(()),
        Err(CompactionError::TooOld)
            if agent == SessionAgent::GeminiCli && !bytes.starts_with(b"{\"") =>
        {
            return Ok(());
        }
        Err(CompactionError::TooOld) if agent == SessionAgent::GeminiCli => return Ok(()),
        Err(CompactionError::Damaged) if agent == SessionAgent::Cline && before.is_flawed() => {
            return Ok(());
        }
        Err(error) => return Err(format!("{error}\nthe compaction left\n{}", shorter.text)),
    };
    tally.compacted += 1;
    let seen = tell(agent, &after).ok_or("the compacted file cannot be read")?;
    let shown = |what: &str| format!("{what}\nafter\n{}", String::from_utf8_lossy(&after));
    same("the compaction", &joined(agent, &shorter.text), "the file", &seen.messages(agent))
        .map_err(|what| shown(&what))?;
    sound(&before, &seen).map_err(|what| shown(&what))?;
    oracle(agent, &after, &seen).map_err(|what| shown(&what))?;
    nothing_is_gone(agent, bytes, &after).map_err(|what| shown(&what))?;
    taken_back(agent, bytes, &before, &after).map_err(|what| shown(&what))?;
    went_on(agent, &before, &after).map_err(|what| shown(&what))?;
    twice(agent, &before, &after, way, tally).map_err(|what| shown(&what))?;
    cut(agent, bytes, &after);
    Ok(())
}

fn same(one: &str, left: &[Value], two: &str, right: &[Value]) -> Result<(), String> {
    if left == right {
        return Ok(());
    }
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let rest = |list: &[Value]| Value::Array(list.get(same..).unwrap_or(&[]).to_vec());
    Err(format!("from message {same} on {one} says\n{}\n{two} says\n{}", rest(left), rest(right)))
}

/// What the file tells is sound, unless something cannot be repaired.
fn sound(before: &Told, seen: &Told) -> Result<(), String> {
    let old = before.codes();
    let new: Vec<u16> = seen.codes().into_iter().filter(|code| !old.contains(code)).collect();
    match new.is_empty() && !seen.codes().iter().any(|code| matches!(code, 101..=104)) {
        true => Ok(()),
        false => Err(format!("it breaks {:?}, and broke {old:?}", seen.codes())),
    }
}

/// The naive reader sees the same.
fn oracle(agent: SessionAgent, after: &[u8], seen: &Told) -> Result<(), String> {
    if seen.is_flawed() {
        return Ok(());
    }
    let view = told(agent.wire().name(), &session_view(agent.name(), after).messages);
    let view = joined(agent, &Value::Array(view).to_string());
    same("the oracle", &view, "the engine", &seen.messages(agent))
}

/// Every line is still there, byte for byte; Cline's messages but for the tags that hide them.
fn nothing_is_gone(agent: SessionAgent, bytes: &[u8], after: &[u8]) -> Result<(), String> {
    if agent != SessionAgent::Cline {
        return match after.starts_with(bytes) {
            true => Ok(()),
            false => Err("a former line is not as it was".to_owned()),
        };
    }
    let list = |bytes: &[u8]| serde_json::from_slice::<Vec<Value>>(bytes).unwrap_or_default();
    let (old, mut left) = (list(bytes), list(after));
    let known = |message: &Value| old.iter().any(|old| old["foxwedge"] == message["foxwedge"]);
    left.retain(|message| message.get("foxwedge").is_none() || known(message));
    if old.len() != left.len() {
        return Err("messages are gone".to_owned());
    }
    for (old, new) in old.iter().zip(&mut left) {
        for tag in ["condenseParent", "truncationParent"] {
            match (old.get(tag), new.as_object_mut()) {
                (None, Some(new)) => drop(new.remove(tag)),
                // A tag that names nobody may give way to ours.
                (Some(tag_before), Some(new)) => {
                    drop(new.insert(tag.to_owned(), tag_before.clone()))
                }
                _ => {}
            }
        }
        if old != new {
            return Err(format!("{old} became {new}"));
        }
    }
    Ok(())
}

/// Taking it back gives the old file.
fn taken_back(
    agent: SessionAgent,
    bytes: &[u8],
    before: &Told,
    after: &[u8],
) -> Result<(), String> {
    let back = lengthen(agent, after).ok_or("the compaction cannot be taken back")?;
    let again = tell(agent, &back).ok_or("the file cannot be read any more")?;
    same("before", &before.messages(agent), "taken back", &again.messages(agent))?;
    match back.trim_ascii_end() == bytes.trim_ascii_end() {
        true => Ok(()),
        false => Err(format!("taken back it is\n{}", String::from_utf8_lossy(&back))),
    }
}

/// A message that came later stands at the end, with the compaction and without it.
fn went_on(agent: SessionAgent, before: &Told, after: &[u8]) -> Result<(), String> {
    const WORDS: &str = "And one thing more.";
    let longer = continued(agent, after, WORDS);
    let told = |bytes: &[u8]| tell(agent, bytes).ok_or("the longer file cannot be read".to_owned());
    let ends = |told: &Told| {
        told.messages(agent).last().is_some_and(|last| last.to_string().contains(WORDS))
    };
    if !ends(&told(&longer)?) {
        return Err("the message is not told behind the compaction".to_owned());
    }
    let back = lengthen(agent, &longer).ok_or("it cannot be taken back")?;
    let back = told(&back)?;
    if !ends(&back) {
        return Err(format!("taken back, it does not end with the message\n{}", back.history));
    }
    // In a file with broken links it is the reader who finds the way, and one record more may show
    // it another one.
    if before.is_flawed() {
        return Ok(());
    }
    let expected = continued_history(agent, before);
    same("before and the message", &expected, "taken back", &back.messages(agent))
}

/// A history with one more message of the user's.
fn continued_history(agent: SessionAgent, before: &Told) -> Vec<Value> {
    let empty = continued(
        agent,
        if agent == SessionAgent::Cline { b"[{}]" } else { b"" },
        "And one thing more.",
    );
    let alone = tell(agent, &empty).map(|told| told.history).unwrap_or_default();
    let mut list: Vec<Value> = serde_json::from_str(&before.history).unwrap_or_default();
    list.extend(serde_json::from_str::<Vec<Value>>(&alone).unwrap_or_default());
    joined(agent, &Value::Array(list).to_string())
}

/// A second compaction hides what the first one left, and nothing twice.
fn twice(
    agent: SessionAgent,
    before: &Told,
    after: &[u8],
    way: Way,
    tally: &mut Tally,
) -> Result<(), String> {
    for way in [way, WAYS[after.len() % WAYS.len()]] {
        let Some(shorter) = shorten(agent, after, way) else { continue };
        let Ok(again) = shorter.bytes else { continue };
        tally.twice += 1;
        let seen = tell(agent, &again).ok_or("compacted twice, it cannot be read")?;
        same("the second", &joined(agent, &shorter.text), "the file", &seen.messages(agent))?;
        nothing_is_gone(agent, after, &again)?;
        if agent == SessionAgent::Cline {
            hidden_once(&again)?;
        }
        let once = lengthen(agent, &again).ok_or("the second cannot be taken back")?;
        if once.trim_ascii_end() != after.trim_ascii_end() {
            return Err("taking the second back does not give the first".to_owned());
        }
        let longer = continued(agent, &again, "And one thing more.");
        let back = lengthen(agent, &longer).and_then(|once| lengthen(agent, &once));
        let back = back.ok_or("both cannot be taken back")?;
        let back = tell(agent, &back).ok_or("without both it cannot be read")?;
        if !before.is_flawed() {
            let expected = continued_history(agent, before);
            same("before", &expected, "without both", &back.messages(agent))?;
        }
    }
    Ok(())
}

/// No message is hidden by two of ours.
fn hidden_once(bytes: &[u8]) -> Result<(), String> {
    let list: Vec<Value> = serde_json::from_slice(bytes).unwrap_or_default();
    let ids: Vec<&Value> = list.iter().map(|message| &message["foxwedge"]["compaction"]).collect();
    for message in &list {
        let tags = [&message["condenseParent"], &message["truncationParent"]];
        if tags.iter().filter(|tag| tag.is_string() && ids.contains(tag)).count() > 1 {
            return Err(format!("hidden twice: {message}"));
        }
    }
    Ok(())
}

/// Cut off anywhere in what was added, nothing panics.
fn cut(agent: SessionAgent, bytes: &[u8], after: &[u8]) {
    let same = bytes.iter().zip(after).take_while(|(old, new)| old == new).count();
    let step = 1 + (after.len() - same) / 12;
    for end in (same..after.len()).step_by(step) {
        let beginning = after.get(..end).unwrap_or(after);
        let _ = (tell(agent, beginning), lengthen(agent, beginning), repaired(agent, beginning));
    }
}
