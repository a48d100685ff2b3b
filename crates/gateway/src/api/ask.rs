//! What a request asks for: whose things, which page, in which form. Nothing of it is trusted.

use std::borrow::Cow;

use foxwedge_engine::{Fault, config::Scope};
use foxwedge_store::{RunRow, SessionRow, Store};

use super::{trouble, unknown};
use crate::{error, routes::Call, serve::App};

/// Rows of a page, if nobody says how many; and the most.
const USUAL: usize = 100;
const MOST: usize = 1_000;

/// The most bytes of an id.
const LONGEST: usize = 128;

impl Call<'_> {
    /// Whose things may be seen: one owner's, or everybody's.
    pub(crate) fn owner(&self) -> Option<&str> {
        match self.visitor.scope {
            Scope::Admin => None,
            Scope::User => Some(&self.visitor.caller.owner),
        }
    }

    /// What the address says under a name.
    pub(crate) fn parameter(&self, name: &str) -> Result<Option<Cow<'_, str>>, Fault> {
        let pairs = self.query.unwrap_or_default().split('&');
        let mut found = pairs.filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then_some(value)
        });
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => plain(value).map(Some),
            (Some(_), Some(_)) => Err(error::bad_request("a parameter is given twice")),
        }
    }

    /// How many rows a page has.
    pub(crate) fn limit(&self) -> Result<usize, Fault> {
        match self.parameter("limit")? {
            None => Ok(USUAL),
            Some(text) => match text.parse::<usize>() {
                Ok(0) | Err(_) => Err(error::bad_request("`limit` is a number from 1 on")),
                Ok(limit) => Ok(limit.min(MOST)),
            },
        }
    }

    /// A yes or a no.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.parameter(name)?.as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(error::bad_request("a parameter is `true` or `false`")),
        }
    }
}

/// A session that the caller may see.
pub(super) async fn session(app: &App, call: &Call<'_>, id: &str) -> Result<SessionRow, Fault> {
    if !is_id(id) {
        return Err(unknown("session"));
    }
    let row = app.store.session(id).await.map_err(trouble)?;
    let mine = |row: &SessionRow| call.owner().is_none_or(|owner| row.owner == owner);
    row.filter(mine).ok_or_else(|| unknown("session"))
}

/// A run that the caller may see.
pub(super) async fn run(app: &App, call: &Call<'_>, id: &str) -> Result<RunRow, Fault> {
    if !is_id(id) {
        return Err(unknown("run"));
    }
    let row = app.store.run(id).await.map_err(trouble)?;
    let row = row.ok_or_else(|| unknown("run"))?;
    session(app, call, &row.session).await.map_err(|fault| match fault.code {
        "session_not_found" => unknown("run"),
        _ => fault,
    })?;
    Ok(row)
}

/// Whether a run is the caller's own.
pub(super) async fn is_own(app: &App, call: &Call<'_>, row: &RunRow) -> Result<bool, Fault> {
    let session = app.store.session(&row.session).await.map_err(trouble)?;
    Ok(session.is_some_and(|session| *session.owner == *call.visitor.caller.owner))
}

/// Whether a text can be an id.
pub(crate) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(plain)
}

/// A value without its escapes. All that we take is short and plain.
fn plain(value: &str) -> Result<Cow<'_, str>, Fault> {
    let odd = || error::bad_request("a parameter cannot be read");
    if value.len() > 4 * LONGEST {
        return Err(odd());
    }
    if !value.contains(['%', '+']) {
        return Ok(Cow::Borrowed(value));
    }
    let mut bytes = value.bytes();
    let mut out = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(bytes.next()), digit(bytes.next()));
                let (Some(high), Some(low)) = (high, low) else { return Err(odd()) };
                u8::try_from(high * 16 + low).map_err(|_| odd())?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).map(Cow::Owned).map_err(|_| odd())
}
