#![doc = include_str!("parent_cycle.md")]

use super::{defects, prelude::*};
use crate::draft::DraftFeatures;

pub(super) const RULE: Rule = Rule {
    code: 704,
    name: "parent-cycle",
    summary: "records that are their own ancestors",
    explain: page!("parent_cycle.md"),
    applies: defects::ALL_PROFILES,
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::FILE_DEFECT,
    check: |context, findings| defects::report_defects(context, findings, RULE.code),
};
