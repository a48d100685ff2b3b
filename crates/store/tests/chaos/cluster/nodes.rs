//! The nodes of a cluster as their keeper sees them: what they said, all of it, in one place.

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
    story::Story,
    writer::{SEED, STORE},
};

/// How long nothing may be heard before everything is given up. No assertion: a stop.
const SILENCE: Duration = Duration::from_secs(60);

/// All nodes.
pub(crate) struct Nodes {
    pub(crate) nodes: Vec<Node>,
    pub(crate) heard: Heard,
    story: Story,
    lines: Receiver<(usize, u64, String)>,
    teller: Sender<(usize, u64, String)>,
}

/// One of them.
pub(crate) struct Node {
    pub(crate) name: String,
    address: String,
    /// How often it was started.
    pub(crate) generation: u64,
    pub(crate) process: Process,
    /// What it said since it was started, in acknowledgements.
    pub(crate) lines: usize,
    pub(crate) finished: bool,
    /// How far it saw each run since it was started.
    pub(crate) saw: BTreeMap<String, u64>,
}

/// What they said.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) ledger: Ledger,
    /// Runs, places and fences of writes.
    pub(crate) writes: Vec<(String, u64, u64)>,
    /// Who says that they ended a run.
    pub(crate) winners: BTreeMap<String, Vec<String>>,
    /// Runs that were closed by somebody else than who ran them.
    pub(crate) swept: Vec<String>,
    /// How often somebody was refused who had lost a run.
    pub(crate) refused: usize,
}

impl Nodes {
    /// Starts so many; `address` gives each its own.
    pub(crate) fn start(count: usize, story: Story, address: impl Fn(&str) -> String) -> Nodes {
        let (teller, lines) = mpsc::channel();
        let mut nodes = Nodes { nodes: Vec::new(), heard: Heard::default(), story, lines, teller };
        for place in 0..count {
            let name = char::from(b'a' + place as u8).to_string();
            let address = address(&name);
            let process = nodes.process(place, &name, &address, 0);
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

    /// Kills one, and starts it again.
    pub(crate) fn replace(&mut self, place: usize) {
        let Node { name, address, generation, .. } = &self.nodes[place];
        let (name, address, generation) = (name.clone(), address.clone(), generation + 1);
        self.nodes[place].process.kill();
        self.nodes[place].process.end();
        let process = self.process(place, &name, &address, generation);
        let node = &mut self.nodes[place];
        (node.process, node.generation) = (process, generation);
        (node.lines, node.finished) = (0, false);
        node.saw.clear();
    }

    /// Listens until something holds.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Nodes) -> bool) {
        while !holds(self) {
            match self.lines.recv_timeout(SILENCE) {
                Ok((place, generation, line)) => self.hear(place, generation, &line),
                Err(RecvTimeoutError::Timeout) => panic!("nothing is heard any more: {what}"),
                Err(RecvTimeoutError::Disconnected) => panic!("everybody is gone: {what}"),
            }
        }
    }

    /// Listens until every node has said so much more.
    pub(crate) fn until_all_work(&mut self, more: usize) {
        let before: Vec<(u64, usize)> =
            self.nodes.iter().map(|node| (node.generation, node.lines)).collect();
        self.until("every node works", |nodes| {
            nodes.nodes.iter().zip(&before).all(|(node, (generation, lines))| {
                node.lines >= more && (node.generation != *generation || node.lines >= lines + more)
            })
        });
    }

    fn process(&self, place: usize, name: &str, address: &str, generation: u64) -> Process {
        let name = format!("{name}{generation}");
        let seed = self.story.seed.to_string();
        let values = [(STORE, address), (NAME, &*name), (SEED, &*seed)];
        let mut process = Process::start(super::NODE, &values);
        let (lines, teller) = (process.lines(), self.teller.clone());
        thread::spawn(move || {
            for line in lines {
                if teller.send((place, generation, line)).is_err() {
                    break;
                }
            }
        });
        process
    }

    fn hear(&mut self, place: usize, generation: u64, line: &str) {
        let Nodes { nodes, heard, .. } = self;
        let node = &mut nodes[place];
        // What one said before it was killed was said all the same; it saw nothing since.
        let current = node.generation == generation;
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match words.as_slice() {
            ["saw", run, last] => {
                if current {
                    node.saw.insert((*run).to_owned(), number(last));
                }
                return;
            }
            ["finished"] => return node.finished |= current,
            ["appended", run, last, fence] => {
                heard.writes.push(((*run).to_owned(), number(last), number(fence)));
                heard.ledger.hear(&format!("appended {run} {last}"));
            }
            ["ended" | "swept", run, ..] => {
                let winner = format!("{}{generation}", node.name);
                heard.winners.entry((*run).to_owned()).or_default().push(winner);
                if words[0] == "swept" {
                    heard.swept.push((*run).to_owned());
                }
                heard.ledger.hear(line);
            }
            ["refused", _] => heard.refused += 1,
            ["session" | "started" | "noted" | "failed", ..] => heard.ledger.hear(line),
            _ => return,
        }
        node.lines += usize::from(current);
    }
}
