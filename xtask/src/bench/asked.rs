//! What was asked for.

use std::path::PathBuf;

use super::scenario::Scenario;

/// How long the gateway takes from its start to its first answer, and what it needs then.
pub(super) const START: &str = "start";

/// What finding a session costs, without a network.
pub(super) const SESSIONS: &str = "sessions";

/// What was typed behind `cargo xtask bench`.
#[derive(PartialEq, Debug)]
pub(super) struct Asked {
    /// Only these; all if there is none.
    scenarios: Vec<String>,
    /// How long each is asked in a round.
    pub(super) seconds: f64,
    /// How often each has its turn.
    pub(super) rounds: u32,
    /// A binary that is there already.
    pub(super) foxwedge: Option<PathBuf>,
}

impl Asked {
    pub(super) fn read(words: &[&str]) -> Result<Asked, String> {
        let ["gateway", words @ ..] = words else {
            return Err(
                "only `bench gateway` is known; see `cargo bench -p foxwedge-testkit` for the rest"
                    .to_owned(),
            );
        };
        let mut asked = Asked { scenarios: Vec::new(), seconds: 1.5, rounds: 3, foxwedge: None };
        let mut words = words.iter();
        while let Some(&name) = words.next() {
            let value = *words.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            let number = || format!("`{name} {value}` is not a number");
            match name {
                "--scenario" => asked.scenarios.push(known(value)?),
                "--seconds" => {
                    let seconds: f64 = value.parse().map_err(|_| number())?;
                    let fits = (0.01..=600.0).contains(&seconds);
                    asked.seconds = if fits { seconds } else { return Err(number()) };
                }
                "--rounds" => asked.rounds = value.parse().map_err(|_| number())?,
                "--foxwedge" => asked.foxwedge = Some(value.into()),
                _ => return Err(format!("unknown option `{name}`")),
            }
        }
        Ok(asked)
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|wanted| wanted == name)
    }

    /// Whether anything is wanted that needs the gateway.
    pub(super) fn wants_stage(&self) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|wanted| wanted != SESSIONS)
    }
}

fn known(name: &str) -> Result<String, String> {
    let all: Vec<&str> = [START, SESSIONS]
        .into_iter()
        .chain(Scenario::ALL.iter().map(|scenario| scenario.name))
        .collect();
    if all.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("unknown scenario `{name}`; known: {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        let asked = Asked::read(&["gateway", "--scenario", "tiny-16", "--seconds", "0.5"]);
        let asked = asked.expect("all of it is known");
        assert_eq!((asked.seconds, asked.rounds), (0.5, 3));
        assert!(asked.wants("tiny-16") && !asked.wants("tiny-1") && asked.wants_stage());
        let table: [(&[&str], &str); 4] = [
            (
                &["runs"],
                "only `bench gateway` is known; see `cargo bench -p foxwedge-testkit` for the rest",
            ),
            (&["gateway", "--rounds"], "`--rounds` needs a value"),
            (&["gateway", "--seconds", "-1"], "`--seconds -1` is not a number"),
            (&["gateway", "--round", "1"], "unknown option `--round`"),
        ];
        for (words, expected) in table {
            assert_eq!(Asked::read(words).err().as_deref(), Some(expected));
        }
        let unknown = Asked::read(&["gateway", "--scenario", "x"]).err().unwrap_or_default();
        assert!(unknown.starts_with("unknown scenario `x`; known: start, sessions, tiny-1"));
    }
}
