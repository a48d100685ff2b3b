//! A long campaign against the store: processes that are killed, disks that lose their power or
//! refuse, files that are damaged, clusters in trouble. `docs/runs/reliability.md` says what each
//! of them does.

use crate::{Outcome, ci};

/// A harness: its name here, its module among the tests, the variable that says how much it tries,
/// and how much a campaign is if nobody says otherwise.
struct Harness {
    name: &'static str,
    module: &'static str,
    variable: &'static str,
    rounds: u64,
}

const HARNESSES: [Harness; 7] = [
    Harness { name: "kills", module: "kills::", variable: "FOXWEDGE_KILLS", rounds: 500 },
    Harness { name: "cuts", module: "cuts::", variable: "FOXWEDGE_CUTS", rounds: 200_000 },
    Harness { name: "flips", module: "pages::", variable: "FOXWEDGE_FLIPS", rounds: 50_000 },
    Harness { name: "power", module: "power::", variable: "FOXWEDGE_POWER", rounds: 1_000 },
    // Nothing stands for every call there is.
    Harness { name: "faults", module: "faults::", variable: "FOXWEDGE_FAULTS", rounds: 0 },
    Harness { name: "race", module: "race::", variable: "FOXWEDGE_RACES", rounds: 10_000 },
    Harness { name: "cluster", module: "cluster::", variable: "FOXWEDGE_CLUSTER", rounds: 2_000 },
];

/// Runs the harnesses that were named, or all of them; the first failure ends it.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let asked = Asked::read(words)?;
    for harness in &asked.harnesses {
        let rounds = asked.rounds.unwrap_or(harness.rounds);
        eprintln!("\n── {}: {rounds} rounds, seed {}", harness.name, asked.seed);
        let mut command = ci::command();
        command.args(["test", "--release", "--package", "foxwedge-store", "--test", "chaos"]);
        command.args([harness.module, "--", "--nocapture", "--test-threads", "1"]);
        command.env(harness.variable, rounds.to_string());
        command.env("FOXWEDGE_CHAOS_SEED", asked.seed.to_string());
        let status =
            command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("{}: {status}", harness.name));
        }
    }
    Ok(())
}

struct Asked {
    harnesses: Vec<&'static Harness>,
    rounds: Option<u64>,
    seed: u64,
}

impl Asked {
    fn read(words: &[&str]) -> Result<Asked, String> {
        let mut asked = Asked { harnesses: Vec::new(), rounds: None, seed: 1 };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
                value.parse::<u64>().map_err(|_| format!("`{word} {value}` is no number"))
            };
            match word {
                "--rounds" => asked.rounds = Some(number()?),
                "--seed" => asked.seed = number()?,
                name => {
                    let known = HARNESSES.iter().find(|harness| harness.name == name);
                    asked.harnesses.push(known.ok_or_else(|| unknown(name))?);
                }
            }
        }
        if asked.harnesses.is_empty() {
            asked.harnesses = HARNESSES.iter().collect();
        }
        Ok(asked)
    }
}

fn unknown(name: &str) -> String {
    let known = HARNESSES.map(|harness| harness.name).join(", ");
    format!("unknown harness `{name}`; known: {known}")
}
