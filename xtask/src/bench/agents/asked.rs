//! What was asked for.

use std::path::PathBuf;

/// What was typed behind `cargo xtask bench agents`.
#[derive(PartialEq, Debug)]
pub(super) struct Asked {
    /// Conversations for each number of calls; of the real agent at most two.
    pub(super) conversations: u32,
    /// Round trips in each of them.
    pub(super) rounds: u32,
    /// How often agents are started; the real one at most seven times.
    pub(super) starts: u32,
    /// Conversations that wait at once.
    pub(super) sessions: u32,
    /// Whether the real agent is measured, too.
    pub(super) real: bool,
    /// One that is there already.
    pub(super) cli: Option<PathBuf>,
    /// A binary that is there already.
    pub(super) foxwedge: Option<PathBuf>,
}

impl Asked {
    pub(super) fn read(words: &[&str]) -> Result<Asked, String> {
        let mut asked = Asked {
            conversations: 10,
            rounds: 20,
            starts: 30,
            sessions: 200,
            real: false,
            cli: None,
            foxwedge: None,
        };
        let mut words = words.iter();
        while let Some(&name) = words.next() {
            if name == "--real" {
                asked.real = true;
                continue;
            }
            let value = *words.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            let number = || {
                let number = value.parse().ok().filter(|number| (1..=2_000).contains(number));
                number.ok_or_else(|| format!("`{name} {value}` is not a number from 1 to 2000"))
            };
            match name {
                "--conversations" => asked.conversations = number()?,
                "--rounds" => asked.rounds = number()?,
                "--starts" => asked.starts = number()?,
                "--sessions" => asked.sessions = number()?,
                "--claude-code" => asked.cli = Some(value.into()),
                "--foxwedge" => asked.foxwedge = Some(value.into()),
                _ => return Err(format!("unknown option `{name}`")),
            }
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        let asked = Asked::read(&["--real", "--sessions", "9", "--foxwedge", "f"]);
        let asked = asked.expect("all of it is known");
        assert_eq!((asked.real, asked.sessions, asked.rounds), (true, 9, 20));
        let table: [(&[&str], &str); 3] = [
            (&["--sessions"], "`--sessions` needs a value"),
            (&["--rounds", "0"], "`--rounds 0` is not a number from 1 to 2000"),
            (&["--round", "1"], "unknown option `--round`"),
        ];
        for (words, expected) in table {
            assert_eq!(Asked::read(words).err().as_deref(), Some(expected));
        }
    }
}
