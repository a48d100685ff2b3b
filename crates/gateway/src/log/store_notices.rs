//! What an operator should know about the store: lines in the log beside those of the requests. Each is
//! also a `tracing` event.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use foxwedge_store::StoreError;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    DroppedItem, Metrics, RequestLog,
    line::{LogStyle, sanitize, timestamp},
};

/// The pause between two lines about lost records.
const LOSS_INTERVAL: Duration = Duration::from_secs(60);
/// After how long without a loss it is over.
const LOSS_END: Duration = Duration::from_secs(10);

/// Writes notices about the store to the log. Cheap to clone; clones share state.
#[derive(Clone)]
pub(crate) struct StoreNotices(Arc<NoticesShared>);

struct NoticesShared {
    metrics: Metrics,
    /// The log, once the gateway serves.
    log: OnceLock<RequestLog>,
    losses: Mutex<Option<RecordLosses>>,
}

/// Records that were lost without a longer pause in between.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordLosses {
    /// How many.
    total: u64,
    /// How many of them no line has named.
    unnamed: u64,
    why: String,
    help: &'static str,
    /// When the last one was lost.
    last: Instant,
    /// When the last line was written.
    named_at: Instant,
}

/// A line about the store.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoreNotice {
    pub(super) at: SystemTime,
    is_warning: bool,
    message: &'static str,
    /// How many records it is about.
    records: Option<u64>,
    error: Option<String>,
    help: Option<&'static str>,
}

/// Why a record was lost.
pub(crate) enum RecordLoss<'e> {
    /// Too much waits to be written.
    QueueFull,
    /// The store failed.
    Store(&'e StoreError),
}

const NO_ANSWER: &str = "the store does not answer: this node uses only its own conversations";
const ANSWERS_AGAIN: &str = "the store answers again";
const RECORDS_LOST: &str = "records were lost";
const UNWRITTEN: &str = "not everything was recorded before the end";
const NO_MORE_LOST: &str = "no more records are lost";

impl fmt::Debug for StoreNotices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoreNotices").finish_non_exhaustive()
    }
}

impl StoreNotices {
    /// Notices that are not written to a log yet.
    pub(crate) fn new(metrics: Metrics) -> StoreNotices {
        StoreNotices(Arc::new(NoticesShared {
            metrics,
            log: OnceLock::new(),
            losses: Mutex::default(),
        }))
    }

    /// Sets the log, once.
    pub(crate) fn write_to(&self, log: &RequestLog) {
        // An engine serves once.
        let _ = self.0.log.set(log.clone());
    }

    /// The store did not answer in time.
    pub(crate) fn store_unanswered(&self) {
        self.write(StoreNotice {
            help: Some("replies continue, and a request tries the store again every 5 s; look at its server"),
            ..StoreNotice::new(true, NO_ANSWER)
        });
    }

    /// The store answers after it did not.
    pub(crate) fn store_answered(&self) {
        self.write(StoreNotice::new(false, ANSWERS_AGAIN));
    }

    /// Counts a lost record. The first one is named in the log at once, later ones together.
    pub(crate) fn record_lost(&self, loss: RecordLoss<'_>) {
        self.0.metrics.count_dropped(DroppedItem::Records, 1);
        let mut losses = self.lock();
        let now = Instant::now();
        let current = losses.get_or_insert_with(|| RecordLosses {
            total: 0,
            unnamed: 0,
            why: String::new(),
            help: "",
            last: now,
            named_at: now,
        });
        current.add(&loss, now);
        let notice = current.due_notice(now);
        drop(losses);
        notice.into_iter().for_each(|notice| self.write(notice));
    }

    /// Writes what is due. To be called every second or so.
    pub(crate) fn check(&self) {
        let mut losses = self.lock();
        let now = Instant::now();
        let Some(current) = losses.as_mut() else { return };
        let mut notices = vec![current.due_notice(now)];
        if now.duration_since(current.last) >= LOSS_END {
            notices = vec![current.notice(now), Some(current.end_notice())];
            *losses = None;
        }
        drop(losses);
        notices.into_iter().flatten().for_each(|notice| self.write(notice));
    }

    /// The process ends before everything was written.
    pub(crate) fn records_unwritten(&self) {
        self.write(StoreNotice {
            help: Some("the last runs are missing; look at the disk or the server of the store"),
            ..StoreNotice::new(true, UNWRITTEN)
        });
    }

    /// Writes what no line has named, at the end of the process.
    pub(crate) fn finish(&self) {
        let rest = self.lock().take().and_then(|mut losses| losses.notice(Instant::now()));
        rest.into_iter().for_each(|notice| self.write(notice));
    }

