//! Session files of agents: which of their records are the conversation, what is wrong with it,
//! and how the file is repaired in place.
//!
//! Every format is read into the same [`Draft`] as a request of its provider, over the bytes of
//! the file. A repair changes the records it has to and adds new ones; every other line keeps its
//! bytes. What a repaired file says is what [`Session::history`] tells.

use foxwedge_core::{
    CheckOptions, Draft, DraftFeatures, Message, Repair,
    chain::{LoaderBehavior, RecordChain, build_chain},
    repair,
};

use crate::{error::ReadError, outline::OutlineOptions};

mod metadata;
mod effect;
mod text;
mod lines;
mod values;
mod records;
mod list;
mod agent;
mod detection;
mod nodes;
mod rewritten_file;
mod linked_rewriter;
mod plan;
mod placement;
mod repaired_path;
mod relink;
mod emit;
mod history;
mod until_stable;
mod fork;
mod claude_code;
mod neovate;
mod codex;
mod cline;
mod gemini_cli;
mod sequence_rewriter;
mod sequence;
mod compaction;

pub use agent::SessionAgent;
pub use compaction::{CompactedFile, CompactedFileMessage, CompactionError};
pub use detection::{AgentDetection, detect_agent};
use effect::SparedDefects;
pub use effect::{AgentVersion, FindingEffect, FindingPart, RATED_ROWS, RatedReport, RatedRow};
pub use metadata::SessionMetadata;
pub use nodes::{OmittedRecords, RecordNode};
pub use rewritten_file::RewrittenFile;
pub use text::{SessionText, readable_text};

use gemini_cli::GeminiMessageVersion;
use records::{ReadRecord, SessionRecords};

/// A session file and the conversation in it.
#[derive(Debug)]
pub struct ParsedSession<'a> {
    /// Who wrote it.
    pub agent: SessionAgent,
    /// What the file says about itself.
    pub metadata: SessionMetadata<'a>,
    log: SessionRecords<'a>,
    /// The messages in the records, each by itself.
    fragments: Vec<Message>,
    chain: RecordChain<'a>,
    /// The messages that count, in agents that write them again.
    entries: Vec<GeminiMessageVersion<'a>>,
    /// The lines of those flaws that lie in lines, in the order of the last flaws of the draft.
    defect_lines: Vec<u32>,
    /// Flaws that are left alone.
    spared_defects: SparedDefects,
}

/// Reads a session file.
///
/// # Errors
/// If a record is JSON, but not as its agent writes it: whoever guesses there breaks the file.
pub fn read<'a>(
    text: &'a SessionText<'_>,
    agent: SessionAgent,
    want: OutlineOptions,
) -> Result<ParsedSession<'a>, ReadError> {
    match agent {
        SessionAgent::ClaudeCode => {
            read_linked(text, agent, want, claude_code::read_record, claude_code::chain_rules)
        }
        SessionAgent::Neovate => {
            read_linked(text, agent, want, neovate::read_record, |_| neovate::CHAIN_RULES)
        }
        SessionAgent::Codex => {
            let (log, fragments, about) =
                records::read_lines(text, agent, want, codex::read_record)?;
            Ok(sequence::build_session(agent, log, fragments, about))
        }
        SessionAgent::Cline => {
            let list = text.as_str().find('[').unwrap_or(0);
            let (log, fragments, about) =
                list::read_elements(text, agent, want, list, cline::read_record)?;
            Ok(sequence::build_session(agent, log, fragments, about))
        }
        SessionAgent::GeminiCli => {
            let (log, fragments, about) = match detection::old_gemini_list(text.as_str()) {
                None => records::read_lines(text, agent, want, gemini_cli::read_record)?,
                Some(list) => {
                    list::read_elements(text, agent, want, list, gemini_cli::read_record)?
                }
            };
            Ok(sequence::build_versioned_session(agent, log, fragments, about))
        }
    }
}

