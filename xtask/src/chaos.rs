//! Long campaigns against the store and the gateway: processes that are killed, disks that lose
//! power or refuse, files that are damaged, failing clusters. `crates/store/tests/chaos/README.md`
//! and `crates/gateway/tests/chaos/README.md` describe each of them.

use crate::{Outcome, ci, options::TaskOptions};

/// A campaign: its name, the package, test program and module that it runs, the variable that says
/// how much is tried, and how much that is by default.
struct ChaosCampaign {
    name: &'static str,
    place: [&'static str; 3],
    variable: &'static str,
    rounds: u64,
}

const CAMPAIGNS: [ChaosCampaign; 8] = [
    store("kills", "kills::", "FOXWEDGE_KILLS", 500),
    store("cuts", "cuts::", "FOXWEDGE_CUTS", 200_000),
    store("flips", "pages::", "FOXWEDGE_FLIPS", 50_000),
    store("power", "power::", "FOXWEDGE_POWER", 1_000),
    // 0 is every call there is.
    store("faults", "faults::", "FOXWEDGE_FAULTS", 0),
    store("cluster", "cluster::", "FOXWEDGE_CLUSTER", 2_000),
    ChaosCampaign {
        place: ["foxwedge", "serve", "kills::"],
        ..store("gateway", "", "FOXWEDGE_SERVE_KILLS", 200)
    },
    ChaosCampaign {
        place: ["foxwedge", "serve", "nodes::"],
        ..store("nodes", "", "FOXWEDGE_NODES", 24)
    },
];

const fn store(
    name: &'static str,
    module: &'static str,
    variable: &'static str,
    rounds: u64,
) -> ChaosCampaign {
    ChaosCampaign { name, place: ["foxwedge-store", "chaos", module], variable, rounds }
}

/// Runs the campaigns that were named, or all of them; the first failure ends it.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let split =
        arguments.iter().position(|argument| argument.starts_with("--")).unwrap_or(arguments.len());
    let (names, options) = arguments.split_at(split);
    let options = TaskOptions::read(options, &["--rounds N", "--seed S"])?;
    let seed: u64 = options.number("--seed")?.unwrap_or(1);
    let rounds: Option<u64> = options.number("--rounds")?;
    if let Some(name) = names.iter().find(|name| !CAMPAIGNS.iter().any(|it| it.name == **name)) {
        let known = CAMPAIGNS.map(|campaign| campaign.name).join(", ");
        return Err(format!("unknown harness `{name}`; known: {known}"));
    }
    let wanted = |it: &&ChaosCampaign| names.is_empty() || names.contains(&it.name);
    for campaign in CAMPAIGNS.iter().filter(wanted) {
        let rounds = rounds.unwrap_or(campaign.rounds);
        eprintln!("\n── {}: {rounds} rounds, seed {seed}", campaign.name);
        let mut command = ci::command();
        let [package, test, module] = campaign.place;
        command.args(["test", "--release", "--package", package, "--test", test]);
        command.args([module, "--", "--nocapture", "--test-threads", "1"]);
        command.env(campaign.variable, rounds.to_string());
        command.env("FOXWEDGE_CHAOS_SEED", seed.to_string());
        let status =
            command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("{}: {status}", campaign.name));
        }
    }
    Ok(())
}
