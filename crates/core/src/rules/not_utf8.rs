#![doc = include_str!("not_utf8.md")]

use super::{defects, prelude::*};
use crate::draft::DraftFeatures;

pub(super) const RULE: Rule = Rule {
    code: 803,
    name: "not-utf8",
    summary: "a line that is not UTF-8",
    explain: page!("not_utf8.md"),
    applies: defects::ALL_PROFILES,
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::FILE_DEFECT,
    check: |context, findings| defects::report_defects(context, findings, RULE.code),
};
