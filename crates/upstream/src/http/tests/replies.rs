//! Responses: complete, split, cut off and invalid.

use std::{
    future::Future as _,
    pin::pin,
    task::{Context, Waker},
};

use super::{
    server::{Step, serve},
    *,
};

const LENGTH: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
const CHUNKS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                      3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nx-sum: 1\r\n\r\n";
const EARLY: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n\
                     HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nhello";

#[tokio::test]
async fn a_response_is_the_same_however_it_is_split() {
    for reply in [LENGTH, CHUNKS, EARLY, UNTIL_CLOSE] {
        let spelled = vec![Step::Read, Step::WriteByByte(reply.into())];
        let cut = (0..=reply.len()).map(|at| {
            let (first, second) = reply.split_at(at);
            let again = Step::WriteByByte(second.get(..1).unwrap_or_default().into());
            vec![
                Step::Read,
                Step::write(first),
                again,
                Step::write(second.get(1..).unwrap_or_default()),
            ]
        });
        let scripts: Vec<Vec<Step>> = cut.chain([spelled]).collect();
        let count = scripts.len();
        let (target, server) = serve(scripts).await;
        // Each script has its own connection.
        let client = HttpClient::new(HttpSettings { max_idle_connections: 0, ..settings() });
        for _ in 0..count {
            assert_eq!(fetch(&client, &target).await, "200 hello");
        }
        let received = server.await.expect("server finished");
        assert_eq!(received, vec![vec!["POST /v1/x HTTP/1.1 {}".to_owned()]; count]);
    }
}

#[tokio::test]
async fn a_response_that_is_cut_off_anywhere_is_an_error() {
    for reply in [LENGTH, CHUNKS, EARLY] {
        let body =
            reply.rfind("hel").map_or(0, |at| reply[..at].rfind("\r\n\r\n").unwrap_or(at) + 4);
        let scripts =
            (0..reply.len()).map(|at| vec![Step::Read, Step::write(&reply[..at])]).collect();
        let (target, server) = serve(scripts).await;
        let client = HttpClient::new(settings());
        for at in 0..reply.len() {
            let expected =
                if at < body { "head closed MaybeSent" } else { "200 body closed MaybeSent" };
            assert_eq!(fetch(&client, &target).await, expected, "{reply:?} cut at {at}");
        }
        server.await.expect("server finished");
        assert_eq!(client.idle_connections(), 0);
    }
}

#[tokio::test]
async fn invalid_responses_are_refused() {
    let huge = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    let chunk = |size: &str| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{size}");
    let table = [
        (huge, "head too_large MaybeSent"),
        ("HTTP/1.1 200 OK\r\n".to_owned() + &"x: y\r\n".repeat(200), "head too_large MaybeSent"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_owned(),
            "head malformed MaybeSent",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
            "head malformed MaybeSent",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n".to_owned(), "head malformed MaybeSent"),
        ("<html>".to_owned(), "head malformed MaybeSent"),
        (chunk("-1\r\n"), "200 body malformed MaybeSent"),
        (chunk("fffffffffffffffff\r\n"), "200 body malformed MaybeSent"),
        (chunk("ffffffffffffffff\r\nabc"), "200 body closed MaybeSent"),
        (chunk("1\r\nabc"), "200 body malformed MaybeSent"),
        (chunk("zz\r\n"), "200 body malformed MaybeSent"),
        (chunk(&format!("1;{}", "x".repeat(1 << 20))), "200 body too_large MaybeSent"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n".to_owned(),
            "200 body too_large MaybeSent",
        ),
        (format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 21)), "200 body too_large MaybeSent"),
    ];
    let scripts = table.iter().map(|(reply, _)| vec![Step::Read, Step::write(reply)]).collect();
    let (target, server) = serve(scripts).await;
    let client = HttpClient::new(settings());
    for (reply, expected) in &table {
        let start = reply.get(..60).unwrap_or(reply);
        assert_eq!(fetch(&client, &target).await, *expected, "{start:?}");
    }
    server.await.expect("server finished");
    assert_eq!(client.idle_connections(), 0);
}

#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    let moved =
        "HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\nno";
    let (target, server) = serve(vec![vec![Step::Read, Step::write(moved)]]).await;
    assert_eq!(fetch(&HttpClient::new(settings()), &target).await, "307 no");
    server.await.expect("server finished");
}

