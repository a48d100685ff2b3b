//! Random histories: a sound conversation, hit by a few accidents.
//!
//! Every user text and every real answer of a document is unique, so that a law about losing
//! nothing can be judged by looking for it.

pub(crate) mod draft;
pub(crate) mod render;
mod items;
mod sound;
mod accepted;
mod request;
mod pairs;
mod names;
mod turns;
mod contents;
mod fields;
mod spelled;
mod session;
mod long;
mod answer;
#[cfg(test)]
pub(crate) mod tests;

use serde_json::{Map, Value};

pub use answer::answer;
pub use long::long;
pub use pairs::PLACEHOLDERS;
pub use session::{SessionFile, session_file};
pub use spelled::spelled;

use crate::dialect::Dialect;
use crate::random::Random;
use draft::Draft;
use sound::Style;

/// A bare list or a request of up to about `size` messages, with zero to six accidents.
///
/// # Panics
///
/// On a dialect it does not know, which is a mistake of the test that asks.
pub fn history(random: &mut Random, dialect: &str, size: usize) -> Value {
    let accidents = if random.chance(15) { 0 } else { 1 + random.below(6) };
    build(random, dialect, size, accidents, false)
}

/// A history without any accident: sound under the profile that has the dialect's own name.
///
/// # Panics
///
/// As [`history`].
pub fn sound_history(random: &mut Random, dialect: &str, size: usize) -> Value {
    build(random, dialect, size, 0, false)
}

/// As [`sound_history`], with whatever else providers take: hosted tools, media, null fields, cache
/// marks, turns in several messages.
///
/// # Panics
///
/// As [`history`].
pub fn accepted_history(random: &mut Random, dialect: &str, size: usize) -> Value {
    build(random, dialect, size, 0, true)
}

/// An accepted history, hit by zero to six accidents.
///
/// # Panics
///
/// As [`history`].
pub fn damaged_history(random: &mut Random, dialect: &str, size: usize) -> Value {
    let accidents = if random.chance(15) { 0 } else { 1 + random.below(6) };
    build(random, dialect, size, accidents, true)
}

/// An accident that happens to the conversation.
type Accident = fn(&mut Random, &Style, &mut Draft);

/// An accident that happens to the written list.
type Scratch = fn(&mut Random, Dialect, &mut Vec<Value>);

fn build(
    random: &mut Random,
    dialect: &str,
    size: usize,
    accidents: usize,
    garnished: bool,
) -> Value {
    let dialect = Dialect::named(dialect).expect("the test names a known dialect");
    let request = random.chance(50);
    let style = Style::new(random, dialect, request);
    let mut draft = sound::conversation(random, &style, size);

    let to_turns: Vec<&Accident> =
        [pairs::ACCIDENTS, names::ACCIDENTS, turns::ACCIDENTS].into_iter().flatten().collect();
    let to_list: Vec<&Scratch> =
        [contents::SCRATCHES, fields::SCRATCHES].into_iter().flatten().collect();
    let mut scratches: Vec<&Scratch> = Vec::new();
    for _ in 0..accidents {
        let which = random.below(to_turns.len() + to_list.len());
        match to_turns.get(which) {
            Some(accident) => accident(random, &style, &mut draft),
            None => scratches.extend(to_list.get(which - to_turns.len())),
        }
    }
    let mut list = render::list(dialect, &draft);
    if garnished {
        accepted::garnish(random, dialect, &mut list);
    }
    for scratch in scratches {
        scratch(random, dialect, &mut list);
    }
    wrap(random, &style, list, accidents)
}

fn wrap(random: &mut Random, style: &Style, list: Vec<Value>, accidents: usize) -> Value {
    if !style.request {
        let key = style.dialect.list_key().to_owned();
        let alone = random.chance(10);
        return match alone {
            true => Value::Object(Map::from_iter([(key, Value::Array(list))])),
            false => Value::Array(list),
        };
    }
    let mut body = request::around(random, style, list);
    if accidents > 0 && random.chance(10) {
        fields::scratch_request(random, style.dialect, &mut body);
    }
    body
}
