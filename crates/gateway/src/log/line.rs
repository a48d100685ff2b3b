//! What a line says, and how it looks.

use std::{
    borrow::Cow,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use foxwedge_engine::RequestSummary;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

/// A request that is over.
#[derive(Debug)]
pub(crate) struct RequestLogLine {
    /// When it came.
    pub(crate) at: SystemTime,
    /// Its id.
    pub(crate) id: Arc<str>,
    /// How it asked.
    pub(crate) method: Method,
    /// Where, without anything that is not ours.
    pub(crate) path: Cow<'static, str>,
    /// Who asked.
    pub(crate) owner: Option<Arc<str>>,
    /// With which program.
    pub(crate) agent: Option<Box<str>>,
    /// The status.
    pub(crate) status: StatusCode,
    /// What the engine tells.
    pub(crate) summary: RequestSummary,
    /// Until the reply began.
    pub(crate) until_first_byte: Duration,
    /// Until it was over.
    pub(crate) until_end: Duration,
    /// Bytes of the request's body.
    pub(crate) bytes_in: usize,
    /// Bytes of the reply's body.
    pub(crate) bytes_out: u64,
    /// How it ended.
    pub(crate) ended: DeliveryOutcome,
}

/// How a reply ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeliveryOutcome {
    /// With its last byte.
    Complete,
    /// The client was gone before.
    ClientGone,
    /// It could not go on.
    Failed,
}

/// How a line looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LogStyle {
    Plain,
    Colored,
    Json,
}

/// A value of a client is not longer than this in a line.
const LONGEST: usize = 128;

impl RequestLogLine {
    /// Writes it, with the end of the line.
    pub(super) fn write(&self, look: LogStyle, to: &mut String) {
        match look {
            LogStyle::Json => self.write_json(to),
            LogStyle::Plain => self.write_text(to, &["", "", ""]),
            LogStyle::Colored => {
                let status = match self.level() {
                    "error" => "\x1b[31m",
                    "warn" => "\x1b[33m",
                    _ => "\x1b[32m",
                };
                self.write_text(to, &["\x1b[2m", status, "\x1b[0m"]);
            }
        }
        to.push('\n');
    }

    fn write_text(&self, to: &mut String, [dim, status, plain]: &[&str; 3]) {
        // Writing into a text cannot fail.
        let _ = write!(
            to,
            "{dim}{}{plain} {} {} {status}{}{plain} {}ms",
            timestamp(self.at),
            self.method,
            self.path,
            self.status.as_u16(),
            self.until_end.as_millis(),
        );
        for (name, value) in self.fields() {
            let _ = match value {
                Value::String(text) => write!(to, " {dim}{name}={plain}{text}"),
                value => write!(to, " {dim}{name}={plain}{value}"),
            };
        }
    }

    fn write_json(&self, to: &mut String) {
        let mut object = Map::new();
        object.insert("time".into(), timestamp(self.at).into());
        object.insert("level".into(), self.level().into());
        object.insert("message".into(), "request served".into());
        object.insert("method".into(), self.method.as_str().into());
        object.insert("path".into(), self.path.as_ref().into());
        object.insert("status".into(), self.status.as_u16().into());
        object.insert("milliseconds".into(), json!(milliseconds(self.until_end)));
        for (name, value) in self.fields() {
            object.insert(name.into(), value);
        }
        to.push_str(&Value::Object(object).to_string());
    }

    fn level(&self) -> &'static str {
        match self.ended {
            DeliveryOutcome::Failed => "error",
            DeliveryOutcome::Complete | DeliveryOutcome::ClientGone
                if self.status.is_server_error() =>
            {
                "error"
            }
            DeliveryOutcome::Complete | DeliveryOutcome::ClientGone
                if self.status.is_client_error() =>
            {
                "warn"
            }
            DeliveryOutcome::Complete | DeliveryOutcome::ClientGone => "info",
        }
    }

    /// What both looks say.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let told = &self.summary;
        let mut fields = vec![("request.id", Value::from(&*self.id))];
        let mut field =
            |name, value: Option<Value>| fields.extend(value.map(|value| (name, value)));
        let text = |value: &Option<Arc<str>>| value.as_deref().map(|value| sanitize(value).into());
        field("owner", text(&self.owner));
        field("model", text(&told.model));
        field("upstream", text(&told.upstream));
        field("session.id", text(&told.session));
        field("run.id", text(&told.run));
        field("match", told.match_kind.map(Value::from));
        field("action", told.action.map(|action| action.name().into()));
        let findings: Vec<_> =
            told.findings.iter().map(|noted| format!("FW{}={}", noted.code, noted.count)).collect();
        field("findings", (!findings.is_empty()).then(|| findings.join(",").into()));
        field("ignored_results", text(&told.ignored_results));
        field("trouble", told.error_code.map(Value::from));
        field("first_ms", Some(json!(milliseconds(self.until_first_byte))));
        field("bytes.in", Some(self.bytes_in.into()));
        field("bytes.out", Some(self.bytes_out.into()));
        field(
            "ended",
            match self.ended {
                DeliveryOutcome::Complete => None,
                DeliveryOutcome::ClientGone => Some("client-gone".into()),
                DeliveryOutcome::Failed => Some("broken".into()),
            },
        );
        field("agent", self.agent.as_deref().map(|agent| sanitize(agent).into()));
        fields
    }
}

/// A path, with everything hidden that does not look like a word: ids, and what people put into
/// addresses by mistake.
pub(crate) fn mask_path(path: &str) -> String {
    let word = |part: &str| {
        part.len() <= 24
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || b"_.1".contains(&byte))
    };
    let mut masked = String::new();
    for part in path.split('/').skip(1).take(8) {
        masked.push('/');
        masked.push_str(if word(part) { part } else { "*" });
    }
    masked
}

/// Control characters, and the invisible ones that turn a line around or hide in it.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Without anything that a terminal would obey.
fn sanitize(text: &str) -> String {
    let mut clean: String = text
        .chars()
        .take(LONGEST)
        .map(|one| if is_harmful(one) { '\u{fffd}' } else { one })
        .collect();
    if clean.len() < text.len() {
        clean.push('…');
    }
    clean
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// `2026-01-31T23:59:59.123Z`.
fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, milliseconds) = (since.as_secs(), since.subsec_millis());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since the first of March of the year 0: the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_everybody_writes_them() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn paths_keep_words_and_hide_the_rest() {
        for (path, expected) in [
            ("/v1/runs", "/v1/runs"),
            ("/v1/runs/0192-ab/events", "/v1/runs/*/events"),
            ("/v1/v1/messages", "/v1/v1/messages"),
            ("/sk-live-canary", "/*"),
            ("/", "/"),
            ("*", ""),
        ] {
            assert_eq!(mask_path(path), expected, "{path}");
        }
    }
}
