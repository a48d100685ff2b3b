//! What is drawn for a case: its document, and how it is converted.

use foxwedge_dialect::convert;

use super::{super::Case, garnish, settings};
use crate::{Random, history, laws::LONE, sound_history, spelled};

/// The document of a case. Half of them are sound, and half have more on them than a conversation needs:
/// media, marks, notes, settings.
pub fn document(case: &Case) -> String {
    let mut random = Random::new(case.seed ^ 0xc0_4e_17_ed_00_00_00_00);
    let made = if random.chance(50) { sound_history } else { history };
    let mut value = made(&mut random, case.wire.name(), case.size);
    if random.chance(50) {
        garnish::hang(&mut random, case.wire, &mut value);
    }
    if random.chance(50) {
        settings::put(&mut random, case.wire, &mut value);
    }
    let text = spelled(&mut random, &value);
    // Half a character, as a cut in the middle of an emoji leaves it.
    if random.chance(4) { text.replacen("question", &format!("{LONE}question"), 1) } else { text }
}

/// How a case is converted.
pub fn options(case: &Case) -> convert::ConversionOptions {
    convert::ConversionOptions {
        profile: Some(case.profile),
        policy: case.policy,
        ..convert::ConversionOptions::default()
    }
}
