//! Session files of agents: which of their records are the conversation, what is wrong with it,
//! and how the file is repaired in place.
//!
//! Every format is read into the same [`Draft`] as a request of its provider, over the bytes of
//! the file. A repair changes the records it has to and adds new ones; every other line keeps its
//! bytes. What a repaired file says is what [`Session::history`] tells.

use foxwedge_core::{
    Draft, Facts, Message, Question, Repair,
    chain::{Chain, Manner, chain},
    repair,
};

use crate::{error::ReadError, outline::Want};

mod about;
mod effect;
mod text;
mod lines;
mod values;
mod log;
mod list;
mod agent;
mod recognise;
mod nodes;
mod rewritten;
mod desk;
mod plan;
mod place;
mod path;
mod weave;
mod emit;
mod history;
mod settle;
mod fork;
mod claude_code;
mod neovate;
mod codex;
mod cline;
mod gemini_cli;
mod direct;
mod sequence;
mod condensed;

pub use about::About;
pub use agent::Agent;
pub use condensed::{Condensed, NotCompacted, Shown};
use effect::SparedFlaws;
pub use effect::{AgentVersion, FindingEffect, FindingPart, RATED, RatedReport, RatedRow};
pub use nodes::{LeftOut, Node};
pub use recognise::{Recognised, recognise};
pub use rewritten::Rewritten;
pub use text::{Text, text};

use gemini_cli::Entry;
use log::{Log, ReadRecord};

/// A session file and the conversation in it.
#[derive(Debug)]
pub struct Session<'a> {
    /// Who wrote it.
    pub agent: Agent,
    /// What the file says about itself.
    pub about: About<'a>,
    log: Log<'a>,
    /// The messages in the records, each by itself.
    fragments: Vec<Message>,
    chain: Chain<'a>,
    /// The messages that count, in agents that write them again.
    entries: Vec<Entry<'a>>,
    /// The lines of those flaws that lie in lines, in the order of the last flaws of the draft.
    flaw_lines: Vec<u32>,
    /// Flaws that are left alone.
    spared: SparedFlaws,
}

/// Reads a session file.
///
/// # Errors
/// If a record is JSON, but not as its agent writes it: whoever guesses there breaks the file.
pub fn read<'a>(text: &'a Text<'_>, agent: Agent, want: Want) -> Result<Session<'a>, ReadError> {
    match agent {
        Agent::ClaudeCode => linked(text, agent, want, claude_code::record, claude_code::manner),
        Agent::Neovate => linked(text, agent, want, neovate::record, |_| neovate::MANNER),
        Agent::Codex => {
            let (log, fragments, about) = log::by_line(text, agent, want, codex::record)?;
            Ok(sequence::session(agent, log, fragments, about))
        }
        Agent::Cline => {
            let list = text.as_str().find('[').unwrap_or(0);
            let (log, fragments, about) = list::by_element(text, agent, want, list, cline::record)?;
            Ok(sequence::session(agent, log, fragments, about))
        }
        Agent::GeminiCli => {
            let (log, fragments, about) = match recognise::old_gemini(text.as_str()) {
                None => log::by_line(text, agent, want, gemini_cli::record)?,
                Some(list) => list::by_element(text, agent, want, list, gemini_cli::record)?,
            };
            Ok(sequence::versions(agent, log, fragments, about))
        }
    }
}

/// Reads a file whose records are linked.
fn linked<'a>(
    text: &'a Text<'_>,
    agent: Agent,
    want: Want,
    read: ReadRecord<'a>,
    manner: fn(Option<&str>) -> Manner,
) -> Result<Session<'a>, ReadError> {
    let (mut log, fragments, about) = log::by_line(text, agent, want, read)?;
    if agent == Agent::Neovate {
        neovate::mark_forgotten(&mut log);
    }
    let manner = manner(about.version.as_deref());
    let chain = chain(&log.links, &fragments, &log.carried, manner);
    let fragments = fragments.messages;
    let (entries, flaw_lines) = (Vec::new(), Vec::new());
    let spared = SparedFlaws::default();
    let mut session = Session { agent, about, log, fragments, chain, entries, flaw_lines, spared };
    session.add_flaws();
    Ok(session)
}

impl<'a> Session<'a> {
    /// The conversation, as its agent would send it.
    pub fn draft(&self) -> &Draft<'a> {
        &self.chain.draft
    }

    /// Adds what is wrong with the lines to what is wrong with the links.
    fn add_flaws(&mut self) {
        if self.log.flaws.is_empty() {
            return;
        }
        // For each record its message, or the last one before it.
        let mut last = 0;
        let near = self.messages().into_iter().map(|at| {
            last = at.unwrap_or(last);
            last
        });
        let near: Vec<usize> = near.collect();
        for (record, line, mut flaw) in self.log.flaws.drain(..) {
            let near = near.get(record as usize).copied().unwrap_or(0);
            flaw.message = u32::try_from(near).unwrap_or(u32::MAX);
            self.chain.draft.body.flaws.push(flaw);
            self.chain.culprits.push(record);
            self.flaw_lines.push(line);
        }
        self.chain.draft.facts.note(Facts::FLAWED);
    }

    /// Whether a record in it says that it is the agent's, be it a message or not.
    pub fn has_records(&self) -> bool {
        let source = self.log.source;
        let whole = self.log.records.iter().filter(|record| record.state != lines::State::Torn);
        whole.into_iter().any(|record| {
            recognise::is_own(source, record.span, self.agent)
                || !record.kind.is_empty() && (self.agent.is_record())(source, record.span)
        })
    }

    /// The ids of the records that a message is made of.
    pub fn record_ids(&self, message: usize) -> impl Iterator<Item = &'a str> {
        let records = self.chain.records_of(message).iter();
        records.filter_map(|&record| self.log.links.get(record as usize)?.id)
    }

    /// For each record the message it is part of.
    fn messages(&self) -> Vec<Option<usize>> {
        let mut messages = vec![None; self.log.records.len()];
        for message in 0..self.chain.groups.len() {
            for &record in self.chain.records_of(message) {
                messages[record as usize] = Some(message);
            }
        }
        messages
    }

    /// Repairs the file: what it becomes, and what was done.
    pub fn fix(&self, question: &Question) -> (Rewritten<'a>, Repair<'a>) {
        let mut repair = repair(self.draft(), question);
        if repair.is_untouched() {
            return (Rewritten::whole(self.log.bytes), repair);
        }
        repair.open_touched(self.draft());
        let mut rewritten = self.rewrite(&repair);
        settle::settle(self, question, &mut repair, &mut rewritten);
        (rewritten, repair)
    }

    fn rewrite(&self, repair: &Repair<'a>) -> Rewritten<'a> {
        match self.agent {
            Agent::ClaudeCode | Agent::Neovate => desk::rewrite(self, repair),
            Agent::Codex | Agent::Cline => direct::rewrite(self, repair),
            Agent::GeminiCli => gemini_cli::rewrite(self, repair),
        }
    }

    /// The conversation as its agent would send it: the list of messages in the wire format of
    /// the agent, as it stands in the file. A clean one is had by reading a repaired file.
    pub fn history(&self) -> String {
        history::history(self)
    }

    /// A copy of the file under another session id.
    pub fn fork(&self, id: &str) -> Rewritten<'a> {
        fork::fork(self, id)
    }

    /// Every record, in the order of the file.
    pub fn nodes(&self) -> Vec<Node<'_>> {
        nodes::nodes(self)
    }

    /// What of the file is not in the conversation.
    pub fn left_out(&self) -> LeftOut {
        nodes::left_out(self)
    }
}