#[tokio::test]
async fn chunks_of_one_segment_are_returned_as_one() {
    let chunks: String = (0..200).map(|_| "8\r\ndata: x\n\r\n").collect();
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let reply = format!("{head}{chunks}0\r\n\r\n");
    let (target, server) = serve(vec![vec![Step::Read, Step::write(&reply), Step::Wait]]).await;
    let client = HttpClient::new(settings());
    let mut reply = post(&client, &target, Bytes::new()).await.expect("a reply");
    let first = reply.body.next().await.expect("bytes").expect("valid");
    assert_eq!(first, "data: x\n".repeat(200));
    // The connection returns to the pool with the last bytes, before another read.
    assert_eq!(client.idle_connections(), 1);
    assert!(reply.body.next().await.is_none() && reply.body.next().await.is_none());
    drop(client);
    assert_eq!(server.await.expect("server finished"), [["POST /v1/x HTTP/1.1 ", "closed"]]);
}

#[tokio::test]
async fn an_early_response_is_read_before_the_request_is_sent() {
    const BIG: usize = 16 << 20;
    let refused = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
    let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n";
    // The server reads only the head at first.
    let scripts = vec![
        vec![Step::ReadHead, Step::write(refused), Step::Wait],
        // It closes without reading the rest, which resets the connection.
        vec![Step::ReadHead, Step::write(refused)],
        vec![Step::Read, Step::write(begun), Step::write("3\r\nllo\r\n0\r\n\r\n"), Step::Wait],
        vec![Step::write(begun), Step::Read, Step::write("3\r\nllo\r\n0\r\n\r\n"), Step::Wait],
    ];
    let (target, server) = serve(scripts).await;
    let client = HttpClient::new(HttpSettings { max_idle_connections: 0, ..settings() });
    for expected in ["413 no", "413 no", "200 hello", "200 hello"] {
        let reply = post(&client, &target, vec![b'x'; BIG].into()).await.expect("a reply");
        let status = reply.status.as_u16();
        let body = reply.body.read_all(BIG).await.expect("a body");
        assert_eq!(format!("{status} {}", String::from_utf8_lossy(&body)), expected);
    }
    let all = format!("POST /v1/x HTTP/1.1 {BIG} bytes");
    let received = server.await.expect("server finished");
    let head = "POST /v1/x HTTP/1.1 ";
    let expected: [&[&str]; 4] = [&[head, "closed"], &[head], &[&all, "closed"], &[&all, "closed"]];
    assert_eq!(received, expected);
}

#[tokio::test]
async fn silence_is_an_error_after_the_timeout() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    let short = Duration::from_millis(20);
    let table = [
        (vec![Step::Read, Step::Wait], "head late MaybeSent"),
        (vec![Step::Read, Step::write("HTTP/1.1 200 OK\r\n"), Step::Wait], "head late MaybeSent"),
        (vec![Step::Read, Step::write(head), Step::Wait], "200 body late MaybeSent"),
        (
            vec![Step::Read, Step::write(&format!("{head}he")), Step::Wait],
            "200 body late MaybeSent",
        ),
    ];
    let scripts: Vec<Vec<Step>> = table.iter().map(|(script, _)| script.clone()).collect();
    let (target, server) = serve(scripts).await;
    for (_, expected) in table {
        // Only the timeout under test is short.
        let settings = if expected.starts_with("head") {
            HttpSettings { first_byte: short, ..settings() }
        } else {
            HttpSettings { idle: short, ..settings() }
        };
        assert_eq!(fetch(&HttpClient::new(settings), &target).await, expected);
    }
    let received = server.await.expect("server finished");
    assert_eq!(received, vec![["POST /v1/x HTTP/1.1 {}", "closed"]; 4]);
}

#[tokio::test]
async fn dropping_a_response_closes_its_connection() {
    let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n";
    let script = vec![Step::Read, Step::write(begun), Step::Wait];
    let (target, server) = serve(vec![script.clone(), script, vec![Step::Read, Step::Wait]]).await;
    let client = HttpClient::new(settings());
    drop(post(&client, &target, Bytes::new()).await.expect("a reply"));
    let mut reply = post(&client, &target, Bytes::new()).await.expect("a reply");
    assert_eq!(reply.body.next().await.expect("bytes").expect("valid"), "he");
    drop(reply);
    {
        let mut sending = pin!(post(&client, &target, Bytes::new()));
        // Poll until the request is sent, then drop it.
        for _ in 0..100 {
            let mut context = Context::from_waker(Waker::noop());
            assert!(sending.as_mut().poll(&mut context).is_pending());
            tokio::task::yield_now().await;
        }
    }
    for received in server.await.expect("server finished") {
        assert_eq!(received.last().map(String::as_str), Some("closed"));
    }
    assert_eq!(client.idle_connections(), 0);
}
