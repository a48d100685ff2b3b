//! `cargo xtask uis`: official clients of AG-UI, the AI SDK and ACP read the runs that foxwedge encodes.
//!
//! Runs of every kind are encoded for each protocol, and the clients read the result: whole and
//! seven bytes at a time. What they understood is compared with what happened. Some streams have a
//! fault planted in them, such as an end that was left out, which the clients must find.

mod runs;
mod fault;
mod judge;
mod chats;

use foxwedge_run::{
    SharedId,
    encode::{AcpRevision, AgUiRevision, EncoderOptions, RunEncoder, UiFormat, UiFrame},
};
use serde_json::{Value, json};

use super::{
    SuiteError,
    install::{Language, PackageFolder},
    script::{ScriptJob, run_jobs},
    verdict::VerdictTable,
};
use crate::options::TaskOptions;
use fault::StreamFault;
use runs::{RunKind, UiRun};

/// The scripts and the pinned list.
const SCRIPTS: &str = "acceptance/ui";

/// How many random runs of each kind are read by default.
const RANDOM: u64 = 100;

/// Reads everything, prints the verdict, and fails if anything was misunderstood.
pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let random = options.number("--random")?.unwrap_or(RANDOM);
    let packages = PackageFolder::install(Language::TypeScript, SCRIPTS, "uis")?;
    let mut table = VerdictTable::new(["format", "client"], ["streams", "ok", "faults", "found"]);
    let runs = runs::all(random)?;
    let jobs: Vec<UiJob<'_>> = runs.iter().flat_map(jobs).collect();
    let results = run_jobs("node", packages.script("read"), &jobs)?;
    for (job, result) in jobs.iter().zip(&results) {
        let [streams, ok, faults, found] = table.row(job.client, || {
            let UiClient { format, version, package } = job.client;
            [format!("{} {version}", format.name()), packages.label(package)]
        });
        let (all, right) = if job.fault.is_some() { (faults, found) } else { (streams, ok) };
        *all += 1;
        match judge::judge(job, result) {
            Ok(()) => *right += 1,
            Err(why) => table.fail(&job.label(), &why),
        }
    }
    table.print()?;
    chats::run(&packages, options)
}

/// A client and what it is given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct UiClient {
    format: UiFormat,
    /// The protocol's version.
    version: u32,
    /// Its package, as `package.json` calls it.
    package: &'static str,
}

impl UiClient {
    const ALL: [UiClient; 6] = [
        UiClient { format: UiFormat::AgUi, version: 0, package: "@ag-ui/client-0" },
        UiClient { format: UiFormat::AgUi, version: 0, package: "@ag-ui/client" },
        UiClient { format: UiFormat::AgUi, version: 1, package: "@ag-ui/client" },
        UiClient { format: UiFormat::AiSdk, version: 1, package: "ai" },
        UiClient { format: UiFormat::Acp, version: 1, package: "@agentclientprotocol/sdk" },
        UiClient { format: UiFormat::Acp, version: 2, package: "@agentclientprotocol/sdk" },
    ];

    fn frames(self, run: &UiRun) -> Vec<UiFrame> {
        let options = EncoderOptions {
            run: Some(run.id.clone()),
            agui: if self.version == 0 { AgUiRevision::V0 } else { AgUiRevision::V1 },
            acp: if self.version == 2 { AcpRevision::V2 } else { AcpRevision::V1 },
            ..EncoderOptions::new(&SharedId::from("s"))
        };
        let mut encoder = RunEncoder::new(self.format, options);
        let mut frames = Vec::new();
        run.effects.iter().for_each(|effect| encoder.push(effect, &mut frames));
        encoder.finish(&mut frames);
        frames
    }
}

/// How many bytes of a stream arrive at a time; 0 is all at once. Seven bytes split every line.
const CHUNK_SIZES: [usize; 2] = [0, 7];

/// One reading of one stream.
struct UiJob<'a> {
    run: &'a UiRun,
    client: UiClient,
    chunk_size: usize,
    /// What is wrong with the stream.
    fault: Option<StreamFault>,
    stream: String,
}

impl ScriptJob for UiJob<'_> {
    fn line(&self) -> Value {
        json!({
            "format": self.client.format.name(),
            "reader": self.client.package,
            "version": self.client.version,
            "stream": self.stream,
            "piece": self.chunk_size,
        })
    }

    fn label(&self) -> String {
        let UiClient { format, version, package } = self.client;
        let fault = self.fault.as_ref().map(|fault| format!(", {fault}")).unwrap_or_default();
        let (name, kind) = (&self.run.name, self.run.kind);
        format!("{name} ({kind:?}{fault}) as {} {version} by {package}", format.name())
    }
}

/// All readings of a run.
fn jobs(run: &UiRun) -> Vec<UiJob<'_>> {
    let mut jobs = Vec::new();
    for client in UiClient::ALL {
        let frames = client.frames(run);
        let mut job = |frames: &[UiFrame], chunk_size, fault| {
            let mut stream = String::new();
            frames.iter().for_each(|frame| frame.write_sse(&mut stream));
            jobs.push(UiJob { run, client, chunk_size, fault, stream });
        };
        match run.kind {
            RunKind::Random | RunKind::RandomLog => job(&frames, 0, None),
            RunKind::Changes | RunKind::Log => {
                CHUNK_SIZES.iter().for_each(|size| job(&frames, *size, None));
            }
        }
        if run.kind == RunKind::Changes {
            for fault in fault::of(client) {
                if let Some(frames) = fault.plant(&frames) {
                    job(&frames, 0, Some(fault));
                }
            }
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_that_reads_is_pinned() {
        let packages = PackageFolder::pinned(Language::TypeScript, SCRIPTS).expect("a list");
        for client in UiClient::ALL {
            let label = packages.label(client.package);
            let version = label.rsplit(' ').next().unwrap_or_default();
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{label}");
        }
    }
}
