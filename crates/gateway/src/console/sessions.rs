//! `GET /v1/console/sessions`: the sessions of agents on this machine and those of the gateway, in
//! one list, the newest first.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use foxwedge_core::rules;
use foxwedge_engine::{ApiError, GuardAction, record::RepairRecord};
use foxwedge_store::{ListFilter, ListPage, SessionRow, Store};
use serde_json::{Map, Value, json};

use super::{
    ScanProgress, SessionFileHealth, SessionFileList, SessionFileSummary, json_reply as reply,
    request,
};
use crate::{HttpReply, api, error, routes::ApiRequest, serve::GatewayState};

/// Sessions of the gateway that are in this list.
const MAX_GATEWAY_SESSIONS: usize = 1_000;

/// The words for how a session is.
const HEALTHS: [&str; 7] =
    ["ok", "history-missing", "needs-repair", "unreadable", "unknown", "repaired", "refused"];

/// `GET /v1/console/sessions`.
pub(super) async fn list(app: &GatewayState, call: &ApiRequest<'_>) -> Result<HttpReply, ApiError> {
    let limit = call.limit()?;
    let wanted = SessionListFilter::from_request(call)?;
    let after = call.parameter("after")?.map(|text| SessionListCursor::parse(&text)).transpose()?;
    let seen = request::file_access(app, call);
    let listed = match (request::allowed_sessions(app, call), wanted.source) {
        (Ok(machine), None | Some(SessionSource::File)) => machine.sessions(),
        (Ok(_), Some(SessionSource::Gateway)) | (Err(_), _) => SessionFileList::default(),
    };
    let kept = match wanted.source {
        None | Some(SessionSource::Gateway) => gateway_sessions(app, call).await?,
        Some(SessionSource::File) => Vec::new(),
    };
    let files = listed.files.iter().map(ConsoleSessionRow::File);
    let mut rows: Vec<ConsoleSessionRow<'_>> = files
        .chain(kept.iter().map(ConsoleSessionRow::Gateway))
        .filter(|row| wanted.matches(row))
        .collect();
    let mut counts: BTreeMap<&str, usize> = HEALTHS.map(|health| (health, 0)).into();
    for row in &rows {
        *counts.entry(row.health()).or_default() += 1;
    }
    rows.retain(|row| wanted.health.is_empty() || wanted.health.contains(&row.health()));
    rows.sort_by_cached_key(|row| std::cmp::Reverse(row.cursor()));
    let total = rows.len();
    rows.retain(|row| after.as_ref().is_none_or(|after| row.cursor() < *after));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| row.cursor().encode());
    let data: Vec<Value> = rows.iter().map(ConsoleSessionRow::row_json).collect();
    Ok(reply(&json!({
        "data": data,
        "has_more": more,
        "next": next,
        "total": total,
        "scan": scan_json(&listed.scan),
        "counts": counts,
        "files": seen,
    })))
}

/// A session file as JSON.
pub(super) fn file_json(file: &SessionFileSummary) -> Value {
    let looked = file.check.as_ref();
    json!({
        "source": "file",
        "id": file.id,
        "session": file.session,
        "agent": file.agent,
        "product": file.product,
        "title": file.title,
        "project": file.project,
        "path": file.path,
        "touched": file.touched,
        "size": file.size,
        "messages": looked.map(|looked| looked.messages),
        "health": looked.map_or("unknown", |looked| looked.health.name()),
        "why": looked.and_then(|looked| looked.unreadable_reason.as_deref()),
        "findings": looked.map(|looked| &looked.findings),
        "repairable": looked.is_some_and(|looked| looked.repairable),
        "live": file.live,
        "sub_agent": file.sub_agent,
        "parent": file.parent,
        "sub_agents": file.sub_agents,
    })
}

/// One object with the members of both.
pub(super) fn merge_objects(mut value: Value, more: Value) -> Value {
    if let (Value::Object(members), Value::Object(more)) = (&mut value, more) {
        members.extend(more);
    }
    value
}

