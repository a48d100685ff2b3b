//! Idle connections, per target.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    AddressPolicy, NetworkTarget,
    http::{
        ClientIdentity, HttpSettings, NetworkConfig, ProxyServer, TrustedRoots,
        connection::UpstreamConnection,
    },
};

/// The connections of all targets. There are as many targets as the configuration names.
#[derive(Debug, Default)]
pub(super) struct ConnectionPool {
    network: NetworkConfig,
    targets: RwLock<Vec<Arc<TargetConnections>>>,
}

/// The connections of one target, the last used at the end.
#[derive(Debug)]
pub(super) struct TargetConnections {
    tls: bool,
    host: Box<str>,
    port: u16,
    /// A connection that one rule allowed is not handed to a stricter one.
    addresses: AddressPolicy,
    /// Nor is one that was opened with another certificate.
    identity: Option<ClientIdentity>,
    /// The proxy that they go through: chosen once for a target, not for every request.
    proxy: Option<Arc<ProxyServer>>,
    max_idle: usize,
    idle_timeout: Duration,
    connections: Mutex<VecDeque<(UpstreamConnection, Instant)>>,
}

impl ConnectionPool {
    pub(super) fn new(network: NetworkConfig) -> ConnectionPool {
        ConnectionPool { network, targets: RwLock::default() }
    }

    /// The certificates that new connections trust.
    pub(super) fn roots(&self) -> &TrustedRoots {
        &self.network.roots
    }

    /// The connections of a target.
    pub(super) fn connections_for(
        &self,
        target: &NetworkTarget,
        settings: &HttpSettings,
    ) -> Arc<TargetConnections> {
        let find = |targets: &[Arc<TargetConnections>]| {
            targets.iter().find(|one| one.is_for(target)).cloned()
        };
        let known = find(&self.targets.read().unwrap_or_else(PoisonError::into_inner));
        known.unwrap_or_else(|| {
            let mut targets = self.targets.write().unwrap_or_else(PoisonError::into_inner);
            find(&targets).unwrap_or_else(|| {
                let connections = Arc::new(TargetConnections {
                    proxy: self.network.proxies.proxy_for(target).cloned(),
                    ..TargetConnections::new(target, settings)
                });
                targets.push(Arc::clone(&connections));
                connections
            })
        })
    }

    /// Number of idle connections.
    pub(super) fn idle_count(&self) -> usize {
        let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner);
        targets.iter().map(|connections| connections.lock().len()).sum()
    }

    /// Closes connections that were idle for too long, or that the upstream has closed.
    pub(super) fn close_expired(&self) {
        let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner);
        for connections in targets.iter() {
            let idle_timeout = connections.idle_timeout;
            connections.lock().retain_mut(|(connection, since)| {
                since.elapsed() < idle_timeout && connection.is_reusable()
            });
        }
    }
}

impl TargetConnections {
    fn new(target: &NetworkTarget, settings: &HttpSettings) -> TargetConnections {
        TargetConnections {
            tls: target.tls,
            host: target.host.clone(),
            port: target.port,
            addresses: target.addresses,
            identity: target.identity.clone(),
            proxy: None,
            max_idle: settings.max_idle_connections,
            idle_timeout: settings.connection_idle,
            connections: Mutex::default(),
        }
    }

    /// The proxy that the connections go through.
    pub(super) fn proxy(&self) -> Option<&ProxyServer> {
        self.proxy.as_deref()
    }

    /// The proxy that reads the requests: without TLS there is no tunnel.
    pub(super) fn forward_proxy(&self) -> Option<&ProxyServer> {
        self.proxy().filter(|_| !self.tls)
    }

    /// The most recently used connection that is still usable.
    pub(super) fn take(&self) -> Option<UpstreamConnection> {
        loop {
            let (mut connection, since) = self.lock().pop_back()?;
            if since.elapsed() < self.idle_timeout && connection.is_reusable() {
                return Some(connection);
            }
        }
    }

    /// Adds an idle connection. The oldest one makes room.
    pub(super) fn put(&self, connection: UpstreamConnection) {
        if self.max_idle == 0 {
            return;
        }
        let mut connections = self.lock();
        let full = connections.len() >= self.max_idle;
        let old =
            connections.front().is_some_and(|(_, since)| since.elapsed() >= self.idle_timeout);
        let gone = if full || old { connections.pop_front() } else { None };
        connections.push_back((connection, Instant::now()));
        drop(connections);
        // Close the socket outside the lock.
        drop(gone);
    }

    fn is_for(&self, target: &NetworkTarget) -> bool {
        self.port == target.port
            && self.tls == target.tls
            && self.addresses == target.addresses
            && self.identity == target.identity
            && self.host == target.host
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(UpstreamConnection, Instant)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
