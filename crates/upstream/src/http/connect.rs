//! Opens connections: looks up the name, checks the addresses, connects to one of exactly those,
//! opens a tunnel where there is a proxy, and encrypts.

use std::{
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http::Method;
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, sleep, timeout_at},
};
use tokio_rustls::TlsConnector;

use crate::{
    NetworkTarget,
    http::{
        HttpError, HttpErrorKind, HttpSettings, HttpStage, ProxyServer, RequestDelivery,
        TrustedRoots,
        address::is_allowed,
        connection::{ConnectionStream, UnsentRequest, UpstreamConnection},
        exchange::ConnectionExchange,
        request::{encode_connect, without_brackets},
        tls,
    },
};

/// Longer than any wait, and small enough to be added to the current time.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait for an address before the next one is tried in parallel.
const ADDRESS_DELAY: Duration = Duration::from_millis(250);
/// Maximum number of addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Opens a connection to a target, directly or through a proxy, with a timeout.
pub(super) async fn connect(
    target: &NetworkTarget,
    proxy: Option<&ProxyServer>,
    settings: &HttpSettings,
    roots: &TrustedRoots,
) -> Result<UpstreamConnection, HttpError> {
    let deadline = Instant::now() + settings.connect.min(MAX_TIMEOUT);
    let stream = match proxy {
        None => ConnectionStream::Plain(open_stream(target, deadline).await?),
        Some(proxy) => {
            check_literal(target)?;
            let opening = open_through(proxy, target, deadline, settings.max_head, roots);
            opening.await.map_err(|error| match error.stage {
                HttpStage::Proxy => error,
                _ => proxy.failure(error),
            })?
        }
    };
    let stream = if target.tls { encrypt(target, stream, deadline, roots).await? } else { stream };
    Ok(UpstreamConnection::new(stream))
}

/// Opens a connection to a proxy, and a tunnel to the target if that is encrypted.
async fn open_through(
    proxy: &ProxyServer,
    target: &NetworkTarget,
    deadline: Instant,
    max_head: usize,
    roots: &TrustedRoots,
) -> Result<ConnectionStream, HttpError> {
    let mut stream = ConnectionStream::Plain(open_stream(&proxy.target, deadline).await?);
    if proxy.target.tls {
        stream = encrypt(&proxy.target, stream, deadline, roots).await?;
    }
    if !target.tls {
        return Ok(stream);
    }
    let request = UnsentRequest::new(encode_connect(target, proxy)?, Bytes::new());
    let mut exchange = ConnectionExchange::new(UpstreamConnection::new(stream), request, max_head);
    let within = deadline.saturating_duration_since(Instant::now());
    let head = exchange.read_head(&Method::CONNECT, within).await?;
    // A success has no body: what follows belongs to the tunnel.
    if head.status.is_success() {
        exchange.connection.into_stream()
    } else {
        Err(proxy.refusal(head.status))
    }
}

