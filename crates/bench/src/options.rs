//! The command line of a program: options with values, and switches.

use std::collections::VecDeque;

use crate::BenchError;

/// The rest of a command line.
pub struct CommandOptions(VecDeque<String>);

impl CommandOptions {
    /// Those of this process.
    pub fn of_this_process() -> CommandOptions {
        CommandOptions(std::env::args().skip(1).collect())
    }

    /// The next option.
    pub fn option(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// The value of an option.
    pub fn value(&mut self, option: &str) -> Result<String, BenchError> {
        self.0.pop_front().ok_or_else(|| format!("`{option}` needs a value").into())
    }

    /// The number of an option.
    pub fn number<N: std::str::FromStr>(&mut self, option: &str) -> Result<N, BenchError> {
        let text = self.value(option)?;
        text.parse().map_err(|_| format!("`{option} {text}` is not a number").into())
    }
}
