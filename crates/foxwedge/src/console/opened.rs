//! A session that somebody looks at: read once, shown page by page.

use std::collections::{BTreeMap, HashMap};

use foxwedge_core::{Role, chain::Standing};
use foxwedge_dialect::session::Node;
use foxwedge_gateway::console::{Health, Looked, Only, Page, Refusal};
use serde_json::{Value, json};

use super::{
    Place, Stamp, scan,
    told::{self, Answers},
    view::{View, role},
};
use crate::{
    judge::{Look, judge},
    outcome::{Found, Judged, Sitting},
    sessions,
    source::Source,
    tree::{Around, around},
};

/// Bytes of a page: it ends before it gets larger.
const PAGE: usize = 2 << 20;

/// Findings and records that are kept. Nobody reads more of them.
const FINDINGS: usize = 10_000;
const RECORDS: usize = 400_000;

/// A session that somebody looks at.
pub(super) struct Opened {
    pub(super) stamp: Stamp,
    version: String,
    about: Value,
    sitting: Option<Sitting>,
    looked: Looked,
    view: View,
    findings: Vec<Value>,
    findings_total: usize,
    /// The findings of each message, by their places.
    found: HashMap<usize, Vec<usize>>,
    records: Vec<Record>,
    /// The line and the time of each message's first record.
    places: Vec<Option<(usize, Option<Box<str>>)>>,
    forks: BTreeMap<Option<usize>, (usize, usize)>,
    boundaries: std::collections::BTreeSet<usize>,
}

/// A record of the file.
struct Record {
    line: usize,
    id: Option<Box<str>>,
    parent: Option<usize>,
    kind: Box<str>,
    role: Option<Role>,
    standing: Standing,
    message: Option<usize>,
    cut: bool,
    time: Option<Box<str>>,
    words: Box<str>,
}

impl Opened {
    /// Reads a session.
    pub(super) fn read(place: &Place) -> Result<Opened, Refusal> {
        let content = place.read()?;
        place.with_source(&content, |source| Opened::of(place, source))?
    }

    fn of(place: &Place, source: &Source<'_>) -> Result<Opened, Refusal> {
        let judged = judge(source, Look::default());
        let document = source.documents.first();
        let document =
            document.ok_or_else(|| Refusal::Unreadable("there is no conversation in it".into()))?;
        let session = sessions::session(document);
        let view = View::of(document)?;
        let nodes = session.map_or_else(Vec::new, |session| session.nodes());
        let beside = around(&nodes, view.len());
        let torn = session.map_or_else(Vec::new, |session| session.left_out().unreadable);
        let about = session.map(|session| &session.about);
        let text = |text: Option<&std::borrow::Cow<'_, str>>| text.map(|text| text.to_string());
        let counts = view.counts;
        let side = |standing: Standing| {
            nodes.iter().filter(|node| node.role.is_some() && node.standing == standing).count()
        };
        let told = json!({
            "version": place.version(),
            "started": text(about.and_then(|about| about.started.as_ref())),
            "updated": text(about.and_then(|about| about.updated.as_ref())),
            "model": text(about.and_then(|about| about.model.as_ref())),
            "agent_version": text(about.and_then(|about| about.version.as_ref())),
            "format": document.draft().wire.name(),
            "profile": document.question.profile.name(),
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
                "branch": side(Standing::Branch),
                "side": side(Standing::Side),
                "boundaries": beside.boundaries.len(),
            },
        });
        let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, one) in judged.findings.iter().take(FINDINGS).enumerate() {
            found.entry(one.finding.at.message).or_default().push(at);
        }
        let Around { forks, boundaries, cuts } = beside;
        Ok(Opened {
            stamp: place.stamp,
            version: place.version(),
            about: told,
            sitting: judged.session.clone(),
            looked: looked(&judged),
            places: places(&nodes, view.len()),
            records: records(&nodes, &cuts),
            findings: judged.findings.iter().take(FINDINGS).map(finding).collect(),
            findings_total: judged.counts.total(),
            found,
            view,
            forks,
            boundaries,
        })
    }

    pub(super) fn about(&self) -> Value {
        self.about.clone()
    }

    pub(super) fn sitting(&self) -> Option<&Sitting> {
        self.sitting.as_ref()
    }

    pub(super) fn looked(&self) -> Looked {
        self.looked.clone()
    }

    pub(super) fn weight(&self) -> usize {
        self.view.weight() + self.records.len() * 256 + self.findings.len() * 512
    }

    /// The conversation.
    pub(super) fn messages(&self, page: Page, words: Option<&str>) -> Value {
        let words = words.map(str::to_lowercase);
        let total = self.view.len();
        let from = page.first(total);
        let mut rows = Rows::new(from);
        for index in from..total {
            rows.next = index;
            if rows.is_full(page) {
                break;
            }
            rows.next = index + 1;
            if words.as_ref().is_none_or(|words| self.view.holds(index, words)) {
                rows.push(self.message(index));
            }
        }
        rows.told(total, &self.version)
    }

    fn message(&self, index: usize) -> Value {
        /// More of them say nothing.
        const FOUND: usize = 50;
        let mut told = told::message(&self.view, index, Answers::AtCalls);
        let place = self.places.get(index).and_then(Option::as_ref);
        let (branch, side) = self.forks.get(&Some(index)).copied().unwrap_or_default();
        let found = self.found.get(&index).map_or(&[][..], Vec::as_slice);
        told["boundary"] = json!(self.boundaries.contains(&index));
        told["line"] = json!(place.map(|(line, _)| line));
        told["time"] = json!(place.and_then(|(_, time)| time.as_deref()));
        told["beside"] = json!({ "branch": branch, "side": side });
        told["findings"] = json!(found.get(..FOUND.min(found.len())));
        told
    }

    /// Its records.
    pub(super) fn tree(&self, page: Page, only: Only) -> Value {
        let wanted = |record: &Record| match only {
            Only::All => true,
            Only::Messages => record.role.is_some(),
        };
        let chosen: Vec<(usize, &Record)> =
            self.records.iter().enumerate().filter(|(_, record)| wanted(record)).collect();
        let from = page.first(chosen.len());
        let mut rows = Rows::new(from);
        for (at, record) in chosen.iter().skip(from) {
            if rows.is_full(page) {
                break;
            }
            rows.next += 1;
            rows.push(record.told(*at));
        }
        rows.told(chosen.len(), &self.version)
    }

    /// What is wrong with it.
    pub(super) fn findings(&self, page: Page) -> Value {
        let from = page.first(self.findings.len());
        let mut rows = Rows::new(from);
        for finding in self.findings.iter().skip(from) {
            if rows.is_full(page) {
                break;
            }
            rows.next += 1;
            rows.push(finding.clone());
        }
        let mut told = rows.told(self.findings.len(), &self.version);
        told["found"] = json!(self.findings_total);
        told
    }
}

