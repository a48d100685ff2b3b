//! The configuration in use, and what is made from it. A reload replaces it as a whole; requests in
//! progress keep what they began with.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use foxwedge_upstream::{
    http::{HttpClient, HttpSettings},
    send::{CircuitBreaker, RetryBudget},
};

use crate::config::{GatewayConfig, GatewayLimits, GatewayTimeouts};

/// The configuration in use.
pub(crate) struct ActiveConfig {
    pub(crate) config: Arc<GatewayConfig>,
    /// The client for all upstreams.
    pub(crate) client: HttpClient,
    /// The health of each upstream.
    health: HashMap<Arc<str>, Arc<UpstreamHealth>>,
}

/// What is known about an upstream from its replies.
#[derive(Default)]
struct UpstreamHealth {
    retry_budget: RetryBudget,
    circuit_breaker: CircuitBreaker,
    response_storage: Mutex<ResponseStorage>,
}

/// Whether an upstream of the Responses API stores responses, so that a request may continue one by
/// its id. Known only from experience.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ResponseStorage {
    /// No request has shown it yet.
    #[default]
    Unknown,
    /// It has continued a response.
    Stored,
    /// It did not find a response of its own.
    NotStored,
}

/// Holds the configuration in use.
pub(crate) struct ConfigCell(RwLock<Arc<ActiveConfig>>);

impl ActiveConfig {
    pub(crate) fn new(config: Arc<GatewayConfig>) -> ActiveConfig {
        let times = config.timeouts;
        let client = HttpClient::new(HttpSettings {
            connect: times.upstream_connect,
            first_byte: times.upstream_first_byte,
            idle: times.stream_idle,
            ..HttpSettings::default()
        })
        .with_network(&config.network);
        let upstreams = config.upstreams.iter();
        let health = upstreams.map(|it| (it.name.clone(), Arc::default())).collect();
        ActiveConfig { config, client, health }
    }

    /// The configuration that follows this one. What is known about the health of
    /// upstreams is kept. Idle connections are closed, because proxies and certificates may have
    /// changed.
    fn followed_by(&self, config: GatewayConfig) -> ActiveConfig {
        let mut next = ActiveConfig::new(Arc::new(with_fixed_settings(config, &self.config)));
        for (name, health) in &mut next.health {
            if let Some(known) = self.health.get(name) {
                *health = known.clone();
            }
        }
        next
    }

    pub(crate) fn retry_budget(&self, upstream: &str) -> Option<&RetryBudget> {
        self.health.get(upstream).map(|health| &health.retry_budget)
    }

    pub(crate) fn circuit_breaker(&self, upstream: &str) -> Option<&CircuitBreaker> {
        self.health.get(upstream).map(|health| &health.circuit_breaker)
    }

    pub(crate) fn response_storage(&self, upstream: &str) -> ResponseStorage {
        let storage = self.health.get(upstream).map(|health| &health.response_storage);
        storage.map_or(ResponseStorage::Unknown, |storage| {
            *storage.lock().unwrap_or_else(PoisonError::into_inner)
        })
    }

    pub(crate) fn set_response_storage(&self, upstream: &str, storage: ResponseStorage) {
        if let Some(health) = self.health.get(upstream) {
            let known = health.response_storage.lock();
            *known.unwrap_or_else(PoisonError::into_inner) = storage;
        }
    }
}

impl ConfigCell {
    pub(crate) fn new(active: ActiveConfig) -> ConfigCell {
        ConfigCell(RwLock::new(Arc::new(active)))
    }

    /// The configuration in use.
    pub(crate) fn get(&self) -> Arc<ActiveConfig> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses another configuration for all requests that begin from now on.
    pub(crate) fn replace(&self, config: GatewayConfig) {
        let mut active = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *active = Arc::new(active.followed_by(config));
    }
}

/// A new configuration with the settings of the running one that only a start can change. They are
/// those of `config::FIXED_SETTINGS`.
fn with_fixed_settings(new: GatewayConfig, running: &GatewayConfig) -> GatewayConfig {
    let (limits, timeouts) = (running.limits, running.timeouts);
    GatewayConfig {
        listen: running.listen,
        advertise: running.advertise.clone(),
        store: running.store.clone(),
        sessions: running.sessions,
        record: running.record,
        telemetry: running.telemetry.clone(),
        console: running.console,
        limits: GatewayLimits {
            request_head: limits.request_head,
            connections: limits.connections,
            connections_per_address: limits.connections_per_address,
            requests_per_owner: limits.requests_per_owner,
            ..new.limits
        },
        timeouts: GatewayTimeouts {
            request_head: timeouts.request_head,
            keep_alive: timeouts.keep_alive,
            client_write: timeouts.client_write,
            shutdown: timeouts.shutdown,
            shutdown_delay: timeouts.shutdown_delay,
            ..new.timeouts
        },
        ..new
    }
}
