//! A session that the console shows: read once, served page by page.

use std::collections::{BTreeMap, HashMap};

use foxwedge_core::Role;
use foxwedge_sessions::{ChainStatus, RecordNode};
use serde_json::{Value, json};

use super::{
    ConsoleSessionFile, FileStamp, LocalSessionError, RecordFilter, RowRange, SessionFileCheck,
    conversation::{ConsoleConversation, role_name},
    message_json::{self, AnswerDisplay},
    page::ConsolePageRows,
};
use crate::{
    findings::{ReportDetail, build_file_report},
    outcome::{FileReport, LocatedFinding, SessionRef},
    session_document,
    session_health::SessionHealth,
    source::ParsedInput,
    tree::{BranchCounts, count_branches},
};

/// Limits for findings and records in memory.
const MAX_FINDINGS: usize = 10_000;
const MAX_RECORDS: usize = 400_000;

/// A session that the console shows.
pub(super) struct ConsoleSession {
    pub(super) stamp: FileStamp,
    version: String,
    about: Value,
    session_ref: Option<SessionRef>,
    file_check: SessionFileCheck,
    view: ConsoleConversation,
    findings: Vec<Value>,
    findings_total: usize,
    /// Indexes of the findings of each message.
    findings_by_message: HashMap<usize, Vec<usize>>,
    records: Vec<ConsoleRecord>,
    /// Line and time of each message's first record.
    message_places: Vec<Option<(usize, Option<Box<str>>)>>,
    forks: BTreeMap<Option<usize>, (usize, usize)>,
    boundaries: std::collections::BTreeSet<usize>,
}

/// A record of the session file.
struct ConsoleRecord {
    line: usize,
    id: Option<Box<str>>,
    parent: Option<usize>,
    kind: Box<str>,
    role: Option<Role>,
    standing: ChainStatus,
    message: Option<usize>,
    cut: bool,
    time: Option<Box<str>>,
    words: Box<str>,
}

impl ConsoleSession {
    pub(super) fn read(file: &ConsoleSessionFile) -> Result<ConsoleSession, LocalSessionError> {
        let content = file.read()?;
        file.with_source(&content, |source| ConsoleSession::of(file, source))?
    }

    fn of(
        file: &ConsoleSessionFile,
        source: &ParsedInput<'_>,
    ) -> Result<ConsoleSession, LocalSessionError> {
        let report = build_file_report(source, ReportDetail::default());
        let document = source.documents.first();
        let document = document
            .ok_or_else(|| LocalSessionError::Unreadable("it contains no conversation".into()))?;
        let session = session_document::session(document);
        let view = ConsoleConversation::of(document)?;
        let nodes = session.map_or_else(Vec::new, |session| session.nodes());
        let branches = count_branches(&nodes, view.len());
        let torn = session.map_or_else(Vec::new, |session| session.left_out().unreadable);
        let metadata = session.map(|session| &session.metadata);
        let text = |text: Option<&std::borrow::Cow<'_, str>>| text.map(|text| text.to_string());
        let counts = view.counts;
        let count_off_path = |standing: ChainStatus| {
            nodes.iter().filter(|node| node.role.is_some() && node.standing == standing).count()
        };
        let about = json!({
            "version": file.version(),
            "started": text(metadata.and_then(|metadata| metadata.started.as_ref())),
            "updated": text(metadata.and_then(|metadata| metadata.updated.as_ref())),
            "model": text(metadata.and_then(|metadata| metadata.model.as_ref())),
            "agent_version": text(metadata.and_then(|metadata| metadata.version.as_ref())),
            "format": document.draft().format.name(),
            "profile": document.check_options.profile.name(),
            "records": nodes.len(),
            "torn": torn.iter().take(100).collect::<Vec<_>>(),
            "torn_total": torn.len(),
            "calls": {
                "total": counts.total,
                "answered": counts.answered,
                "elsewhere": counts.elsewhere,
                "placeholder": counts.placeholder,
                "open": counts.open,
                "duplicate": counts.duplicate,
                "orphan": counts.orphan,
            },
            "branches": {
                "path": view.len(),
                "branch": count_off_path(ChainStatus::Branch),
                "side": count_off_path(ChainStatus::Subagent),
                "boundaries": branches.boundaries.len(),
            },
        });
        let mut findings_by_message: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, found) in report.findings.iter().take(MAX_FINDINGS).enumerate() {
            findings_by_message.entry(found.finding.location.message).or_default().push(at);
        }
        let BranchCounts { forks, boundaries, cuts } = branches;
        Ok(ConsoleSession {
            stamp: file.stamp,
            version: file.version(),
            about,
            session_ref: report.session.clone().map(|session| session.at(&file.entry.path)),
            file_check: file_check_of(&report),
            message_places: message_places(&nodes, view.len()),
            records: console_records(&nodes, &cuts),
            findings: report.findings.iter().take(MAX_FINDINGS).map(finding_json).collect(),
            findings_total: report.counts.total(),
            findings_by_message,
            view,
            forks,
            boundaries,
        })
    }

    pub(super) fn about(&self) -> Value {
        self.about.clone()
    }

    pub(super) fn session_ref(&self) -> Option<&SessionRef> {
        self.session_ref.as_ref()
    }

    pub(super) fn file_check(&self) -> SessionFileCheck {
        self.file_check.clone()
    }

    pub(super) fn memory_size(&self) -> usize {
        self.view.memory_size() + self.records.len() * 256 + self.findings.len() * 512
    }

    /// One page of messages; with `words`, only messages that contain them.
    pub(super) fn messages(&self, page: RowRange, words: Option<&str>) -> Value {
        let words = words.map(str::to_lowercase);
        let total = self.view.len();
        let from = page.first(total);
        let mut rows = ConsolePageRows::new(from);
        for index in from..total {
            rows.next = index;
            if rows.is_full(page) {
                break;
            }
            rows.next = index + 1;
            if words.as_ref().is_none_or(|words| self.view.message_contains(index, words)) {
                rows.push(self.message(index));
            }
        }
        rows.into_json(total, &self.version)
    }

    fn message(&self, index: usize) -> Value {
        /// Findings that are listed for a message.
        const MAX_LISTED: usize = 50;
        let mut response = message_json::message(&self.view, index, AnswerDisplay::AtCalls);
        let place = self.message_places.get(index).and_then(Option::as_ref);
        let (branch, side) = self.forks.get(&Some(index)).copied().unwrap_or_default();
        let found = self.findings_by_message.get(&index).map_or(&[][..], Vec::as_slice);
        response["boundary"] = json!(self.boundaries.contains(&index));
        response["line"] = json!(place.map(|(line, _)| line));
        response["time"] = json!(place.and_then(|(_, time)| time.as_deref()));
        response["beside"] = json!({ "branch": branch, "side": side });
        response["findings"] = json!(found.get(..MAX_LISTED.min(found.len())));
        response
    }

    /// One page of records.
    pub(super) fn tree(&self, page: RowRange, only: RecordFilter) -> Value {
        let wanted = |record: &ConsoleRecord| match only {
            RecordFilter::All => true,
            RecordFilter::Messages => record.role.is_some(),
        };
        let chosen: Vec<(usize, &ConsoleRecord)> =
            self.records.iter().enumerate().filter(|(_, record)| wanted(record)).collect();
        let from = page.first(chosen.len());
        let mut rows = ConsolePageRows::new(from);
        for (at, record) in chosen.iter().skip(from) {
            if rows.is_full(page) {
                break;
            }
            rows.next += 1;
            rows.push(record.to_json(*at));
        }
        rows.into_json(chosen.len(), &self.version)
    }

    /// One page of findings.
    pub(super) fn findings(&self, page: RowRange) -> Value {
        let from = page.first(self.findings.len());
        let mut rows = ConsolePageRows::new(from);
        for finding in self.findings.iter().skip(from) {
            if rows.is_full(page) {
                break;
            }
            rows.next += 1;
            rows.push(finding.clone());
        }
        let mut response = rows.into_json(self.findings.len(), &self.version);
        response["found"] = json!(self.findings_total);
        response
    }
}

