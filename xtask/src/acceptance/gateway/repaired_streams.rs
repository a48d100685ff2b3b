//! Streams with faulty tool calls, which the gateway repairs on the way: what official SDKs read of
//! them directly, and what they read afterwards.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::acceptance::{
    gateway_process::{GatewayProcess, TOKEN},
    install::PackageFolder,
    process::{OwnedProcess, TemporaryFolder},
    script::{ScriptJob, run_jobs},
    verdict::VerdictTable,
};

const ENDPOINTS: [(&str, &str); 3] =
    [("chat", "openai"), ("responses", "openai"), ("messages", "anthropic")];
/// Streams of an endpoint that are damaged. The SDKs read about a quarter of them all the same.
const DAMAGED: usize = 480;
/// Valid streams of an endpoint.
const VALID: usize = 100;
/// How many streams must have been unreadable, so that the share says something.
const UNREADABLE: usize = 1_000;

/// Reads all streams; a share of less than 99 in 100 fails.
pub(super) fn run(binary: &Path, packages: &PackageFolder) -> Result<(), String> {
    let (_provider, provider) = OwnedProcess::start_listening(&mut packages.script("faulty"))?;
    let folder = TemporaryFolder::new("repaired-streams", &[])?;
    let config = folder.path.join("foxwedge.toml");
    let written = fs::write(&config, configuration(&provider));
    written.map_err(|error| format!("{}: {error}", config.display()))?;
    let mut gateway = GatewayProcess::start(binary, &folder.path)?;
    let mut jobs = Vec::new();
    for (endpoint, package) in ENDPOINTS {
        for (kind, count) in [("faulty", DAMAGED), ("valid", VALID)] {
            let gateway = gateway.address.clone();
            let provider = provider.clone();
            jobs.push(StreamJob { endpoint, package, kind, count, provider, gateway });
        }
    }
    let results = run_jobs("heal", packages.script("heal"), &jobs)?;
    gateway.process.stop("the gateway")?;
    let heads = ["unreadable", "repaired", "valid", "unchanged"];
    let mut table = VerdictTable::new(["SDK", "endpoint"], heads);
    let (mut unreadable, mut repaired) = (0, 0);
    for (job, result) in jobs.iter().zip(&results) {
        let count = |name: &str| result[name].as_u64().unwrap_or(0) as usize;
        let failures = result["failures"].as_array().into_iter().flatten();
        let failures: Vec<&str> = failures.filter_map(Value::as_str).collect();
        let row =
            table.row(job.endpoint, || [packages.label(job.package), job.endpoint.to_owned()]);
        if job.kind == "faulty" {
            (row[0], row[1]) = (count("unreadable"), count("repaired"));
            unreadable += row[0];
            repaired += row[1];
            failures.iter().for_each(|failure| println!("{failure}"));
        } else {
            (row[2], row[3]) = (job.count, count("same"));
            if row[3] != job.count || !failures.is_empty() {
                table.fail(&job.label(), &format!("a valid stream changed: {failures:?}"));
            }
        }
    }
    println!("{repaired} of {unreadable} unreadable streams can be read after a repair");
    if unreadable < UNREADABLE {
        table.fail("all", &format!("only {unreadable} streams were unreadable"));
    }
    if repaired * 100 < unreadable * 99 {
        table.fail("all", "less than 99 in 100 can be read");
    }
    table.print()
}

/// One kind of streams at one endpoint.
struct StreamJob {
    endpoint: &'static str,
    package: &'static str,
    kind: &'static str,
    count: usize,
    provider: String,
    gateway: String,
}

impl ScriptJob for StreamJob {
    fn line(&self) -> Value {
        json!({
            "endpoint": self.endpoint, "kind": self.kind, "from": 0, "to": self.count,
            "provider": self.provider, "gateway": self.gateway, "token": TOKEN,
        })
    }

    fn label(&self) -> String {
        format!("{} {} streams of {}", self.count, self.kind, self.endpoint)
    }
}

/// The provider's upstreams: the model's name says which.
fn configuration(provider: &str) -> String {
    let mut text = "[guard]\nrepair_streams = true\n".to_owned();
    for (name, kind, path) in [("openai", "openai", "/v1"), ("claude", "anthropic", "")] {
        text.push_str(&format!(
            "[[upstream]]\nname = \"{name}\"\nkind = \"{kind}\"\nkey = \"none\"\n\
             base_url = \"http://{provider}{path}\"\n\
             [[route]]\nmodel = \"{name}-*\"\nupstream = \"{name}\"\n"
        ));
    }
    text
}
