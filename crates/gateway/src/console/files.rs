//! One session file: looked at, repaired, put back. The machine does it; here is only asked.

use std::sync::Arc;

use foxwedge_core::Wire;
use foxwedge_engine::Fault;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{Cut, Machine, Only, Subject, Wish, ask, json, place::What, sessions};
use crate::{Reply, api, error, outgoing::Outgoing, routes::Call, serve::App};

/// Bytes of a line that are shown, if nobody says how many; and the most.
const LINE: usize = 16 << 10;
const LONGEST: usize = 1 << 20;

/// Everything below `/v1/console/sessions/{id}`.
pub(super) async fn answer(
    app: &App,
    call: &Call<'_>,
    id: &str,
    what: What,
) -> Result<Reply, Fault> {
    let machine = ask::machine(app, call)?;
    if !api::is_id(id) {
        return Err(Fault::new(
            foxwedge_engine::Kind::NotFound,
            "session_not_found",
            "no such session",
        ));
    }
    let named = id.to_owned();
    let value = match what {
        What::About => {
            let (file, more) =
                ask::work(app, machine, move |machine| machine.session(&named)).await?;
            sessions::with(sessions::file(&file), more)
        }
        What::Messages => {
            let (page, words) = (ask::page(call, 0)?, ask::text(call, "q")?);
            let look =
                move |machine: &dyn Machine| machine.messages(&named, page, words.as_deref());
            ask::work(app, machine, look).await?
        }
        What::Tree => {
            let page = ask::page(call, 0)?;
            let only = match call.parameter("kind")?.as_deref() {
                None | Some("all") => Only::All,
                Some("messages") => Only::Messages,
                Some(_) => return Err(error::bad_request("`kind` is `all` or `messages`")),
            };
            ask::work(app, machine, move |machine| machine.tree(&named, page, only)).await?
        }
        What::Records => {
            let page = ask::page(call, 1)?;
            let most = match call.parameter("bytes")? {
                None => LINE,
                Some(text) => match text.parse::<usize>() {
                    Ok(0) | Err(_) => {
                        return Err(error::bad_request("`bytes` is a number from 1 on"));
                    }
                    Ok(most) => most.min(LONGEST),
                },
            };
            ask::work(app, machine, move |machine| machine.records(&named, page, most)).await?
        }
        What::Findings => {
            let page = ask::page(call, 0)?;
            ask::work(app, machine, move |machine| machine.findings(&named, page)).await?
        }
        What::Repair if call.method == Method::POST => {
            let wish: Planned = body(call, "a repair needs the name of its plan: {\"plan\": …}")?;
            let plan = move |machine: &dyn Machine| machine.repair(&named, &wish.plan);
            ask::work(app, machine, plan).await?
        }
        What::Repair => {
            let page = ask::page(call, 0)?;
            ask::work(app, machine, move |machine| machine.plan(&named, page)).await?
        }
        What::Told => {
            let told = ask::work(app, machine, move |machine| machine.plan_told(&named)).await?;
            return Ok(Outgoing::reply(StatusCode::OK, "text/markdown; charset=utf-8", told));
        }
        What::Undo => {
            if !call.body.trim_ascii().is_empty() {
                let empty: Map<String, Value> =
                    body(call, "an undo has no body, or an empty object")?;
                if !empty.is_empty() {
                    return Err(error::bad_request("an undo has no body, or an empty object"));
                }
            }
            ask::work(app, machine, move |machine| machine.undo(&named)).await?
        }
        What::Compaction => {
            let number = |name| call.parameter(name).map(|text| text.map(|text| text.into_owned()));
            let wish = wish(
                number("fraction")?.map(|text| text.parse::<f64>().ok()),
                number("budget")?.map(|text| text.parse::<u64>().ok()),
                ask::text(call, "model")?,
            )?;
            let of = Subject::File(named);
            ask::work(app, machine, move |machine| machine.compaction(&of, &wish)).await?
        }
    };
    Ok(json(&value))
}

/// `POST /v1/console/compaction`. What is in the body is the caller's own: no file is looked at.
pub(super) async fn compaction(app: &App, call: &Call<'_>) -> Result<Reply, Fault> {
    const WANTED: &str = "a preview needs a conversation and a cut: {\"body\": …, \"fraction\": …}";
    let Some(machine) = &app.console.machine else {
        let words = "this gateway cannot count tokens for a preview";
        return Err(Fault::new(foxwedge_engine::Kind::Permission, "files_off", words));
    };
    let asked: Preview<'_> = body(call, WANTED)?;
    let wire = match asked.format {
        None => None,
        Some(name) => Some(
            Wire::parse(name).ok_or_else(|| error::bad_request("`format` is no known format"))?,
        ),
    };
    let wish = wish(
        asked.fraction.map(|number| number.as_f64()),
        asked.budget.map(|number| number.as_u64()),
        asked.model,
    )?;
    let of = Subject::Body { text: asked.body.get().to_owned(), wire };
    let machine: &Arc<dyn Machine> = machine;
    let value = ask::work(app, machine, move |machine| machine.compaction(&of, &wish)).await?;
    Ok(json(&value))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    plan: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Preview<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(default)]
    format: Option<&'a str>,
    #[serde(default)]
    fraction: Option<Value>,
    #[serde(default)]
    budget: Option<Value>,
    #[serde(default)]
    model: Option<String>,
}

/// Nobody may believe that something was understood that was not.
fn body<'a, T: Deserialize<'a>>(call: &'a Call<'_>, wanted: &'static str) -> Result<T, Fault> {
    serde_json::from_slice(&call.body).map_err(|_| error::bad_request(wanted))
}

/// One of the two. The inner `None` is something that is no number.
fn wish(
    fraction: Option<Option<f64>>,
    budget: Option<Option<u64>>,
    model: Option<String>,
) -> Result<Wish, Fault> {
    let cut = match (fraction, budget) {
        (Some(Some(share)), None) if (0.0..=1.0).contains(&share) => Cut::Fraction(share),
        (None, Some(Some(tokens @ 1..))) => Cut::Budget(tokens),
        (Some(_), None) => return Err(error::bad_request("`fraction` is a number from 0 to 1")),
        (None, Some(_)) => return Err(error::bad_request("`budget` is a number of tokens")),
        (None, None) | (Some(_), Some(_)) => {
            return Err(error::bad_request("either `fraction` or `budget` has to be given"));
        }
    };
    Ok(Wish { cut, model })
}