/// The check result of a session, from its report.
pub(super) fn file_check_of(report: &FileReport) -> SessionFileCheck {
    SessionFileCheck {
        health: report.health.unwrap_or(SessionHealth::Ok),
        unreadable_reason: None,
        messages: report.messages,
        reach: report.reach,
        findings: count_by_rule(report),
        repairable: report.counts.fixable(false) > 0,
    }
}

/// Number of findings of each rule.
pub(super) fn count_by_rule(report: &FileReport) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for kind in report.counts.iter() {
        *counts.entry(kind.rule.label()).or_insert(0) += kind.count;
    }
    counts
}

/// A finding as JSON.
pub(super) fn finding_json(found: &LocatedFinding) -> Value {
    let finding = &found.finding;
    let severity = match finding.severity {
        foxwedge_core::Severity::Error => "error",
        foxwedge_core::Severity::Warning => "warning",
    };
    json!({
        "code": finding.rule.label(),
        "name": finding.rule.name,
        "severity": severity,
        "message": finding.message,
        "at": finding.location.message,
        "line": found.position.line,
        "column": found.position.column,
        "partner": finding.partner.map(|partner| partner.message),
        "calls": finding.ids,
        "tool": finding.tool,
        "fix": {
            "applicability": finding.fix.applicability.name(),
            "strategy": finding.fix.strategy.name(),
            "word": super::repair_rows::strategy_word(finding.fix.strategy),
        },
    })
}

fn console_records(nodes: &[RecordNode<'_>], cuts: &[bool]) -> Vec<ConsoleRecord> {
    let nodes = nodes.iter().zip(cuts).take(MAX_RECORDS);
    nodes
        .map(|(node, cut)| ConsoleRecord {
            line: node.line,
            id: node.id.map(Box::from),
            parent: node.parent,
            kind: node.kind.into(),
            role: node.role,
            standing: node.standing,
            message: node.message,
            cut: *cut,
            time: node.time.map(Box::from),
            words: node.preview.as_str().into(),
        })
        .collect()
}

fn message_places(
    nodes: &[RecordNode<'_>],
    messages: usize,
) -> Vec<Option<(usize, Option<Box<str>>)>> {
    let mut places = vec![None; messages];
    for node in nodes {
        if let Some(place) =
            node.message.and_then(|at| places.get_mut(at)).filter(|place| place.is_none())
        {
            *place = Some((node.line, node.time.map(Box::from)));
        }
    }
    places
}

impl ConsoleRecord {
    fn to_json(&self, at: usize) -> Value {
        let standing = match self.standing {
            ChainStatus::Unlinked => "aside",
            ChainStatus::Path => "path",
            ChainStatus::Carried => "carried",
            ChainStatus::Recovered => "recovered",
            ChainStatus::Branch => "branch",
            ChainStatus::Subagent => "side",
            ChainStatus::Duplicate => "twin",
        };
        json!({
            "record": at,
            "line": self.line,
            "id": self.id,
            "parent": self.parent,
            "kind": self.kind,
            "role": self.role.map(role_name),
            "standing": standing,
            "message": self.message,
            "boundary": self.cut,
            "time": self.time,
            "words": self.words,
        })
    }
}