fn scan_json(scan: &ScanProgress) -> Value {
    let closed = |(path, why): &(String, String)| json!({ "path": path, "why": why });
    json!({
        "state": if scan.running { "running" } else { "done" },
        "looked": scan.checked,
        "total": scan.total,
        "began": scan.began,
        "ended": scan.ended,
        "closed": scan.unreadable_folders.iter().map(closed).collect::<Vec<_>>(),
    })
}

/// A session of the gateway, and what was found in its requests.
struct GatewaySession {
    row: SessionRow,
    findings: BTreeMap<String, usize>,
    health: &'static str,
    live: bool,
}

/// The newest sessions that the caller may see.
async fn gateway_sessions(
    app: &GatewayState,
    call: &ApiRequest<'_>,
) -> Result<Vec<GatewaySession>, ApiError> {
    app.engine.recorder().flush().await;
    let owner = call.owner().map(str::to_owned);
    let page = || ListPage { after: None, limit: MAX_GATEWAY_SESSIONS };
    let filter = |open| ListFilter { owner: owner.clone(), session: None, open };
    let rows = app.store.sessions(filter(None), page()).await.map_err(api::store_error)?;
    let open = app.store.sessions(filter(Some(true)), page()).await.map_err(api::store_error)?;
    let open: HashSet<String> = open.into_iter().map(|row| row.id).collect();
    let mut repairs: HashMap<String, Vec<Arc<RepairRecord>>> = HashMap::new();
    for repair in app.engine.recorder().repairs().list(call.owner(), None, usize::MAX) {
        repairs.entry(repair.session.to_string()).or_default().push(repair);
    }
    let kept = |row: SessionRow| {
        let repairs = repairs.remove(&row.id).unwrap_or_default();
        let mut findings = BTreeMap::new();
        for noted in repairs.iter().flat_map(|repair| &repair.findings) {
            *findings.entry(format!("FW{}", noted.code)).or_insert(0) += noted.count;
        }
        let refused = |repair: &Arc<RepairRecord>| match repair.action {
            GuardAction::Observed | GuardAction::Rejected => !repair.findings.is_empty(),
            GuardAction::None | GuardAction::Fixed => false,
        };
        let health = match (findings.is_empty(), repairs.iter().any(refused)) {
            (true, _) => "ok",
            (false, true) => "refused",
            (false, false) => "repaired",
        };
        GatewaySession { live: open.contains(&row.id), row, findings, health }
    };
    Ok(rows.into_iter().map(kept).collect())
}

/// A row of the list.
enum ConsoleSessionRow<'r> {
    File(&'r Arc<SessionFileSummary>),
    Gateway(&'r GatewaySession),
}

impl ConsoleSessionRow<'_> {
    fn cursor(&self) -> SessionListCursor {
        match self {
            ConsoleSessionRow::File(file) => {
                SessionListCursor { touched: file.touched, id: file.id.clone() }
            }
            ConsoleSessionRow::Gateway(kept) => {
                SessionListCursor { touched: kept.row.touched, id: kept.row.id.clone() }
            }
        }
    }

    fn health(&self) -> &'static str {
        match self {
            ConsoleSessionRow::File(file) => {
                file.check.as_ref().map_or("unknown", |l| SessionFileHealth::name(l.health))
            }
            ConsoleSessionRow::Gateway(kept) => kept.health,
        }
    }

    fn findings(&self) -> Option<&BTreeMap<String, usize>> {
        match self {
            ConsoleSessionRow::File(file) => file.check.as_ref().map(|looked| &looked.findings),
            ConsoleSessionRow::Gateway(kept) => Some(&kept.findings),
        }
    }

    fn row_json(&self) -> Value {
        match self {
            ConsoleSessionRow::File(one) => file_json(one),
            ConsoleSessionRow::Gateway(kept) => {
                let more: Map<String, Value> = [
                    ("source", json!("gateway")),
                    ("session", json!(kept.row.id)),
                    ("agent", Value::Null),
                    ("health", json!(kept.health)),
                    ("findings", json!(kept.findings)),
                    ("live", json!(kept.live)),
                ]
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect();
                merge_objects(api::shape::session(&kept.row), Value::Object(more))
            }
        }
    }
}

