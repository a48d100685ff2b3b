//! Reads the session files of coding agents into a [`Draft`] and writes repaired, forked or
//! compacted files back.
//!
//! Twelve agents are supported: Claude Code, Codex, Gemini CLI, Neovate Code, Cline (which Roo Code and
//! Kilo Code share), pi, Copilot CLI, Kimi Code, Qwen Code, and three whose sessions are rows of a database:
//! opencode, Crush and goose. The message lists of the AI SDK are read in the same way.
//! [`detect_agent`] recognizes the format, [`read`] parses the file into a [`ParsedSession`], and [`ParsedSession::fix`] repairs it. The crate works on bytes in memory:
//! it opens no files and starts no processes.
//!
//! ```
//! use foxwedge_core::CheckOptions;
//! use foxwedge_formats::outline_options;
//! use foxwedge_sessions::{AgentDetection, detect_agent, read, readable_text};
//!
//! let file = br#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","version":"2.1.112","message":{"role":"user","content":"Hello."}}
//! {"type":"user","uuid":"u2","parentUuid":"lost","sessionId":"s1","message":{"role":"user","content":"Are you there?"}}
//! "#;
//! let text = readable_text(file)?;
//! let AgentDetection::Known(agent) = detect_agent(text.as_str()) else { panic!("no session") };
//! let session = read(&text, agent, outline_options(agent.profile()))?;
//! let (_fixed, repair) = session.fix(&CheckOptions::for_profile(agent.profile()));
//! assert_eq!(repair.edits.iter().map(|edit| edit.code).collect::<Vec<_>>(), [701]);
//! # Ok::<(), foxwedge_formats::ReadError>(())
//! ```
//!
//! # Guarantees
//!
//! - The draft holds the messages that the agent itself would send, plus tool results that are in
//!   the file but that the agent would not find. It is the same [`Draft`] that a request to the
//!   agent's provider is parsed into. Its spans point into the text of the file.
//! - A repair changes only the records it must change, and adds new ones. Every other line keeps
//!   its bytes.
//! - Reading a repaired file gives the repaired conversation; [`ParsedSession::history`] of that
//!   file is the list of messages that the agent would send.
//! - The same input gives the same output on every machine: new ids are derived, not random.
//!
//! # What must never happen
//!
//! - Guessing. A record that is JSON but not in a known form is a [`ReadError`], and the file stays
//!   as it is.
//! - Losing content silently. A repair reports every record that it removes or changes; a
//!   compaction hides messages and leaves them in the file.
//! - Panicking, or taking quadratic time, whatever the file contains. Session files can be very
//!   large, cut off by a crash, or edited by hand.

use crate::chain::{LoaderBehavior, RecordChain, build_chain};
use ai_sdk::{ClosedCall, UnstartedCalls};
use foxwedge_core::{CheckOptions, Draft, DraftFeatures, Message, Repair, Span, check, repair};

use foxwedge_formats::{OutlineOptions, ReadError, model::Loss};

mod chain;
mod metadata;
mod effect;
mod text;
mod lines;
mod values;
mod records;
mod list;
mod agent;
mod message_list;
mod detection;
mod nodes;
mod rewritten_file;
mod rows;
mod derived_id;
mod linked_file;
mod link_changes;
mod linked_rewriter;
mod plan;
mod placement;
mod repaired_path;
mod relink;
mod removed_copies;
mod emit;
mod history;
mod until_stable;
mod fork;
mod new_session;
mod claude_code;
mod neovate;
mod pi;
mod qwen_code;
mod codex;
mod copilot_cli;
mod kimi_code;
mod chat_messages;
mod cline;
mod open_calls;
mod nested_changes;
mod gemini_history;
mod gemini_cli;
mod ai_sdk;
mod read_only_agent;
mod read_only;
mod row_fields;
mod row_copy;
mod message_rows;
mod opencode;
mod crush;
mod goose;
mod store_tables;
mod sequence_rewriter;
mod sequence;
mod compaction;