/// What a list says of a session that was judged.
pub(super) fn looked(judged: &Judged) -> Looked {
    let health: Health = scan::health(judged.health.unwrap_or(sessions::Health::Ok));
    Looked {
        health,
        why: None,
        messages: judged.messages,
        findings: by_rule(judged),
        repairable: judged.counts.fixable(false) > 0,
    }
}

/// How often each rule is broken.
pub(super) fn by_rule(judged: &Judged) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for kind in judged.counts.iter() {
        *counts.entry(kind.rule.label()).or_insert(0) += kind.count;
    }
    counts
}

/// A finding as JSON.
pub(super) fn finding(found: &Found) -> Value {
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
        "at": finding.at.message,
        "line": found.position.line,
        "column": found.position.column,
        "partner": finding.partner.map(|partner| partner.message),
        "calls": finding.ids,
        "tool": finding.tool,
        "fix": {
            "applicability": finding.fix.applicability.name(),
            "strategy": finding.fix.strategy.name(),
            "word": super::rows::word(finding.fix.strategy),
        },
    })
}

/// The rows of a page.
pub(super) struct Rows {
    from: usize,
    rows: Vec<Value>,
    bytes: usize,
    /// Where the next page begins.
    pub(super) next: usize,
}

impl Rows {
    pub(super) fn new(from: usize) -> Rows {
        Rows { from, rows: Vec::new(), bytes: 0, next: from }
    }

    pub(super) fn is_full(&self, page: Page) -> bool {
        self.rows.len() >= page.limit || self.bytes >= PAGE
    }

    pub(super) fn push(&mut self, row: Value) {
        self.bytes += row.to_string().len();
        self.rows.push(row);
    }

    pub(super) fn told(self, total: usize, version: &str) -> Value {
        json!({
            "data": self.rows,
            "from": self.from,
            "next": (self.next < total).then_some(self.next),
            "total": total,
            "version": version,
        })
    }
}

fn records(nodes: &[Node<'_>], cuts: &[bool]) -> Vec<Record> {
    let nodes = nodes.iter().zip(cuts).take(RECORDS);
    nodes
        .map(|(node, cut)| Record {
            line: node.line,
            id: node.id.map(Box::from),
            parent: node.parent,
            kind: node.kind.into(),
            role: node.role,
            standing: node.standing,
            message: node.message,
            cut: *cut,
            time: node.time.map(Box::from),
            words: node.words.as_str().into(),
        })
        .collect()
}

fn places(nodes: &[Node<'_>], messages: usize) -> Vec<Option<(usize, Option<Box<str>>)>> {
    let mut places = vec![None; messages];
    for node in nodes {
        if let Some(place) =
            node.message.and_then(|at| places.get_mut(at)).filter(|it| it.is_none())
        {
            *place = Some((node.line, node.time.map(Box::from)));
        }
    }
    places
}

impl Record {
    fn told(&self, at: usize) -> Value {
        let standing = match self.standing {
            Standing::Aside => "aside",
            Standing::Path => "path",
            Standing::Carried => "carried",
            Standing::Recovered => "recovered",
            Standing::Branch => "branch",
            Standing::Side => "side",
            Standing::Twin => "twin",
        };
        json!({
            "record": at,
            "line": self.line,
            "id": self.id,
            "parent": self.parent,
            "kind": self.kind,
            "role": self.role.map(role),
            "standing": standing,
            "message": self.message,
            "boundary": self.cut,
            "time": self.time,
            "words": self.words,
        })
    }
}
