//! Compressed sessions are read, repaired and put back under the same name.

use std::fs;

use ruzstd::{
    decoding::StreamingDecoder,
    encoding::{CompressionLevel, compress_to_vec},
};

use crate::{
    sandbox::Sandbox,
    sessions_files::{killed, sound},
};

fn packed(text: &str) -> Vec<u8> {
    compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
}

fn unpacked(content: &[u8]) -> String {
    let mut decoder = StreamingDecoder::new(content).unwrap();
    std::io::read_to_string(&mut decoder).unwrap()
}

const NAME: &str = "rollout.jsonl.zst";

#[test]
fn a_packed_session_is_fixed_and_put_back() {
    let plain = Sandbox::with("s.jsonl", killed().text());
    assert_eq!(plain.run(&["fix", "s.jsonl"]).code, 0);
    let sandbox = Sandbox::with(NAME, packed(&killed().text()));
    let ran = sandbox.run(&["check", "--output-format", "concise", NAME]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.out.starts_with("rollout.jsonl.zst:7:"), "{}", ran.out);
    let ran = sandbox.run(&["fix", NAME]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let fixed = fs::read(sandbox.path(NAME)).unwrap();
    assert_eq!(unpacked(&fixed), plain.read("s.jsonl"));
    assert_eq!(sandbox.run(&["fix", NAME]).code, 0);
    assert_eq!(fs::read(sandbox.path(NAME)).unwrap(), fixed, "a second run changes nothing");
    assert_eq!(sandbox.names(), [NAME]);
    assert_eq!(sandbox.run(&["undo", NAME]).code, 0);
    assert_eq!(fs::read(sandbox.path(NAME)).unwrap(), packed(&killed().text()));
}

#[test]
fn a_sound_packed_session_is_not_touched() {
    let content = packed(&sound().text());
    let sandbox = Sandbox::with(NAME, &content);
    for command in ["check", "fix"] {
        let ran = sandbox.run(&[command, NAME]);
        assert!(ran.code == 0 && ran.err.contains("All valid"), "{}", ran.all());
    }
    assert_eq!(fs::read(sandbox.path(NAME)).unwrap(), content);
}

#[test]
fn damaged_packing_is_an_error_and_stays() {
    let content = packed(&killed().text().repeat(50));
    let cut = &content[..content.len() / 2];
    let mut wrong = content.clone();
    *wrong.last_mut().unwrap() ^= 1;
    for content in [cut, &wrong, &content[..5], b"\x28\xb5\x2f\xfd"] {
        let sandbox = Sandbox::with(NAME, content);
        for command in ["check", "fix"] {
            let ran = sandbox.run(&[command, NAME]);
            assert_eq!(ran.code, 2, "{}", ran.all());
            assert!(ran.err.contains("the compressed data is damaged"), "{}", ran.err);
        }
        assert_eq!(fs::read(sandbox.path(NAME)).unwrap(), content);
    }
}