pub use agent::SessionAgent;
pub use chain::ChainStatus;
pub use compaction::{CompactedFile, CompactedFileMessage, CompactionError};
pub use detection::{AgentDetection, detect_agent};
use effect::SparedDefects;
pub use effect::{
    AgentVersion, EffectEvidence, FindingEffect, FindingPart, HistoryAmount, RATED_ROWS,
    RatedReport, RatedRow, SessionReach,
};
pub use message_list::detect as detect_message_list;
pub use metadata::SessionMetadata;
pub use new_session::{NewSessionFacts, NewSessionFile, write_new_session};
pub use nodes::{OmittedRecords, RecordNode};
pub use read_only_agent::ReadOnlyAgent;
pub use rewritten_file::RewrittenFile;
pub use rows::{DatabaseRow, RowChange, RowPayload, read_rows, row_changes, write_rows};
pub use store_tables::{
    CRUSH_TABLES, GOOSE_TABLES, OPENCODE_TABLES, STORE_TABLES, SchemaVersion, StoreTable,
    StoreTables,
};
pub use text::{SessionText, readable_text};

use gemini_history::GeminiMessageVersion;
use records::{ReadRecord, RecordFormat, SessionRecords};

/// A parsed session file and the conversation in it.
#[derive(Debug)]
pub struct ParsedSession<'a> {
    /// The agent that wrote the file.
    pub agent: SessionAgent,
    /// The id, folder, title and times that the file records about the session.
    pub metadata: SessionMetadata<'a>,
    log: SessionRecords<'a>,
    /// The messages of the records, one by one, before records are joined into messages.
    fragments: Vec<Message>,
    chain: RecordChain<'a>,
    /// The current version of each message, for agents that rewrite messages (Gemini CLI).
    entries: Vec<GeminiMessageVersion<'a>>,
    /// The lines of the defects that concern a line. They belong to the last defects of the draft,
    /// in the same order.
    defect_lines: Vec<u32>,
    /// Defects that a repair leaves as they are.
    spared_defects: SparedDefects,
}

/// Reads the session file of a known agent.
///
/// # Errors
/// Fails if a record is valid JSON but not in the form its agent writes. A guess there would damage
/// the file.
pub fn read<'a>(
    text: &'a SessionText<'_>,
    agent: SessionAgent,
    options: OutlineOptions,
) -> Result<ParsedSession<'a>, ReadError> {
    let format = record_format(agent);
    match agent {
        SessionAgent::ClaudeCode => {
            read_linked(text, agent, options, format, claude_code::chain_rules)
        }
        SessionAgent::Neovate => {
            read_linked(text, agent, options, format, |_| neovate::CHAIN_RULES)
        }
        SessionAgent::Pi => read_linked(text, agent, options, format, |_| pi::CHAIN_RULES),
        SessionAgent::QwenCode => {
            read_linked(text, agent, options, format, |_| qwen_code::CHAIN_RULES)
        }
        SessionAgent::Codex
        | SessionAgent::CopilotCli
        | SessionAgent::KimiCode
        | SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::ReadOnly(_) => {
            let (log, fragments, metadata) = records::read_lines(text, agent, options, format)?;
            Ok(sequence::build_session(agent, log, fragments, metadata))
        }
        SessionAgent::Cline => {
            let list = cline::list_start(text.as_str()).unwrap_or(0);
            let (log, fragments, metadata) =
                list::read_elements(text, agent, options, list, format)?;
            Ok(sequence::build_session(agent, log, fragments, metadata))
        }
        SessionAgent::AiSdkUi | SessionAgent::AiSdkModel => {
            let list = message_list::list_start(text.as_str()).unwrap_or(0);
            let (log, fragments, metadata) =
                list::read_elements(text, agent, options, list, format)?;
            Ok(sequence::build_session(agent, log, fragments, metadata))
        }
        SessionAgent::GeminiCli => {
            let (log, fragments, metadata) = match detection::old_gemini_list(text.as_str()) {
                None => records::read_lines(text, agent, options, format)?,
                Some(list) => list::read_elements(text, agent, options, list, format)?,
            };
            Ok(sequence::build_versioned_session(agent, log, fragments, metadata))
        }
    }
}

