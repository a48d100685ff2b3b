//! `GET /v1/console/feed`: the newest requests, and what was done about each.

use std::{collections::HashMap, sync::Arc};

use foxwedge_core::rules;
use foxwedge_engine::{Engine, Fault, Kind, record::Repair};
use serde_json::{Map, Value, json};

use super::{
    ask, json as reply, sessions,
    watch::{ACTIONS, Entry},
};
use crate::{Reply, api, error, log::Ended, routes::Call, serve::App};

/// `GET /v1/console/feed`.
pub(super) fn list(app: &App, call: &Call<'_>) -> Result<Reply, Fault> {
    let limit = call.limit()?;
    let wanted = Wanted::of(call)?;
    let after = call.parameter("after")?.map(|id| Entry::number(&id).ok_or_else(unknown));
    let fits = |entry: &Entry| wanted.takes(entry);
    let rows = app.console.watch.ring().before(after.transpose()?, limit + 1, fits);
    let known = Known::of(app, call.owner());
    let page = api::shape::page(rows, limit, |entry| entry.id(), |entry| known.told(entry));
    Ok(reply(&page))
}

/// `GET /v1/console/feed/{id}`.
pub(super) fn one(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    let number = Entry::number(id).ok_or_else(unknown)?;
    let entry = app.console.watch.ring().get(number);
    let mine = entry.filter(|entry| call.owner().is_none_or(|owner| *entry.owner == *owner));
    let entry = mine.ok_or_else(unknown)?;
    let known = Known::of(app, call.owner());
    let detail = known.of_entry(&entry).map(|repair| repair.detail()).unwrap_or_default();
    const MORE: [&str; 7] =
        ["mode", "format", "changes", "losses", "compacted", "body_before", "body_after"];
    let more = MORE.map(|key| (key.to_owned(), detail.get(key).cloned().unwrap_or_default()));
    Ok(reply(&sessions::with(known.told(&entry), Value::Object(Map::from_iter(more)))))
}

fn unknown() -> Fault {
    Fault::new(Kind::NotFound, "request_not_found", "no such request, or it is no longer kept")
}

/// The repairs that are still known, by request and run.
pub(super) struct Known(HashMap<(Arc<str>, Arc<str>), Arc<Repair>>);

impl Known {
    fn of(app: &App, owner: Option<&str>) -> Known {
        Known::of_engine(&app.engine, owner)
    }

    pub(super) fn of_engine(engine: &Engine, owner: Option<&str>) -> Known {
        let repairs = engine.recorder().repairs().list(owner, None, usize::MAX).into_iter();
        Known(repairs.map(|it| ((it.request.clone(), it.run.clone()), it)).collect())
    }

    fn of_entry(&self, entry: &Entry) -> Option<&Arc<Repair>> {
        self.0.get(&(Arc::from(&*entry.request), entry.run.clone()?))
    }

    /// A request as JSON.
    pub(super) fn told(&self, entry: &Entry) -> Value {
        let milliseconds = |time: std::time::Duration| (time.as_secs_f64() * 1e4).round() / 1e1;
        let findings = entry.findings.iter().map(|it| (format!("FW{}", it.code), json!(it.count)));
        let ended = match entry.ended {
            Ended::Whole => "whole",
            Ended::Gone => "gone",
            Ended::Broken => "broken",
        };
        json!({
            "id": entry.id(),
            "request": entry.request,
            "at": entry.at,
            "owner": &*entry.owner,
            "face": entry.face.name(),
            "agent": entry.agent,
            "model": entry.model,
            "upstream": entry.upstream.as_deref(),
            "match": entry.matched,
            "action": entry.action,
            "findings": Map::from_iter(findings),
            "status": entry.status.as_u16(),
            "trouble": entry.trouble,
            "ended": ended,
            "first_ms": milliseconds(entry.first),
            "ms": milliseconds(entry.whole),
            "bytes_in": entry.bytes_in,
            "bytes_out": entry.bytes_out,
            "session": entry.session,
            "run": entry.run.as_deref(),
            "repair": self.of_entry(entry).map(|repair| repair.id()),
        })
    }
}

/// Which requests are wanted.
pub(super) struct Wanted {
    owner: Option<String>,
    face: Option<String>,
    model: Option<String>,
    upstream: Option<String>,
    matched: Option<String>,
    action: Option<String>,
    rule: Option<u16>,
    status: Option<Status>,
    session: Option<String>,
    run: Option<String>,
    words: Option<String>,
}

/// A status, or a class of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    One(u16),
    Class(u16),
}

impl Wanted {
    pub(super) fn of(call: &Call<'_>) -> Result<Wanted, Fault> {
        let text = |name| ask::text(call, name);
        let rule = match text("rule")? {
            None => None,
            Some(name) => Some(
                rules::find(&name)
                    .ok_or_else(|| error::bad_request("`rule` is no known rule"))?
                    .code,
            ),
        };
        let action = text("action")?;
        if action.as_ref().is_some_and(|action| !ACTIONS.contains(&action.as_str())) {
            return Err(error::bad_request("`action` is no known action"));
        }
        let status = match text("status")? {
            None => None,
            Some(word) => {
                let odd = || error::bad_request("`status` is a status, or a class such as 4xx");
                Some(Status::read(&word).ok_or_else(odd)?)
            }
        };
        Ok(Wanted {
            owner: call.owner().map(str::to_owned),
            face: text("face")?,
            model: text("model")?,
            upstream: text("upstream")?,
            matched: text("match")?,
            action,
            rule,
            status,
            session: text("session")?,
            run: text("run")?,
            words: text("q")?.map(|words| words.to_lowercase()),
        })
    }

    pub(super) fn takes(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| value == Some(wanted))
        };
        is(&self.owner, Some(&entry.owner))
            && is(&self.face, Some(entry.face.name()))
            && is(&self.model, entry.model.as_deref())
            && is(&self.upstream, entry.upstream.as_deref())
            && is(&self.matched, entry.matched)
            && is(&self.action, Some(entry.action))
            && is(&self.session, entry.session.as_deref())
            && is(&self.run, entry.run.as_deref())
            && self.rule.is_none_or(|rule| entry.findings.iter().any(|noted| noted.code == rule))
            && self.status.is_none_or(|status| status.takes(entry.status.as_u16()))
            && self.words.as_ref().is_none_or(|words| has(entry, words))
    }
}

fn has(entry: &Entry, words: &str) -> bool {
    let names = [
        Some(&*entry.request),
        entry.model.as_deref(),
        entry.upstream.as_deref(),
        entry.session.as_deref(),
        entry.run.as_deref(),
        entry.agent.as_deref(),
    ];
    names.into_iter().flatten().any(|name| name.to_lowercase().contains(words))
}

impl Status {
    fn read(word: &str) -> Option<Status> {
        match word.strip_suffix("xx") {
            Some(class) => class.parse().ok().filter(|class| (1..=5).contains(class)),
            None => return word.parse().ok().map(Status::One),
        }
        .map(Status::Class)
    }

    fn takes(self, status: u16) -> bool {
        match self {
            Status::One(wanted) => status == wanted,
            Status::Class(class) => status / 100 == class,
        }
    }
}
