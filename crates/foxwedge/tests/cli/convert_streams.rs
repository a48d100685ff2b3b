//! Answers on their way: every piece goes on as soon as it came.

use std::{
    io::{Read, Write},
    process::Stdio,
    sync::mpsc,
    time::Duration,
};

use crate::{convert_documents::*, sandbox::Sandbox};

/// Runs the binary on a stream whose result may be binary.
fn converted(sandbox: &Sandbox, arguments: &[&str], input: &[u8]) -> (i32, Vec<u8>, String) {
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), output.stdout, err)
}

#[test]
fn streams_are_recognised_and_converted_there_and_back() {
    let sandbox = Sandbox::new();
    for (name, word) in [("text", "ferry"), ("two-calls", "tide")] {
        for from in WIRES {
            let input = stream(name, from);
            for to in WIRES {
                let flags = ["convert", "--to", to, "-", "--output-format", "json"];
                let (code, out, err) = converted(&sandbox, &flags, &input);
                assert_eq!(code, 0, "{name} {from} {to}: {err}");
                let report = value(&err);
                let expected = (&"stream".into(), &from.into(), &true.into());
                assert_eq!((&report["kind"], &report["from"], &report["complete"]), expected);
                let back = ["convert", "--to", from, "-", "--output-format", "json"];
                let (code, back, err) = converted(&sandbox, &back, &out);
                assert_eq!(code, 0, "{name} {from} {to}: {err}");
                assert_eq!(value(&err)["from"], to, "{name} {from}");
                let text = String::from_utf8_lossy(&back);
                assert!(text.contains(word), "{name} {from} {to}: {text}");
            }
        }
    }
}

#[test]
fn a_list_of_pieces_is_a_stream_and_no_list_of_messages() {
    let piece = |text: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":"{text}"}}]}}}}]}}"#
        )
    };
    let last = r#"{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}]}"#;
    let sandbox = Sandbox::new();
    for input in [
        format!("[{}\n,\r\n{},{last}]", piece("one "), piece("two")),
        format!("{}\n{}\n{last}\n", piece("one "), piece("two")),
    ] {
        let ran = sandbox.pipe(&["convert", "--to", "anthropic", "-"], &input);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(ran.out.contains("event: message_stop"), "{}", ran.out);
        assert!(ran.err.ends_with("1 stream, gemini → anthropic, complete; no losses.\n"));
    }
}

#[test]
fn a_stream_that_ends_badly_says_so_at_its_end() {
    let sandbox = Sandbox::new();
    for from in WIRES {
        for (name, word) in [("cut", "cut off"), ("error", "the provider failed")] {
            let flags = ["convert", "--to", "anthropic", "-"];
            let (code, out, err) = converted(&sandbox, &flags, &stream(name, from));
            let out = String::from_utf8(out).unwrap();
            assert_eq!(code, 1, "{name} {from}: {err}");
            assert!(out.contains("\nevent: error\n"), "{name} {from}: {out}");
            assert!(err.contains(&format!("{from} → anthropic, {word}; ")), "{err}");
            let flags = ["convert", "--to", "anthropic", "-", "--output-format", "json"];
            let (_, _, err) = converted(&sandbox, &flags, &stream(name, from));
            assert_eq!(value(&err)["complete"], false);
        }
    }
}

#[test]
fn a_piece_is_out_before_the_next_one_comes() {
    let sandbox = Sandbox::new();
    for from in [&["--kind", "stream", "--from", "openai-chat"][..], &[]] {
        let arguments = [&["convert", "--to", "anthropic", "-"], from].concat();
        let mut command = sandbox.command(&arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, heard) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut piece) {
                sender.send(piece[..length].to_vec()).unwrap();
            }
        });
        let mut out = String::new();
        for word in ["first", "second", "third"] {
            let chunk = format!(
                "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}}}}]}}\n\n"
            );
            stdin.write_all(chunk.as_bytes()).unwrap();
            stdin.flush().unwrap();
            while !out.contains(word) {
                let piece = heard.recv_timeout(Duration::from_secs(60));
                out.push_str(std::str::from_utf8(&piece.expect("it waits for the end")).unwrap());
            }
        }
        stdin.write_all(b"data: [DONE]\n\n").unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        reader.join().unwrap();
        assert!(output.status.code().is_some_and(|code| code < 2));
    }
}

#[test]
fn the_cuts_between_pieces_do_not_show() {
    let sandbox = Sandbox::new();
    let input = stream("two-calls", "openai-responses");
    let flags = ["convert", "--to", "bedrock", "-", "-q"];
    let (_, whole, _) = converted(&sandbox, &flags, &input);
    let mut child = sandbox
        .command(&flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for piece in input.chunks(7) {
            stdin.write_all(piece).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.stdout, whole);
    assert!(!whole.is_empty());
}

#[test]
fn strict_holds_a_stream_until_its_end() {
    let sandbox = Sandbox::with("lossy.sse", stream("reasoning-call", "openai-responses"));
    sandbox.write("plain.sse", stream("text", "openai-chat"));
    let ran = sandbox.run(&["convert", "--to", "anthropic", "--strict", "lossy.sse"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.all());
    assert!(ran.err.contains("left out:\n"), "{}", ran.err);
    let ran = sandbox.run(&["convert", "--to", "anthropic", "--strict", "plain.sse"]);
    let usual = sandbox.run(&["convert", "--to", "anthropic", "plain.sse"]);
    assert_eq!((ran.code, ran.out), (0, usual.out));
}

#[test]
fn a_stream_goes_into_a_file_as_a_whole_or_not_at_all() {
    let sandbox = Sandbox::with("answer.sse", stream("text", "openai-chat"));
    let usual = sandbox.run(&["convert", "--to", "anthropic", "answer.sse"]);
    let ran = sandbox.run(&["convert", "--to", "anthropic", "answer.sse", "-o", "out.sse"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
    assert_eq!(sandbox.read("out.sse"), usual.out);
    sandbox.write("bad.sse", "data: {\"object\":\"chat.completion.chunk\"}\n\ndata: {oops\n\n");
    let ran = sandbox.run(&["convert", "--to", "anthropic", "bad.sse", "-o", "bad-out.sse"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("error: bad.sse: byte "), "{}", ran.err);
    assert_eq!(sandbox.names(), ["answer.sse", "bad.sse", "out.sse"]);
    let ran = sandbox.run(&["convert", "--to", "anthropic", "answer.sse", "-o", "answer.sse"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let text = String::from_utf8(stream("text", "openai-chat")).unwrap();
    let sandbox = Sandbox::with("answer.sse", &text);
    sandbox.write("request.json", PLAIN);
    for file in ["answer.sse", "request.json"] {
        let ran = sandbox.unheard(&["convert", "-q", "--to", "anthropic", file], "");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{file}");
    }
    let ran = sandbox.unheard(&["convert", "--to", "anthropic", "-"], &text);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
    let chunk = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";
    sandbox.write("long.sse", chunk.repeat(20_000));
    let ran = sandbox.glanced(&["convert", "--to", "anthropic", "long.sse"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
}
