//! Replies: whole, in pieces, cut, and unsound.

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
async fn a_reply_is_the_same_however_it_comes() {
    for reply in [LENGTH, CHUNKS, EARLY, UNTIL_CLOSE] {
        let spelled = vec![Step::Hear, Step::Spell(reply.into())];
        let cut = (0..=reply.len()).map(|at| {
            let (first, second) = reply.split_at(at);
            let again = Step::Spell(second.get(..1).unwrap_or_default().into());
            vec![
                Step::Hear,
                Step::say(first),
                again,
                Step::say(second.get(1..).unwrap_or_default()),
            ]
        });
        let plays: Vec<Vec<Step>> = cut.chain([spelled]).collect();
        let count = plays.len();
        let (target, playing) = serve(plays).await;
        // Every play has a connection of its own.
        let client = HttpClient::new(HttpSettings { max_idle_connections: 0, ..settings() });
        for _ in 0..count {
            assert_eq!(ask(&client, &target).await, "200 hello");
        }
        let heard = playing.await.expect("played");
        assert_eq!(heard, vec![vec!["POST /v1/x HTTP/1.1 {}".to_owned()]; count]);
    }
}

#[tokio::test]
async fn a_reply_that_is_cut_anywhere_is_an_error() {
    for reply in [LENGTH, CHUNKS, EARLY] {
        let body =
            reply.rfind("hel").map_or(0, |at| reply[..at].rfind("\r\n\r\n").unwrap_or(at) + 4);
        let plays = (0..reply.len()).map(|at| vec![Step::Hear, Step::say(&reply[..at])]).collect();
        let (target, playing) = serve(plays).await;
        let client = HttpClient::new(settings());
        for at in 0..reply.len() {
            let expected =
                if at < body { "head closed MaybeSent" } else { "200 body closed MaybeSent" };
            assert_eq!(ask(&client, &target).await, expected, "{reply:?} cut at {at}");
        }
        playing.await.expect("played");
        assert_eq!(client.idle_connections(), 0);
    }
}

#[tokio::test]
async fn unsound_replies_are_refused() {
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
    let plays = table.iter().map(|(reply, _)| vec![Step::Hear, Step::say(reply)]).collect();
    let (target, playing) = serve(plays).await;
    let client = HttpClient::new(settings());
    for (reply, expected) in &table {
        let start = reply.get(..60).unwrap_or(reply);
        assert_eq!(ask(&client, &target).await, *expected, "{start:?}");
    }
    playing.await.expect("played");
    assert_eq!(client.idle_connections(), 0);
}

#[tokio::test]
async fn a_redirect_is_a_reply_like_any_other() {
    let moved =
        "HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\nno";
    let (target, playing) = serve(vec![vec![Step::Hear, Step::say(moved)]]).await;
    assert_eq!(ask(&HttpClient::new(settings()), &target).await, "307 no");
    playing.await.expect("played");
}

#[tokio::test]
async fn many_chunks_of_one_segment_come_out_as_one() {
    let chunks: String = (0..200).map(|_| "8\r\ndata: x\n\r\n").collect();
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let reply = format!("{head}{chunks}0\r\n\r\n");
    let (target, playing) = serve(vec![vec![Step::Hear, Step::say(&reply), Step::Wait]]).await;
    let client = HttpClient::new(settings());
    let mut reply = post(&client, &target, Bytes::new()).await.expect("a reply");
    let first = reply.body.next().await.expect("bytes").expect("sound");
    assert_eq!(first, "data: x\n".repeat(200));
    // It rests with its last bytes, before anybody asks for more.
    assert_eq!(client.idle_connections(), 1);
    assert!(reply.body.next().await.is_none() && reply.body.next().await.is_none());
    drop(client);
    assert_eq!(playing.await.expect("played"), [["POST /v1/x HTTP/1.1 ", "closed"]]);
}

#[tokio::test]
async fn a_reply_that_begins_before_the_request_is_read_is_read() {
    const BIG: usize = 16 << 20;
    let refused = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno";
    let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n";
    // The head alone was read, and all of the body is read later.
    let plays = vec![
        vec![Step::HearHead, Step::say(refused), Step::Wait],
        // It does not even wait for the rest, and the system says so with a reset.
        vec![Step::HearHead, Step::say(refused)],
        vec![Step::Hear, Step::say(begun), Step::say("3\r\nllo\r\n0\r\n\r\n"), Step::Wait],
        vec![Step::say(begun), Step::Hear, Step::say("3\r\nllo\r\n0\r\n\r\n"), Step::Wait],
    ];
    let (target, playing) = serve(plays).await;
    let client = HttpClient::new(HttpSettings { max_idle_connections: 0, ..settings() });
    for expected in ["413 no", "413 no", "200 hello", "200 hello"] {
        let reply = post(&client, &target, vec![b'x'; BIG].into()).await.expect("a reply");
        let status = reply.status.as_u16();
        let body = reply.body.read_all(BIG).await.expect("a body");
        assert_eq!(format!("{status} {}", String::from_utf8_lossy(&body)), expected);
    }
    let all = format!("POST /v1/x HTTP/1.1 {BIG} bytes");
    let heard = playing.await.expect("played");
    let head = "POST /v1/x HTTP/1.1 ";
    let expected: [&[&str]; 4] = [&[head, "closed"], &[head], &[&all, "closed"], &[&all, "closed"]];
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn silence_is_an_error_after_its_time() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    let short = Duration::from_millis(20);
    let table = [
        (vec![Step::Hear, Step::Wait], "head late MaybeSent"),
        (vec![Step::Hear, Step::say("HTTP/1.1 200 OK\r\n"), Step::Wait], "head late MaybeSent"),
        (vec![Step::Hear, Step::say(head), Step::Wait], "200 body late MaybeSent"),
        (vec![Step::Hear, Step::say(&format!("{head}he")), Step::Wait], "200 body late MaybeSent"),
    ];
    let plays: Vec<Vec<Step>> = table.iter().map(|(play, _)| play.clone()).collect();
    let (target, playing) = serve(plays).await;
    for (_, expected) in table {
        // Only the limit that is meant is short.
        let settings = if expected.starts_with("head") {
            HttpSettings { first_byte: short, ..settings() }
        } else {
            HttpSettings { idle: short, ..settings() }
        };
        assert_eq!(ask(&HttpClient::new(settings), &target).await, expected);
    }
    let heard = playing.await.expect("played");
    assert_eq!(heard, vec![["POST /v1/x HTTP/1.1 {}", "closed"]; 4]);
}

#[tokio::test]
async fn who_lets_go_of_a_reply_closes_its_connection() {
    let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n";
    let play = vec![Step::Hear, Step::say(begun), Step::Wait];
    let (target, playing) = serve(vec![play.clone(), play, vec![Step::Hear, Step::Wait]]).await;
    let client = HttpClient::new(settings());
    drop(post(&client, &target, Bytes::new()).await.expect("a reply"));
    let mut reply = post(&client, &target, Bytes::new()).await.expect("a reply");
    assert_eq!(reply.body.next().await.expect("bytes").expect("sound"), "he");
    drop(reply);
    {
        let mut sending = pin!(post(&client, &target, Bytes::new()));
        // Until the request is on its way; then nobody wants it any more.
        for _ in 0..100 {
            let mut context = Context::from_waker(Waker::noop());
            assert!(sending.as_mut().poll(&mut context).is_pending());
            tokio::task::yield_now().await;
        }
    }
    for heard in playing.await.expect("played") {
        assert_eq!(heard.last().map(String::as_str), Some("closed"));
    }
    assert_eq!(client.idle_connections(), 0);
}
