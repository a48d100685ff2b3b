//! Who may look at session files, and what a request of the console says. Nothing of it is trusted.

use std::{sync::Arc, time::Duration};

use foxwedge_engine::{
    Fault, Kind,
    config::{Files, Scope},
};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::timeout};

use super::{Machine, Page, Refusal};
use crate::{access, error, routes::Call, serve::App};

/// How long a place is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Rows of a page, if nobody says how many; and the most.
const USUAL: usize = 100;
const MOST: usize = 500;

/// Whether session files may be seen, for whoever asks.
pub(super) fn files(app: &App, call: &Call<'_>) -> Value {
    match machine(app, call) {
        Ok(_) => json!({ "enabled": true, "why": null }),
        Err(fault) => json!({ "enabled": false, "why": fault.code }),
    }
}

/// The machine, if the caller may look at it: an administrator with a token, who sits at it.
pub(super) fn machine<'a>(app: &'a App, call: &Call<'_>) -> Result<&'a Arc<dyn Machine>, Fault> {
    let no = |code, words: &str| Fault::new(Kind::Permission, code, words);
    let machine = match (&app.console.machine, app.config.console.files) {
        (Some(machine), Files::Shown) => machine,
        (None, Files::Shown | Files::Hidden) | (Some(_), Files::Hidden) => {
            return Err(no("files_off", "session files are not shown by this gateway"));
        }
    };
    // Without tokens everybody on this machine is let in, and files are their owner's alone.
    if app.config.access.tokens.is_empty() {
        return Err(no("files_need_token", "session files are shown to holders of a token only"));
    }
    match call.visitor.scope {
        Scope::Admin => {}
        Scope::User => {
            return Err(no("files_for_admins", "session files are shown to administrators only"));
        }
    }
    if !access::is_local(call.headers, call.peer) {
        let words = "session files are shown on the machine itself only, under a loopback name";
        return Err(no("files_for_loopback", words));
    }
    Ok(machine)
}

/// Lets the machine work where that holds up nobody. It goes on to its end, whoever waits.
pub(super) async fn work<T: Send + 'static>(
    app: &App,
    machine: &Arc<dyn Machine>,
    job: impl FnOnce(&dyn Machine) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Fault> {
    let waiting = timeout(PATIENCE, app.console.permits.clone().acquire_owned()).await;
    let Ok(Ok(permit)) = waiting else {
        return Err(busy());
    };
    let machine = machine.clone();
    let done = spawn_blocking(move || {
        let _permit = permit;
        job(&*machine)
    });
    match done.await {
        Ok(done) => done.map_err(refused),
        Err(_) => Err(error::panicked()),
    }
}

/// A page of a list with a fixed order.
pub(super) fn page(call: &Call<'_>, first: i64) -> Result<Page, Fault> {
    let from = match call.parameter("from")? {
        None => first,
        Some(text) => text.parse().map_err(|_| error::bad_request("`from` is a whole number"))?,
    };
    let limit = match call.parameter("limit")? {
        None => USUAL,
        Some(text) => match text.parse::<usize>() {
            Ok(0) | Err(_) => return Err(error::bad_request("`limit` is a number from 1 on")),
            Ok(limit) => limit.min(MOST),
        },
    };
    Ok(Page { from, limit })
}

/// What the address says under a name, if that is anything.
pub(super) fn text(call: &Call<'_>, name: &str) -> Result<Option<String>, Fault> {
    let text = call.parameter(name)?;
    Ok(text.filter(|text| !text.trim().is_empty()).map(|text| text.trim().to_owned()))
}

fn busy() -> Fault {
    let words = "too much is looked at already";
    let mut fault = Fault::new(Kind::Unavailable, "console_busy", words);
    fault.retry_after = Some(5);
    fault
}

fn refused(refusal: Refusal) -> Fault {
    let words = refusal.to_string();
    let unprocessable = |code, words| {
        let mut fault = Fault::new(Kind::Request, code, words);
        fault.status = Some(StatusCode::UNPROCESSABLE_ENTITY);
        fault
    };
    match refusal {
        Refusal::NotFound => Fault::new(Kind::NotFound, "session_not_found", words),
        Refusal::Unreadable(_) => unprocessable("session_unreadable", words),
        Refusal::CannotShrink(_) => unprocessable("cannot_shrink", words),
        Refusal::TooLarge(_) => Fault::new(Kind::TooLarge, "session_too_large", words),
        Refusal::Live(_) => Fault::new(Kind::Conflict, "session_live", words),
        Refusal::Changed => Fault::new(Kind::Conflict, "file_changed", words),
        Refusal::NothingToRepair => Fault::new(Kind::Conflict, "nothing_to_repair", words),
        Refusal::NothingToUndo => Fault::new(Kind::Conflict, "nothing_to_undo", words),
        Refusal::ChangedSince => Fault::new(Kind::Conflict, "changed_since_repair", words),
        Refusal::Failed(_) => Fault::new(Kind::Server, "repair_failed", words),
    }
}
