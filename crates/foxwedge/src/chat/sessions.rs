//! The sessions that `chat` made: what is known about each, and which one is meant.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anstyle::Style;
use foxwedge_store::{ListFilter, ListPage, NewSession, SessionRow, Store};
use serde_json::{Value, json};

use crate::{
    agents,
    agents::session_lookup::shorten_ids,
    cli_output::{BOLD, CliError, DIM, clean, cut, pluralize, width},
    runs::{self, OpenStore},
    screen::{StyledLine, abbreviate_home, fit_columns, format_age, pad},
};

/// What the ids of new sessions begin with.
const SESSION_KIND: &str = "chat";
/// Whose sessions they are.
const OWNER: &str = "local";
/// The fewest characters that name a session.
const LEAST: usize = 4;
/// Sessions that are looked at, the newest first.
const MAX_SESSIONS: usize = 10_000;
const PAGE_SIZE: usize = 1_000;
/// Sessions that are named in a message.
const MAX_NAMED_SESSIONS: usize = 5;
/// Characters of a title, and of a folder in a list.
const MAX_TITLE_CHARS: usize = 120;
const MAX_FOLDER_COLUMNS: usize = 40;

/// A session that `chat` made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChatSessionEntry {
    pub(crate) id: String,
    pub(crate) title: String,
    /// The folder it works in.
    pub(crate) folder: String,
    /// When something was added last, in milliseconds since 1970.
    pub(crate) touched: u64,
    /// How many runs it has had.
    pub(crate) runs: u64,
}

/// A new id.
pub(crate) fn new_id() -> String {
    runs::new_id(SESSION_KIND)
}

/// A session that is to be made. Its title is the first prompt, on one line.
pub(crate) fn new_session(id: &str, prompt: &str, folder: &str, model: &str) -> NewSession {
    let words: Vec<&str> = prompt.split_whitespace().take(40).collect();
    let meta = json!({ "kind": SESSION_KIND, "folder": folder, "model": model });
    NewSession {
        id: id.to_owned(),
        owner: OWNER.to_owned(),
        title: clean(&cut(&words.join(" "), MAX_TITLE_CHARS)),
        meta: Some(meta.to_string()),
    }
}

/// All of them, the last one that was touched first.
pub(crate) async fn list_all(kept: &OpenStore) -> anyhow::Result<Vec<ChatSessionEntry>> {
    let mut known = Vec::new();
    let mut seen = 0;
    let mut page = ListPage { after: None, limit: PAGE_SIZE };
    while seen < MAX_SESSIONS {
        let rows =
            kept.with_store_error(kept.store.sessions(ListFilter::default(), page.clone()).await)?;
        let Some(last) = rows.last() else { break };
        page.after = Some(last.id.clone());
        seen += rows.len();
        known.extend(rows.into_iter().filter_map(from_row));
    }
    known.sort_by_key(|known| std::cmp::Reverse(known.touched));
    Ok(known)
}

fn from_row(row: SessionRow) -> Option<ChatSessionEntry> {
    let meta: Value = serde_json::from_str(row.meta.as_deref()?).ok()?;
    if meta.get("kind")?.as_str()? != SESSION_KIND {
        return None;
    }
    let folder = meta.get("folder").and_then(Value::as_str).unwrap_or_default().to_owned();
    let SessionRow { id, title, touched, epoch: runs, .. } = row;
    Some(ChatSessionEntry { id, title, folder, touched, runs })
}

/// The one of that id, or the only one whose id begins so.
pub(crate) fn pick<'k>(
    known: &'k [ChatSessionEntry],
    typed: &str,
) -> Result<&'k ChatSessionEntry, CliError> {
    if let Some(whole) = known.iter().find(|known| known.id == typed) {
        return Ok(whole);
    }
    let begins =
        |known: &&ChatSessionEntry| typed.len() >= LEAST && id_starts_with(&known.id, typed);
    let found: Vec<&ChatSessionEntry> = known.iter().filter(begins).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(no_session_error(known, typed)),
        several => Err(CliError::new(format!("{} begin so", pluralize(several.len(), "session")))
            .help(format!("type more of the id: {}", quote_ids(several.iter().copied())))),
    }
}

/// The last one that was touched in a folder.
pub(crate) fn newest_of<'k>(
    known: &'k [ChatSessionEntry],
    folder: &str,
) -> Result<&'k ChatSessionEntry, CliError> {
    known.iter().find(|known| known.folder == folder).ok_or_else(|| {
        CliError::new("there is no session of this folder")
            .help("`foxwedge chat --list` lists those of every folder; `--resume ID` takes one")
    })
}

fn id_starts_with(id: &str, typed: &str) -> bool {
    let head = |id: &str| id.get(..typed.len()).is_some_and(|it| it.eq_ignore_ascii_case(typed));
    // Nobody types what all of them have.
    head(id) || id.strip_prefix("chat-").is_some_and(head)
}

fn no_session_error(known: &[ChatSessionEntry], typed: &str) -> CliError {
    let trouble = CliError::new(format!("there is no session `{}`", clean(&cut(typed, 80))));
    match (typed.len(), known.is_empty()) {
        (_, true) => trouble.help("no session was kept yet: `foxwedge chat` begins one"),
        (0..LEAST, false) => trouble.help(format!(
            "an id can be cut to {LEAST} characters and no less; `foxwedge chat --list` lists all"
        )),
        (_, false) => trouble.help(format!(
            "the newest are {}; `foxwedge chat --list` lists all",
            quote_ids(known.iter())
        )),
    }
}

