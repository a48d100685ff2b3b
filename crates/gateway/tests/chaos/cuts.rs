//! A provider that breaks off, at every event, in every format, for every face: no client ever
//! takes half a reply for a whole one, and no run stays open.

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
    stage::{FACES, FORMATS, PATIENCE, Scripted, Stage, body},
};

/// Asks for a stream, and reads until the gateway closes.
async fn ask(stage: &Stage, path: &str, body: &str) -> String {
    let talk = async {
        let mut stream = TcpStream::connect(stage.address).await.expect("somebody listens");
        stream.write_all(&post(path, "", body)).await.expect("it goes out");
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 << 10];
        while let Ok(number @ 1..) = stream.read(&mut piece).await {
            bytes.extend_from_slice(&piece[..number]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    timeout(PATIENCE, talk).await.expect("it ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_stream_that_was_cut_looks_whole() {
    let provider = Scripted::start().await;
    let stage = Stage::start(provider.address, "").await;
    let mut cuts = 0;
    for (path, list) in FACES {
        for format in FORMATS {
            let uncut = ask(&stage, path, &body(list, &format!("{format}-scripted"), true)).await;
            let Verdict::Whole(words) = stream(path, &uncut) else { panic!("{uncut}") };
            assert_eq!(words, "You said: one two three four five", "{path} from {format}");
            let mut whole = 0;
            for at in 0.. {
                let model = format!("{format}-scripted?cut={at}");
                let came = ask(&stage, path, &body(list, &model, true)).await;
                let told = format!("{path} from {format}, cut at {at}: {came}");
                match stream(path, &came) {
                    Verdict::Failed => assert_eq!(whole, 0, "{told}"),
                    // All words were there; what was cut off says nothing more.
                    Verdict::Whole(told_words) => {
                        assert_eq!(told_words, words, "{told}");
                        whole += 1;
                    }
                    Verdict::Silent => panic!("{told}"),
                }
                cuts += 1;
                // Behind the last event nothing is left to cut; the end itself may have a few.
                if whole == 4 {
                    assert!(at >= 8, "{told}");
                    break;
                }
                assert!(at < 60, "{told}");
            }
        }
    }
    println!("{cuts} streams were cut");
    stage.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_reply_that_makes_no_sense_looks_whole() {
    let provider = Scripted::start().await;
    let more = "[limits]\nevent = \"64KiB\"\n[times]\nidle = \"2s\"\nfirst_byte = \"2s\"\n";
    let stage = Arc::new(Stage::start(provider.address, more).await);
    let mut asking = JoinSet::new();
    for (path, list) in FACES {
        for format in FORMATS {
            for fault in FAULTS {
                let (stage, model) = (stage.clone(), format!("{format}-scripted?{fault}"));
                asking.spawn(async move { nonsense(&stage, path, list, &model).await });
            }
        }
    }
    asking.join_all().await;
    Arc::into_inner(stage).expect("nobody asks any more").end().await;
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

/// Asks for a reply in one piece and for a stream. Both end in an error of the client's form.
async fn nonsense(stage: &Stage, path: &str, list: &str, model: &str) {
    let request = post(path, "", body(list, model, false));
    let answer = timeout(PATIENCE, send(stage.address, request)).await.expect("a reply");
    // A line of a stream means nothing to a reply in one piece.
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
    let came = ask(stage, path, &body(list, model, true)).await;
    assert_eq!(stream(path, &came), Verdict::Failed, "{path} {model}: {came}");
}
