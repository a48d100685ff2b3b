use std::{sync::mpsc, time::SystemTime};

use crate::{FindingTally, GuardAction, RequestSummary};
use http::{Method, StatusCode};

use super::*;

/// A writer whose content can be read afterwards.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn line() -> RequestLogLine {
    RequestLogLine {
        at: SystemTime::UNIX_EPOCH,
        id: "r1".into(),
        method: Method::POST,
        path: "/v1/messages".into(),
        owner: Some("ann".into()),
        agent: Some("py/1".into()),
        status: StatusCode::OK,
        summary: RequestSummary {
            model: Some("m\x1b[31m".into()),
            upstream: Some("main".into()),
            session: Some("s1".into()),
            run: Some("n1".into()),
            match_kind: Some("prefix"),
            action: Some(GuardAction::Fixed),
            findings: vec![FindingTally { code: 101, strategy: "insert-answer", count: 2 }],
            error_code: None,
            ignored_results: None,
            forward_to: None,
            ..RequestSummary::default()
        },
        until_first_byte: Duration::from_micros(1_500),
        until_end: Duration::from_millis(12),
        bytes_in: 3,
        bytes_out: 4,
        ended: DeliveryOutcome::Complete,
    }
}

fn written(format: GatewayLogFormat) -> String {
    let buffer = SharedBuffer::default();
    let (log, writer) = RequestLog::start(format, Some(Box::new(buffer.clone())), Metrics::new())
        .expect("a thread");
    log.write_line(line());
    writer.close();
    let bytes = buffer.0.lock().expect("nobody panicked").clone();
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_line_has_the_same_fields_as_text_and_as_json() {
    assert_eq!(
        written(GatewayLogFormat::Text),
        "1970-01-01T00:00:00.000Z POST /v1/messages 200 12ms request.id=r1 owner=ann \
         model=m\u{fffd}[31m upstream=main session.id=s1 run.id=n1 match=prefix action=fixed \
         findings=FW101=2 first_ms=1.5 bytes.in=3 bytes.out=4 agent=py/1\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&written(GatewayLogFormat::Json)).expect("one object");
    assert_eq!(
        json,
        serde_json::json!({
            "time": "1970-01-01T00:00:00.000Z", "level": "info", "message": "request served",
            "method": "POST", "path": "/v1/messages", "status": 200, "milliseconds": 12.0,
            "request.id": "r1", "owner": "ann", "model": "m\u{fffd}[31m", "upstream": "main",
            "session.id": "s1", "run.id": "n1", "match": "prefix", "action": "fixed",
            "findings": "FW101=2", "first_ms": 1.5, "bytes.in": 3, "bytes.out": 4, "agent": "py/1"
        })
    );
    assert_eq!(written(GatewayLogFormat::Off), "");
}

#[test]
fn a_line_for_a_terminal_is_short() {
    let short = |action| {
        let mut line = line();
        line.summary.action = Some(action);
        let mut text = String::new();
        line.write(LogStyle::Short { is_colored: false }, &mut text);
        text
    };
    let start = "1970-01-01T00:00:00.000Z POST /v1/messages 200 12ms model=m\u{fffd}[31m \
                 upstream=main";
    assert_eq!(short(GuardAction::Fixed), format!("{start} action=fixed findings=FW101=2\n"));
    assert_eq!(short(GuardAction::None), format!("{start} findings=FW101=2\n"));
}

/// A writer that blocks until the sender is dropped.
struct BlockingWriter(mpsc::Receiver<()>);

impl Write for BlockingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Returns once the sender is dropped.
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_blocked_log_drops_lines_and_blocks_no_request() {
    let (release, blocked) = mpsc::channel();
    let metrics = Metrics::new();
    let (log, writer) = RequestLog::start(
        GatewayLogFormat::Json,
        Some(Box::new(BlockingWriter(blocked))),
        metrics.clone(),
    )
    .expect("a thread");
    // The thread takes at most one full queue before it blocks.
    for _ in 0..2 * MAX_QUEUED_LINES + 1 {
        log.write_line(line());
    }
    let dropped = metrics
        .render()
        .lines()
        .find_map(|line| {
            line.strip_prefix(r#"foxwedge_dropped_total{what="lines"} "#)?.parse().ok()
        })
        .unwrap_or(0_usize);
    assert!(dropped >= 1, "{dropped}");
    drop(release);
    writer.close();
}
