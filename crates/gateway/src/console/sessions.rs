//! `GET /v1/console/sessions`: session files on this machine and sessions of the gateway, in one
//! list, newest first.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use crate::{ApiError, GuardAction, record::RepairRecord};
use foxwedge_core::rules;
use foxwedge_local::{
    console::{ScanProgress, SessionFileList, SessionFileSummary},
    session_reach::reach_json,
};
use foxwedge_store::{ListFilter, ListPage, SessionRow, Store};
use serde_json::{Map, Value, json};

use super::{json_reply as reply, localize_texts, reader_language, request};
use crate::{HttpReply, api, api_request::ApiRequest, error, gateway_state::GatewayState};

/// Maximum number of gateway sessions in the list.
const MAX_GATEWAY_SESSIONS: usize = 1_000;

/// The values of `health`.
const HEALTHS: [&str; 7] =
    ["ok", "history-missing", "needs-repair", "unreadable", "unknown", "repaired", "refused"];

/// `GET /v1/console/sessions`.
pub(super) async fn list(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
) -> Result<HttpReply, ApiError> {
    let limit = http_request.limit()?;
    let filter = SessionListFilter::from_request(http_request)?;
    let after =
        http_request.parameter("after")?.map(|text| SessionListCursor::parse(&text)).transpose()?;
    let file_access = request::file_access(app, http_request);
    let session_files = match (request::allowed_sessions(app, http_request), filter.source) {
        (Ok(sessions), None | Some(SessionSource::File)) => sessions.sessions(),
        (Ok(_), Some(SessionSource::Gateway)) | (Err(_), _) => SessionFileList::default(),
    };
    let gateway_sessions = match filter.source {
        None | Some(SessionSource::Gateway) => gateway_sessions(app, http_request).await?,
        Some(SessionSource::File) => Vec::new(),
    };
    let files = session_files.files.iter().map(ConsoleSessionRow::File);
    let mut rows: Vec<ConsoleSessionRow<'_>> = files
        .chain(gateway_sessions.iter().map(ConsoleSessionRow::Gateway))
        .filter(|row| filter.matches(row))
        .collect();
    let mut counts: BTreeMap<&str, usize> = HEALTHS.map(|health| (health, 0)).into();
    for row in &rows {
        *counts.entry(row.health()).or_default() += 1;
    }
    rows.retain(|row| filter.health.is_empty() || filter.health.contains(&row.health()));
    rows.sort_by_cached_key(|row| std::cmp::Reverse(row.cursor()));
    let total = rows.len();
    rows.retain(|row| after.as_ref().is_none_or(|after| row.cursor() < *after));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| row.cursor().encode());
    let mut data: Vec<Value> = rows.iter().map(ConsoleSessionRow::row_json).collect();
    let mut scan = scan_json(&session_files.scan);
    let language = reader_language(http_request);
    let folders = scan["closed"].as_array_mut().into_iter().flatten();
    data.iter_mut().chain(folders).for_each(|row| localize_texts(language, row, "why"));
    Ok(reply(&json!({
        "data": data,
        "has_more": more,
        "next": next,
        "total": total,
        "scan": scan,
        "counts": counts,
        "files": file_access,
    })))
}

/// A session file as JSON.
pub(super) fn file_json(file: &SessionFileSummary) -> Value {
    let check = file.check.as_ref();
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
        "messages": check.map(|check| check.messages),
        "reach": reach_json(check.and_then(|check| check.reach.as_ref())),
        "health": check.map_or("unknown", |check| check.health.name()),
        "why": check.and_then(|check| check.unreadable_reason.as_deref()),
        "findings": check.map(|check| &check.findings),
        "repairable": check.is_some_and(|check| check.repairable),
        "live": file.live,
        "sub_agent": file.sub_agent,
        "parent": file.parent,
        "sub_agents": file.sub_agents,
    })
}

/// Merges the members of two objects.
pub(super) fn merge_objects(mut value: Value, more: Value) -> Value {
    if let (Value::Object(members), Value::Object(more)) = (&mut value, more) {
        members.extend(more);
    }
    value
}

fn scan_json(scan: &ScanProgress) -> Value {
    let folder_json = |(path, why): &(String, String)| json!({ "path": path, "why": why });
    json!({
        "state": if scan.running { "running" } else { "done" },
        "looked": scan.checked,
        "total": scan.total,
        "began": scan.began,
        "ended": scan.ended,
        "closed": scan.unreadable_folders.iter().map(folder_json).collect::<Vec<_>>(),
    })
}

/// A session of the gateway and the findings in its requests.
struct GatewaySession {
    row: SessionRow,
    findings: BTreeMap<String, usize>,
    health: &'static str,
    live: bool,
}