    fn write(&self, notice: StoreNotice) {
        match self.0.log.get() {
            Some(log) => log.write_notice(notice),
            None => notice.emit(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<RecordLosses>> {
        self.0.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordLosses {
    fn add(&mut self, loss: &RecordLoss<'_>, now: Instant) {
        self.total += 1;
        self.unnamed += 1;
        self.last = now;
        (self.why, self.help) = match loss {
            RecordLoss::QueueFull => (
                "requests come faster than the store writes their records".to_owned(),
                "requests are served; a faster disk, fewer requests for each node or \
                 `record.store_runs = false` ends it",
            ),
            RecordLoss::Store(error) => (
                error.to_string(),
                "requests are served, but their runs are missing; look at the disk or the server of the store",
            ),
        };
    }

    /// A line, if it is the first one or the last one is old.
    fn due_notice(&mut self, now: Instant) -> Option<StoreNotice> {
        let is_first = self.total == self.unnamed;
        match is_first || now.duration_since(self.named_at) >= LOSS_INTERVAL {
            true => self.notice(now),
            false => None,
        }
    }

    /// A line about the records that no line has named.
    fn notice(&mut self, now: Instant) -> Option<StoreNotice> {
        let records = std::mem::take(&mut self.unnamed);
        self.named_at = now;
        (records > 0).then(|| StoreNotice {
            records: Some(records),
            error: Some(self.why.clone()),
            help: Some(self.help),
            ..StoreNotice::new(true, RECORDS_LOST)
        })
    }

    fn end_notice(&self) -> StoreNotice {
        StoreNotice { records: Some(self.total), ..StoreNotice::new(false, NO_MORE_LOST) }
    }
}

impl StoreNotice {
    fn new(is_warning: bool, message: &'static str) -> StoreNotice {
        let at = SystemTime::now();
        StoreNotice { at, is_warning, message, records: None, error: None, help: None }
    }

    /// Writes the line, including the line end.
    pub(super) fn write(&self, style: LogStyle, to: &mut String) {
        match style {
            LogStyle::Json => self.write_json(to),
            LogStyle::Plain | LogStyle::Short { is_colored: false } => {
                self.write_text(to, ["", "", ""]);
            }
            LogStyle::Short { is_colored: true } => {
                let level = if self.is_warning { "\x1b[33m" } else { "\x1b[32m" };
                self.write_text(to, ["\x1b[2m", level, "\x1b[0m"]);
            }
        }
        to.push('\n');
    }

    fn write_text(&self, to: &mut String, [dim, level, plain]: [&str; 3]) {
        let name = if self.is_warning { "warning" } else { "note" };
        // Writing into a `String` cannot fail.
        let _ =
            write!(to, "{dim}{}{plain} {level}{name}{plain}: {}", timestamp(self.at), self.message);
        if let Some(records) = self.records {
            let _ = write!(to, " {dim}records={plain}{records}");
        }
        if let Some(error) = &self.error {
            let _ = write!(to, " {dim}error={plain}{}", sanitize(error));
        }
        if let Some(help) = self.help {
            let _ = write!(to, " {dim}help={plain}{help}");
        }
    }

    fn write_json(&self, to: &mut String) {
        let mut object = Map::new();
        object.insert("time".into(), timestamp(self.at).into());
        object.insert("level".into(), if self.is_warning { "warn" } else { "info" }.into());
        object.insert("message".into(), self.message.into());
        object.extend(self.records.map(|records| ("records".to_owned(), records.into())));
        object.extend(
            self.error.as_deref().map(|error| ("error".to_owned(), sanitize(error).into())),
        );
        object.extend(self.help.map(|help| ("help".to_owned(), help.into())));
        to.push_str(&Value::Object(object).to_string());
    }

    /// Emits the `tracing` event of the line.
    pub(super) fn emit(&self) {
        let (records, error, help) = (self.records, self.error.as_deref().map(sanitize), self.help);
        let message = self.message;
        match self.is_warning {
            true => tracing::warn!(target: "foxwedge::store", records, error, help, "{message}"),
            false => tracing::info!(target: "foxwedge::store", records, "{message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses_of(notices: &StoreNotices) -> Option<(u64, u64)> {
        notices.lock().as_ref().map(|losses| (losses.total, losses.unnamed))
    }

    #[tokio::test(start_paused = true)]
    async fn losses_are_named_at_once_and_then_together() {
        let notices = StoreNotices::new(Metrics::new());
        notices.check();
        assert_eq!(losses_of(&notices), None);
        let lose = || notices.record_lost(RecordLoss::QueueFull);
        (0..5).for_each(|_| lose());
        assert_eq!(losses_of(&notices), Some((5, 4)));
        // They go on for a while: one line a minute.
        for second in 1..=LOSS_INTERVAL.as_secs() {
            tokio::time::advance(Duration::from_secs(1)).await;
            lose();
            notices.check();
            let unnamed = if second < LOSS_INTERVAL.as_secs() { 4 + second } else { 0 };
            assert_eq!(losses_of(&notices), Some((5 + second, unnamed)), "{second}");
        }
        lose();
        tokio::time::advance(LOSS_END).await;
        notices.check();
        assert_eq!(losses_of(&notices), None);
    }

    #[test]
    fn a_notice_is_one_line_in_every_style() {
        let notice = StoreNotice {
            at: SystemTime::UNIX_EPOCH,
            records: Some(3),
            error: Some("disk\nfull".to_owned()),
            help: Some("look"),
            ..StoreNotice::new(true, RECORDS_LOST)
        };
        let written = |style| {
            let mut text = String::new();
            notice.write(style, &mut text);
            text
        };
        assert_eq!(
            written(LogStyle::Plain),
            "1970-01-01T00:00:00.000Z warning: records were lost records=3 error=disk\u{fffd}full help=look\n"
        );
        assert_eq!(
            written(LogStyle::Short { is_colored: true }),
            "\x1b[2m1970-01-01T00:00:00.000Z\x1b[0m \x1b[33mwarning\x1b[0m: records were lost \
             \x1b[2mrecords=\x1b[0m3 \x1b[2merror=\x1b[0mdisk\u{fffd}full \x1b[2mhelp=\x1b[0mlook\n"
        );
        assert_eq!(
            written(LogStyle::Json),
            "{\"error\":\"disk\u{fffd}full\",\"help\":\"look\",\"level\":\"warn\",\
             \"message\":\"records were lost\",\"records\":3,\"time\":\"1970-01-01T00:00:00.000Z\"}\n"
        );
    }
}
