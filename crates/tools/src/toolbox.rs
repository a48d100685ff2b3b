//! The tools of one agent, by name.

use std::{collections::BTreeMap, sync::Arc};

use crate::Tool;

/// Tools by name. Also knows in which order they were added.
#[derive(Clone, Default)]
pub struct Toolbox(BTreeMap<String, (usize, Arc<dyn Tool>)>);

/// A name that another tool has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("another tool has the name `{0}`")]
pub struct ToolNameTaken(pub String);

impl Toolbox {
    /// No tools.
    pub fn new() -> Toolbox {
        Toolbox::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// If another has its name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolNameTaken> {
        let name = tool.spec().name.to_string();
        if self.0.contains_key(&name) {
            return Err(ToolNameTaken(name));
        }
        self.0.insert(name, (self.0.len(), tool));
        Ok(())
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.get(name).map(|(_, tool)| tool)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.values().map(|(_, tool)| tool)
    }

    /// So many of them, those that were added first; by name.
    pub fn first(&self, most: usize) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.values().filter(move |(place, _)| *place < most).map(|(_, tool)| tool)
    }

    /// The others, in the order in which they were added.
    pub fn left_out(&self, most: usize) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let mut left: Vec<&(usize, Arc<dyn Tool>)> =
            self.0.values().filter(|(place, _)| *place >= most).collect();
        left.sort_by_key(|(place, _)| *place);
        left.into_iter().map(|(_, tool)| tool)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{ToolCallResult, ToolEffect, ToolFuture, ToolInvocation, ToolSpec};

    struct Named(ToolSpec);

    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn run<'a>(&'a self, _: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
            Box::pin(async { ToolCallResult::done("") })
        }
    }

    #[test]
    fn what_was_added_first_is_offered_first_and_told_by_name() {
        let mut tools = Toolbox::new();
        for name in ["d", "b", "a", "c"] {
            let about = ToolSpec {
                name: name.into(),
                description: "".into(),
                schema: serde_json::Value::Null,
                effect: ToolEffect::Reads,
                limit: Duration::from_secs(1),
            };
            tools.add(Arc::new(Named(about))).expect("a name of its own");
        }
        let names = |tools: Vec<&Arc<dyn Tool>>| -> String {
            tools.into_iter().map(|tool| tool.spec().name.to_string()).collect()
        };
        let table =
            [(0, "", "dbac"), (1, "d", "bac"), (3, "abd", "c"), (4, "abcd", ""), (9, "abcd", "")];
        for (most, first, left) in table {
            assert_eq!(names(tools.first(most).collect()), first, "{most}");
            assert_eq!(names(tools.left_out(most).collect()), left, "{most}");
        }
        assert_eq!(names(tools.iter().collect()), "abcd");
    }
}
