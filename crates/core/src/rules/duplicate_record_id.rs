#![doc = include_str!("duplicate_record_id.md")]

use super::{flaws, prelude::*};
use crate::draft::Facts;

pub(super) const RULE: Rule = Rule {
    code: 703,
    name: "duplicate-record-id",
    summary: "two records with one id",
    explain: include_str!("duplicate_record_id.md"),
    applies: flaws::EVERYONE,
    layouts: &[Chat, Blocks, Items],
    needs: Facts::FLAWED,
    check: |view, notes| flaws::note(view, notes, RULE.code),
};
