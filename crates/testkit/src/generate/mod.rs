//! Random histories: a valid conversation with some damage.
//!
//! Every user text and every real tool result of a document is unique, so that a law can search for
//! it.

pub(crate) mod draft;
pub(crate) mod render;
mod items;
mod steps;
mod sound;
mod accepted;
mod hosted;
mod request;
mod single_objects;
mod pairs;
mod names;
mod turns;
mod contents;
mod fields;
mod spelled;
mod session;
mod message_list;
mod own_results;
mod long;
mod answer;
#[cfg(test)]
pub(crate) mod tests;

use serde_json::{Map, Value};

pub use answer::answer;
pub use long::long;
pub use message_list::{damage_list, message_list, spell_as_version_4};
pub use own_results::{move_list_results, results_beside_calls};
pub use pairs::PLACEHOLDERS;
pub use session::{SessionFile, session_file};
pub use single_objects::spell_single_objects;
pub use spelled::spelled;

use crate::dialect::TestFormat;
use crate::random::Random;
use draft::GeneratedDraft;
use sound::DraftStyle;

/// A bare list or a request of up to about `size` messages, with zero to six kinds of damage.
///
/// # Panics
///
/// On an unknown format, which is a mistake in the test.
pub fn history(random: &mut Random, format: &str, size: usize) -> Value {
    let accidents = if random.chance(15) { 0 } else { 1 + random.below(6) };
    build(random, format, size, accidents, false)
}

/// A history without damage: valid under the profile with the same name as the format.
///
/// # Panics
///
/// As [`history`].
pub fn sound_history(random: &mut Random, format: &str, size: usize) -> Value {
    build(random, format, size, 0, false)
}

/// As [`sound_history`], with unusual content that providers accept: provider-run tools, media,
/// null fields, cache marks, turns of several messages.
///
/// # Panics
///
/// As [`history`].
pub fn accepted_history(random: &mut Random, format: &str, size: usize) -> Value {
    build(random, format, size, 0, true)
}

/// An accepted history with zero to six kinds of damage.
///
/// # Panics
///
/// As [`history`].
pub fn damaged_history(random: &mut Random, format: &str, size: usize) -> Value {
    let accidents = if random.chance(15) { 0 } else { 1 + random.below(6) };
    build(random, format, size, accidents, true)
}

/// Damage to the conversation.
type DraftAccident = fn(&mut Random, &DraftStyle, &mut GeneratedDraft);

/// Damage to the written list.
type ListAccident = fn(&mut Random, TestFormat, &mut Vec<Value>);

fn build(
    random: &mut Random,
    format: &str,
    size: usize,
    accidents: usize,
    garnished: bool,
) -> Value {
    let format = TestFormat::named(format).expect("the test names a known dialect");
    let request = random.chance(50);
    let style = DraftStyle::new(random, format, request);
    let mut draft = sound::conversation(random, &style, size);

    let to_turns: Vec<&DraftAccident> =
        [pairs::ACCIDENTS, names::ACCIDENTS, turns::ACCIDENTS].into_iter().flatten().collect();
    let to_list: Vec<&ListAccident> =
        [contents::SCRATCHES, fields::SCRATCHES].into_iter().flatten().collect();
    let mut scratches: Vec<&ListAccident> = Vec::new();
    for _ in 0..accidents {
        let which = random.below(to_turns.len() + to_list.len());
        match to_turns.get(which) {
            Some(accident) => accident(random, &style, &mut draft),
            None => scratches.extend(to_list.get(which - to_turns.len())),
        }
    }
    let mut list = render::list(format, &draft);
    if garnished {
        accepted::garnish(random, format, &mut list);
    }
    for scratch in scratches {
        scratch(random, format, &mut list);
    }
    wrap(random, &style, list, accidents)
}

fn wrap(random: &mut Random, style: &DraftStyle, list: Vec<Value>, accidents: usize) -> Value {
    if !style.request {
        let key = style.format.list_key().to_owned();
        let alone = random.chance(10);
        return match alone {
            true => Value::Object(Map::from_iter([(key, Value::Array(list))])),
            false => Value::Array(list),
        };
    }
    let mut body = request::around(random, style, list);
    if accidents > 0 && random.chance(10) {
        fields::scratch_request(random, style.format, &mut body);
    }
    body
}
