#![doc = include_str!("incomplete_record.md")]

use super::{defects, prelude::*};
use crate::draft::DraftFeatures;

pub(super) const RULE: Rule = Rule {
    code: 805,
    name: "incomplete-record",
    summary: "a record that lacks fields which its agent requires",
    explain: page!("incomplete_record.md"),
    applies: defects::ALL_PROFILES,
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::FILE_DEFECT,
    check: |context, findings| defects::report_defects(context, findings, RULE.code),
};
