//! The fields of a log line, its text and JSON forms, and its `tracing` event.

use std::{
    borrow::Cow,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::RequestSummary;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use tracing::Level;

/// A finished request.
#[derive(Debug)]
pub(crate) struct RequestLogLine {
    /// Time of arrival.
    pub(crate) at: SystemTime,
    /// Request id.
    pub(crate) id: Arc<str>,
    /// HTTP method.
    pub(crate) method: Method,
    /// Path, masked.
    pub(crate) path: Cow<'static, str>,
    /// The owner of the token.
    pub(crate) owner: Option<Arc<str>>,
    /// The `User-Agent` of the client.
    pub(crate) agent: Option<Box<str>>,
    /// HTTP status of the reply.
    pub(crate) status: StatusCode,
    /// The engine's summary of the request.
    pub(crate) summary: RequestSummary,
    /// Time until the reply began.
    pub(crate) until_first_byte: Duration,
    /// Time until the reply ended.
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
    /// The last byte was sent.
    Complete,
    /// The client disconnected before.
    ClientGone,
    /// The gateway shut down before.
    Shutdown,
    /// The body failed.
    Failed,
}

impl DeliveryOutcome {
    /// Name in the log; `None` for a complete reply.
    fn name(self) -> Option<&'static str> {
        match self {
            DeliveryOutcome::Complete => None,
            DeliveryOutcome::ClientGone => Some("client-gone"),
            DeliveryOutcome::Shutdown => Some("shutdown"),
            DeliveryOutcome::Failed => Some("broken"),
        }
    }
}

/// The style of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LogStyle {
    Plain,
    /// For a person at a terminal: what happened, without ids and sizes.
    Short {
        is_colored: bool,
    },
    Json,
}

/// The target of the `tracing` event of a request.
pub(super) const REQUEST_TARGET: &str = "foxwedge::request";

/// The fields of a short line.
const SHORT_FIELDS: [&str; 7] =
    ["model", "upstream", "action", "findings", "error", "cause", "ended"];

/// The message of every line.
const MESSAGE: &str = "request served";

/// Maximum length of a client-chosen value.
const MAX_VALUE_CHARS: usize = 200;

impl RequestLogLine {
    /// Writes the line, including the line end.
    pub(super) fn write(&self, style: LogStyle, to: &mut String) {
        match style {
            LogStyle::Json => self.write_json(to),
            LogStyle::Plain => self.write_text(to, &["", "", ""], self.fields()),
            LogStyle::Short { is_colored: false } => {
                self.write_text(to, &["", "", ""], self.short_fields());
            }
            LogStyle::Short { is_colored: true } => {
                let status = match self.level() {
                    Level::ERROR => "\x1b[31m",
                    Level::WARN => "\x1b[33m",
                    _ => "\x1b[32m",
                };
                self.write_text(to, &["\x1b[2m", status, "\x1b[0m"], self.short_fields());
            }
        }
        to.push('\n');
    }

    fn write_text(
        &self,
        to: &mut String,
        [dim, status, plain]: &[&str; 3],
        fields: Vec<(&'static str, Value)>,
    ) {
        // Writing into a `String` cannot fail.
        let _ = write!(
            to,
            "{dim}{}{plain} {} {} {status}{}{plain} {}ms",
            timestamp(self.at),
            self.method,
            self.path,
            self.status.as_u16(),
            self.until_end.as_millis(),
        );
        for (name, value) in fields {
            let _ = match value {
                Value::String(text) => write!(to, " {dim}{name}={plain}{text}"),
                value => write!(to, " {dim}{name}={plain}{value}"),
            };
        }
    }

    fn write_json(&self, to: &mut String) {
        let mut object = Map::new();
        object.insert("time".into(), timestamp(self.at).into());
        let level = match self.level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            _ => "info",
        };
        object.insert("level".into(), level.into());
        object.insert("message".into(), MESSAGE.into());
        object.insert("method".into(), self.method.as_str().into());
        object.insert("path".into(), self.path.as_ref().into());
        object.insert("status".into(), self.status.as_u16().into());
        object.insert("milliseconds".into(), json!(milliseconds(self.until_end)));
        for (name, value) in self.fields() {
            object.insert(name.into(), value);
        }
        to.push_str(&Value::Object(object).to_string());
    }

    fn level(&self) -> Level {
        match self.ended {
            DeliveryOutcome::Failed | DeliveryOutcome::Shutdown => Level::ERROR,
            DeliveryOutcome::Complete | DeliveryOutcome::ClientGone
                if self.status.is_server_error() =>
            {
                Level::ERROR
            }
            DeliveryOutcome::Complete | DeliveryOutcome::ClientGone
                if self.status.is_client_error() =>
            {
                Level::WARN
            }
            DeliveryOutcome::Complete | DeliveryOutcome::ClientGone => Level::INFO,
        }
    }

