//! The file around the conversation: links are joined again, unreadable lines taken out.
//!
//! The reader has put the conversation together in spite of them; what is left is to note that the
//! file shall say so, too. Its writer does the rest.

use super::RepairState;
use crate::{report::FixApplicability, rules::RuleSet};

/// Mends every flaw that may be mended.
pub(super) fn fix_defects(work: &mut RepairState<'_, '_>, found: RuleSet) {
    for (index, flaw) in work.input.body.defects.iter().enumerate() {
        let may = match flaw.fix.applicability {
            FixApplicability::Safe => true,
            FixApplicability::Unsafe => work.policy().allow_unsafe,
            FixApplicability::None => false,
        };
        if may && found.has(flaw.code) && work.is_enabled(flaw.code) {
            work.body.fixed_defects.push(index);
            let (code, strategy) = (flaw.code, flaw.fix.strategy);
            let text = flaw.text.as_deref().cloned().unwrap_or_default();
            work.note_edit(code, strategy, flaw.message as usize, text.ids, text.repair);
        }
    }
}
