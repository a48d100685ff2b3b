#![doc = include_str!("torn_line.md")]

use super::{defects, prelude::*};
use crate::draft::DraftFeatures;

pub(super) const RULE: Rule = Rule {
    code: 801,
    name: "torn-line",
    summary: "a line that is not a complete record",
    explain: page!("torn_line.md"),
    applies: defects::ALL_PROFILES,
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::FILE_DEFECT,
    check: |context, findings| defects::report_defects(context, findings, RULE.code),
};
