#![doc = include_str!("nul_bytes.md")]

use super::{flaws, prelude::*};
use crate::draft::Facts;

pub(super) const RULE: Rule = Rule {
    code: 802,
    name: "nul-bytes",
    summary: "bytes of zero where a record should be",
    explain: include_str!("nul_bytes.md"),
    applies: flaws::EVERYONE,
    layouts: &[Chat, Blocks, Items],
    needs: Facts::FLAWED,
    check: |view, notes| flaws::note(view, notes, RULE.code),
};
