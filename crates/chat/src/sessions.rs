//! Sessions that `foxwedge chat` created: listing them and finding one by id.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anstyle::Style;
use foxwedge_store::{ListFilter, ListPage, NewSession, SessionRow, Store};
use serde_json::{Value, json};

use foxwedge_local::{
    agents::{self, session_lookup::shorten_ids},
    output::{BOLD, DIM, HelpfulError, clean, cut, pluralize, width},
    runs::{self, OpenStore},
    screen::{StyledLine, abbreviate_home, fit_columns, format_age, pad},
};

/// Prefix of session ids, and the `kind` in their metadata.
const SESSION_KIND: &str = "chat";
/// Owner of the sessions.
const OWNER: &str = "local";
/// Minimum length of an id prefix.
const MIN_PREFIX_CHARS: usize = 4;
/// Maximum number of sessions to read from the store.
const MAX_SESSIONS: usize = 10_000;
const PAGE_SIZE: usize = 1_000;
/// Maximum number of sessions named in a message.
const MAX_NAMED_SESSIONS: usize = 5;
/// Maximum length of a title, and of a folder in a list.
const MAX_TITLE_CHARS: usize = 120;
const MAX_FOLDER_COLUMNS: usize = 40;

/// A session that `foxwedge chat` created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChatSessionEntry {
    pub(crate) id: String,
    pub(crate) title: String,
    /// The folder it works in.
    pub(crate) folder: String,
    /// Time of the last change, in milliseconds since 1970.
    pub(crate) touched: u64,
    /// Number of runs.
    pub(crate) runs: u64,
}

/// Creates a session id.
pub(crate) fn new_id() -> String {
    runs::new_id(SESSION_KIND)
}

/// The row of a new session. Its title is the first prompt, on one line.
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

/// All sessions, most recently changed first.
pub(crate) async fn list_all(open_store: &OpenStore) -> anyhow::Result<Vec<ChatSessionEntry>> {
    let mut entries = Vec::new();
    let mut seen = 0;
    let mut page = ListPage { after: None, limit: PAGE_SIZE };
    while seen < MAX_SESSIONS {
        let rows = open_store.with_store_error(
            open_store.store.sessions(ListFilter::default(), page.clone()).await,
        )?;
        let Some(last) = rows.last() else { break };
        page.after = Some(last.id.clone());
        seen += rows.len();
        entries.extend(rows.into_iter().filter_map(from_row));
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.touched));
    Ok(entries)
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

/// Finds the session with this id, or the only one whose id starts with it.
pub(crate) fn pick<'k>(
    entries: &'k [ChatSessionEntry],
    typed: &str,
) -> Result<&'k ChatSessionEntry, HelpfulError> {
    if let Some(whole) = entries.iter().find(|entry| entry.id == typed) {
        return Ok(whole);
    }
    let begins = |entry: &&ChatSessionEntry| {
        typed.len() >= MIN_PREFIX_CHARS && id_starts_with(&entry.id, typed)
    };
    let found: Vec<&ChatSessionEntry> = entries.iter().filter(begins).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(no_session_error(entries, typed)),
        several => Err(HelpfulError::new(format!(
            "{} match this prefix",
            pluralize(several.len(), "session")
        ))
        .help(format!("type more of the id: {}", quote_ids(several.iter().copied())))),
    }
}

/// The most recently changed session of a folder.
pub(crate) fn newest_of<'k>(
    entries: &'k [ChatSessionEntry],
    folder: &str,
) -> Result<&'k ChatSessionEntry, HelpfulError> {
    entries.iter().find(|entry| entry.folder == folder).ok_or_else(|| {
        HelpfulError::new("there is no session for this folder")
            .help("`foxwedge chat --list` lists those of all folders; `--resume ID` resumes one")
    })
}

fn id_starts_with(id: &str, typed: &str) -> bool {
    let head = |id: &str| id.get(..typed.len()).is_some_and(|it| it.eq_ignore_ascii_case(typed));
    // The common prefix of all ids may be omitted.
    head(id) || id.strip_prefix("chat-").is_some_and(head)
}

