//! The nodes of a cluster, and everything they reported.

use std::{
    collections::BTreeMap,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use super::node::NAME;
use crate::{
    ledger::Ledger,
    process::Process,
    story::Workload,
    writer::{SEED, STORE},
};

/// How long to wait for output before the test gives up. This is not an assertion.
const SILENCE: Duration = Duration::from_secs(60);

/// All nodes.
pub(crate) struct Nodes {
    pub(crate) nodes: Vec<Node>,
    pub(crate) reports: NodeReports,
    workload: Workload,
    lines: Receiver<(usize, u64, String)>,
    sender: Sender<(usize, u64, String)>,
}

/// One node.
pub(crate) struct Node {
    pub(crate) name: String,
    address: String,
    /// How often it was started.
    pub(crate) generation: u64,
    pub(crate) process: Process,
    /// Number of acknowledgements since it was started.
    pub(crate) lines: usize,
    pub(crate) finished: bool,
    /// How far it has seen each run since it was started.
    pub(crate) saw: BTreeMap<String, u64>,
}

/// What the nodes reported.
#[derive(Default)]
pub(crate) struct NodeReports {
    pub(crate) ledger: Ledger,
    /// Runs, sequence numbers and fences of writes.
    pub(crate) writes: Vec<(String, u64, u64)>,
    /// The nodes that report to have ended a run.
    pub(crate) winners: BTreeMap<String, Vec<String>>,
    /// Runs that were closed by another node than their own.
    pub(crate) swept: Vec<String>,
    /// How often a node was refused because it had lost a run.
    pub(crate) refused: usize,
}

impl Nodes {
    /// Starts `count` nodes; `address` returns the URL of each.
    pub(crate) fn start(
        count: usize,
        workload: Workload,
        address: impl Fn(&str) -> String,
    ) -> Nodes {
        let (sender, lines) = mpsc::channel();
        let mut nodes =
            Nodes { nodes: Vec::new(), reports: NodeReports::default(), workload, lines, sender };
        for index in 0..count {
            let name = char::from(b'a' + index as u8).to_string();
            let address = address(&name);
            let process = nodes.process(index, &name, &address, 0);
            nodes.nodes.push(Node {
                name,
                address,
                generation: 0,
                process,
                lines: 0,
                finished: false,
                saw: BTreeMap::new(),
            });
        }
        nodes
    }

    /// Kills a node and starts it again.
    pub(crate) fn replace(&mut self, index: usize) {
        let Node { name, address, generation, .. } = &self.nodes[index];
        let (name, address, generation) = (name.clone(), address.clone(), generation + 1);
        self.nodes[index].process.kill();
        self.nodes[index].process.end();
        let process = self.process(index, &name, &address, generation);
        let node = &mut self.nodes[index];
        (node.process, node.generation) = (process, generation);
        (node.lines, node.finished) = (0, false);
        node.saw.clear();
    }

    /// Reads output until a condition holds.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Nodes) -> bool) {
        while !holds(self) {
            match self.lines.recv_timeout(SILENCE) {
                Ok((index, generation, line)) => self.record(index, generation, &line),
                Err(RecvTimeoutError::Timeout) => panic!("nothing is heard any more: {what}"),
                Err(RecvTimeoutError::Disconnected) => panic!("everybody is gone: {what}"),
            }
        }
    }

    /// Reads output until every node has reported `more` further acknowledgements.
    pub(crate) fn until_all_work(&mut self, more: usize) {
        let before: Vec<(u64, usize)> =
            self.nodes.iter().map(|node| (node.generation, node.lines)).collect();
        self.until("every node works", |nodes| {
            nodes.nodes.iter().zip(&before).all(|(node, (generation, lines))| {
                node.lines >= more && (node.generation != *generation || node.lines >= lines + more)
            })
        });
    }

    fn process(&self, index: usize, name: &str, address: &str, generation: u64) -> Process {
        let name = format!("{name}{generation}");
        let seed = self.workload.seed.to_string();
        let values = [(STORE, address), (NAME, &*name), (SEED, &*seed)];
        let mut process = Process::start(super::NODE, &values);
        let (lines, sender) = (process.lines(), self.sender.clone());
        thread::spawn(move || {
            for line in lines {
                if sender.send((index, generation, line)).is_err() {
                    break;
                }
            }
        });
        process
    }

    fn record(&mut self, index: usize, generation: u64, line: &str) {
        let Nodes { nodes, reports, .. } = self;
        let node = &mut nodes[index];
        // Reports from before a kill still count; what that process saw does not.
        let is_current = node.generation == generation;
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match words.as_slice() {
            ["saw", run, last] => {
                if is_current {
                    node.saw.insert((*run).to_owned(), number(last));
                }
                return;
            }
            ["finished"] => return node.finished |= is_current,
            ["appended", run, last, fence] => {
                reports.writes.push(((*run).to_owned(), number(last), number(fence)));
                reports.ledger.record(&format!("appended {run} {last}"));
            }
            ["ended" | "swept", run, ..] => {
                let winner = format!("{}{generation}", node.name);
                reports.winners.entry((*run).to_owned()).or_default().push(winner);
                if words[0] == "swept" {
                    reports.swept.push((*run).to_owned());
                }
                reports.ledger.record(line);
            }
            ["refused", _] => reports.refused += 1,
            ["session" | "started" | "noted" | "failed", ..] => reports.ledger.record(line),
            _ => return,
        }
        node.lines += usize::from(is_current);
    }
}
