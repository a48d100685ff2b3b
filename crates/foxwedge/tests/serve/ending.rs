//! SIGTERM while streams are open: they finish, or are cut in time; everything is written.

use std::{io::Write, net::TcpStream};

use foxwedge_store::{AnyStore, ListFilter, ListPage, Store};

use crate::{
    gateway::{Gateway, TOKEN, config},
    provider::Provider,
    settings::{turn, wait_for},
    temporary::Temporary,
    wire::{Answer, Framing, connect, post, rest, until},
};

const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen \
                     fourteen fifteen sixteen seventeen eighteen nineteen twenty";

/// Every face, how it asks, and how it knows that a stream is whole.
const FACES: [(&str, &str, &str); 3] = [
    ("/v1/chat/completions", "messages", "data: [DONE]"),
    ("/v1/responses", "input", "response.completed"),
    ("/v1/messages", "messages", "message_stop"),
];

/// A stream that has begun, with what came of it.
struct Open {
    stream: TcpStream,
    came: Vec<u8>,
    whole: &'static str,
}

/// Opens a stream of every face from every format, and waits until events come.
fn open(gateway: &Gateway, faults: &str) -> Vec<Open> {
    let mut all = Vec::new();
    for (path, list, whole) in FACES {
        for upstream in ["chat", "responses", "messages", "gemini"] {
            let body = serde_json::json!({
                "model": format!("{upstream}-scripted?{faults}"), "stream": true, "max_tokens": 500,
                list: [{"role": "user", "content": WORDS}],
            });
            let headers = format!("x-foxwedge-token: {TOKEN}\r\n");
            let mut stream = connect(&gateway.address).expect("a connection");
            stream.write_all(&post(path, &headers, body.to_string())).expect("it goes out");
            let came = until(&mut stream, "data: ");
            assert!(came.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&came));
            all.push(Open { stream, came, whole });
        }
    }
    all
}

/// How the runs in a store ended.
fn outcomes(folder: &Temporary) -> Vec<&'static str> {
    let url = format!("sqlite:{}", folder.path("runs.db").display());
    wait_for(async {
        let store = AnyStore::open(&url.parse().expect("an address")).await.expect("a store");
        let rows = store.runs(ListFilter::default(), ListPage { after: None, limit: 1_000 }).await;
        let rows = rows.expect("runs");
        rows.iter().map(|row| row.state.outcome().map_or("open", |it| it.name())).collect()
    })
}

#[test]
fn streams_that_are_open_finish_and_are_written() {
    let _turn = turn();
    let (provider, folder) = (Provider::scripted(), Temporary::folder());
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, ""));
    let streams = open(&gateway, "pace=30");
    let number = streams.len();
    gateway.terminate();
    gateway.says("draining");
    for Open { mut stream, mut came, whole } in streams {
        came.extend(rest(&mut stream));
        let answer = Answer::read(&came);
        assert_eq!(answer.framing, Framing::Whole, "{answer:?}");
        assert!(answer.body.contains(whole) && answer.body.contains("twenty"), "{answer:?}");
    }
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    // On a busy machine the first streams may be over before the gateway drains.
    let drained = said
        .split_once("draining")
        .map_or(0, |(_, behind)| behind.matches("request served").count());
    // The line of a request that ended just before that may be written just after it.
    let counted = (1..=drained).any(|it| said.contains(&format!(r#""cut":0,"finished":{it},"#)));
    assert!(counted, "{said}");
    assert_eq!(outcomes(&folder), vec!["completed"; number]);
}

#[test]
fn streams_that_do_not_finish_are_cut_and_written_as_such() {
    let _turn = turn();
    let (provider, folder) = (Provider::scripted(), Temporary::folder());
    let more = "[timeouts]\nshutdown = \"500ms\"\n";
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, more));
    let streams = open(&gateway, "hang=3");
    let number = streams.len();
    gateway.terminate();
    for Open { mut stream, mut came, whole } in streams {
        came.extend(rest(&mut stream));
        let answer = Answer::read(&came);
        assert!(!answer.body.contains(whole), "{answer:?}");
        let told = answer.body.contains("error");
        assert!(told || answer.framing == Framing::BrokenOff, "{answer:?}");
    }
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!(r#""cut":{number},"finished":0,"#)), "{said}");
    assert_eq!(outcomes(&folder), vec!["stopped"; number]);
}