fn quote_ids<'k>(known: impl Iterator<Item = &'k ChatSessionEntry>) -> String {
    let names: Vec<String> =
        known.take(MAX_NAMED_SESSIONS).map(|known| format!("`{}`", known.id)).collect();
    names.join(", ")
}

/// Refuses a session that somebody else works on.
pub(crate) async fn check_free(kept: &OpenStore, id: &str) -> anyhow::Result<()> {
    let filter =
        ListFilter { session: Some(id.to_owned()), open: Some(true), ..ListFilter::default() };
    let open =
        kept.with_store_error(kept.store.runs(filter, ListPage { after: None, limit: 1 }).await)?;
    let Some(run) = open.into_iter().next() else { return Ok(()) };
    let who = run
        .lease
        .as_ref()
        .map_or_else(|| "somebody".to_owned(), |it| runs::describe_owner(&it.owner));
    Err(busy_error(id, &run.id, &who).into())
}

/// A session that somebody else works on.
pub(crate) fn busy_error(session: &str, run: &str, who: &str) -> CliError {
    CliError::new(format!("session `{session}` is in use: {who} is at work on it"))
        .help(format!("wait for its end, or `foxwedge runs stop {run}` ends it"))
}

/// A line for each: its short id, when, how many runs, what it is about, and where.
pub(crate) fn table(known: &[ChatSessionEntry], now: SystemTime, columns: Option<usize>) -> String {
    let ids = shorten_ids(known.iter().map(|known| without_prefix(&known.id)));
    let home = agents::home_folder();
    let rows: Vec<[String; 5]> = known
        .iter()
        .zip(ids)
        .map(|(known, id)| {
            let time = UNIX_EPOCH + Duration::from_millis(known.touched);
            let runs = pluralize(usize::try_from(known.runs).unwrap_or(usize::MAX), "run");
            let folder = fit_columns(
                &clean(&abbreviate_home(&known.folder, home.as_deref())),
                MAX_FOLDER_COLUMNS,
            );
            [id.to_owned(), format_age(time, now), runs, folder, clean(&known.title)]
        })
        .collect();
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let (id, when, runs, folder) = (widest(0), widest(1), widest(2), widest(3));
    let mut text = String::new();
    for row in &rows {
        let line = StyledLine::new()
            .with(BOLD, pad(&row[0], id))
            .with(Style::new(), format!("  {}", pad(&row[1], when)))
            .with(DIM, format!("  {}", pad(&row[2], runs)))
            .with(DIM, format!("  {}", pad(&row[3], folder)))
            .with(Style::new(), format!("  {}", row[4]));
        text.push_str(&line.draw(columns));
    }
    text
}

fn without_prefix(id: &str) -> &str {
    id.strip_prefix("chat-").unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: &str, folder: &str, touched: u64) -> ChatSessionEntry {
        let (title, runs) = (format!("about {id}"), 2);
        ChatSessionEntry { id: id.to_owned(), title, folder: folder.to_owned(), touched, runs }
    }

    #[test]
    fn a_session_is_found_by_its_id_and_how_it_begins() {
        let all = [
            known("chat-0a1b2c", "/a", 9),
            known("chat-0a1bff", "/b", 8),
            known("chat-77", "/a", 7),
        ];
        let found = |typed: &str| match pick(&all, typed) {
            Ok(known) => known.id.clone(),
            Err(trouble) => trouble.to_string(),
        };
        let table = [
            ("chat-77", "chat-77"),
            ("chat-0a1b2", "chat-0a1b2c"),
            ("0A1B2", "chat-0a1b2c"),
            ("0a1b", "2 sessions begin so"),
            ("77", "there is no session `77`"),
            ("ffff", "there is no session `ffff`"),
            ("", "there is no session ``"),
        ];
        for (typed, expected) in table {
            assert_eq!(found(typed), expected, "{typed}");
        }
        assert_eq!(newest_of(&all, "/a").map(|known| known.id.as_str()).ok(), Some("chat-0a1b2c"));
        assert!(newest_of(&all, "/c").is_err());
        let now = UNIX_EPOCH + Duration::from_secs(120);
        let drawn = anstream::adapter::strip_str(&table_of(&all, now)).to_string();
        assert!(drawn.contains("1 min ago  2 runs  /a  about chat-77\n"), "{drawn}");
    }

    fn table_of(all: &[ChatSessionEntry], now: SystemTime) -> String {
        table(all, now, None)
    }

    #[test]
    fn a_title_is_one_harmless_line() {
        let made = new_session("chat-1", "fix\n\tthe \u{1b}[2J bug", "/a \"b\"", "m");
        assert_eq!(made.title, "fix the \u{fffd}[2J bug");
        let row = SessionRow {
            id: made.id,
            owner: made.owner,
            title: made.title,
            meta: made.meta,
            created: 1,
            touched: 2,
            epoch: 3,
            records: 4,
        };
        let other = SessionRow { meta: Some(r#"{"kind":"other"}"#.to_owned()), ..row.clone() };
        let torn = SessionRow { meta: Some("[".to_owned()), ..row.clone() };
        assert_eq!(
            from_row(row).map(|known| (known.folder, known.runs)),
            Some(("/a \"b\"".into(), 3))
        );
        assert!(from_row(other).is_none() && from_row(torn).is_none());
    }
}
