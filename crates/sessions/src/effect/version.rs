//! Versions of agents.

/// The version of an agent. An unknown version counts as newer than all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct AgentVersion([u32; 3]);

impl AgentVersion {
    /// Creates a version from its numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> AgentVersion {
        AgentVersion([major, minor, patch])
    }

    /// Major, minor and patch number.
    pub const fn numbers(self) -> [u32; 3] {
        self.0
    }

    /// Parses a version such as `2.1.39`. Ignores a suffix after the numbers.
    pub fn parse(text: Option<&str>) -> AgentVersion {
        let mut numbers = [0; 3];
        let Some(text) = text else { return AgentVersion([u32::MAX; 3]) };
        for (number, part) in numbers.iter_mut().zip(text.split('.')) {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            match part.get(..digits).and_then(|digits| digits.parse().ok()) {
                Some(known) => *number = known,
                None => return AgentVersion([u32::MAX; 3]),
            }
        }
        AgentVersion(numbers)
    }
}