fn no_session_error(entries: &[ChatSessionEntry], typed: &str) -> HelpfulError {
    let error = HelpfulError::new(format!("there is no session `{}`", clean(&cut(typed, 80))));
    match (typed.len(), entries.is_empty()) {
        (_, true) => error.help("there are no sessions yet; `foxwedge chat` starts one"),
        (0..MIN_PREFIX_CHARS, false) => error.help(format!(
            "an id needs at least {MIN_PREFIX_CHARS} characters; `foxwedge chat --list` lists all"
        )),
        (_, false) => error.help(format!(
            "the newest are {}; `foxwedge chat --list` lists all",
            quote_ids(entries.iter())
        )),
    }
}

fn quote_ids<'k>(entries: impl Iterator<Item = &'k ChatSessionEntry>) -> String {
    let names: Vec<String> =
        entries.take(MAX_NAMED_SESSIONS).map(|entry| format!("`{}`", entry.id)).collect();
    names.join(", ")
}

/// Fails if another process has an open run in the session.
pub(crate) async fn check_free(open_store: &OpenStore, id: &str) -> anyhow::Result<()> {
    let filter =
        ListFilter { session: Some(id.to_owned()), open: Some(true), ..ListFilter::default() };
    let open = open_store.with_store_error(
        open_store.store.runs(filter, ListPage { after: None, limit: 1 }).await,
    )?;
    let Some(run) = open.into_iter().next() else { return Ok(()) };
    let owner = run
        .lease
        .as_ref()
        .map_or_else(|| "another process".to_owned(), |it| runs::describe_owner(&it.owner));
    Err(busy_error(id, &run.id, &owner).into())
}

/// The error for a session with an open run of another process.
pub(crate) fn busy_error(session: &str, run: &str, owner: &str) -> HelpfulError {
    HelpfulError::new(format!("session `{session}` is in use by {owner}"))
        .help(format!("wait until its run ends, or stop it with `foxwedge runs stop {run}`"))
}

/// Formats one line per session: short id, age, number of runs, folder and title.
pub(crate) fn table(
    entries: &[ChatSessionEntry],
    now: SystemTime,
    columns: Option<usize>,
) -> String {
    let ids = shorten_ids(entries.iter().map(|entry| without_prefix(&entry.id)));
    let home = agents::home_folder();
    let rows: Vec<[String; 5]> = entries
        .iter()
        .zip(ids)
        .map(|(entry, id)| {
            let time = UNIX_EPOCH + Duration::from_millis(entry.touched);
            let runs = pluralize(usize::try_from(entry.runs).unwrap_or(usize::MAX), "run");
            let folder = fit_columns(
                &clean(&abbreviate_home(&entry.folder, home.as_deref())),
                MAX_FOLDER_COLUMNS,
            );
            [id.to_owned(), format_age(time, now), runs, folder, clean(&entry.title)]
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

    fn entry(id: &str, folder: &str, touched: u64) -> ChatSessionEntry {
        let (title, runs) = (format!("about {id}"), 2);
        ChatSessionEntry { id: id.to_owned(), title, folder: folder.to_owned(), touched, runs }
    }

    #[test]
    fn session_is_found_by_its_id_and_by_a_prefix() {
        let all = [
            entry("chat-0a1b2c", "/a", 9),
            entry("chat-0a1bff", "/b", 8),
            entry("chat-77", "/a", 7),
        ];
        let found = |typed: &str| match pick(&all, typed) {
            Ok(entry) => entry.id.clone(),
            Err(error) => error.to_string(),
        };
        let table = [
            ("chat-77", "chat-77"),
            ("chat-0a1b2", "chat-0a1b2c"),
            ("0A1B2", "chat-0a1b2c"),
            ("0a1b", "2 sessions match this prefix"),
            ("77", "there is no session `77`"),
            ("ffff", "there is no session `ffff`"),
            ("", "there is no session ``"),
        ];
        for (typed, expected) in table {
            assert_eq!(found(typed), expected, "{typed}");
        }
        assert_eq!(newest_of(&all, "/a").map(|entry| entry.id.as_str()).ok(), Some("chat-0a1b2c"));
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
            from_row(row).map(|entry| (entry.folder, entry.runs)),
            Some(("/a \"b\"".into(), 3))
        );
        assert!(from_row(other).is_none() && from_row(torn).is_none());
    }
}
