//! The tools of one agent, by name.

use std::{collections::BTreeMap, sync::Arc};

use crate::Tool;

/// Tools by name. Keeps the order in which they were added.
#[derive(Clone, Default)]
pub struct Toolbox(BTreeMap<String, (usize, Arc<dyn Tool>)>);

/// The name belongs to another tool.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("another tool has the name `{0}`")]
pub struct ToolNameTaken(pub String);

impl Toolbox {
    /// A toolbox without tools.
    pub fn new() -> Toolbox {
        Toolbox::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// If another tool has its name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolNameTaken> {
        let name = tool.spec().name.to_string();
        if self.0.contains_key(&name) {
            return Err(ToolNameTaken(name));
        }
        self.0.insert(name, (self.0.len(), tool));
        Ok(())
    }

    /// Returns a tool by name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.get(name).map(|(_, tool)| tool)
    }

    /// All tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.values().map(|(_, tool)| tool)
    }

    /// The first `max` tools that were added, sorted by name.
    pub fn first(&self, max: usize) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.values().filter(move |(index, _)| *index < max).map(|(_, tool)| tool)
    }

    /// The other tools, in the order in which they were added.
    pub fn left_out(&self, max: usize) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let mut left: Vec<&(usize, Arc<dyn Tool>)> =
            self.0.values().filter(|(index, _)| *index >= max).collect();
        left.sort_by_key(|(index, _)| *index);
        left.into_iter().map(|(_, tool)| tool)
    }

    /// Number of tools.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no tools.
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

    struct NamedTool(ToolSpec);

    impl Tool for NamedTool {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn run<'a>(&'a self, _: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
            Box::pin(async { ToolCallResult::done("") })
        }
    }

    #[test]
    fn first_added_tools_are_offered_sorted_by_name() {
        let mut tools = Toolbox::new();
        for name in ["d", "b", "a", "c"] {
            let spec = ToolSpec {
                name: name.into(),
                description: "".into(),
                schema: serde_json::Value::Null,
                effect: ToolEffect::Reads,
                limit: Duration::from_secs(1),
            };
            tools.add(Arc::new(NamedTool(spec))).expect("a name of its own");
        }
        let names = |tools: Vec<&Arc<dyn Tool>>| -> String {
            tools.into_iter().map(|tool| tool.spec().name.to_string()).collect()
        };
        let table =
            [(0, "", "dbac"), (1, "d", "bac"), (3, "abd", "c"), (4, "abcd", ""), (9, "abcd", "")];
        for (max, first, rest) in table {
            assert_eq!(names(tools.first(max).collect()), first, "{max}");
            assert_eq!(names(tools.left_out(max).collect()), rest, "{max}");
        }
        assert_eq!(names(tools.iter().collect()), "abcd");
    }
}
