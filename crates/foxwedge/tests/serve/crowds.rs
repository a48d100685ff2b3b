//! Many clients at once that want little, slowly: half a head, or a stream that never ends.

use std::{fs, io::Write, net::TcpStream, time::Instant};

use crate::{
    gateway::{Gateway, TOKEN, config},
    provider::Provider,
    settings::{rounds, turn},
    temporary::Temporary,
    wire::{connect, post, rest, until},
};

/// Both ends of a stream, the provider's too, are files of somebody; and there are others.
fn affordable(wanted: usize) -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    let most = (soft.unwrap_or(1_024).saturating_sub(200)) / 2;
    if most < wanted {
        println!("{most} instead of {wanted}: no more files may be open (`ulimit -n`)");
    }
    wanted.min(most)
}

#[test]
fn half_heads_are_closed_in_time_and_stop_nobody() {
    let _turn = turn();
    let (provider, folder) = (Provider::scripted(), Temporary::folder());
    let more = "[timeouts]\nrequest_head = \"3s\"\n";
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, more));
    gateway.serves();
    let before = gateway.memory();
    let number = affordable(rounds("FOXWEDGE_SLOW_HEADS", 300));
    let began = Instant::now();
    let half = |_| {
        let mut stream = connect(&gateway.address).expect("a connection");
        stream.write_all(b"POST /v1/messages HTTP/1.1\r\nhost: loc").expect("it goes out");
        stream
    };
    let sockets: Vec<TcpStream> = (0..number).map(half).collect();
    gateway.serves();
    let held = gateway.memory();
    for mut socket in sockets {
        assert_eq!(rest(&mut socket), b"", "nothing was asked");
    }
    println!(
        "{number} half heads: closed after {:.1} s, {:.1} KiB each",
        began.elapsed().as_secs_f64(),
        held.now.saturating_sub(before.now) as f64 / 1024.0 / number as f64
    );
    gateway.rests();
    gateway.serves();
}

#[test]
fn streams_are_held_within_little_memory() {
    let _turn = turn();
    let wanted = rounds("FOXWEDGE_HELD", 2_000);
    let (provider, folder) = (Provider::scripted(), Temporary::folder());
    let more = "[limits]\nrequests_per_owner = 100000\nconnections = 100000\n";
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, more));
    gateway.serves();
    let before = gateway.memory();
    // The provider takes so many connections; beyond them the built-in model answers.
    let (model, number) = match wanted {
        0..=4_000 => ("chat-scripted", affordable(wanted)),
        _ => ("scripted", affordable(wanted / 2) * 2),
    };
    let body = format!(
        r#"{{"model":"{model}?hang=3","stream":true,"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    let request = post("/v1/chat/completions", &format!("x-foxwedge-token: {TOKEN}\r\n"), body);
    let mut streams = Vec::new();
    for _ in 0..number {
        let mut stream = connect(&gateway.address).expect("a connection");
        stream.write_all(&request).expect("it goes out");
        streams.push(stream);
    }
    for stream in &mut streams {
        let came = until(stream, "data: ");
        assert!(came.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&came));
    }
    gateway.serves();
    // Everything about them is written.
    assert_eq!(gateway.get("/v1/runs?limit=1").status, 200);
    let held = gateway.memory();
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{number} streams of {model}: {:.1} MiB, {:.1} MiB before",
        mebibytes(held.now),
        mebibytes(before.now)
    );
    // Generous; the page about it has the figures. Without optimisation everything takes more.
    let (rest, each) =
        if cfg!(debug_assertions) { (96 << 20, 56 << 10) } else { (48 << 20, 36 << 10) };
    assert!(held.now < rest + each * number as u64, "{held:?}");
    drop(streams);
    gateway.rests();
    gateway.serves();
    println!("behind them: {:.1} MiB", mebibytes(gateway.memory().now));
}
