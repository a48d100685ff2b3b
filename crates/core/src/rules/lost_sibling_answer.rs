#![doc = include_str!("lost_sibling_answer.md")]

use super::{defects, prelude::*};
use crate::draft::DraftFeatures;

pub(super) const RULE: Rule = Rule {
    code: 702,
    name: "lost-sibling-answer",
    summary: "an answer that no walk from the last message reaches",
    explain: include_str!("lost_sibling_answer.md"),
    applies: defects::ALL_PROFILES,
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::FILE_DEFECT,
    check: |view, notes| defects::report_defects(view, notes, RULE.code),
};
