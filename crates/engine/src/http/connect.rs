//! Makes a connection: looks up the name, checks the addresses, connects to one of exactly those.

use std::{
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use rustls::ClientConfig;
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, sleep, timeout_at},
};
use tokio_rustls::TlsConnector;

use crate::{
    config::Target,
    http::{
        HttpError, Kind, Reached, Stage,
        address::is_allowed,
        connection::{Connection, Link},
        request::bare,
        tls,
    },
};

/// More than anybody waits, and little enough to be added to now.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an address may say nothing before the next one is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);
/// How many addresses of a name are tried.
const MOST: usize = 8;

/// A new connection to a target, within a time.
pub(super) async fn connect(
    target: &Target,
    within: Duration,
    encryption: &Result<Arc<ClientConfig>, rustls::Error>,
) -> Result<Connection, HttpError> {
    let deadline = Instant::now() + within.min(LONGEST);
    let addresses = resolve(target, deadline).await?;
    let stream = first_of(&addresses, deadline).await?;
    if !target.tls {
        return Ok(Connection::new(Link::Plain(stream)));
    }
    let config = encryption.as_ref().map_err(|error| {
        HttpError::before(Stage::Tls, Kind::Failed, "it cannot be set up").because(error.clone())
    })?;
    let connector = TlsConnector::from(Arc::clone(config));
    let shaking = connector.connect(tls::name(bare(&target.host))?, stream);
    match timeout_at(deadline, shaking).await {
        Ok(Ok(stream)) => Ok(Connection::new(Link::Tls(Box::new(stream)))),
        Ok(Err(error)) => Err(HttpError::system(Stage::Tls, Reached::No, error)),
        Err(_) => Err(late(Stage::Tls)),
    }
}

/// The addresses of a target that may be connected to; at least one.
async fn resolve(target: &Target, deadline: Instant) -> Result<Vec<SocketAddr>, HttpError> {
    let host = bare(&target.host);
    let mut addresses: Vec<SocketAddr> = if let Ok(address) = host.parse::<IpAddr>() {
        vec![(address, target.port).into()]
    } else {
        match timeout_at(deadline, lookup_host((host, target.port))).await {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => return Err(HttpError::system(Stage::Resolve, Reached::No, error)),
            Err(_) => return Err(late(Stage::Resolve)),
        }
    };
    if addresses.is_empty() {
        return Err(HttpError::before(Stage::Resolve, Kind::Failed, "the name has no address"));
    }
    addresses.retain(|address| is_allowed(address.ip(), target.addresses));
    if addresses.is_empty() {
        let detail = "the address is not allowed for this upstream";
        return Err(HttpError::before(Stage::Address, Kind::Forbidden, detail));
    }
    addresses.truncate(MOST);
    Ok(addresses)
}

/// Connects to the address that answers first. Each begins when the one before it has failed, or
/// has said nothing for a while: an address that never answers costs that while and no more.
async fn first_of(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, HttpError> {
    let open = async |address: SocketAddr| {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    match timeout_at(deadline, race(addresses, |address| Box::pin(open(address)))).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(HttpError::system(Stage::Connect, Reached::No, error)),
        Err(_) => Err(late(Stage::Connect)),
    }
}

/// The first that succeeds, or the last error.
async fn race<T, F>(addresses: &[SocketAddr], open: impl Fn(SocketAddr) -> F) -> io::Result<T>
where
    F: Future<Output = io::Result<T>> + Unpin,
{
    let mut waiting = addresses.iter();
    let mut running: Vec<F> = Vec::new();
    let mut pause = pin!(sleep(HEAD_START));
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
                    pause.as_mut().reset(Instant::now() + HEAD_START);
                }
                None if running.is_empty() => {
                    let nobody = || io::ErrorKind::AddrNotAvailable.into();
                    return Poll::Ready(Err(failed.unwrap_or_else(nobody)));
                }
                None => return Poll::Pending,
            }
        }
    })
    .await
}

fn late(stage: Stage) -> HttpError {
    HttpError::before(stage, Kind::Late, "it took too long")
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::config::Addresses;

    fn target(host: &str, port: u16, addresses: Addresses) -> Target {
        Target { tls: false, host: host.into(), port, prefix: "".into(), addresses }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test]
    async fn a_connection_sends_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let target = target("127.0.0.1", port, Addresses::Private);
        let encryption = tls::usual();
        let connection =
            connect(&target, Duration::from_secs(60), &encryption).await.expect("connected");
        let Link::Plain(stream) = connection.link() else { panic!("not encrypted") };
        assert!(stream.nodelay().expect("an option"));
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_refuses() {
        let dead = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let closed = dead.local_addr().expect("an address");
        drop(dead);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let open = listener.local_addr().expect("an address");
        let stream = first_of(&[closed, open], soon()).await.expect("connected");
        assert_eq!(stream.peer_addr().expect("an address"), open);
        let error = first_of(&[closed, closed], soon()).await.expect_err("nobody there");
        assert_eq!((error.stage, error.reached), (Stage::Connect, Reached::No));
    }

    #[tokio::test]
    async fn an_address_that_never_answers_does_not_hold_up_the_next() {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        // Port 1 never answers, port 2 refuses, port 3 answers.
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
            assert_eq!(race(&addresses, open).await.ok(), expected, "{ports:?}");
        }
    }

    #[tokio::test]
    async fn addresses_are_checked_before_anything_is_connected() {
        let table = [
            ("127.0.0.1", Addresses::Private, "127.0.0.1:80"),
            ("[::1]", Addresses::Private, "[::1]:80"),
            ("1.1.1.1", Addresses::Public, "1.1.1.1:80"),
            ("127.0.0.1", Addresses::Public, "address"),
            ("localhost", Addresses::Public, "address"),
            ("[::ffff:169.254.169.254]", Addresses::Private, "address"),
            ("169.254.169.254", Addresses::Private, "address"),
            // Other ways to write loopback: either not a name, or checked like any other.
            ("0x7f.1", Addresses::Public, "not connected"),
            ("2130706433", Addresses::Public, "not connected"),
            ("127.1", Addresses::Public, "not connected"),
        ];
        for (host, addresses, expected) in table {
            let found = match resolve(&target(host, 80, addresses), soon()).await {
                Ok(addresses) => format!("{}", addresses[0]),
                Err(error) if expected == "not connected" => {
                    assert!(matches!(error.stage, Stage::Address | Stage::Resolve), "{host}");
                    expected.to_owned()
                }
                Err(error) => error.stage.name().to_owned(),
            };
            assert_eq!(found, expected, "{host}");
        }
    }
}
