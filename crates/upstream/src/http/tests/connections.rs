//! Connections: reused, replaced, refused.

use std::sync::mpsc;

use super::{
    server::{Step, loopback, serve, serve_tls},
    *,
};
use crate::AddressPolicy;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CLOSE: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
const REQUEST: &str = "POST /v1/x HTTP/1.1 {}";

#[tokio::test]
async fn a_connection_is_reused_for_the_next_request() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let none = "HTTP/1.1 204 No Content\r\n\r\n";
    let (ok, chunked, none) = (Step::write(OK), Step::write(chunked), Step::write(none));
    let read_request = Step::Read;
    let script = vec![
        read_request.clone(),
        ok.clone(),
        read_request.clone(),
        chunked,
        read_request.clone(),
        none,
        read_request,
        ok,
    ];
    let (target, server) = serve(vec![script]).await;
    let client = HttpClient::new(settings());
    for expected in ["200 ok", "200 ok", "204 ", "200 ok"] {
        assert_eq!(fetch(&client, &target).await, expected);
        assert_eq!(client.idle_connections(), 1);
    }
    assert_eq!(server.await.expect("server finished"), [[REQUEST; 4]]);
}

#[tokio::test]
async fn a_connection_that_cannot_be_reused_is_closed() {
    let table = [
        ("connection: close", CLOSE.to_owned()),
        ("HTTP/1.0", OK.replace("1.1", "1.0")),
        ("bytes after the body", format!("{OK}more")),
        ("a second response", format!("{OK}{OK}")),
        ("body until close", "HTTP/1.1 200 OK\r\n\r\nok".to_owned()),
    ];
    for (why, reply) in table {
        let script = vec![Step::Read, Step::write(&reply)];
        let (target, server) = serve(vec![script, vec![Step::Read, Step::write(CLOSE)]]).await;
        let client = HttpClient::new(settings());
        assert_eq!(fetch(&client, &target).await, "200 ok", "{why}");
        assert_eq!(client.idle_connections(), 0, "{why}");
        assert_eq!(fetch(&client, &target).await, "200 ok", "{why}");
        assert_eq!(server.await.expect("server finished"), [[REQUEST], [REQUEST]], "{why}");
    }
}

#[tokio::test]
async fn a_connection_that_closed_while_idle_is_replaced_once() {
    let good = vec![Step::Read, Step::write(CLOSE)];
    let read_twice = vec![Step::Read, Step::write(OK), Step::Read];
    let table = [
        // It closes while idle: nothing is sent on it.
        (Method::POST, vec![Step::Read, Step::write(OK)], Some(good.clone()), "200 ok"),
        // It closes after it has read the request. Only a method that changes nothing is sent again.
        (Method::GET, read_twice.clone(), Some(good.clone()), "200 ok"),
        (Method::POST, read_twice.clone(), None, "head closed MaybeSent"),
        (Method::DELETE, read_twice.clone(), None, "head closed MaybeSent"),
        // The new one closes, too: there is no second retry.
        (Method::GET, read_twice.clone(), Some(vec![Step::Read]), "head closed MaybeSent"),
        // A byte of a response had arrived.
        (
            Method::GET,
            [read_twice.clone(), vec![Step::write("H")]].concat(),
            None,
            "head closed MaybeSent",
        ),
        // It sent something that is not a response.
        (
            Method::GET,
            [read_twice, vec![Step::write("?")]].concat(),
            None,
            "head malformed MaybeSent",
        ),
    ];
    for (method, first, second, expected) in table {
        let scripts = [first].into_iter().chain(second).collect();
        let (target, server) = serve(scripts).await;
        let client = HttpClient::new(settings());
        assert_eq!(fetch(&client, &target).await, "200 ok");
        assert_eq!(client.idle_connections(), 1);
        assert_eq!(fetch_with(&client, &target, method.clone()).await, expected, "{method}");
        server.await.expect("server finished");
    }
}

/// Serves one connection in a thread of its own. The receiver gets what was received, once the
/// connection and the port are closed.
fn serve_in_thread(
    script: Vec<Step>,
    is_tls: bool,
) -> (NetworkTarget, mpsc::Receiver<Vec<Vec<String>>>) {
    let (target_sender, targets) = mpsc::channel();
    let (end_sender, end) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let (target, server) = match is_tls {
                true => serve_tls(vec![script]).await,
                false => serve(vec![script]).await,
            };
            target_sender.send(target).expect("the test waits for the target");
            let _ = end_sender.send(server.await.expect("server finished"));
        });
    });
    (targets.recv_timeout(LONG).expect("the server starts"), end)
}

