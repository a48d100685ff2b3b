//! Repairs the file around the conversation: relinks records, removes unreadable lines.
//!
//! The parser has already composed the conversation in spite of the defects. This phase records
//! which defects to fix; the writer of the file fixes them.

use super::RepairState;
use crate::{report::FixApplicability, rules::RuleSet};

/// Fixes every defect that the policy allows to fix.
pub(super) fn fix_defects(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    for (index, defect) in state.input.body.defects.iter().enumerate() {
        let allowed = match defect.fix.applicability {
            FixApplicability::Safe => true,
            FixApplicability::Unsafe => state.policy().allow_unsafe,
            FixApplicability::None => false,
        };
        if allowed && rules.has(defect.code) && state.is_enabled(defect.code) {
            state.body.fixed_defects.push(index);
            let (code, strategy) = (defect.code, defect.fix.strategy);
            let text = defect.text.as_deref().cloned().unwrap_or_default();
            state.note_edit(code, strategy, defect.message as usize, text.ids, text.repair);
        }
    }
}
