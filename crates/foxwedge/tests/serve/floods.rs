//! Upstreams that say too much, and clients that do not listen.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::mpsc,
};

use crate::{
    gateway::{Gateway, TOKEN, config},
    provider::{Provider, request, stream_head},
    settings::turn,
    temporary::Temporary,
    wire::{Answer, PATIENCE, connect, post, rest},
};

const MOST: u64 = 64 << 20;

/// Clients that do not read.
const DEAF: usize = 12;

fn body(model: &str, path: &str) -> String {
    let list = if path.ends_with("responses") { "input" } else { "messages" };
    serde_json::json!({
        "model": model, "stream": true, "max_tokens": 50,
        list: [{"role": "user", "content": "tell me everything"}],
    })
    .to_string()
}

fn ask(gateway: &Gateway, path: &str, model: &str) -> TcpStream {
    let mut stream = connect(&gateway.address).expect("a connection");
    let headers = format!("x-foxwedge-token: {TOKEN}\r\n");
    stream.write_all(&post(path, &headers, body(model, path))).expect("it goes out");
    stream
}

#[test]
fn a_line_without_end_is_no_reply_and_takes_no_memory() {
    let _turn = turn();
    let provider = Provider::raw(|mut stream| {
        let line = vec![b'x'; 1 << 20];
        if request(&mut stream).is_err() || stream_head(&mut stream).is_err() {
            return;
        }
        let _ = stream.write_all(b"data: ");
        for _ in 0..100 {
            if stream.write_all(&line).is_err() {
                return;
            }
        }
    });
    let folder = Temporary::folder();
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, ""));
    gateway.serves();
    for (path, whole) in [
        ("/v1/chat/completions", "[DONE]"),
        ("/v1/responses", "response.completed"),
        ("/v1/messages", "message_stop"),
    ] {
        // One of them in the format of the first face: passed on as it is.
        for upstream in ["chat", "gemini"] {
            let before = gateway.memory().now;
            gateway.forget_peak();
            let mut stream = ask(&gateway, path, &format!("{upstream}-model"));
            let (mut end, mut piece) = (Vec::new(), vec![0; 64 << 10]);
            // The end tells; the rest is nothing but a letter.
            while let Ok(number @ 1..) = stream.read(&mut piece) {
                end.extend_from_slice(&piece[..number]);
                end.drain(..end.len().saturating_sub(4 << 10));
            }
            let end = String::from_utf8_lossy(&end).into_owned();
            let rise = gateway.memory().peak.saturating_sub(before);
            let told = format!("{path} from {upstream}: {:.1} MiB", rise as f64 / 1_048_576.0);
            println!("{told}");
            assert!(end.contains("error") && !end.contains(whole), "{told}: {end}");
            assert!(rise < MOST, "{told}");
            gateway.serves();
        }
    }
    gateway.rests();
}

#[test]
fn clients_that_do_not_read_are_let_go_and_their_upstreams_too() {
    let _turn = turn();
    let (gone, over) = mpsc::channel();
    let provider = Provider::raw(move |mut stream| {
        if request(&mut stream).is_err() || stream_head(&mut stream).is_err() {
            return;
        }
        let words = "word ".repeat(400);
        let event = format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\
             \"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{words}\"}},\
             \"finish_reason\":null}}]}}\n\n"
        );
        while stream.write_all(event.as_bytes()).is_ok() {}
        let _ = gone.send(());
    });
    let folder = Temporary::folder();
    let more = "[timeouts]\nclient_write = \"2s\"\n[limits]\nwhole_reply = \"8MiB\"\n";
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, more));
    gateway.serves();
    let before = gateway.memory().now;
    gateway.forget_peak();
    let faces = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];
    let deaf: Vec<TcpStream> =
        (0..DEAF).map(|n| ask(&gateway, faces[n % 3], "chat-model")).collect();
    // Others are served meanwhile.
    for _ in 0..10 {
        gateway.serves();
    }
    for _ in &deaf {
        over.recv_timeout(PATIENCE).expect("the upstream is let go");
    }
    let rise = gateway.memory().peak.saturating_sub(before);
    println!("{} deaf clients: {:.1} MiB", deaf.len(), rise as f64 / 1_048_576.0);
    // What the system keeps for a deaf client was read, and is remembered until it ends.
    assert!(rise < 4 * MOST, "{rise}");
    gateway.rests();
    drop(deaf);
    gateway.serves();
    let runs = gateway.get("/v1/runs?limit=100").json();
    let stopped = runs["data"].as_array().expect("a list").iter();
    let stopped = stopped.filter(|run| run["outcome"] == "stopped").count();
    assert_eq!(stopped, DEAF, "{runs}");
}

#[test]
fn an_upstream_that_says_nothing_more_is_not_waited_for_for_ever() {
    let _turn = turn();
    let (provider, folder) = (Provider::scripted(), Temporary::folder());
    let more = "[timeouts]\nupstream_first_byte = \"1s\"\nstream_idle = \"1s\"\n";
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, more));
    let mut waiting = Vec::new();
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        for (fault, status) in [("delay=600000", 504), ("hang=3", 200)] {
            let stream = ask(&gateway, path, &format!("chat-scripted?{fault}"));
            waiting.push((stream, status, format!("{path} {fault}")));
        }
    }
    for (mut stream, status, told) in waiting {
        let answer = Answer::read(&rest(&mut stream));
        assert_eq!(answer.status, status, "{told}: {answer:?}");
        assert!(answer.body.contains("error"), "{told}: {answer:?}");
    }
    gateway.rests();
}
