#![doc = include_str!("lost_sibling_result.md")]

use super::{defects, prelude::*};
use crate::draft::DraftFeatures;

pub(super) const RULE: Rule = Rule {
    code: 702,
    name: "lost-sibling-result",
    summary: "a tool result that is not on the path from the last message",
    explain: page!("lost_sibling_result.md"),
    applies: defects::ALL_PROFILES,
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::FILE_DEFECT,
    check: |context, findings| defects::report_defects(context, findings, RULE.code),
};