/// How the records of an agent are read.
fn record_format<'a>(agent: SessionAgent) -> RecordFormat<'a> {
    let (read, is_record): (ReadRecord<'a>, fn(&str, Span) -> bool) = match agent {
        SessionAgent::ClaudeCode => (claude_code::read_record, claude_code::is_record),
        SessionAgent::Neovate => (neovate::read_record, neovate::is_record),
        SessionAgent::Codex => (codex::read_record, codex::is_record),
        SessionAgent::GeminiCli => (gemini_cli::read_record, gemini_cli::is_record),
        SessionAgent::Cline => (cline::read_record, cline::is_record),
        SessionAgent::Pi => (pi::read_record, pi::is_record),
        SessionAgent::CopilotCli => (copilot_cli::read_record, copilot_cli::is_record),
        SessionAgent::KimiCode => (kimi_code::read_record, kimi_code::is_record),
        SessionAgent::QwenCode => (qwen_code::read_record, qwen_code::is_record),
        SessionAgent::Opencode => (opencode::read_record, rows::is_row),
        SessionAgent::Crush => (crush::read_record, rows::is_row),
        SessionAgent::Goose => (goose::read_record, rows::is_row),
        SessionAgent::AiSdkUi => (ai_sdk::read_ui_message, ai_sdk::is_ui_message),
        SessionAgent::AiSdkModel => (ai_sdk::read_model_message, ai_sdk::is_model_message),
        SessionAgent::ReadOnly(_) => (read_only::read_record, read_only::is_record),
    };
    RecordFormat { read, is_record }
}

/// Reads a file whose records name their parents.
fn read_linked<'a>(
    text: &'a SessionText<'_>,
    agent: SessionAgent,
    options: OutlineOptions,
    format: RecordFormat<'a>,
    chain_rules: fn(Option<&str>) -> LoaderBehavior,
) -> Result<ParsedSession<'a>, ReadError> {
    let (mut log, mut fragments, metadata) = records::read_lines(text, agent, options, format)?;
    fragments.body.tail_waits = metadata.waits_for_tools;
    if agent == SessionAgent::Neovate {
        neovate::mark_lost_parents(&mut log);
    }
    if agent == SessionAgent::Pi {
        pi::apply_edits(&mut log);
    }
    let chain_rules = chain_rules(metadata.version.as_deref());
    let chain = build_chain(&log.links, &fragments, &log.carried, chain_rules);
    let fragments = fragments.messages;
    let (entries, defect_lines) = (Vec::new(), Vec::new());
    let spared_defects = SparedDefects::default();
    let mut session = ParsedSession {
        agent,
        metadata,
        log,
        fragments,
        chain,
        entries,
        defect_lines,
        spared_defects,
    };
    session.add_defects();
    Ok(session)
}

