//! Draws the document of a case and its conversion options.

use foxwedge_formats::convert;

use super::{super::LawCase, garnish, settings};
use crate::{Random, history, laws::LONE, sound_history, spell_single_objects, spelled};

/// The document of a case. Half of the documents are valid. Half have optional details: media,
/// marks, unknown fields, settings.
pub fn document(case: &LawCase) -> String {
    let mut random = Random::new(case.seed ^ 0xc0_4e_17_ed_00_00_00_00);
    let generate = if random.chance(50) { sound_history } else { history };
    let mut value = generate(&mut random, case.wire.name(), case.size);
    if random.chance(50) {
        garnish::hang(&mut random, case.wire, &mut value);
    }
    if random.chance(50) {
        settings::put(&mut random, case.wire, &mut value);
    }
    spell_single_objects(&mut random, case.wire.name(), &mut value);
    let text = spelled(&mut random, &value);
    // A lone surrogate, as left by a cut in the middle of an emoji.
    if random.chance(4) { text.replacen("question", &format!("{LONE}question"), 1) } else { text }
}

/// The conversion options of a case.
pub fn options(case: &LawCase) -> convert::ConversionOptions {
    convert::ConversionOptions {
        profile: Some(case.profile),
        policy: case.policy,
        ..convert::ConversionOptions::default()
    }
}
