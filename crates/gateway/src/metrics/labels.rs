//! The labels with a fixed set of values.

use http::StatusCode;
use prometheus_client::metrics::gauge::Gauge;

use crate::{GatewayEndpoint, GuardAction};

/// An endpoint, as named in metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricRoute {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`.
    Messages,
    /// `/v1/messages/count_tokens`.
    CountTokens,
    /// `/v1beta/interactions`.
    Interactions,
    /// `/v1beta/models/{model}:generateContent`.
    GenerateContent,
    /// `/v1beta/models/{model}:streamGenerateContent`.
    StreamGenerateContent,
    /// `/v1beta/models/{model}:countTokens`.
    GeminiCountTokens,
    /// `/v1/models`.
    Models,
    /// Other endpoints of providers, such as `/v1/embeddings`.
    Forwarded,
    /// Sessions, runs, repairs, and operations on documents.
    Api,
    /// Health, metrics, the console, and paths that do not exist.
    Other,
}

impl MetricRoute {
    /// Every route.
    pub const ALL: [MetricRoute; 12] = [
        MetricRoute::Chat,
        MetricRoute::Responses,
        MetricRoute::Messages,
        MetricRoute::CountTokens,
        MetricRoute::Interactions,
        MetricRoute::GenerateContent,
        MetricRoute::StreamGenerateContent,
        MetricRoute::GeminiCountTokens,
        MetricRoute::Models,
        MetricRoute::Forwarded,
        MetricRoute::Api,
        MetricRoute::Other,
    ];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            MetricRoute::Chat => GatewayEndpoint::Chat.name(),
            MetricRoute::Responses => GatewayEndpoint::Responses.name(),
            MetricRoute::Messages => GatewayEndpoint::Messages.name(),
            MetricRoute::CountTokens => GatewayEndpoint::CountTokens.name(),
            MetricRoute::Interactions => GatewayEndpoint::Interactions.name(),
            MetricRoute::GenerateContent => GatewayEndpoint::GenerateContent.name(),
            MetricRoute::StreamGenerateContent => GatewayEndpoint::StreamGenerateContent.name(),
            MetricRoute::GeminiCountTokens => GatewayEndpoint::GeminiCountTokens.name(),
            MetricRoute::Models => "models",
            MetricRoute::Forwarded => "forwarded",
            MetricRoute::Api => "api",
            MetricRoute::Other => "other",
        }
    }
}

impl From<GatewayEndpoint> for MetricRoute {
    fn from(endpoint: GatewayEndpoint) -> MetricRoute {
        match endpoint {
            GatewayEndpoint::Chat => MetricRoute::Chat,
            GatewayEndpoint::Responses => MetricRoute::Responses,
            GatewayEndpoint::Messages => MetricRoute::Messages,
            GatewayEndpoint::CountTokens => MetricRoute::CountTokens,
            GatewayEndpoint::Interactions => MetricRoute::Interactions,
            GatewayEndpoint::GenerateContent => MetricRoute::GenerateContent,
            GatewayEndpoint::StreamGenerateContent => MetricRoute::StreamGenerateContent,
            GatewayEndpoint::GeminiCountTokens => MetricRoute::GeminiCountTokens,
        }
    }
}

/// The result of a reload of the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReloadResult {
    /// The new configuration is in use.
    Applied,
    /// The configuration has errors, and nothing changed.
    Refused,
}

impl ReloadResult {
    /// Every result.
    pub const ALL: [ReloadResult; 2] = [ReloadResult::Applied, ReloadResult::Refused];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            ReloadResult::Applied => "applied",
            ReloadResult::Refused => "refused",
        }
    }
}

/// The guard action of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricAction {
    /// Nothing to do, or it is not a request that is guarded.
    None,
    /// It has findings and was left as it is.
    Observed,
    /// It was repaired.
    Fixed,
    /// It was rejected because of its findings.
    Rejected,
    /// It failed before the guard.
    Failed,
}

impl MetricAction {
    /// Every action.
    pub const ALL: [MetricAction; 5] = [
        MetricAction::None,
        MetricAction::Observed,
        MetricAction::Fixed,
        MetricAction::Rejected,
        MetricAction::Failed,
    ];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            MetricAction::None => GuardAction::None.name(),
            MetricAction::Observed => GuardAction::Observed.name(),
            MetricAction::Fixed => GuardAction::Fixed.name(),
            MetricAction::Rejected => GuardAction::Rejected.name(),
            MetricAction::Failed => "failed",
        }
    }

    /// The action of a request. One that did not reach the guard has none, and failed if its reply
    /// is an error.
    pub(super) fn of_request(action: Option<GuardAction>, status: StatusCode) -> MetricAction {
        let is_error = status.is_client_error() || status.is_server_error();
        match action {
            Some(GuardAction::None) => MetricAction::None,
            Some(GuardAction::Observed) => MetricAction::Observed,
            Some(GuardAction::Fixed) => MetricAction::Fixed,
            Some(GuardAction::Rejected) => MetricAction::Rejected,
            None if is_error => MetricAction::Failed,
            None => MetricAction::None,
        }
    }
}

/// The direction of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteDirection {
    /// From clients.
    In,
    /// To clients.
    Out,
}

impl ByteDirection {
    /// Both directions.
    pub const ALL: [ByteDirection; 2] = [ByteDirection::In, ByteDirection::Out];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            ByteDirection::In => "in",
            ByteDirection::Out => "out",
        }
    }
}

/// Why a connection was closed at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionRefusal {
    /// The total limit was reached.
    Total,
    /// The limit of its address was reached.
    PerAddress,
    /// The process had no resources to accept it.
    Accept,
}

impl ConnectionRefusal {
    /// Every reason.
    pub const ALL: [ConnectionRefusal; 3] =
        [ConnectionRefusal::Total, ConnectionRefusal::PerAddress, ConnectionRefusal::Accept];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            ConnectionRefusal::Total => "total",
            ConnectionRefusal::PerAddress => "per-address",
            ConnectionRefusal::Accept => "accept",
        }
    }
}

/// What is dropped when a queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DroppedItem {
    /// Run events.
    Records,
    /// Spans.
    Spans,
    /// Log lines.
    Lines,
}

impl DroppedItem {
    /// Every kind of item.
    pub const ALL: [DroppedItem; 3] =
        [DroppedItem::Records, DroppedItem::Spans, DroppedItem::Lines];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            DroppedItem::Records => "records",
            DroppedItem::Spans => "spans",
            DroppedItem::Lines => "lines",
        }
    }
}

/// Counts one item in a gauge until it is dropped.
#[derive(Debug)]
pub struct GaugeGuard(Gauge);

impl GaugeGuard {
    pub(super) fn new(gauge: Gauge) -> GaugeGuard {
        gauge.inc();
        GaugeGuard(gauge)
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