/// Where a row stands: the later it was touched, the higher.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct SessionListCursor {
    touched: u64,
    id: String,
}

impl SessionListCursor {
    fn encode(&self) -> String {
        format!("{}.{}", self.touched, self.id)
    }

    fn parse(text: &str) -> Result<SessionListCursor, ApiError> {
        let odd = || error::bad_request("`after` is the `next` of another page");
        let (touched, id) = text.split_once('.').ok_or_else(odd)?;
        Ok(SessionListCursor { touched: touched.parse().map_err(|_| odd())?, id: id.to_owned() })
    }
}

/// Where sessions come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SessionSource {
    File,
    Gateway,
}

/// Which sessions are wanted.
struct SessionListFilter {
    source: Option<SessionSource>,
    words: Vec<String>,
    agent: Option<String>,
    health: Vec<&'static str>,
    rule: Option<String>,
    project: Option<String>,
    live: Option<bool>,
    sub_agents: bool,
}

impl SessionListFilter {
    fn from_request(call: &ApiRequest<'_>) -> Result<SessionListFilter, ApiError> {
        let source = match call.parameter("source")?.as_deref() {
            None | Some("") => None,
            Some("file") => Some(SessionSource::File),
            Some("gateway") => Some(SessionSource::Gateway),
            Some(_) => return Err(error::bad_request("`source` is `file` or `gateway`")),
        };
        let mut health = Vec::new();
        for word in request::text_parameter(call, "health")?.unwrap_or_default().split(',') {
            match HEALTHS.iter().find(|one| **one == word) {
                Some(word) => health.push(*word),
                None if word.is_empty() => {}
                None => return Err(error::bad_request("`health` has an unknown word in it")),
            }
        }
        let rule = match request::text_parameter(call, "rule")? {
            None => None,
            Some(text) => Some(
                rules::find_rule(&text)
                    .ok_or_else(|| error::bad_request("`rule` is no known rule"))?
                    .label(),
            ),
        };
        let small = |text: Option<String>| text.map(|text| text.to_lowercase());
        let words = small(request::text_parameter(call, "q")?).unwrap_or_default();
        Ok(SessionListFilter {
            source,
            words: words.split_whitespace().map(str::to_owned).collect(),
            agent: request::text_parameter(call, "agent")?,
            health,
            rule,
            project: small(request::text_parameter(call, "project")?),
            live: call.flag("live")?,
            sub_agents: call.flag("sub_agents")?.unwrap_or(false),
        })
    }

    /// Whether a row fits, whatever its health.
    fn matches(&self, row: &ConsoleSessionRow<'_>) -> bool {
        let breaks = |rule: &String| row.findings().is_some_and(|found| found.contains_key(rule));
        if !self.rule.as_ref().is_none_or(breaks) {
            return false;
        }
        match row {
            ConsoleSessionRow::File(file) => {
                let agent = |agent: &String| *agent == file.agent || *agent == file.product;
                let folder = file.project.as_deref().unwrap_or_default().to_lowercase();
                let title = file.title.as_deref().unwrap_or_default();
                let text = format!("{title}\n{folder}\n{}\n{}", file.session, file.product);
                (self.sub_agents || !file.sub_agent)
                    && self.agent.as_ref().is_none_or(agent)
                    && self.project.as_ref().is_none_or(|part| folder.contains(part))
                    && self.live.is_none_or(|live| file.live.unwrap_or(false) == live)
                    && self.contains_words(&text)
            }
            ConsoleSessionRow::Gateway(kept) => {
                let row = &kept.row;
                self.agent.is_none()
                    && self.project.is_none()
                    && self.live.is_none_or(|live| kept.live == live)
                    && self.contains_words(&format!("{}\n{}\n{}", row.title, row.id, row.owner))
            }
        }
    }

    fn contains_words(&self, text: &str) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let text = text.to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }
}
