//! Accepts connections and serves HTTP/1.1 on them: limits how many there are and how long a
//! client may take, and drains them on shutdown.
//!
//! We run our own accept loop because these limits must apply before a request has arrived.

mod connection;
mod timers;
mod connection_limit;
mod socket;

use std::{
    error::Error,
    future::Future,
    io,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{
    config::{GatewayLimits, GatewayTimeouts},
    metrics::{ConnectionRefusal, Metrics},
};
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};

use connection::ClientConnection;
use connection_limit::ConnectionLimit;

/// Limits of client connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionRules {
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum number of connections from one address; loopback is not counted.
    pub per_address: usize,
    /// Maximum size of a request head in bytes.
    pub head_bytes: usize,
    /// Time until the request head must be complete.
    pub head: Duration,
    /// How long a connection may be idle between requests.
    pub keep_alive: Duration,
    /// How long a write may stall before the connection is closed.
    pub write: Duration,
    /// How long requests in flight may take after the stop signal.
    pub drain: Duration,
    /// How much of that time connections are still accepted.
    pub accept_after_stop: Duration,
}

impl ConnectionRules {
    /// Takes the limits from a configuration.
    pub fn from_config(limits: &GatewayLimits, times: &GatewayTimeouts) -> ConnectionRules {
        ConnectionRules {
            connections: limits.connections,
            per_address: limits.connections_per_address,
            head_bytes: limits.request_head,
            head: times.request_head,
            keep_alive: times.keep_alive,
            write: times.client_write,
            drain: times.shutdown,
            accept_after_stop: times.shutdown_delay.min(times.shutdown),
        }
    }
}

/// The two ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionAddresses {
    /// Address of the client.
    pub remote: SocketAddr,
    /// Address on which we accepted it.
    pub local: SocketAddr,
}

/// What happened to the requests in flight at shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DrainReport {
    /// Requests that finished.
    pub finished: usize,
    /// Requests that took too long and were cut off.
    pub cut: usize,
}

/// How long requests whose time is over may take to send their clients an error.
const CUT_TIMEOUT: Duration = Duration::from_secs(3);

/// Accepts connections until `stop` completes and for the time after it that the rules give, then
/// lets requests in flight finish. `cut` is called when some take too long: it asks them to end with
/// an error. A moment later they are cut off. All tasks that it started have ended when it returns.
pub async fn accept<F, R, B>(
    listener: TcpListener,
    rules: ConnectionRules,
    metrics: Metrics,
    handler: F,
    stop: impl Future<Output = ()>,
    cut: impl FnOnce(),
) -> DrainReport
where
    F: Fn(Request<Incoming>, ConnectionAddresses) -> R + Clone + Send + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let limit = Arc::new(ConnectionLimit::new(rules.connections, rules.per_address));
    let in_flight = Arc::new(AtomicUsize::new(0));
    let (stopping, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    // When requests in flight are cut off, once nothing more is accepted.
    let mut stop = pin!(async {
        stop.await;
        let stopped_at = Instant::now();
        tokio::time::sleep(rules.accept_after_stop).await;
        stopped_at + rules.drain
    });
    let mut backoff = AcceptBackoff::default();
    let deadline = loop {
        let socket = tokio::select! {
            biased;
            deadline = &mut stop => break deadline,
            // Removes finished tasks from the set.
            Some(_) = tasks.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (socket, remote) = match socket {
            Ok(accepted) => accepted,
            Err(error) => {
                metrics.count_refused(ConnectionRefusal::Accept);
                tokio::select! {
                    deadline = &mut stop => break deadline,
                    () = backoff.wait_after(&error) => continue,
                }
            }
        };
        backoff = AcceptBackoff::default();
        // Dropping the socket closes a connection that exceeds the limit.
        let (permit, peer) = match (limit.take(remote.ip()), connection_addresses(&socket, remote))
        {
            (Ok(permit), Ok(peer)) => (permit, peer),
            (Err(refusal), _) => {
                metrics.count_refused(refusal);
                continue;
            }
            (_, Err(_)) => continue,
        };
        let connection = ClientConnection {
            rules,
            peer,
            handler: handler.clone(),
            in_flight: in_flight.clone(),
            stopped: stopped.clone(),
        };
        let gauge = metrics.track_connection();
        tasks.spawn(async move {
            connection.run(socket).await;
            drop((permit, gauge));
        });
    };
    // The system refuses new connections from now on, so clients can go elsewhere.
    drop(listener);
    let in_flight_at_stop = in_flight.load(Ordering::Relaxed);
    stopping.send_replace(true);
    let cut_count = {
        let mut all_tasks = pin!(async { while tasks.join_next().await.is_some() {} });
        let cut_count = match timeout_at(deadline, &mut all_tasks).await {
            Ok(()) => 0,
            Err(_) => in_flight.load(Ordering::Relaxed),
        };
        if cut_count > 0 {
            cut();
            let _ = timeout(CUT_TIMEOUT, all_tasks).await;
        }
        cut_count
    };
    tasks.shutdown().await;
    DrainReport { finished: in_flight_at_stop.saturating_sub(cut_count), cut: cut_count }
}

/// Sets TCP_NODELAY, so that small chunks are sent at once, and returns both addresses.
fn connection_addresses(socket: &TcpStream, remote: SocketAddr) -> io::Result<ConnectionAddresses> {
    socket.set_nodelay(true)?;
    Ok(ConnectionAddresses { remote, local: socket.local_addr()? })
}

/// Delays the next accept after an error: without free file descriptors it would fail again at
/// once.
#[derive(Default)]
struct AcceptBackoff(u32);

impl AcceptBackoff {
    async fn wait_after(&mut self, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted => tokio::task::yield_now().await,
            _ => {
                let pause = Duration::from_millis(10 << self.0.min(6));
                self.0 += 1;
                tokio::time::sleep(pause).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_socket_sends_small_chunks_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("somebody listens");
        let (socket, remote) = listener.accept().await.expect("somebody came");
        assert!(!socket.nodelay().expect("an option"));
        let addresses = connection_addresses(&socket, remote).expect("two addresses");
        assert!(socket.nodelay().expect("an option"));
        assert_eq!(
            addresses,
            ConnectionAddresses { remote: client.local_addr().expect("one"), local: address }
        );
    }
}
