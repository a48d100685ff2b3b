#![doc = include_str!("broken_parent.md")]

use super::{flaws, prelude::*};
use crate::draft::Facts;

pub(super) const RULE: Rule = Rule {
    code: 701,
    name: "broken-parent",
    summary: "a record whose parent is not in the file",
    explain: include_str!("broken_parent.md"),
    applies: flaws::EVERYONE,
    layouts: &[Chat, Blocks, Items],
    needs: Facts::FLAWED,
    check: |view, notes| flaws::note(view, notes, RULE.code),
};