/// The newest sessions that the caller may see.
async fn gateway_sessions(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
) -> Result<Vec<GatewaySession>, ApiError> {
    app.engine.recorder().flush().await;
    let owner = http_request.owner().map(str::to_owned);
    let page = || ListPage { after: None, limit: MAX_GATEWAY_SESSIONS };
    let filter = |open| ListFilter { owner: owner.clone(), session: None, open };
    let rows = app.store.sessions(filter(None), page()).await.map_err(api::store_error)?;
    let open = app.store.sessions(filter(Some(true)), page()).await.map_err(api::store_error)?;
    let open: HashSet<String> = open.into_iter().map(|row| row.id).collect();
    let mut repairs: HashMap<String, Vec<Arc<RepairRecord>>> = HashMap::new();
    for repair in app.engine.recorder().repairs().list(http_request.owner(), None, usize::MAX) {
        repairs.entry(repair.session.to_string()).or_default().push(repair);
    }
    let to_session = |row: SessionRow| {
        let repairs = repairs.remove(&row.id).unwrap_or_default();
        let mut findings = BTreeMap::new();
        for finding in repairs.iter().flat_map(|repair| &repair.findings) {
            *findings.entry(format!("FW{}", finding.code)).or_insert(0) += finding.count;
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
    Ok(rows.into_iter().map(to_session).collect())
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
            ConsoleSessionRow::Gateway(session) => {
                SessionListCursor { touched: session.row.touched, id: session.row.id.clone() }
            }
        }
    }

    fn health(&self) -> &'static str {
        match self {
            ConsoleSessionRow::File(file) => {
                file.check.as_ref().map_or("unknown", |check| check.health.name())
            }
            ConsoleSessionRow::Gateway(session) => session.health,
        }
    }

    fn findings(&self) -> Option<&BTreeMap<String, usize>> {
        match self {
            ConsoleSessionRow::File(file) => file.check.as_ref().map(|check| &check.findings),
            ConsoleSessionRow::Gateway(session) => Some(&session.findings),
        }
    }

    fn row_json(&self) -> Value {
        match self {
            ConsoleSessionRow::File(file) => file_json(file),
            ConsoleSessionRow::Gateway(session) => {
                let more: Map<String, Value> = [
                    ("source", json!("gateway")),
                    ("session", json!(session.row.id)),
                    ("agent", Value::Null),
                    ("health", json!(session.health)),
                    ("findings", json!(session.findings)),
                    ("live", json!(session.live)),
                ]
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect();
                merge_objects(api::shape::session(&session.row), Value::Object(more))
            }
        }
    }
}

/// The position of a row: later changes come first.
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
        let invalid = || error::bad_request("`after` is the `next` of another page");
        let (touched, id) = text.split_once('.').ok_or_else(invalid)?;
        Ok(SessionListCursor {
            touched: touched.parse().map_err(|_| invalid())?,
            id: id.to_owned(),
        })
    }
}

/// Source of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SessionSource {
    File,
    Gateway,
}

/// Selects sessions.
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
    fn from_request(http_request: &ApiRequest<'_>) -> Result<SessionListFilter, ApiError> {
        let source = match http_request.parameter("source")?.as_deref() {
            None | Some("") => None,
            Some("file") => Some(SessionSource::File),
            Some("gateway") => Some(SessionSource::Gateway),
            Some(_) => return Err(error::bad_request("`source` is `file` or `gateway`")),
        };
        let mut health = Vec::new();
        for word in request::text_parameter(http_request, "health")?.unwrap_or_default().split(',')
        {
            match HEALTHS.iter().find(|one| **one == word) {
                Some(word) => health.push(*word),
                None if word.is_empty() => {}
                None => return Err(error::bad_request("`health` has an unknown word in it")),
            }
        }
        let rule = match request::text_parameter(http_request, "rule")? {
            None => None,
            Some(text) => Some(
                rules::find_rule(&text)
                    .ok_or_else(|| error::bad_request("`rule` is no known rule"))?
                    .label(),
            ),
        };
        let lowercase = |text: Option<String>| text.map(|text| text.to_lowercase());
        let words = lowercase(request::text_parameter(http_request, "q")?).unwrap_or_default();
        Ok(SessionListFilter {
            source,
            words: words.split_whitespace().map(str::to_owned).collect(),
            agent: request::text_parameter(http_request, "agent")?,
            health,
            rule,
            project: lowercase(request::text_parameter(http_request, "project")?),
            live: http_request.flag("live")?,
            sub_agents: http_request.flag("sub_agents")?.unwrap_or(false),
        })
    }

    /// Whether a row matches, ignoring its health.
    fn matches(&self, row: &ConsoleSessionRow<'_>) -> bool {
        let has_rule =
            |rule: &String| row.findings().is_some_and(|findings| findings.contains_key(rule));
        if !self.rule.as_ref().is_none_or(has_rule) {
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
            ConsoleSessionRow::Gateway(session) => {
                let row = &session.row;
                self.agent.is_none()
                    && self.project.is_none()
                    && self.live.is_none_or(|live| session.live == live)
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
