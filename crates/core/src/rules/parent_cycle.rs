#![doc = include_str!("parent_cycle.md")]

use super::{flaws, prelude::*};
use crate::draft::Facts;

pub(super) const RULE: Rule = Rule {
    code: 704,
    name: "parent-cycle",
    summary: "records that are their own ancestors",
    explain: include_str!("parent_cycle.md"),
    applies: flaws::EVERYONE,
    layouts: &[Chat, Blocks, Items],
    needs: Facts::FLAWED,
    check: |view, notes| flaws::note(view, notes, RULE.code),
};
