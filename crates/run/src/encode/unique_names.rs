//! Unique names.
//!
//! User interfaces look up messages and calls by id, and append to an existing one with the same
//! id. So an id that occurs a second time gets another name.

use std::collections::HashMap;

use crate::SharedId;

/// The names already used in a run.
#[derive(Default)]
pub(super) struct UniqueNames {
    /// The number of uses of each name.
    taken: HashMap<SharedId, u32>,
}

impl UniqueNames {
    /// Returns the name itself, or the name with `~2`, `~3` … appended.
    pub(super) fn take(&mut self, wanted: &str) -> SharedId {
        let mut name = SharedId::from(wanted);
        while self.taken.contains_key(&name) {
            let times = self.taken.entry(SharedId::from(wanted)).or_default();
            *times = times.saturating_add(1);
            name = SharedId::from(format!("{wanted}~{times}"));
        }
        self.taken.insert(name.clone(), 1);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_given_twice() {
        let mut names = UniqueNames::default();
        let wanted = ["a", "a", "b", "a~2", "a~3", "a", "a", ""];
        let given = wanted.map(|name| names.take(name).to_string());
        assert_eq!(given, ["a", "a~2", "b", "a~2~2", "a~3", "a~4", "a~5", ""]);
    }
}
