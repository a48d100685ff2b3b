//! What the scripted model says: a few rules that a person can learn in a minute.

mod commands;
mod arguments;

use serde_json::Value;

use crate::request::{Choice, Seen, Sort, Tool};

/// How much of what it heard the model says again, in characters.
const ECHO: usize = 400;

/// What the model says.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Speech {
    /// What it thinks first.
    pub(crate) thought: Option<String>,
    /// What it says.
    pub(crate) text: String,
    /// What it calls.
    pub(crate) calls: Vec<Called>,
    /// Why it stops.
    pub(crate) stop: Stopped,
}

/// One call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Called {
    pub(crate) name: String,
    pub(crate) sort: Sort,
    /// An object, or the text of a free-text tool.
    pub(crate) arguments: Value,
}

/// Why the model stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stopped {
    Said,
    Called,
    Length,
    Refused,
}

/// Decides what to say.
pub(crate) fn speak(seen: &Seen, refuse: bool) -> Speech {
    if refuse {
        let text = "I cannot help with that.".to_owned();
        return Speech { thought: None, text, calls: Vec::new(), stop: Stopped::Refused };
    }
    let words = &seen.tail.words;
    let thinks = seen.thinks || commands::says(words, "think");
    let thought = thinks.then(|| format!("They want: {}", short(words)));
    let calls = calls(seen);
    let speech = if calls.is_empty() {
        Speech { thought, text: text(seen), calls, stop: Stopped::Said }
    } else {
        Speech { thought, text: String::new(), calls, stop: Stopped::Called }
    };
    within(speech, seen.most)
}

/// How many tokens a text has: a quarter of its letters, and one for the rest.
pub(crate) fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// How many tokens a call has.
pub(crate) fn weight(call: &Called) -> u64 {
    tokens(&call.name) + tokens(&call.arguments.to_string()) + 4
}

fn calls(seen: &Seen) -> Vec<Called> {
    if seen.choice == Choice::None {
        return Vec::new();
    }
    let mut calls = commands::read(&seen.tail.words, &seen.tools);
    match &seen.choice {
        Choice::Any if calls.is_empty() => calls.extend(seen.tools.first().map(made_up)),
        Choice::Named(name) => {
            calls.retain(|call| call.name == *name);
            if calls.is_empty() {
                let named = seen.tools.iter().find(|tool| tool.name == *name);
                calls.extend(named.map(made_up));
            }
        }
        Choice::Auto | Choice::None | Choice::Any => {}
    }
    if !seen.parallel {
        calls.truncate(1);
    }
    calls
}

/// A call with arguments that fit the tool.
fn made_up(tool: &Tool) -> Called {
    let arguments = match tool.sort {
        Sort::Function => arguments::fit(&tool.schema),
        Sort::Custom => Value::String("scripted".to_owned()),
    };
    Called { name: tool.name.clone(), sort: tool.sort, arguments }
}

fn text(seen: &Seen) -> String {
    let tail = &seen.tail;
    match tail.answers.as_slice() {
        [] if tail.words.trim().is_empty() => "You said nothing.".to_owned(),
        [] => format!("You said: {}", short(&tail.words)),
        [one] => format!("The tool said: {}", short(one)),
        many => {
            let each = ECHO / many.len().max(1);
            let told: Vec<String> = many.iter().map(|one| shortened(one, each.max(20))).collect();
            format!("The tools said: {}", shortened(&told.join(" | "), 4 * ECHO))
        }
    }
}

fn short(text: &str) -> String {
    shortened(text, ECHO)
}

fn shortened(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Cuts what is too long. A call that would be cut is not made.
fn within(mut speech: Speech, most: Option<u64>) -> Speech {
    let Some(most) = most else { return speech };
    let thought = speech.thought.as_deref().map_or(0, tokens);
    let called: u64 = speech.calls.iter().map(weight).sum();
    if thought + called + tokens(&speech.text) <= most {
        return speech;
    }
    if let Some(call) = speech.calls.first() {
        speech.text = format!("I would call {} now, if I were allowed to say more.", call.name);
        speech.calls.clear();
    }
    // Thinking leaves room for at least one word, as providers do.
    if thought >= most {
        speech.thought = None;
    }
    let left = most - speech.thought.as_deref().map_or(0, tokens);
    let letters = usize::try_from(left.saturating_mul(4)).unwrap_or(usize::MAX);
    if tokens(&speech.text) > left {
        speech.text = speech.text.chars().take(letters).collect::<String>().trim_end().to_owned();
        speech.stop = Stopped::Length;
    } else {
        speech.stop = Stopped::Said;
    }
    speech
}

#[cfg(test)]
mod tests;