/// Reads a file whose records are linked.
fn read_linked<'a>(
    text: &'a SessionText<'_>,
    agent: SessionAgent,
    want: OutlineOptions,
    read: ReadRecord<'a>,
    manner: fn(Option<&str>) -> LoaderBehavior,
) -> Result<ParsedSession<'a>, ReadError> {
    let (mut log, fragments, about) = records::read_lines(text, agent, want, read)?;
    if agent == SessionAgent::Neovate {
        neovate::mark_lost_parents(&mut log);
    }
    let manner = manner(about.version.as_deref());
    let chain = build_chain(&log.links, &fragments, &log.carried, manner);
    let fragments = fragments.messages;
    let (entries, flaw_lines) = (Vec::new(), Vec::new());
    let spared = SparedDefects::default();
    let mut session = ParsedSession {
        agent,
        metadata: about,
        log,
        fragments,
        chain,
        entries,
        defect_lines: flaw_lines,
        spared_defects: spared,
    };
    session.add_defects();
    Ok(session)
}

impl<'a> ParsedSession<'a> {
    /// The conversation, as its agent would send it.
    pub fn draft(&self) -> &Draft<'a> {
        &self.chain.draft
    }

    /// Adds what is wrong with the lines to what is wrong with the links.
    fn add_defects(&mut self) {
        if self.log.defects.is_empty() {
            return;
        }
        // For each record its message, or the last one before it.
        let mut last = 0;
        let near = self.messages_by_record().into_iter().map(|at| {
            last = at.unwrap_or(last);
            last
        });
        let near: Vec<usize> = near.collect();
        for (record, line, mut flaw) in self.log.defects.drain(..) {
            let near = near.get(record as usize).copied().unwrap_or(0);
            flaw.message = u32::try_from(near).unwrap_or(u32::MAX);
            self.chain.draft.body.defects.push(flaw);
            self.chain.defect_records.push(record);
            self.defect_lines.push(line);
        }
        self.chain.draft.features.insert(DraftFeatures::FILE_DEFECT);
    }

    /// Whether a record in it says that it is the agent's, be it a message or not.
    pub fn has_records(&self) -> bool {
        let source = self.log.source;
        let whole =
            self.log.records.iter().filter(|record| record.state != lines::RecordState::Torn);
        whole.into_iter().any(|record| {
            detection::is_record_of(source, record.span, self.agent)
                || !record.kind.is_empty() && (self.agent.is_record())(source, record.span)
        })
    }

    /// The ids of the records that a message is made of.
    pub fn record_ids(&self, message: usize) -> impl Iterator<Item = &'a str> {
        let records = self.chain.records_of(message).iter();
        records.filter_map(|&record| self.log.links.get(record as usize)?.id)
    }

    /// For each record the message it is part of.
    fn messages_by_record(&self) -> Vec<Option<usize>> {
        let mut messages = vec![None; self.log.records.len()];
        for message in 0..self.chain.groups.len() {
            for &record in self.chain.records_of(message) {
                messages[record as usize] = Some(message);
            }
        }
        messages
    }

    /// Repairs the file: what it becomes, and what was done.
    pub fn fix(&self, question: &CheckOptions) -> (RewrittenFile<'a>, Repair<'a>) {
        let mut repair = repair(self.draft(), question);
        if repair.is_untouched() {
            return (RewrittenFile::unchanged(self.log.bytes), repair);
        }
        repair.load_touched_parts(self.draft());
        let mut rewritten = self.rewrite(&repair);
        until_stable::repair_until_stable(self, question, &mut repair, &mut rewritten);
        (rewritten, repair)
    }

    fn rewrite(&self, repair: &Repair<'a>) -> RewrittenFile<'a> {
        match self.agent {
            SessionAgent::ClaudeCode | SessionAgent::Neovate => {
                linked_rewriter::rewrite(self, repair)
            }
            SessionAgent::Codex | SessionAgent::Cline => sequence_rewriter::rewrite(self, repair),
            SessionAgent::GeminiCli => gemini_cli::rewrite(self, repair),
        }
    }

    /// The conversation as its agent would send it: the list of messages in the wire format of
    /// the agent, as it stands in the file. A clean one is had by reading a repaired file.
    pub fn history(&self) -> String {
        history::history(self)
    }

    /// A copy of the file under another session id.
    pub fn fork(&self, id: &str) -> RewrittenFile<'a> {
        fork::fork(self, id)
    }

    /// Every record, in the order of the file.
    pub fn nodes(&self) -> Vec<RecordNode<'_>> {
        nodes::nodes(self)
    }

    /// What of the file is not in the conversation.
    pub fn left_out(&self) -> OmittedRecords {
        nodes::left_out(self)
    }
}
