//! Names that are used once.
//!
//! User interfaces keep messages and calls by their ids and add to whatever has the id already. So
//! an id that comes a second time gets a name of its own.

use std::collections::HashMap;

use crate::SharedId;

/// The names that are taken in a run.
#[derive(Default)]
pub(super) struct UniqueNames {
    /// How often each was wanted.
    taken: HashMap<SharedId, u32>,
}

impl UniqueNames {
    /// The name itself, or with `~2`, `~3` … behind it.
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
