//! `cargo xtask gateway`: SDKs and agents of others talk to `foxwedge serve`.
//!
//! The binary serves the built-in model, with upstreams that speak one format each. Clients of
//! OpenAI, Anthropic and others then have whole conversations with it, in their own format and
//! across formats, whole and as streams: with tools, with reasoning, with a broken history, with
//! errors, with streams that break off. What they got is compared with what the model says. Then SDKs
//! read streams that the gateway repaired, a proxy and a private authority stand between it and its
//! upstream, and Gemini CLI uses it.

mod client;
mod job;
mod judge;
mod repaired_streams;
mod company_network;
mod gemini_cli;

use std::{collections::BTreeMap, fs};

use super::{
    SuiteError, binary,
    gateway_process::GatewayProcess,
    install::{Language, PackageFolder},
    process::TemporaryFolder,
    script::{ScriptJob as _, run_languages},
    skip,
    verdict::{VerdictTable, print_job},
};
use crate::options::TaskOptions;
use client::GatewayClient;
use job::{ClientTask, TestUpstream, routes};

/// The scripts and the pinned lists of a language.
fn sources(language: Language) -> &'static str {
    match language {
        Language::Python => "acceptance/gateway/python",
        Language::TypeScript => "acceptance/gateway/node",
    }
}

/// Runs every conversation, prints the verdict, and fails if one was not as it should be.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let mut installed = Vec::new();
    for language in Language::ALL {
        match PackageFolder::install(language, sources(language), "gateway") {
            Ok(packages) => installed.push(packages),
            Err(missing) => skip(missing)?,
        }
    }
    if installed.is_empty() {
        return Ok(());
    }
    let binary = binary(options)?;
    let mut table = VerdictTable::new(["client", "language", "endpoint"], ClientTask::COLUMNS);
    let folder = TemporaryFolder::new("gateway", &[])?;
    let config = folder.path.join("foxwedge.toml");
    let written = fs::write(&config, configuration());
    written.map_err(|error| format!("{}: {error}", config.display()))?;
    let mut gateway = GatewayProcess::start(&binary, &folder.path)?;
    let jobs = |packages: &PackageFolder| job::all(packages.language, &gateway.address);
    let results = run_languages(&installed, "try", jobs)?;
    let sessions = sessions(&gateway)?;
    gateway.process.stop("the gateway")?;
    for (packages, job, result) in results {
        let GatewayClient { language, endpoint, .. } = job.client;
        let row = table.row((language, job.client.module, endpoint), || {
            let labels = job.client.packages.iter().map(|package| packages.label(package));
            let labels = labels.collect::<Vec<_>>().join(", ");
            [labels, language.name().to_owned(), endpoint.name().to_owned()]
        });
        match judge::judge(&job, &result, &sessions) {
            Ok(()) => row[job.task.column()] += 1,
            Err(why) => table.fail(&job.label(), &why),
        }
    }
    table.print()?;
    let Some(packages) = installed.iter().find(|it| it.language == Language::Python) else {
        return Ok(());
    };
    let mut passed =
        print_job("SDKs read repaired streams", || repaired_streams::run(&binary, packages));
    match company_network::find_proxy() {
        Ok(proxy) => {
            passed &= print_job("a proxy, a private authority and a client certificate", || {
                company_network::run(&binary, packages, &proxy)
            });
        }
        Err(missing) => skip(missing)?,
    }
    match gemini_cli::install() {
        Ok(cli) => {
            passed &=
                print_job("Gemini CLI with tools, in every format, and with a lost result", || {
                    gemini_cli::run(&binary, &cli, packages)
                });
        }
        Err(missing) => skip(missing)?,
    }
    if passed { Ok(()) } else { Err("the gateway failed a trial".to_owned().into()) }
}

/// Every session that the gateway knows, and how many runs it has.
fn sessions(gateway: &GatewayProcess) -> Result<BTreeMap<String, u64>, String> {
    let mut sessions = BTreeMap::new();
    let mut after = String::new();
    loop {
        let page = gateway.get(&format!("/v1/sessions?limit=1000{after}"))?;
        for session in page["data"].as_array().into_iter().flatten() {
            let id = session["id"].as_str().unwrap_or_default();
            sessions.insert(id.to_owned(), session["runs"].as_u64().unwrap_or(0));
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(sessions),
        }
    }
}

/// An upstream for each format that speaks nothing else, and a model for each of its faults. Two
/// attempts are enough to see one fail.
fn configuration() -> String {
    let mut text =
        "[[upstream]]\nname = \"scripted\"\nkind = \"scripted\"\nattempts = 2\n".to_owned();
    text.push_str("[[route]]\nmodel = \"scripted*\"\nupstream = \"scripted\"\n");
    for format in TestUpstream::FORMATS {
        text.push_str(&format!(
            "[[upstream]]\nname = \"{format}\"\nkind = \"scripted\"\nformats = [\"{format}\"]\nattempts = 2\n"
        ));
        for (model, rename) in routes(format) {
            text.push_str(&format!(
                "[[route]]\nmodel = \"{model}\"\nupstream = \"{format}\"\nupstream_model = \"{rename}\"\n"
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn every_client_is_there_and_pinned() {
        for client in &client::CLIENTS {
            let sources = sources(client.language);
            let packages = PackageFolder::pinned(client.language, sources).expect("a list");
            let ending = if client.language == Language::Python { "py" } else { "mjs" };
            let file = format!("{sources}/clients/{}.{ending}", client.module);
            assert!(workspace::root().join(&file).exists(), "{file}");
            for package in client.packages {
                assert!(!packages.label(package).contains('?'), "{package}");
            }
        }
    }
}
