//! Chats of user interfaces with a gateway: the client has a tool, and the built-in model calls it.

use std::fs;

use serde_json::{Value, json};

use super::super::{
    SuiteError, binary,
    gateway_process::{GatewayProcess, TOKEN},
    install::PackageFolder,
    process::TemporaryFolder,
    script::{ScriptJob, run_jobs},
    verdict::VerdictTable,
};
use crate::options::TaskOptions;

/// The clients and their endpoints.
const CLIENTS: [(&str, &str); 3] = [
    ("@ag-ui/client", "/v1/ui/agui?model=scripted"),
    ("@ag-ui/client-0", "/v1/ui/agui?model=scripted&agui_version=0"),
    ("ai", "/v1/ui/ai-sdk"),
];

/// A chat of one client.
struct ChatJob {
    client: &'static str,
    url: String,
}

impl ScriptJob for ChatJob {
    fn line(&self) -> Value {
        json!({ "client": self.client, "url": self.url, "token": TOKEN })
    }

    fn label(&self) -> String {
        format!("a chat of {}", self.client)
    }
}

/// Runs every chat, and adds a row for each client.
pub(super) fn run(packages: &PackageFolder, options: &TaskOptions) -> Result<(), SuiteError> {
    let folder = TemporaryFolder::new("chats", &["state"])?;
    let config = folder.path.join("foxwedge.toml");
    fs::write(&config, "").map_err(|error| format!("{}: {error}", config.display()))?;
    let gateway = GatewayProcess::start(&binary(options)?, &folder.path)?;
    let address = &gateway.address;
    let jobs: Vec<ChatJob> = CLIENTS
        .iter()
        .map(|(client, path)| ChatJob { client, url: format!("http://{address}{path}") })
        .collect();
    let results = run_jobs("node", packages.script("chat"), &jobs)?;
    let mut table = VerdictTable::new(["chat", "client"], ["chats", "ok"]);
    for (job, result) in jobs.iter().zip(&results) {
        let [chats, ok] = table.row(job.client, || [job.label(), packages.label(job.client)]);
        *chats += 1;
        match judge(result) {
            Ok(()) => *ok += 1,
            Err(why) => table.fail(&job.label(), &format!("{why}\n{}", gateway.log())),
        }
    }
    Ok(table.print()?)
}

/// Every prompt has its reply, and the call its result.
fn judge(result: &Value) -> Result<(), String> {
    let expected = json!({
        "refused": null,
        "texts": ["You said: good morning", "The tool said: sunny", "You said: thank you"],
        "calls": ["weather {\"city\":\"Ulm\"}"],
    });
    if *result == expected { Ok(()) } else { Err(format!("{result}")) }
}
