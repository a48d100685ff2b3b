//! The options of a task: one parser for all of them.

use std::{path::PathBuf, str::FromStr};

/// What was typed behind a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskOptions {
    given: Vec<(String, Vec<String>)>,
}

impl TaskOptions {
    /// Reads options. `known` lists them as a usage line does: `--switch`, `--option VALUE`, or
    /// `--option VALUE…` for one that takes several values.
    pub(crate) fn read(arguments: &[&str], known: &[&str]) -> Result<TaskOptions, String> {
        let mut given: Vec<(String, Vec<String>)> = Vec::new();
        let mut arguments = arguments.iter().peekable();
        while let Some(&name) = arguments.next() {
            let usage = known.iter().find(|usage| usage.split(' ').next() == Some(name));
            let usage = usage.ok_or_else(|| match known {
                [] => format!("unknown option `{name}`; there are none"),
                _ => format!("unknown option `{name}`; known: {}", known.join(", ")),
            })?;
            let mut values = Vec::new();
            while let Some(value) = arguments.next_if(|argument| !argument.starts_with("--")) {
                values.push((*value).to_owned());
            }
            match (usage.split_once(' '), values.len()) {
                (None, 0) | (Some(_), 1) => {}
                (Some((_, value)), 2..) if value.ends_with('…') => {}
                (Some(_), 0) => return Err(format!("`{name}` needs a value")),
                (_, _) => return Err(format!("`{name}` takes fewer values")),
            }
            given.push((name.to_owned(), values));
        }
        Ok(TaskOptions { given })
    }

    /// Whether a switch was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }

    /// All values of an option.
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        let given = self.given.iter().filter(|(given, _)| given == name);
        given.flat_map(|(_, values)| values.iter().map(String::as_str)).collect()
    }

    /// The last value of an option.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values(name).pop()
    }

    /// A path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }

    /// A number, if it was given.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, String> {
        let read = |value: &str| {
            let number = value.replace('_', "").parse();
            number.map_err(|_| format!("`{name} {value}` is not a number"))
        };
        self.value(name).map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        let known = ["--real", "--rounds N", "--codex CLI…"];
        let arguments = ["--real", "--codex", "a", "b", "--rounds", "1_000", "--codex", "c"];
        let options = TaskOptions::read(&arguments, &known).expect("all of it is known");
        assert!(options.has("--real") && !options.has("--other"));
        assert_eq!(options.values("--codex"), ["a", "b", "c"]);
        assert_eq!(options.number("--rounds"), Ok(Some(1_000)));
        let table: [(&[&str], &str); 5] = [
            (&["--codex"], "`--codex` needs a value"),
            (&["--real", "1"], "`--real` takes fewer values"),
            (&["--rounds", "1", "2"], "`--rounds` takes fewer values"),
            (&["round"], "unknown option `round`; known: --real, --rounds N, --codex CLI…"),
            (&["--rounds", "-1"], "`--rounds -1` is not a number"),
        ];
        for (arguments, expected) in table {
            let read = TaskOptions::read(arguments, &known);
            let error = read.and_then(|options| options.number::<u32>("--rounds"));
            assert_eq!(error, Err(expected.to_owned()));
        }
    }
}