    /// Emits the line as a `tracing` event with the fields of the JSON form.
    pub(super) fn emit(&self) {
        let summary = &self.summary;
        let text = |value: &Option<Arc<str>>| value.as_deref().map(sanitize);
        // The level of an event is a constant, so each level has its own.
        macro_rules! emit {
            ($level:expr) => {
                tracing::event!(
                    target: REQUEST_TARGET,
                    $level,
                    method = self.method.as_str(),
                    path = &*self.path,
                    status = self.status.as_u16(),
                    milliseconds = milliseconds(self.until_end),
                    request.id = &*self.id,
                    owner = text(&self.owner),
                    model = text(&summary.model),
                    upstream = text(&summary.upstream),
                    session.id = text(&summary.session),
                    run.id = text(&summary.run),
                    "match" = summary.match_kind,
                    action = summary.action.map(|action| action.name()),
                    findings = self.findings(),
                    ignored_results = text(&summary.ignored_results),
                    error = summary.error_code,
                    cause = summary.error_cause.as_deref().map(sanitize),
                    first_ms = milliseconds(self.until_first_byte),
                    bytes.in = self.bytes_in,
                    bytes.out = self.bytes_out,
                    ended = self.ended.name(),
                    agent = self.agent.as_deref().map(sanitize),
                    "{MESSAGE}"
                )
            };
        }
        match self.level() {
            Level::ERROR => emit!(Level::ERROR),
            Level::WARN => emit!(Level::WARN),
            _ => emit!(Level::INFO),
        }
    }

    /// The number of findings by rule.
    fn findings(&self) -> Option<String> {
        let findings = self.summary.findings.iter();
        let findings: Vec<_> =
            findings.map(|finding| format!("FW{}={}", finding.code, finding.count)).collect();
        (!findings.is_empty()).then(|| findings.join(","))
    }

    /// The fields of the text and JSON forms.
    fn short_fields(&self) -> Vec<(&'static str, Value)> {
        let mut fields = self.fields();
        fields.retain(|(name, value)| SHORT_FIELDS.contains(name) && value != "none");
        fields
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let summary = &self.summary;
        let mut fields = vec![("request.id", Value::from(&*self.id))];
        let mut field =
            |name, value: Option<Value>| fields.extend(value.map(|value| (name, value)));
        let text = |value: &Option<Arc<str>>| value.as_deref().map(|value| sanitize(value).into());
        field("owner", text(&self.owner));
        field("model", text(&summary.model));
        field("upstream", text(&summary.upstream));
        field("session.id", text(&summary.session));
        field("run.id", text(&summary.run));
        field("match", summary.match_kind.map(Value::from));
        field("action", summary.action.map(|action| action.name().into()));
        field("findings", self.findings().map(Value::from));
        field("ignored_results", text(&summary.ignored_results));
        field("error", summary.error_code.map(Value::from));
        let cause = summary.error_cause.as_deref();
        field("cause", cause.map(|cause| sanitize(cause).into()));
        field("first_ms", Some(json!(milliseconds(self.until_first_byte))));
        field("bytes.in", Some(self.bytes_in.into()));
        field("bytes.out", Some(self.bytes_out.into()));
        field("ended", self.ended.name().map(Value::from));
        field("agent", self.agent.as_deref().map(|agent| sanitize(agent).into()));
        fields
    }
}

/// Masks every part of a path that does not look like a word: ids, and secrets that users put
/// into URLs by mistake.
pub(crate) fn mask_path(path: &str) -> String {
    let is_word = |part: &str| {
        part.len() <= 24
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || b"_.1".contains(&byte))
    };
    let mut masked = String::new();
    for part in path.split('/').skip(1).take(8) {
        masked.push('/');
        masked.push_str(if is_word(part) { part } else { "*" });
    }
    masked
}

/// Control characters, and invisible ones that reorder or hide text.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Removes characters that a terminal would interpret, and truncates.
pub(super) fn sanitize(text: &str) -> String {
    let mut clean: String = text
        .chars()
        .take(MAX_VALUE_CHARS)
        .map(|c| if is_harmful(c) { '\u{fffd}' } else { c })
        .collect();
    if clean.len() < text.len() {
        clean.push('…');
    }
    clean
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// A time like `2026-01-31T23:59:59.123Z`.
pub(super) fn timestamp(at: SystemTime) -> String {
    let at = jiff::Timestamp::try_from(at.max(UNIX_EPOCH)).unwrap_or(jiff::Timestamp::MAX);
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_use_rfc_3339() {
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
