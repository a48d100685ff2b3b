//! The labels that are known beforehand.

use prometheus_client::metrics::gauge::Gauge;

use crate::{Action, Face};

/// An endpoint, as metrics name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`.
    Messages,
    /// `/v1/messages/count_tokens`.
    CountTokens,
    /// `/v1/models`.
    Models,
    /// Sessions, runs, repairs.
    Api,
    /// Health, metrics, the console, and paths that do not exist.
    Other,
}

impl Route {
    /// Every route.
    pub const ALL: [Route; 7] = [
        Route::Chat,
        Route::Responses,
        Route::Messages,
        Route::CountTokens,
        Route::Models,
        Route::Api,
        Route::Other,
    ];

    /// The word in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Route::Chat => Face::Chat.name(),
            Route::Responses => Face::Responses.name(),
            Route::Messages => Face::Messages.name(),
            Route::CountTokens => Face::CountTokens.name(),
            Route::Models => "models",
            Route::Api => "api",
            Route::Other => "other",
        }
    }
}

impl From<Face> for Route {
    fn from(face: Face) -> Route {
        match face {
            Face::Chat => Route::Chat,
            Face::Responses => Route::Responses,
            Face::Messages => Route::Messages,
            Face::CountTokens => Route::CountTokens,
        }
    }
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tally {
    /// Nothing had to be done.
    None,
    /// Something was found and left as it is.
    Observed,
    /// It was repaired.
    Fixed,
    /// It was refused for what was found.
    Rejected,
    /// It did not come so far.
    Failed,
}

impl Tally {
    /// Every one.
    pub const ALL: [Tally; 5] =
        [Tally::None, Tally::Observed, Tally::Fixed, Tally::Rejected, Tally::Failed];

    /// The word in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Tally::None => Action::None.name(),
            Tally::Observed => Action::Observed.name(),
            Tally::Fixed => Action::Fixed.name(),
            Tally::Rejected => Action::Rejected.name(),
            Tally::Failed => "failed",
        }
    }

    pub(super) fn of(action: Option<Action>) -> Tally {
        match action {
            Some(Action::None) => Tally::None,
            Some(Action::Observed) => Tally::Observed,
            Some(Action::Fixed) => Tally::Fixed,
            Some(Action::Rejected) => Tally::Rejected,
            None => Tally::Failed,
        }
    }
}

/// Where bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bytes {
    /// From clients.
    In,
    /// To clients.
    Out,
}

impl Bytes {
    /// Both.
    pub const ALL: [Bytes; 2] = [Bytes::In, Bytes::Out];

    /// The word in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Bytes::In => "in",
            Bytes::Out => "out",
        }
    }
}

/// Why a connection was closed at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There were as many as there may be.
    Total,
    /// Its address had as many as it may have.
    PerAddress,
    /// The process had no means to take it.
    Accept,
}

impl Refusal {
    /// Every reason.
    pub const ALL: [Refusal; 3] = [Refusal::Total, Refusal::PerAddress, Refusal::Accept];

    /// The word in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Total => "total",
            Refusal::PerAddress => "per-address",
            Refusal::Accept => "accept",
        }
    }
}

/// What is lost first when there is too much of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Events of runs.
    Records,
    /// Spans.
    Spans,
    /// Lines of the log.
    Lines,
}

impl Dropped {
    /// Everything.
    pub const ALL: [Dropped; 3] = [Dropped::Records, Dropped::Spans, Dropped::Lines];

    /// The word in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Dropped::Records => "records",
            Dropped::Spans => "spans",
            Dropped::Lines => "lines",
        }
    }
}

/// One of something that is counted as long as it is there.
#[derive(Debug)]
pub struct Metered(Gauge);

impl Metered {
    pub(super) fn new(gauge: Gauge) -> Metered {
        gauge.inc();
        Metered(gauge)
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        self.0.dec();
    }
}