#[tokio::test]
async fn a_close_that_the_runtime_has_not_noticed_yet_is_seen_before_the_next_request() {
    let roots = TrustedRoots::default().with_system(include_bytes!("tls/certificate.pem"));
    let network =
        NetworkConfig { roots: roots.expect("a certificate"), ..NetworkConfig::default() };
    for (is_tls, last) in [(false, None), (true, None), (true, Some(Step::CloseNotify))] {
        let script = [Step::Read, Step::write(OK)].into_iter().chain(last).collect();
        let (target, end) = serve_in_thread(script, is_tls);
        let client = match is_tls {
            true => HttpClient::new(settings()).with_network(&network),
            false => HttpClient::new(settings()),
        };
        assert_eq!(fetch(&client, &target).await, "200 ok");
        assert_eq!(client.idle_connections(), 1);
        // This blocks the only thread of the runtime, which therefore learns nothing of the close.
        let received = end.recv_timeout(LONG).expect("the server closes the connection");
        assert_eq!(received, [[REQUEST]]);
        // Nothing is sent on the old connection. For a new one there is no port.
        assert_eq!(fetch(&client, &target).await, "connect failed NotSent", "TLS: {is_tls}");
    }
}

#[tokio::test]
async fn a_new_connection_that_closes_is_not_retried() {
    let (target, server) = serve(vec![vec![Step::Read], vec![]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(fetch(&client, &target).await, "head closed MaybeSent");
    server.abort();
}

#[tokio::test]
async fn idle_connections_are_limited_in_number_and_time() {
    for (max_idle, idle_time, expected) in
        [(2, LONG, 2), (0, LONG, 0), (9, LONG, 4), (9, Duration::ZERO, 1)]
    {
        let client = HttpClient::new(HttpSettings {
            max_idle_connections: max_idle,
            connection_idle: idle_time,
            ..settings()
        });
        // Four at a time: no response arrives before all requests are sent.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let target = loopback(port);
        let server = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;
            let mut streams = Vec::new();
            for _ in 0..4 {
                streams.push(listener.accept().await.expect("a connection").0);
            }
            for stream in &mut streams {
                stream.write_all(OK.as_bytes()).await.expect("written");
            }
            streams
        });
        let (one, two, three, four) = tokio::join!(
            fetch(&client, &target),
            fetch(&client, &target),
            fetch(&client, &target),
            fetch(&client, &target)
        );
        assert_eq!([one, two, three, four], ["200 ok"; 4]);
        assert_eq!(client.idle_connections(), expected, "{max_idle} {idle_time:?}");
        let _streams = server.await.expect("server finished");
        client.close_expired_connections();
        assert_eq!(client.idle_connections(), if idle_time == LONG { expected } else { 0 });
    }
}

#[tokio::test]
async fn closed_connections_are_removed_from_the_pool() {
    let (target, server) = serve(vec![vec![Step::Read, Step::write(OK)]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(fetch(&client, &target).await, "200 ok");
    server.await.expect("server finished");
    // The runtime needs a turn to notice the close.
    while client.idle_connections() > 0 {
        tokio::task::yield_now().await;
        client.close_expired_connections();
    }
}

#[tokio::test]
async fn a_forbidden_address_is_not_connected_to() {
    let (target, server) = serve(vec![vec![Step::Read, Step::write(CLOSE)]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(fetch(&client, &target).await, "200 ok");
    server.await.expect("server finished");
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "0.0.0.0"] {
        let target =
            NetworkTarget { host: host.into(), addresses: AddressPolicy::Public, ..target.clone() };
        assert_eq!(fetch(&client, &target).await, "address forbidden NotSent", "{host}");
    }
    for host in ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::]", "[64:ff9b::a9fe:a9fe]"] {
        let target = NetworkTarget { host: host.into(), ..target.clone() };
        assert_eq!(fetch(&client, &target).await, "address forbidden NotSent", "{host}");
    }
}

#[tokio::test]
async fn a_private_connection_is_not_reused_for_a_public_target() {
    let (target, server) = serve(vec![vec![Step::Read, Step::write(OK), Step::Wait]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(fetch(&client, &target).await, "200 ok");
    assert_eq!(client.idle_connections(), 1);
    let strict = NetworkTarget { addresses: AddressPolicy::Public, ..target };
    assert_eq!(fetch(&client, &strict).await, "address forbidden NotSent");
    drop(client);
    server.await.expect("server finished");
}

#[tokio::test]
async fn an_invalid_request_is_not_sent() {
    let target = loopback(1);
    let client = HttpClient::new(settings());
    let headers = HeaderMap::new();
    for path in ["/a\r\nx: y", "/a b", ""] {
        let request =
            HttpRequest { method: Method::POST, path, headers: &headers, body: Bytes::new() };
        let error = client.send(&target, request).await.expect_err("refused");
        assert_eq!(describe(&error), "send forbidden NotSent");
    }
    assert_eq!(fetch(&client, &target).await, "connect failed NotSent");
}

#[test]
fn requests_and_responses_are_send() {
    fn assert_send<T: Send>(_: &T) {}
    let client = HttpClient::new(settings());
    let target = loopback(1);
    assert_send(&post(&client, &target, Bytes::new()));
    assert_send(&std::marker::PhantomData::<(HttpClient, HttpResponse, HttpError)>);
}
