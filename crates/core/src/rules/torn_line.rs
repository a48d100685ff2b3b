#![doc = include_str!("torn_line.md")]

use super::{flaws, prelude::*};
use crate::draft::Facts;

pub(super) const RULE: Rule = Rule {
    code: 801,
    name: "torn-line",
    summary: "a line that is not a whole record",
    explain: include_str!("torn_line.md"),
    applies: flaws::EVERYONE,
    layouts: &[Chat, Blocks, Items],
    needs: Facts::FLAWED,
    check: |view, notes| flaws::note(view, notes, RULE.code),
};
