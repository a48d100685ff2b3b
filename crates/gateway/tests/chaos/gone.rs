//! A client that leaves, at every stage: the provider is let go, the run ends, the session is free,
//! and nothing is counted any more.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{
    client::{post, send},
    raw::{Raw, Says, Seen},
    stage::{FACES, FORMATS, PATIENCE, Scripted, Stage, body},
};

const NAMED: &str = "x-foxwedge-session: mine\r\n";

async fn begin(stage: &Stage, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(stage.address).await.expect("somebody listens");
    stream.write_all(bytes).await.expect("it goes out");
    stream
}

async fn next(raw: &mut Raw) -> Option<Seen> {
    timeout(PATIENCE, raw.seen.recv()).await.expect("the provider sees something")
}

/// Reads until so many events came.
async fn hear(stream: &mut TcpStream, events: usize) {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 4096]);
    let heard = async {
        while bytes.windows(6).filter(|window| *window == b"data: ").count() < events {
            let number = stream.read(&mut piece).await.expect("bytes");
            assert!(number > 0, "{}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&piece[..number]);
        }
    };
    timeout(PATIENCE, heard).await.expect("events come");
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_request_is_there_nothing_happens() {
    let provider = Scripted::start().await;
    let stage = Stage::start(provider.address, "").await;
    for (path, list) in FACES {
        let request = post(path, NAMED, body(list, "chat-scripted", true));
        let head = request.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
        let half = head + (request.len() - head) / 2;
        for sent in [0, 10, head - 2, head, head + 1, half, request.len() - 1] {
            drop(begin(&stage, &request[..sent]).await);
        }
    }
    assert_eq!(stage.rests().await, serde_json::json!([]));
    let asked = stage.count("foxwedge_upstream_requests_total").await;
    assert_eq!(asked, "nothing", "nobody was asked");
    assert_eq!(stage.look("/v1/runs").await.json()["data"], serde_json::json!([]));
    stage.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_every_stage_the_provider_is_let_go_and_the_run_ends() {
    let mut left = 0;
    for says in [Says::Nothing, Says::Events(1), Says::Events(2), Says::Events(5)] {
        let mut raw = Raw::start(says).await;
        let stage = Stage::start(raw.address, "").await;
        for (path, list) in FACES {
            for format in FORMATS {
                let model = format!("{format}-scripted");
                // A whole reply is waited for; a stream is heard in part.
                for streams in [true, false] {
                    let request = post(path, NAMED, body(list, &model, streams));
                    let mut client = begin(&stage, &request).await;
                    assert_eq!(next(&mut raw).await, Some(Seen::Said));
                    // The first events of another format may be none of the client's.
                    match says {
                        Says::Events(2..) if streams => hear(&mut client, 1).await,
                        Says::Nothing | Says::Events(_) => {}
                    }
                    drop(client);
                    assert_eq!(next(&mut raw).await, Some(Seen::Closed), "{path} from {format}");
                    // The next request of the session would take the place of a run that has not
                    // ended yet.
                    assert_eq!(stage.rests().await, serde_json::json!([]));
                    left += 1;
                }
            }
        }
        let runs = stage.look("/v1/runs?limit=1000").await.json();
        let runs = runs["data"].as_array().expect("a list");
        assert_eq!(runs.len(), FACES.len() * FORMATS.len() * 2, "{says:?}");
        for run in runs {
            assert_eq!(run["outcome"], "stopped", "{says:?}: {run}");
        }
        // The session that all of them had is free.
        let free = post("/v1/chat/completions", NAMED, body("messages", "scripted", false));
        let answer = timeout(PATIENCE, send(stage.address, free)).await.expect("a reply");
        assert_eq!((answer.status, answer.header("x-foxwedge-session")), (200, "mine"));
        stage.end().await;
    }
    println!("{left} clients left");
}
