//! The file around the conversation: links are joined again, unreadable lines taken out.
//!
//! The reader has put the conversation together in spite of them; what is left is to note that the
//! file shall say so, too. Its writer does the rest.

use super::Work;
use crate::{report::Applicability, rules::RuleSet};

/// Mends every flaw that may be mended.
pub(super) fn mend(work: &mut Work<'_, '_>, found: RuleSet) {
    for (index, flaw) in work.input.body.flaws.iter().enumerate() {
        let may = match flaw.fix.applicability {
            Applicability::Safe => true,
            Applicability::Unsafe => work.policy().bold,
            Applicability::None => false,
        };
        if may && found.has(flaw.code) && work.wants(flaw.code) {
            work.body.mended.push(index);
            let (code, strategy) = (flaw.code, flaw.fix.strategy);
            let text = flaw.text.as_deref().cloned().unwrap_or_default();
            work.note(code, strategy, flaw.message as usize, text.ids, text.mend);
        }
    }
}
