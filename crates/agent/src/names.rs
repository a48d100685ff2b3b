//! Names of tools: the client's, and those under which the agent knows them.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A table of names, both ways. An agent puts something before each name, and its provider takes at
/// most 64 letters, digits, `_` and `-`: what does not fit, or would be the same as another, gets a
/// computed name. The same tools give the same names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    inner: HashMap<String, String>,
    outer: HashMap<String, String>,
}

/// A computed name needs this much room, whatever is left.
const LEAST: usize = 16;

impl Names {
    /// The table for these tools, in their order; `room` bytes are left for a name, of which at
    /// least 16 are used.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a str>, room: usize) -> Names {
        let room = room.max(LEAST);
        let mut names = Names::default();
        let mut others = Vec::new();
        // Names that can stay do so, wherever they stand in the list.
        for tool in tools {
            if fits(tool, room) {
                names.add(tool, tool.to_owned());
            } else {
                others.push(tool);
            }
        }
        for tool in others {
            if !names.inner.contains_key(tool) {
                let name = names.computed(tool, room);
                names.add(tool, name);
            }
        }
        names
    }

    /// The agent's name of a client's tool. A tool that is not in the table keeps its name.
    pub fn inner<'a>(&'a self, name: &'a str) -> &'a str {
        self.inner.get(name).map_or(name, String::as_str)
    }

    /// The client's name of an agent's tool; `None` if the client has no such tool.
    pub fn outer(&self, name: &str) -> Option<&str> {
        self.outer.get(name).map(String::as_str)
    }

    fn add(&mut self, tool: &str, name: String) {
        self.outer.insert(name.clone(), tool.to_owned());
        self.inner.insert(tool.to_owned(), name);
    }

    /// What can be read of the name, and a number that tells it from others.
    fn computed(&self, tool: &str, room: usize) -> String {
        let read: String = tool.chars().map(|c| if legal(c) { c } else { '_' }).collect();
        let head = read.get(..read.len().min(room - 9)).unwrap_or("");
        let mut salt = 0;
        loop {
            let number = xxh3_64_with_seed(tool.as_bytes(), salt) & 0xffff_ffff;
            let name = format!("{head}_{number:08x}");
            if !self.outer.contains_key(&name) {
                return name;
            }
            salt += 1;
        }
    }
}

fn legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn fits(name: &str, room: usize) -> bool {
    !name.is_empty() && name.len() <= room && name.chars().all(legal)
}

#[cfg(test)]
mod tests;
