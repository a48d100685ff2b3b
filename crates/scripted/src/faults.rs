//! Faults on request: named after the model name or in a header.

use std::time::Duration;

use crate::ScriptedRequest;

/// The header that names faults: `cut=3, pace=5`.
const HEADER: &str = "x-scripted";
/// The header that counts attempts, from 1.
const ATTEMPT: &str = "x-scripted-attempt";
/// Maximum delay.
const MAX_DELAY_MS: u64 = 600_000;
/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The requested faults.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ScriptedFaults {
    /// Delay before the first byte.
    pub(crate) delay: Duration,
    /// Delay between two chunks.
    pub(crate) pace: Duration,
    /// The connection is closed after this many events.
    pub(crate) cut: Option<usize>,
    /// No more data is sent after this many events.
    pub(crate) hang: Option<usize>,
    /// Respond with this status, whatever the request is.
    pub(crate) status: Option<u16>,
    /// Seconds in the `Retry-After` header of that status.
    pub(crate) retry_after: Option<u64>,
    /// Garbage in the middle of the response.
    pub(crate) malformed: bool,
    /// An HTML page instead of a response.
    pub(crate) html: bool,
    /// An empty body instead of a response.
    pub(crate) empty: bool,
    /// A line of this many bytes in the middle.
    pub(crate) long_line: Option<usize>,
    /// The model refuses.
    pub(crate) refuse: bool,
    /// The request is not judged.
    pub(crate) lenient: bool,
}

/// The requested model name and its faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ModelScript<'a> {
    /// The name without its faults.
    pub(crate) model: &'a str,
    pub(crate) faults: ScriptedFaults,
}

impl<'a> ModelScript<'a> {
    /// Reads the faults of a request. The header overrides the model name.
    ///
    /// # Errors
    /// The name of a fault that is unknown or has an invalid value.
    pub(crate) fn read(
        name: &'a str,
        request: &ScriptedRequest<'_>,
    ) -> Result<ModelScript<'a>, String> {
        let (model, query) = name.split_once('?').unwrap_or((name, ""));
        let header = request.header(HEADER).unwrap_or_default();
        let mut faults = ScriptedFaults::default();
        let mut fail_first = None;
        for one in query.split('&').chain(header.split(',')) {
            let one = one.trim();
            let (key, value) =
                one.split_once('=').map_or((one, ""), |(key, value)| (key.trim(), value.trim()));
            let unread = || format!("invalid fault `{one}`");
            let number = || value.parse::<u64>().map_err(|_| unread());
            let count = || value.parse::<usize>().map_err(|_| unread());
            match key {
                "" => {}
                "delay" => faults.delay = Duration::from_millis(number()?.min(MAX_DELAY_MS)),
                "pace" => faults.pace = Duration::from_millis(number()?.min(MAX_DELAY_MS)),
                "cut" => faults.cut = Some(count()?),
                "hang" => faults.hang = Some(count()?),
                "status" => {
                    let status = value.parse().ok().filter(|status| (400..600).contains(status));
                    faults.status = Some(status.ok_or_else(unread)?);
                }
                "retry-after" => faults.retry_after = Some(number()?),
                "fail-first" => fail_first = Some(number()?),
                "malformed" => faults.malformed = true,
                "html" => faults.html = true,
                "empty" => faults.empty = true,
                "long-line" => faults.long_line = Some(count()?.min(MAX_LINE_BYTES)),
                "refuse" => faults.refuse = true,
                "strict" => match value {
                    "off" => faults.lenient = true,
                    "on" => faults.lenient = false,
                    _ => return Err(unread()),
                },
                _ => return Err(format!("unknown fault `{key}`")),
            }
        }
        if let Some(failures) = fail_first {
            let attempt = request.header(ATTEMPT).and_then(|attempt| attempt.trim().parse().ok());
            let fails = attempt.unwrap_or(1_u64) <= failures;
            faults.status = fails.then(|| faults.status.unwrap_or(429));
        }
        Ok(ModelScript { model, faults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_core::Format;

    fn read(name: &str, headers: &[(&str, &str)]) -> Result<(String, ScriptedFaults), String> {
        let request = ScriptedRequest { format: Format::OpenaiChat, path: "", headers, body: b"" };
        ModelScript::read(name, &request).map(|script| (script.model.to_owned(), script.faults))
    }

    /// A model name, headers, and the expected faults.
    type Row = (&'static str, &'static [(&'static str, &'static str)], ScriptedFaults);

    #[test]
    fn faults_are_read_from_the_model_name_and_the_header() {
        let none = ScriptedFaults::default();
        let table: [Row; 7] = [
            ("scripted", &[], none.clone()),
            ("scripted?", &[("x-scripted", "")], none.clone()),
            (
                "scripted?cut=3&pace=5",
                &[],
                ScriptedFaults { cut: Some(3), pace: Duration::from_millis(5), ..none.clone() },
            ),
            (
                "scripted?cut=3",
                &[("X-Scripted", "cut=4, html ,strict=off")],
                ScriptedFaults { cut: Some(4), html: true, lenient: true, ..none.clone() },
            ),
            (
                "scripted?fail-first=2&status=503",
                &[("x-scripted-attempt", "2")],
                ScriptedFaults { status: Some(503), ..none.clone() },
            ),
            ("scripted?fail-first=2&status=503", &[("x-scripted-attempt", "3")], none.clone()),
            ("scripted?fail-first=1", &[], ScriptedFaults { status: Some(429), ..none }),
        ];
        for (name, headers, faults) in table {
            assert_eq!(
                read(name, headers),
                Ok(("scripted".to_owned(), faults)),
                "{name} {headers:?}"
            );
        }
    }

    #[test]
    fn unknown_and_invalid_faults_are_reported() {
        let table = [
            ("scripted?cut", "invalid fault `cut`"),
            ("scripted?cut=-1", "invalid fault `cut=-1`"),
            ("scripted?status=200", "invalid fault `status=200`"),
            ("scripted?explode", "unknown fault `explode`"),
            ("scripted?strict=maybe", "invalid fault `strict=maybe`"),
        ];
        for (name, expected) in table {
            assert_eq!(read(name, &[]).err().as_deref(), Some(expected), "{name}");
        }
    }
}
