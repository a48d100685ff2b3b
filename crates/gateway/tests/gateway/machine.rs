//! A machine of a user with a few session files of Claude Code, in a temporary folder.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use foxwedge_local::{console::LocalSessions, user_folders::UserFolders};
use serde_json::{Value, json};

/// Number of its sessions, newest first. Every third needs repair.
pub(crate) const SESSIONS: usize = 7;

/// The session that a process works on. It needs repair, too.
pub(crate) const LIVE: usize = 3;

/// The session with many messages and one long line, the last.
pub(crate) const LONG: usize = 2;

/// Number of messages and of bytes in the last one.
pub(crate) const LONG_MESSAGES: usize = 601;
const LONG_TEXT: usize = 3 << 19;

/// A session that cannot be read.
const UNREADABLE: usize = 5;

/// Text in every session that can be read.
pub(crate) const CANARY: &str = "canary-session-text";

/// A home folder with session files. Dropping it removes them.
pub(crate) struct Machine {
    home: PathBuf,
    pub(crate) sessions: Arc<LocalSessions>,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("foxwedge-machine-{}-{count}", process::id()));
        let _ = fs::remove_dir_all(&home);
        let newest = SystemTime::now() - Duration::from_secs(3_600);
        for number in 0..SESSIONS {
            let path = home.join(session_path(number));
            write(&path, &session_text(number));
            // Two files each have the same time.
            let modified = newest - Duration::from_secs(number as u64 / 2);
            let file = File::options().append(true).open(path).expect("it was written");
            file.set_modified(modified).expect("its time is set");
        }
        let registered =
            json!({ "pid": process::id(), "sessionId": session_id(LIVE), "cwd": "/w" });
        write(&home.join(".claude/sessions/1.json"), &registered.to_string());
        let sessions = Arc::new(LocalSessions::new(UserFolders::Below(home.clone())));
        Machine { home, sessions }
    }

    /// The file of a session.
    pub(crate) fn file(&self, number: usize) -> PathBuf {
        self.home.join(session_path(number))
    }

    /// The id of a session in the console.
    pub(crate) fn id(&self, number: usize) -> String {
        let files = self.sessions.sessions().files;
        let file = files.iter().find(|file| file.session == session_id(number));
        file.expect("it is listed").id.clone()
    }

    /// Waits until every file was checked.
    pub(crate) async fn scanned(&self) {
        while self.sessions.sessions().scan.ended.is_none() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn session_id(number: usize) -> String {
    // The last one belongs to a sub-agent, which Claude Code shows in the name of the file.
    let start = if number + 1 == SESSIONS { "agent" } else { "0a1b2c3d" };
    format!("{start}-{number}")
}

fn session_path(number: usize) -> String {
    format!(".claude/projects/-w-Parser/{}.jsonl", session_id(number))
}

fn session_text(number: usize) -> String {
    if number == UNREADABLE {
        return "no session".to_owned();
    }
    let mut messages = vec![
        json!({ "role": "user", "content": format!("Session number {number}") }),
        reply(number, json!({ "type": "text", "text": CANARY })),
    ];
    if number == LONG {
        while messages.len() < LONG_MESSAGES - 1 {
            let at = messages.len();
            messages
                .push(json!({ "role": "user", "content": format!("question of two words {at}") }));
            messages.push(reply(1_000 + at, json!({ "type": "text", "text": "an answer" })));
        }
        messages.push(json!({ "role": "user", "content": "x".repeat(LONG_TEXT) }));
    }
    if number.is_multiple_of(3) {
        // Killed while the tool was running.
        messages.push(json!({ "role": "user", "content": "List the files." }));
        let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {} });
        messages.push(reply(100, call));
    }
    // A record that is not a message.
    let mut text = String::from("{\"type\":\"file-history-snapshot\",\"snapshot\":{}}\n");
    for (at, message) in messages.iter().enumerate() {
        let record = json!({
            "parentUuid": at.checked_sub(1).map(record_id),
            "isSidechain": false,
            "cwd": "/w/Parser",
            "sessionId": session_id(number),
            // Older than every version whose tolerance is known.
            "version": "1.0.99",
            "type": message["role"],
            "message": message,
            "uuid": record_id(at),
            "timestamp": "2026-01-02T03:04:05.000Z",
        });
        text.push_str(&format!("{record}\n"));
    }
    text
}

fn reply(number: usize, block: Value) -> Value {
    json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [block],
    })
}

fn record_id(at: usize) -> String {
    format!("00000000-0000-4000-8000-{at:012}")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
