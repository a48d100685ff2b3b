//! Takes connections and speaks HTTP/1.1 on them, whoever answers: how many there may be, how long
//! a client may take, and what happens when it is time to stop.
//!
//! A loop of our own, because every one of these limits has to hold before a request is there.

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

use bytes::Bytes;
use foxwedge_engine::{
    config::{GatewayLimits, GatewayTimeouts},
    metrics::{ConnectionRefusal, Metrics},
};
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::Instant,
};

use connection::ClientConnection;
use connection_limit::ConnectionLimit;

/// What a client may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionRules {
    /// Connections in all.
    pub connections: usize,
    /// Connections from one address; loopback is not counted.
    pub per_address: usize,
    /// Bytes of a head.
    pub head_bytes: usize,
    /// A head has to be there.
    pub head: Duration,
    /// A connection may rest between requests.
    pub keep_alive: Duration,
    /// A client that does not read is let go.
    pub write: Duration,
    /// Requests may finish after the wish to stop.
    pub drain: Duration,
}

impl ConnectionRules {
    /// Those of a configuration.
    pub fn from_config(limits: &GatewayLimits, times: &GatewayTimeouts) -> ConnectionRules {
        ConnectionRules {
            connections: limits.connections,
            per_address: limits.per_address,
            head_bytes: limits.head,
            head: times.head,
            keep_alive: times.keep_alive,
            write: times.write,
            drain: times.drain,
        }
    }
}

/// The two ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionAddresses {
    /// Where the client is.
    pub remote: SocketAddr,
    /// Where it came to.
    pub local: SocketAddr,
}

/// What happened to the requests that were at work when it was time to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DrainReport {
    /// They came to their end.
    pub finished: usize,
    /// They took too long and were cut.
    pub cut: usize,
}

/// Takes connections until `stop`, and lets requests that are at work finish. Everything that was
/// started here is over when it returns.
pub async fn accept<F, R, B>(
    listener: TcpListener,
    rules: ConnectionRules,
    meter: Metrics,
    answer: F,
    stop: impl Future<Output = ()>,
) -> DrainReport
where
    F: Fn(Request<Incoming>, ConnectionAddresses) -> R + Clone + Send + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let seats = Arc::new(ConnectionLimit::new(rules.connections, rules.per_address));
    let at_work = Arc::new(AtomicUsize::new(0));
    let (stopping, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut stop = pin!(stop);
    let mut pause = AcceptBackoff::default();
    loop {
        let socket = tokio::select! {
            biased;
            () = &mut stop => break,
            // Only so that what is over leaves the set.
            Some(_) = tasks.join_next() => continue,
            taken = listener.accept() => taken,
        };
        let (socket, remote) = match socket {
            Ok(taken) => taken,
            Err(error) => {
                meter.count_refused(ConnectionRefusal::Accept);
                tokio::select! {
                    () = &mut stop => break,
                    () = pause.wait_after(&error) => continue,
                }
            }
        };
        pause = AcceptBackoff::default();
        // A connection without a seat is closed by dropping it.
        let (seat, peer) = match (seats.take(remote.ip()), connection_addresses(&socket, remote)) {
            (Ok(seat), Ok(peer)) => (seat, peer),
            (Err(refusal), _) => {
                meter.count_refused(refusal);
                continue;
            }
            (_, Err(_)) => continue,
        };
        let connection = ClientConnection {
            rules,
            peer,
            answer: answer.clone(),
            at_work: at_work.clone(),
            stopped: stopped.clone(),
        };
        let metered = meter.track_connection();
        tasks.spawn(async move {
            connection.run(socket).await;
            drop((seat, metered));
        });
    }
    // Whoever comes now is sent away by the system, and can go elsewhere.
    drop(listener);
    let before = at_work.load(Ordering::Relaxed);
    stopping.send_replace(true);
    let deadline = Instant::now() + rules.drain;
    let everything = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout_at(deadline, everything).await;
    let cut = at_work.load(Ordering::Relaxed);
    tasks.shutdown().await;
    DrainReport { finished: before.saturating_sub(cut), cut }
}

/// Small pieces go out at once; nobody waits for them to be worth a packet.
fn connection_addresses(socket: &TcpStream, remote: SocketAddr) -> io::Result<ConnectionAddresses> {
    socket.set_nodelay(true)?;
    Ok(ConnectionAddresses { remote, local: socket.local_addr()? })
}

/// What to do about a connection that cannot be taken: without file descriptors the next try
/// fails just as fast.
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
    async fn every_socket_sends_small_pieces_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("somebody listens");
        let (socket, remote) = listener.accept().await.expect("somebody came");
        assert!(!socket.nodelay().expect("an option"));
        let peer = connection_addresses(&socket, remote).expect("two addresses");
        assert!(socket.nodelay().expect("an option"));
        assert_eq!(
            peer,
            ConnectionAddresses { remote: client.local_addr().expect("one"), local: address }
        );
    }
}