impl<'a> ParsedSession<'a> {
    /// The conversation as the agent would send it.
    pub fn draft(&self) -> &Draft<'a> {
        &self.chain.draft
    }

    /// Adds the defects of lines to the defects of links.
    fn add_defects(&mut self) {
        if self.log.defects.is_empty() {
            return;
        }
        // For each record its message, or the last message before it.
        let mut last = 0;
        let near = self.messages_by_record().into_iter().map(|at| {
            last = at.unwrap_or(last);
            last
        });
        let near: Vec<usize> = near.collect();
        for (record, line, mut defect) in self.log.defects.drain(..) {
            let near = near.get(record as usize).copied().unwrap_or(0);
            defect.message = u32::try_from(near).unwrap_or(u32::MAX);
            self.chain.draft.body.defects.push(defect);
            self.chain.defect_records.push(record);
            self.defect_lines.push(line);
        }
        self.chain.draft.features.insert(DraftFeatures::FILE_DEFECT);
    }

    /// Whether the file has at least one intact record of the agent, message or not.
    pub fn has_records(&self) -> bool {
        let source = self.log.source;
        let whole =
            self.log.records.iter().filter(|record| record.state != lines::RecordState::Torn);
        whole.into_iter().any(|record| {
            detection::is_record_of(source, record.span, self.agent)
                || !record.kind.is_empty()
                    && (record_format(self.agent).is_record)(source, record.span)
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

    /// Repairs the file. Returns the new file and the edits that were made.
    pub fn fix(&self, options: &CheckOptions) -> (RewrittenFile<'a>, Repair<'a>) {
        let first_round = message_rows::first_round(self, options);
        let mut repair = self.repair_draft(first_round.as_ref().unwrap_or(options));
        match first_round {
            Some(_) if repair.is_untouched() => repair = self.repair_draft(options),
            Some(_) => repair.before = check(self.draft(), options),
            None => {}
        }
        if repair.is_untouched() {
            return (RewrittenFile::unchanged(self.log.bytes), repair);
        }
        repair.load_touched_parts(self.draft());
        let mut rewritten = self.rewrite(&repair, false);
        until_stable::repair_until_stable(self, options, &mut repair, &mut rewritten);
        (rewritten, repair)
    }

    /// Repairs the conversation, and counts what is lost with the records that hold it.
    fn repair_draft(&self, options: &CheckOptions) -> Repair<'a> {
        let mut repair = repair(self.draft(), options);
        let row_format = match self.agent {
            SessionAgent::Crush => Some(&crush::ROWS),
            SessionAgent::Goose => Some(&goose::ROWS),
            _ => None,
        };
        let lost = row_format.map(|format| message_rows::lost_parts(format, self, &repair));
        repair.later_losses.other_parts_removed +=
            removed_copies::lost_fields(self, &repair) + lost.unwrap_or(0);
        repair
    }

    fn rewrite(&self, repair: &Repair<'a>, straightens: bool) -> RewrittenFile<'a> {
        match self.agent {
            SessionAgent::ClaudeCode
            | SessionAgent::Neovate
            | SessionAgent::Pi
            | SessionAgent::QwenCode => linked_rewriter::rewrite(self, repair, straightens),
            SessionAgent::Codex
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::Cline
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => sequence_rewriter::rewrite(self, repair),
            SessionAgent::AiSdkUi => ai_sdk::rewrite_ui(self, repair),
            SessionAgent::Opencode => opencode::rewrite(self, repair),
            SessionAgent::GeminiCli => gemini_cli::rewrite(self, repair),
        }
    }

    /// The conversation as the agent would send it: the list of messages in the format of the
    /// agent's provider, unrepaired. For a valid list, read the repaired file.
    pub fn history(&self) -> String {
        history::history(self, &self.closed_calls(UnstartedCalls::AtEnd))
    }

    /// What [`history`](ParsedSession::history) leaves out because the provider's format cannot hold
    /// it. Only the lists of the AI SDK have such parts.
    pub fn history_losses(&self) -> Vec<Loss> {
        self.losses_with(&self.closed_calls(UnstartedCalls::AtEnd))
    }

    /// [`history`](ParsedSession::history) and its losses for a model that continues it at once.
    /// Calls that never started are closed as such: a repair of the history could not know that.
    pub fn history_to_continue(&self) -> (String, Vec<Loss>) {
        let closed = self.closed_calls(UnstartedCalls::Anywhere);
        (history::history(self, &closed), self.losses_with(&closed))
    }

    fn closed_calls(&self, which: UnstartedCalls) -> Vec<ClosedCall<'a>> {
        match self.agent.is_ai_sdk() {
            true => ai_sdk::closed_calls(self.draft(), which),
            false => Vec::new(),
        }
    }

    fn losses_with(&self, closed: &[ClosedCall<'a>]) -> Vec<Loss> {
        match self.agent.is_ai_sdk() {
            true => ai_sdk::history_losses(self.draft(), closed),
            false => Vec::new(),
        }
    }

    /// Copies the file under another session id.
    pub fn fork(&self, id: &str) -> RewrittenFile<'a> {
        fork::fork(self, id)
    }

    /// All records, in file order.
    pub fn nodes(&self) -> Vec<RecordNode<'_>> {
        nodes::nodes(self)
    }

    /// The records that are not part of the conversation.
    pub fn left_out(&self) -> OmittedRecords {
        nodes::left_out(self)
    }
}
