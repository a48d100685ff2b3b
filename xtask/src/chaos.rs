//! A long campaign against the store and the gateway: processes that are killed, disks that lose
//! their power or refuse, files that are damaged, clusters in trouble, crowds of clients.
//! `docs/runs/reliability.md` and `docs/gateway/reliability.md` say what each of them does.

use crate::{Outcome, ci};

/// A harness: its name here, its tests, the variable that says how much it tries, and how much a
/// campaign is if nobody says otherwise.
struct Harness {
    name: &'static str,
    tests: Tests,
    module: &'static str,
    variable: &'static str,
    rounds: u64,
}

/// Where a harness is.
#[derive(Clone, Copy)]
enum Tests {
    Store,
    Serve,
}

impl Tests {
    /// The package and the test program.
    fn place(self) -> [&'static str; 2] {
        match self {
            Tests::Store => ["foxwedge-store", "chaos"],
            Tests::Serve => ["foxwedge", "serve"],
        }
    }
}

const HARNESSES: [Harness; 9] = [
    store("kills", "kills::", "FOXWEDGE_KILLS", 500),
    store("cuts", "cuts::", "FOXWEDGE_CUTS", 200_000),
    store("flips", "pages::", "FOXWEDGE_FLIPS", 50_000),
    store("power", "power::", "FOXWEDGE_POWER", 1_000),
    // Nothing stands for every call there is.
    store("faults", "faults::", "FOXWEDGE_FAULTS", 0),
    store("race", "race::", "FOXWEDGE_RACES", 10_000),
    store("cluster", "cluster::", "FOXWEDGE_CLUSTER", 2_000),
    serve("gateway", "kills::", "FOXWEDGE_SERVE_KILLS", 200),
    serve("streams", "crowds::streams", "FOXWEDGE_HELD", 10_000),
];

const fn store(
    name: &'static str,
    module: &'static str,
    variable: &'static str,
    rounds: u64,
) -> Harness {
    Harness { name, tests: Tests::Store, module, variable, rounds }
}

const fn serve(
    name: &'static str,
    module: &'static str,
    variable: &'static str,
    rounds: u64,
) -> Harness {
    Harness { name, tests: Tests::Serve, module, variable, rounds }
}

/// Runs the harnesses that were named, or all of them; the first failure ends it.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let asked = Asked::read(words)?;
    for harness in &asked.harnesses {
        let rounds = asked.rounds.unwrap_or(harness.rounds);
        eprintln!("\n── {}: {rounds} rounds, seed {}", harness.name, asked.seed);
        let mut command = ci::command();
        let [package, test] = harness.tests.place();
        command.args(["test", "--release", "--package", package, "--test", test]);
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
