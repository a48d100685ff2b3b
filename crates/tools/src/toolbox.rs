//! The tools of one agent, by name.

use std::{collections::BTreeMap, sync::Arc};

use crate::Tool;

/// Tools by name.
#[derive(Clone, Default)]
pub struct Toolbox(BTreeMap<String, Arc<dyn Tool>>);

/// A name that another tool has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("another tool has the name `{0}`")]
pub struct Taken(pub String);

impl Toolbox {
    /// No tools.
    pub fn new() -> Toolbox {
        Toolbox::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// If another has its name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), Taken> {
        let name = tool.about().name.to_string();
        if self.0.contains_key(&name) {
            return Err(Taken(name));
        }
        self.0.insert(name, tool);
        Ok(())
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.values()
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
