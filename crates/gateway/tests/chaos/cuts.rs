//! A provider that cuts its reply at every event, in every format, for every endpoint: no client
//! mistakes a partial reply for a complete one, and no run stays open.

use std::sync::Arc;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::{
    client::{post, send},
    judge::{Verdict, stream},
    stage::{ENDPOINTS, FORMATS, ScriptedServer, TIMEOUT, TestGateway, body},
};

/// Requests a stream and reads until the gateway closes the connection.
async fn ask(gateway: &TestGateway, path: &str, body: &str) -> String {
    let reading = async {
        let mut stream = TcpStream::connect(gateway.address).await.expect("somebody listens");
        stream.write_all(&post(path, "", body)).await.expect("it goes out");
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 64 << 10];
        while let Ok(number @ 1..) = stream.read(&mut chunk).await {
            bytes.extend_from_slice(&chunk[..number]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    timeout(TIMEOUT, reading).await.expect("it ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cut_stream_looks_complete() {
    let provider = ScriptedServer::start().await;
    let gateway = TestGateway::start(provider.address, "").await;
    let mut cuts = 0;
    for (path, list) in ENDPOINTS {
        for format in FORMATS {
            let uncut = ask(&gateway, path, &body(list, &format!("{format}-scripted"), true)).await;
            let Verdict::Whole(full_text) = stream(path, &uncut) else { panic!("{uncut}") };
            assert_eq!(full_text, "You said: one two three four five", "{path} from {format}");
            let mut whole = 0;
            for at in 0.. {
                let model = format!("{format}-scripted?cut={at}");
                let received = ask(&gateway, path, &body(list, &model, true)).await;
                let context = format!("{path} from {format}, cut at {at}: {received}");
                match stream(path, &received) {
                    Verdict::Failed => assert_eq!(whole, 0, "{context}"),
                    // The text was complete; only end marks were cut off.
                    Verdict::Whole(text) => {
                        assert_eq!(text, full_text, "{context}");
                        whole += 1;
                    }
                    Verdict::Silent => panic!("{context}"),
                }
                cuts += 1;
                // After the last event nothing is left to cut. The end may have a few events.
                if whole == 4 {
                    assert!(at >= 8, "{context}");
                    break;
                }
                assert!(at < 60, "{context}");
            }
        }
    }
    println!("{cuts} streams were cut");
    gateway.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_malformed_reply_looks_complete() {
    let provider = ScriptedServer::start().await;
    let more = "[limits]\nstream_event = \"64KiB\"\n[timeouts]\nstream_idle = \"2s\"\nupstream_first_byte = \"2s\"\n";
    let gateway = Arc::new(TestGateway::start(provider.address, more).await);
    let mut clients = JoinSet::new();
    for (path, list) in ENDPOINTS {
        for format in FORMATS {
            for fault in FAULTS {
                let (gateway, model) = (gateway.clone(), format!("{format}-scripted?{fault}"));
                clients
                    .spawn(async move { check_invalid_reply(&gateway, path, list, &model).await });
            }
        }
    }
    clients.join_all().await;
    Arc::into_inner(gateway).expect("nobody asks any more").end().await;
    provider.end().await;
}

const FAULTS: [&str; 12] = [
    "cut=0",
    "cut=1",
    "hang=0",
    "hang=2",
    "malformed",
    "html",
    "empty",
    "long-line=300000",
    "status=400",
    "status=500",
    "status=529",
    "delay=600000",
];

/// Requests a full reply and a stream. Both end in an error in the client's format.
async fn check_invalid_reply(gateway: &TestGateway, path: &str, list: &str, model: &str) {
    let request = post(path, "", body(list, model, false));
    let answer = timeout(TIMEOUT, send(gateway.address, request)).await.expect("a reply");
    // The length of a stream line does not matter for a full reply.
    if model.contains("long-line") {
        assert_eq!(answer.status, 200, "{path} {model}: {answer:?}");
    } else {
        assert!(answer.status >= 400, "{path} {model}: {answer:?}");
        let error = answer.json()["error"].clone();
        let worded = error["message"].is_string() && error["type"].is_string();
        assert!(worded, "{path} {model}: {answer:?}");
        let anthropic = answer.json()["type"] == "error";
        assert_eq!(anthropic, path == "/v1/messages", "{path} {model}: {answer:?}");
    }
    let received = ask(gateway, path, &body(list, model, true)).await;
    assert_eq!(stream(path, &received), Verdict::Failed, "{path} {model}: {received}");
}
