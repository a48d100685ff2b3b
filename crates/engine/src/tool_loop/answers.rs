//! How the end of a call is told to the model and to people. Pure.

use std::time::Duration;

use foxwedge_core::{Language, Missing, words};
use foxwedge_run::{How as Ending, Json};
use foxwedge_tools::{Answer, Captured, Content, Effect, How, Output};
use serde_json::Value;

use super::work::{Came, Done};

/// Bytes of blocks that are no text: images have to fit through a provider's door.
const BLOCKS: usize = 4 << 20;

/// How a call ended, and what is said about it, in at most so many bytes.
pub(super) fn told(done: Done, most: usize) -> (Ending, Json) {
    let Done { elapsed, effect, how, said, .. } = done;
    match how {
        Came::NeverBegan => {
            (Ending::Cancelled, Json::string(words(Missing::NotStarted, Language::English)))
        }
        Came::Answered(Answer { how: How::Done, content }) => (Ending::Ok, spelled(content, most)),
        Came::Answered(Answer { how: How::Failed, content }) => {
            (Ending::Error, spelled(content, most))
        }
        Came::Answered(Answer { how: How::Stopped, content }) => {
            let said = match content {
                Content::Text(text) => text,
                Content::Blocks(_) => said,
            };
            (Ending::Interrupted, cut_off(interrupted(effect), elapsed, &said, most))
        }
        Came::CutOff => (Ending::Interrupted, cut_off(interrupted(effect), elapsed, &said, most)),
        Came::TimedOut => (Ending::TimedOut, cut_off(Missing::TimedOut, elapsed, &said, most)),
    }
}

/// What is told about a call that somebody did not allow.
pub(super) fn denied(why: Option<&str>) -> Json {
    let words = words(Missing::Denied, Language::English);
    match why.map(str::trim).filter(|why| !why.is_empty()) {
        Some(why) => Json::string(&format!("{words} They said: {why}")),
        None => Json::string(words),
    }
}

/// An answer for which there is no room beside the others of its turn.
pub(super) fn left_out(bytes: usize) -> Json {
    Json::string(&format!(
        "The answer of {bytes} bytes is left out: there is no room for it beside the other answers."
    ))
}

fn interrupted(effect: Effect) -> Missing {
    match effect {
        Effect::Reads => Missing::InterruptedReading,
        Effect::Writes => Missing::Interrupted,
    }
}

/// A call that was cut off: what is known, how long it ran, and what it had said.
fn cut_off(missing: Missing, elapsed: Duration, said: &str, most: usize) -> Json {
    let words = words(missing, Language::English);
    let ran = format!("It ran for {:.1} s.", elapsed.as_secs_f64());
    let said = bounded(said.trim_end(), most);
    match said.is_empty() {
        true => Json::string(&format!("{words} {ran}")),
        false => Json::string(&format!("{words} {ran} Until then it said:\n{said}")),
    }
}

fn spelled(content: Content, most: usize) -> Json {
    match content {
        Content::Text(text) => Json::string(&bounded(&text, most)),
        Content::Blocks(blocks) => {
            let blocks: Vec<Value> =
                blocks.into_iter().map(|block| bounded_block(block, most)).collect();
            let told = Value::Array(blocks);
            let json = Json::from(&told);
            match json.raw().len() {
                0..=BLOCKS => json,
                bytes => Json::string(&format!(
                    "The answer of {bytes} bytes is too large to be kept, and is left out."
                )),
            }
        }
    }
}

fn bounded_block(mut block: Value, most: usize) -> Value {
    if let Some(text) = block.get_mut("text")
        && let Some(long) = text.as_str().filter(|text| text.len() > most)
    {
        *text = Value::String(bounded(long, most));
    }
    block
}

/// A text with its middle left out, if it is too long.
fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let output = Output::new(most);
    output.push(text.as_bytes());
    let Captured { text, .. } = output.captured();
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn done(how: Came, said: &str) -> (Ending, String) {
        let done = Done {
            place: 0,
            elapsed: Duration::from_millis(3_140),
            effect: Effect::Writes,
            how,
            said: said.to_owned(),
        };
        let (ending, json) = told(done, 16);
        (ending, json.plain())
    }

    #[test]
    fn nothing_is_claimed_that_is_not_known() {
        let stopped = Answer { how: How::Stopped, content: Content::Text("half".into()) };
        let blocks = Answer {
            how: How::Done,
            content: Content::Blocks(vec![json!({ "type": "text", "text": "seen" })]),
        };
        let table = [
            (Came::Answered(Answer::done("fine")), "", Ending::Ok, "fine"),
            (Came::Answered(Answer::failed("no")), "", Ending::Error, "no"),
            (Came::Answered(blocks), "", Ending::Ok, "seen"),
            (
                Came::Answered(stopped),
                "",
                Ending::Interrupted,
                "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before \
                 repeating it. It ran for 3.1 s. Until then it said:\nhalf",
            ),
            (
                Came::CutOff,
                "",
                Ending::Interrupted,
                "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before \
                 repeating it. It ran for 3.1 s.",
            ),
            (
                Came::TimedOut,
                "0123456789abcdefghij",
                Ending::TimedOut,
                "[foxwedge] Timed out: the call may still have had an effect; check before repeating \
                 it. It ran for 3.1 s. Until then it said:\n01234567\n[… 4 bytes left out …]\ncdefghij",
            ),
        ];
        for (how, said, ending, words) in table {
            assert_eq!(done(how, said), (ending, words.to_owned()));
        }
        assert_eq!(
            denied(Some("later")).plain(),
            "[foxwedge] Denied by the user: this call did not run. They said: later"
        );
    }
}
