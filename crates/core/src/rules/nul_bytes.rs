#![doc = include_str!("nul_bytes.md")]

use super::{defects, prelude::*};
use crate::draft::DraftFeatures;

pub(super) const RULE: Rule = Rule {
    code: 802,
    name: "nul-bytes",
    summary: "NUL bytes where a record should be",
    explain: page!("nul_bytes.md"),
    applies: defects::ALL_PROFILES,
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::FILE_DEFECT,
    check: |context, findings| defects::report_defects(context, findings, RULE.code),
};
