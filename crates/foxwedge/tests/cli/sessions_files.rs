//! Small session files of Claude Code, written by hand: one record a line.
//!
//! They name a version that is older than all that were tried, so a finding is as severe as its
//! rule; what tried versions cope with is the matter of `sessions_rated`.

use std::fmt::Write;

/// The version that they name.
pub(crate) const VERSION: &str = "1.0.99";

/// The session they all belong to.
pub(crate) const ID: &str = "11111111-2222-4333-8444-555555555555";

/// A session file being written.
#[derive(Clone, Default)]
pub(crate) struct Script {
    text: String,
    records: usize,
    /// The last record's uuid.
    last: Option<String>,
}

impl Script {
    pub(crate) fn new() -> Script {
        Script::default()
    }

    /// The user says something.
    pub(crate) fn user(self, text: &str) -> Script {
        self.record("user", &format!(r#"{{"role":"user","content":"{text}"}}"#))
    }

    /// The model says something.
    pub(crate) fn says(self, reply: &str, text: &str) -> Script {
        self.assistant(reply, &format!(r#"{{"type":"text","text":"{text}"}}"#))
    }

    /// The model calls a tool.
    pub(crate) fn calls(self, reply: &str, call: &str) -> Script {
        let block = format!(
            r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":"ls"}}}}"#
        );
        self.assistant(reply, &block)
    }

    /// A tool answers.
    pub(crate) fn answers(self, call: &str, text: &str) -> Script {
        let block =
            format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"{text}"}}"#);
        self.record("user", &format!(r#"{{"role":"user","content":[{block}]}}"#))
    }

    /// What follows hangs under an earlier record, counted from zero.
    pub(crate) fn under(mut self, record: usize) -> Script {
        self.last = Some(uuid(record));
        self
    }

    /// A line as it is.
    pub(crate) fn line(mut self, line: &str) -> Script {
        self.text.push_str(line);
        self.text.push('\n');
        self
    }

    pub(crate) fn text(&self) -> String {
        self.text.clone()
    }

    fn assistant(self, reply: &str, block: &str) -> Script {
        let message = format!(
            r#"{{"id":"{reply}","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{block}],"stop_reason":null,"usage":{{"output_tokens":1}}}}"#
        );
        self.record("assistant", &message)
    }

    fn record(mut self, kind: &str, message: &str) -> Script {
        let uuid = uuid(self.records);
        let parent = self.last.map_or("null".to_owned(), |last| format!("\"{last}\""));
        let second = self.records;
        writeln!(
            self.text,
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"{ID}","version":"{VERSION}","type":"{kind}","message":{message},"uuid":"{uuid}","timestamp":"2026-01-02T03:04:{second:02}.000Z"}}"#
        )
        .unwrap();
        self.records += 1;
        self.last = Some(uuid);
        self
    }
}

fn uuid(record: usize) -> String {
    format!("00000000-0000-4000-8000-{record:012}")
}

/// A conversation that ended well.
pub(crate) fn sound() -> Script {
    Script::new()
        .user("list the files")
        .says("msg_1", "I will look.")
        .calls("msg_1", "toolu_1")
        .answers("toolu_1", "a.txt")
        .says("msg_2", "There is one file.")
}

/// Killed while a tool was running.
pub(crate) fn killed() -> Script {
    sound().user("and the other folder?").calls("msg_3", "toolu_2")
}

/// Two calls in one reply: each answer hangs under the record of its call.
pub(crate) fn parallel() -> Script {
    Script::new()
        .user("list both folders")
        .calls("msg_1", "toolu_1")
        .calls("msg_1", "toolu_2")
        .under(1)
        .answers("toolu_1", "a.txt")
        .under(2)
        .answers("toolu_2", "b.txt")
        .says("msg_2", "Done.")
}
