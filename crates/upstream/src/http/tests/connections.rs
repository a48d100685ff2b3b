//! Connections: used again, replaced, refused.

use super::{
    server::{Step, loopback, serve},
    *,
};
use crate::AddressPolicy;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CLOSE: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
const REQUEST: &str = "POST /v1/x HTTP/1.1 {}";

#[tokio::test]
async fn a_connection_carries_one_request_after_the_other() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let none = "HTTP/1.1 204 No Content\r\n\r\n";
    let (ok, chunked, none) = (Step::say(OK), Step::say(chunked), Step::say(none));
    let hear = Step::Hear;
    let play = vec![hear.clone(), ok.clone(), hear.clone(), chunked, hear.clone(), none, hear, ok];
    let (target, playing) = serve(vec![play]).await;
    let client = HttpClient::new(settings());
    for expected in ["200 ok", "200 ok", "204 ", "200 ok"] {
        assert_eq!(ask(&client, &target).await, expected);
        assert_eq!(client.idle_connections(), 1);
    }
    assert_eq!(playing.await.expect("played"), [[REQUEST; 4]]);
}

#[tokio::test]
async fn a_connection_that_must_not_be_used_again_is_not() {
    let table = [
        ("it says so", CLOSE.to_owned()),
        ("it is old", OK.replace("1.1", "1.0")),
        ("more came than was said", format!("{OK}more")),
        ("a second reply came", format!("{OK}{OK}")),
        ("only its end ends the reply", "HTTP/1.1 200 OK\r\n\r\nok".to_owned()),
    ];
    for (why, reply) in table {
        let play = vec![Step::Hear, Step::say(&reply)];
        let (target, playing) = serve(vec![play, vec![Step::Hear, Step::say(CLOSE)]]).await;
        let client = HttpClient::new(settings());
        assert_eq!(ask(&client, &target).await, "200 ok", "{why}");
        assert_eq!(client.idle_connections(), 0, "{why}");
        assert_eq!(ask(&client, &target).await, "200 ok", "{why}");
        assert_eq!(playing.await.expect("played"), [[REQUEST], [REQUEST]], "{why}");
    }
}

#[tokio::test]
async fn a_connection_that_closed_while_it_rested_is_replaced_once() {
    let good = vec![Step::Hear, Step::say(CLOSE)];
    let table = [
        // It closes at rest: nothing is sent on it.
        (vec![Step::Hear, Step::say(OK)], Some(good.clone()), "200 ok"),
        // It closes while the request is on its way.
        (vec![Step::Hear, Step::say(OK), Step::Hear], Some(good.clone()), "200 ok"),
        // The new one closes as well: once is enough.
        (
            vec![Step::Hear, Step::say(OK), Step::Hear],
            Some(vec![Step::Hear]),
            "head closed MaybeSent",
        ),
        // A byte of a reply had come.
        (
            vec![Step::Hear, Step::say(OK), Step::Hear, Step::say("H")],
            None,
            "head closed MaybeSent",
        ),
        // It was sent something that is no reply.
        (
            vec![Step::Hear, Step::say(OK), Step::Hear, Step::say("?")],
            None,
            "head malformed MaybeSent",
        ),
    ];
    for (first, second, expected) in table {
        let plays = [first].into_iter().chain(second).collect();
        let (target, playing) = serve(plays).await;
        let client = HttpClient::new(settings());
        assert_eq!(ask(&client, &target).await, "200 ok");
        assert_eq!(client.idle_connections(), 1);
        assert_eq!(ask(&client, &target).await, expected);
        playing.await.expect("played");
    }
}

#[tokio::test]
async fn a_new_connection_that_closes_is_not_tried_again() {
    let (target, playing) = serve(vec![vec![Step::Hear], vec![]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(ask(&client, &target).await, "head closed MaybeSent");
    playing.abort();
}

#[tokio::test]
async fn only_so_many_connections_rest_and_only_so_long() {
    for (most_resting, resting, expected) in
        [(2, LONG, 2), (0, LONG, 0), (9, LONG, 4), (9, Duration::ZERO, 1)]
    {
        let client = HttpClient::new(HttpSettings {
            max_idle_connections: most_resting,
            connection_idle: resting,
            ..settings()
        });
        // Four at a time: no reply comes before all have asked.
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
            ask(&client, &target),
            ask(&client, &target),
            ask(&client, &target),
            ask(&client, &target)
        );
        assert_eq!([one, two, three, four], ["200 ok"; 4]);
        assert_eq!(client.idle_connections(), expected, "{most_resting} {resting:?}");
        let _streams = server.await.expect("played");
        client.close_expired_connections();
        assert_eq!(client.idle_connections(), if resting == LONG { expected } else { 0 });
    }
}

#[tokio::test]
async fn a_swept_client_lets_go_of_connections_that_closed() {
    let (target, playing) = serve(vec![vec![Step::Hear, Step::say(OK)]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(ask(&client, &target).await, "200 ok");
    playing.await.expect("played");
    // The news that it closed needs a turn of the loop.
    while client.idle_connections() > 0 {
        tokio::task::yield_now().await;
        client.close_expired_connections();
    }
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_not_connected_to() {
    let (target, playing) = serve(vec![vec![Step::Hear, Step::say(CLOSE)]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(ask(&client, &target).await, "200 ok");
    playing.await.expect("played");
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "0.0.0.0"] {
        let target =
            NetworkTarget { host: host.into(), addresses: AddressPolicy::Public, ..target.clone() };
        assert_eq!(ask(&client, &target).await, "address forbidden NotSent", "{host}");
    }
    for host in ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::]", "[64:ff9b::a9fe:a9fe]"] {
        let target = NetworkTarget { host: host.into(), ..target.clone() };
        assert_eq!(ask(&client, &target).await, "address forbidden NotSent", "{host}");
    }
}

#[tokio::test]
async fn a_connection_that_a_loose_rule_allowed_is_not_for_a_strict_one() {
    let (target, playing) = serve(vec![vec![Step::Hear, Step::say(OK), Step::Wait]]).await;
    let client = HttpClient::new(settings());
    assert_eq!(ask(&client, &target).await, "200 ok");
    assert_eq!(client.idle_connections(), 1);
    let strict = NetworkTarget { addresses: AddressPolicy::Public, ..target };
    assert_eq!(ask(&client, &strict).await, "address forbidden NotSent");
    drop(client);
    playing.await.expect("played");
}

#[tokio::test]
async fn a_request_that_cannot_be_written_is_not_sent() {
    let target = loopback(1);
    let client = HttpClient::new(settings());
    let headers = HeaderMap::new();
    for path in ["/a\r\nx: y", "/a b", ""] {
        let request =
            HttpRequest { method: Method::POST, path, headers: &headers, body: Bytes::new() };
        let error = client.send(&target, request).await.expect_err("refused");
        assert_eq!(told(&error), "send forbidden NotSent");
    }
    assert_eq!(ask(&client, &target).await, "connect failed NotSent");
}

#[test]
fn requests_and_replies_may_move_between_threads() {
    fn moves<T: Send>(_: &T) {}
    let client = HttpClient::new(settings());
    let target = loopback(1);
    moves(&post(&client, &target, Bytes::new()));
    moves(&std::marker::PhantomData::<(HttpClient, HttpResponse, HttpError)>);
}
