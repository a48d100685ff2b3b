#![doc = include_str!("lost_sibling_answer.md")]

use super::{flaws, prelude::*};
use crate::draft::Facts;

pub(super) const RULE: Rule = Rule {
    code: 702,
    name: "lost-sibling-answer",
    summary: "an answer that no walk from the last message reaches",
    explain: include_str!("lost_sibling_answer.md"),
    applies: flaws::EVERYONE,
    layouts: &[Chat, Blocks, Items],
    needs: Facts::FLAWED,
    check: |view, notes| flaws::note(view, notes, RULE.code),
};