/// The proxy looks up names. An address in the configuration is checked all the same.
fn check_literal(target: &NetworkTarget) -> Result<(), HttpError> {
    match without_brackets(&target.host).parse::<IpAddr>() {
        Ok(address) if !is_allowed(address, target.addresses) => Err(forbidden_address()),
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn open_stream(target: &NetworkTarget, deadline: Instant) -> Result<TcpStream, HttpError> {
    let addresses = resolve(target, deadline).await?;
    connect_to_first(&addresses, deadline).await
}

/// Encrypts a stream, whose other end must have a certificate for the target's name.
async fn encrypt(
    target: &NetworkTarget,
    stream: ConnectionStream,
    deadline: Instant,
    roots: &TrustedRoots,
) -> Result<ConnectionStream, HttpError> {
    let name = tls::server_name(without_brackets(&target.host))?;
    let shaking = async {
        let connector = TlsConnector::from(roots.client_config(target.identity.as_ref()).await?);
        let encrypted = match stream {
            ConnectionStream::Plain(stream) => {
                let stream = connector.connect(name, stream).await;
                stream.map(|stream| ConnectionStream::Tls(Box::new(stream)))
            }
            stream @ (ConnectionStream::Tls(_) | ConnectionStream::Tunnel(_)) => {
                let stream = connector.connect(name, stream).await;
                stream.map(|stream| ConnectionStream::Tunnel(Box::new(stream)))
            }
        };
        encrypted.map_err(HttpError::handshake)
    };
    match timeout_at(deadline, shaking).await {
        Ok(encrypted) => encrypted,
        Err(_) => Err(connect_timeout_error(HttpStage::Tls)),
    }
}

/// The addresses of a target that may be connected to; at least one.
async fn resolve(target: &NetworkTarget, deadline: Instant) -> Result<Vec<SocketAddr>, HttpError> {
    let host = without_brackets(&target.host);
    let mut addresses: Vec<SocketAddr> = if let Ok(address) = host.parse::<IpAddr>() {
        vec![(address, target.port).into()]
    } else {
        match timeout_at(deadline, lookup_host((host, target.port))).await {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => {
                return Err(HttpError::from_io(
                    HttpStage::Resolve,
                    RequestDelivery::NotSent,
                    error,
                ));
            }
            Err(_) => return Err(connect_timeout_error(HttpStage::Resolve)),
        }
    };
    if addresses.is_empty() {
        return Err(HttpError::before_send(
            HttpStage::Resolve,
            HttpErrorKind::Failed,
            "the name has no address",
        ));
    }
    addresses.retain(|address| is_allowed(address.ip(), target.addresses));
    if addresses.is_empty() {
        return Err(forbidden_address());
    }
    addresses.truncate(MAX_ADDRESSES);
    Ok(addresses)
}

/// Connects to the address that accepts first. Each attempt starts when the one before it has
/// failed or has been silent for a while, so that a dead address costs only that while.
async fn connect_to_first(
    addresses: &[SocketAddr],
    deadline: Instant,
) -> Result<TcpStream, HttpError> {
    let open = async |address: SocketAddr| {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    match timeout_at(deadline, first_success(addresses, |address| Box::pin(open(address)))).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => {
            Err(HttpError::from_io(HttpStage::Connect, RequestDelivery::NotSent, error))
        }
        Err(_) => Err(connect_timeout_error(HttpStage::Connect)),
    }
}

/// The first that succeeds, or the last error.
async fn first_success<T, F>(
    addresses: &[SocketAddr],
    open: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>> + Unpin,
{
    let mut waiting = addresses.iter();
    let mut running: Vec<F> = Vec::new();
    let mut pause = pin!(sleep(ADDRESS_DELAY));
    poll_fn(|context| {
        loop {
            let mut failed = None;
            let mut at = 0;
            while let Some(one) = running.get_mut(at) {
                match Pin::new(one).poll(context) {
                    Poll::Ready(Ok(opened)) => return Poll::Ready(Ok(opened)),
                    Poll::Ready(Err(error)) => {
                        failed = Some(error);
                        drop(running.swap_remove(at));
                    }
                    Poll::Pending => at += 1,
                }
            }
            let begin =
                failed.is_some() || running.is_empty() || pause.as_mut().poll(context).is_ready();
            match if begin { waiting.next() } else { None } {
                Some(address) => {
                    running.push(open(*address));
                    pause.as_mut().reset(Instant::now() + ADDRESS_DELAY);
                }
                None if running.is_empty() => {
                    let no_address = || io::ErrorKind::AddrNotAvailable.into();
                    return Poll::Ready(Err(failed.unwrap_or_else(no_address)));
                }
                None => return Poll::Pending,
            }
        }
    })
    .await
}

fn forbidden_address() -> HttpError {
    let detail = "the address is not allowed for this upstream";
    HttpError::before_send(HttpStage::Address, HttpErrorKind::Forbidden, detail)
}

fn connect_timeout_error(stage: HttpStage) -> HttpError {
    HttpError::before_send(stage, HttpErrorKind::Timeout, "it took too long")
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::AddressPolicy;

    fn target(host: &str, port: u16, addresses: AddressPolicy) -> NetworkTarget {
        let (host, prefix) = (host.into(), "".into());
        NetworkTarget { tls: false, host, port, prefix, addresses, identity: None }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test]
    async fn a_connection_sends_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let target = target("127.0.0.1", port, AddressPolicy::Private);
        let (settings, roots) = (HttpSettings::default(), TrustedRoots::default());
        let connection = connect(&target, None, &settings, &roots).await.expect("connected");
        let ConnectionStream::Plain(stream) = connection.stream() else { panic!("not encrypted") };
        assert!(stream.nodelay().expect("an option"));
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_refuses() {
        let dead = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let closed = dead.local_addr().expect("an address");
        drop(dead);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let open = listener.local_addr().expect("an address");
        let stream = connect_to_first(&[closed, open], soon()).await.expect("connected");
        assert_eq!(stream.peer_addr().expect("an address"), open);
        let error = connect_to_first(&[closed, closed], soon()).await.expect_err("no listener");
        assert_eq!((error.stage, error.delivery), (HttpStage::Connect, RequestDelivery::NotSent));
        assert_eq!(error.to_string(), "connecting to the upstream: the connection was refused");
    }

    #[tokio::test]
    async fn a_silent_address_does_not_delay_the_next() {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        // Port 1 never responds, port 2 refuses, port 3 accepts.
        let open = |address: SocketAddr| {
            Box::pin(async move {
                match address.port() {
                    1 => std::future::pending().await,
                    2 => Err(io::ErrorKind::ConnectionRefused.into()),
                    port => Ok(port),
                }
            })
        };
        let table: [(&[u16], Option<u16>); 5] = [
            (&[], None),
            (&[2, 2], None),
            (&[3], Some(3)),
            (&[1, 3], Some(3)),
            (&[2, 1, 2, 3], Some(3)),
        ];
        for (ports, expected) in table {
            let addresses: Vec<SocketAddr> = ports.iter().map(|port| address(*port)).collect();
            assert_eq!(first_success(&addresses, open).await.ok(), expected, "{ports:?}");
        }
    }

    #[tokio::test]
    async fn addresses_are_checked_before_anything_is_connected() {
        let table = [
            ("127.0.0.1", AddressPolicy::Private, "127.0.0.1:80"),
            ("[::1]", AddressPolicy::Private, "[::1]:80"),
            ("1.1.1.1", AddressPolicy::Public, "1.1.1.1:80"),
            ("127.0.0.1", AddressPolicy::Public, "address"),
            ("localhost", AddressPolicy::Public, "address"),
            ("[::ffff:169.254.169.254]", AddressPolicy::Private, "address"),
            ("169.254.169.254", AddressPolicy::Private, "address"),
            // Other ways to write loopback: either not a name, or checked like any other.
            ("0x7f.1", AddressPolicy::Public, "not connected"),
            ("2130706433", AddressPolicy::Public, "not connected"),
            ("127.1", AddressPolicy::Public, "not connected"),
        ];
        for (host, addresses, expected) in table {
            let found = match resolve(&target(host, 80, addresses), soon()).await {
                Ok(addresses) => format!("{}", addresses[0]),
                Err(error) if expected == "not connected" => {
                    assert!(
                        matches!(error.stage, HttpStage::Address | HttpStage::Resolve),
                        "{host}"
                    );
                    expected.to_owned()
                }
                Err(error) => error.stage.name().to_owned(),
            };
            assert_eq!(found, expected, "{host}");
        }
    }
}
