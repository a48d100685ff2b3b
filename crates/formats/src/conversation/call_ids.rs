//! The ids that the tool calls of a response get in another format.
//!
//! An id that the format accepts stays. Any other id is replaced by one derived from it; a missing
//! id is derived from the response. So a stream and the same response as one body give the same
//! ids, and different calls get different ids. Replacements are recorded so that they can be
//! undone.

use std::{borrow::Cow, collections::HashSet};

use foxwedge_core::{Format, IdRule, Profile, fresh_id};

/// Assigns the call ids of one response.
#[derive(Clone, Debug)]
pub(crate) struct CallIds {
    wire: Format,
    rule: IdRule,
    /// Distinguishes responses that have no id of their own.
    seed: String,
    used_ids: HashSet<String>,
    calls: usize,
    renamed: Vec<IdentifierReplacement>,
}

/// An id or name that a format does not accept, and its replacement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentifierReplacement {
    /// The original; empty if there was none.
    pub old: String,
    /// The replacement.
    pub new: String,
}

impl CallIds {
    pub(crate) fn new(format: Format, seed: &str) -> CallIds {
        CallIds {
            wire: format,
            rule: Profile::for_format(format).id_rule(),
            seed: seed.to_owned(),
            used_ids: HashSet::new(),
            calls: 0,
            renamed: Vec::new(),
        }
    }

    /// The id for the next call of the response. `None` only where the format allows calls without
    /// an id.
    pub(crate) fn next<'i>(
        &mut self,
        reply: Option<&str>,
        id: Option<&'i str>,
    ) -> Option<Cow<'i, str>> {
        let index = self.calls;
        self.calls += 1;
        let id = id.filter(|id| !id.is_empty());
        if let Some(id) = id.filter(|id| self.rule.allows(id) && !self.used_ids.contains(*id)) {
            self.used_ids.insert(id.to_owned());
            return Some(Cow::Borrowed(id));
        }
        if id.is_none() && self.wire == Format::Gemini {
            return None;
        }
        let old = id.unwrap_or_default();
        for salt in 0.. {
            let reply = reply.unwrap_or_default();
            let seed = format!("{salt} {index} {} {reply} {old}", self.seed);
            let new = fresh_id(self.wire, self.rule, &seed);
            if self.used_ids.insert(new.clone()) {
                self.renamed.push(IdentifierReplacement { old: old.to_owned(), new: new.clone() });
                return Some(Cow::Owned(new));
            }
        }
        None
    }

    /// The replacements so far.
    pub(crate) fn renamed(&self) -> &[IdentifierReplacement] {
        &self.renamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_that_the_format_rejects_are_replaced() {
        let mut ids = CallIds::new(Format::Anthropic, "s");
        let table = [Some("toolu_1"), Some("functions.get:0"), Some("toolu_1"), None, Some("")];
        let given: Vec<String> = table
            .iter()
            .map(|id| ids.next(Some("msg"), *id).expect("an id").into_owned())
            .collect();
        assert_eq!(given[0], "toolu_1");
        assert!(given.iter().all(|id| ids.rule.allows(id)), "{given:?}");
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), 5, "{given:?}");
        let old: Vec<&str> = ids.renamed().iter().map(|renamed| renamed.old.as_str()).collect();
        assert_eq!(old, ["functions.get:0", "toolu_1", "", ""]);
        assert_eq!(CallIds::new(Format::Gemini, "s").next(Some("r"), None), None);
    }

    #[test]
    fn the_seed_distinguishes_responses_without_ids() {
        let id = |seed: &str, reply| CallIds::new(Format::OpenaiChat, seed).next(reply, None);
        assert_eq!(id("a", Some("r")), id("a", Some("r")));
        assert_ne!(id("a", None), id("b", None));
        assert_ne!(id("a", Some("r")), id("a", Some("q")));
    }
}
