//! `cargo xtask bench peers`: what other gateways do with histories that a provider refuses.
//!
//! Every gateway gets the same histories, the vectors of the integrity suite, and the same upstream:
//! the built-in model, whose judges refuse what providers refuse. A listener in between keeps what
//! arrives there. Nothing is timed. The gateways of others are used if they are installed.

mod gateways;
mod kept_upstream;
mod fault_table;

use std::{fs, path::Path};

use foxwedge_core::Format;
use foxwedge_suite::{ProbeRequest, SuiteTrack, SuiteVector, SuiteVerdict};

use self::{
    fault_table::FaultRow,
    gateways::PeerGateway,
    kept_upstream::{KeptRequest, KeptUpstream},
};
use crate::{
    Outcome,
    acceptance::{
        gateway_process::{self, start_model},
        process::TemporaryFolder,
    },
    options::TaskOptions,
    workspace::root,
};

/// Between which formats a gateway stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PeerPath {
    Chat,
    Messages,
    MessagesToChat,
}

impl PeerPath {
    const ALL: [PeerPath; 3] = [PeerPath::Chat, PeerPath::Messages, PeerPath::MessagesToChat];

    fn name(self) -> &'static str {
        match self {
            PeerPath::Chat => "Chat Completions",
            PeerPath::Messages => "Anthropic",
            PeerPath::MessagesToChat => "Anthropic client, Chat Completions upstream",
        }
    }

    fn client(self) -> Format {
        match self {
            PeerPath::Chat => Format::OpenaiChat,
            PeerPath::Messages | PeerPath::MessagesToChat => Format::Anthropic,
        }
    }

    fn upstream(self) -> Format {
        match self {
            PeerPath::Chat | PeerPath::MessagesToChat => Format::OpenaiChat,
            PeerPath::Messages => Format::Anthropic,
        }
    }

    /// The model that is asked for. The upstream takes any name.
    fn model(self) -> &'static str {
        match self {
            PeerPath::Chat => "suite-chat",
            PeerPath::Messages => "suite-messages",
            PeerPath::MessagesToChat => "suite-converted",
        }
    }

    fn url_path(self) -> &'static str {
        match self {
            PeerPath::Chat => "/v1/chat/completions",
            PeerPath::Messages | PeerPath::MessagesToChat => "/v1/messages",
        }
    }
}

/// A history that is sent, and what is known about it.
struct SentHistory {
    vector: SuiteVector,
    is_valid: bool,
    body: String,
}

/// Prints a table for each path.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let known = ["--peers FOLDER", "--only NAME…", "--foxwedge BINARY"];
    let options = TaskOptions::read(arguments, &known)?;
    let foxwedge = super::released(&options)?;
    let peers = options.path("--peers").unwrap_or_else(|| root().join("target/peers"));
    let only = options.values("--only");
    let vectors = vectors()?;
    let (_model, address) = start_model(&foxwedge)?;
    let upstream = KeptUpstream::start(address.trim_start_matches("http://"))?;
    let folder = TemporaryFolder::new("peers", &[])?;
    for path in PeerPath::ALL {
        let histories = histories(&vectors, path);
        let mut rows = Vec::new();
        let all = gateways::installed(path, &foxwedge, &peers);
        for gateway in all.iter().filter(|it| only.is_empty() || only.contains(&it.name)) {
            eprintln!("{}: {}", path.name(), gateway.name);
            rows.push(measure(gateway, path, &histories, &upstream, &folder)?);
        }
        println!("{}", fault_table::table(path, &histories, &rows));
    }
    Ok(())
}

fn measure(
    gateway: &PeerGateway,
    path: PeerPath,
    histories: &[SentHistory],
    upstream: &KeptUpstream,
    folder: &TemporaryFolder,
) -> Result<FaultRow, String> {
    let folder = folder.folder(&format!("{}-{path:?}", gateway.name))?;
    let first = histories.first().ok_or("no vector fits")?;
    let running = gateway.start(&folder, upstream.address(), path, &first.body)?;
    let mut row = FaultRow::new(gateway.name);
    for history in histories {
        upstream.take();
        let line = format!("POST {}", path.url_path());
        let reply = gateway_process::request_with(
            &running.address,
            &line,
            &gateway.headers(path, upstream.address()),
            &history.body,
        );
        let status = reply.ok().as_deref().and_then(status_of);
        row.add(path, history, status, upstream.take());
    }
    Ok(row)
}

/// The status of a reply; `None` if it is no reply.
fn status_of(reply: &str) -> Option<u16> {
    // Some gateways ask with HTTP/1.0, and are answered so.
    reply.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
}

/// The vectors whose verdict is certain, as requests.
fn histories(vectors: &[SuiteVector], path: PeerPath) -> Vec<SentHistory> {
    let profile = path.client().name();
    let sent = vectors.iter().filter_map(|vector| {
        let known = vector.verdicts.get(profile).filter(|known| !known.needs_decision)?;
        let is_valid = match known.verdict {
            SuiteVerdict::Valid => true,
            SuiteVerdict::Invalid => false,
            SuiteVerdict::Acceptable | SuiteVerdict::Unknown => return None,
        };
        let repairs = vector.tracks.contains(&SuiteTrack::Repair);
        let request = ProbeRequest::new(vector, profile, path.model()).ok().filter(|_| repairs)?;
        Some(SentHistory { vector: vector.clone(), is_valid, body: request.body })
    });
    sent.collect()
}

/// All vectors of the suite.
fn vectors() -> Result<Vec<SuiteVector>, String> {
    let mut vectors = Vec::new();
    for clause in entries(&root().join("suite/vectors"))? {
        for file in entries(&clause)? {
            let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            let text = fs::read_to_string(&file).map_err(|error| shown(&error))?;
            vectors.push(serde_json::from_str(&text).map_err(|error| shown(&error))?);
        }
    }
    Ok(vectors)
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let read = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}
