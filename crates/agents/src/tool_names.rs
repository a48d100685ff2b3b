//! Maps the client's tool names to the names that the agent uses.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A two-way table of names. Agents add a prefix to each name, and providers accept at most 64
/// letters, digits, `_` and `-`. A name that does not fit, or would collide, gets a computed name.
/// The same tools always give the same names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToolNameTable {
    agent_names: HashMap<String, String>,
    client_names: HashMap<String, String>,
}

/// Minimum length of a computed name.
const MIN_NAME_BYTES: usize = 16;

impl ToolNameTable {
    /// The table for these tools. `room` is the maximum length of a name in bytes; at least 16 is
    /// used.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a str>, room: usize) -> ToolNameTable {
        let room = room.max(MIN_NAME_BYTES);
        let mut names = ToolNameTable::default();
        let mut others = Vec::new();
        // Names that fit are kept, regardless of their position in the list.
        for tool in tools {
            if fits(tool, room) {
                names.add(tool, tool.to_owned());
            } else {
                others.push(tool);
            }
        }
        for tool in others {
            if !names.agent_names.contains_key(tool) {
                let name = names.computed_name(tool, room);
                names.add(tool, name);
            }
        }
        names
    }

    /// The agent's name of a client tool. A tool that is not in the table keeps its name.
    pub fn agent_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.agent_names.get(name).map_or(name, String::as_str)
    }

    /// The client's name of an agent tool; `None` if the client has no such tool.
    pub fn client_name(&self, name: &str) -> Option<&str> {
        self.client_names.get(name).map(String::as_str)
    }

    fn add(&mut self, tool: &str, name: String) {
        self.client_names.insert(name.clone(), tool.to_owned());
        self.agent_names.insert(tool.to_owned(), name);
    }

    /// A readable part of the name and a hash that makes it unique.
    fn computed_name(&self, tool: &str, room: usize) -> String {
        let legal: String = tool.chars().map(|c| if is_legal(c) { c } else { '_' }).collect();
        let head = legal.get(..legal.len().min(room - 9)).unwrap_or("");
        let mut salt = 0;
        loop {
            let number = xxh3_64_with_seed(tool.as_bytes(), salt) & 0xffff_ffff;
            let name = format!("{head}_{number:08x}");
            if !self.client_names.contains_key(&name) {
                return name;
            }
            salt += 1;
        }
    }
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn fits(name: &str, room: usize) -> bool {
    !name.is_empty() && name.len() <= room && name.chars().all(is_legal)
}

#[cfg(test)]
mod tests;
