#![doc = include_str!("not_utf8.md")]

use super::{flaws, prelude::*};
use crate::draft::Facts;

pub(super) const RULE: Rule = Rule {
    code: 803,
    name: "not-utf8",
    summary: "a line that is not UTF-8",
    explain: include_str!("not_utf8.md"),
    applies: flaws::EVERYONE,
    layouts: &[Chat, Blocks, Items],
    needs: Facts::FLAWED,
    check: |view, notes| flaws::note(view, notes, RULE.code),
};
