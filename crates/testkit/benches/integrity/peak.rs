//! Peak memory: one process does one thing, and says how far its resident size went up.

use std::{fs, process::Command};

use foxwedge_core::{CheckOptions, Format, Profile};

use crate::data;

/// Prints peak memory of checking, fixing a broken file, and a `Value`, beside the input's size.
pub(crate) fn row(wire: Format, size: usize) {
    let mut line = format!("{:<17}{size:>8}", wire.name());
    for (what, state) in
        [("check", data::State::Sound), ("fix", data::State::Broken), ("value", data::State::Sound)]
    {
        let document = data::history(wire, size, state);
        let file =
            std::env::temp_dir().join(format!("foxwedge-bench-{}-{what}.json", std::process::id()));
        if fs::write(&file, &document).is_err() {
            return;
        }
        let peak = |what: &str| -> f64 {
            let exe = std::env::current_exe().expect("own path");
            let run = Command::new(exe).args(["--peak", what, wire.name()]).arg(&file).output();
            run.ok()
                .and_then(|out| String::from_utf8(out.stdout).ok()?.trim().parse().ok())
                .unwrap_or(f64::NAN)
        };
        let used = peak(what) - peak("nothing");
        line += &format!("   {what} {:>5.2}x", used * 1024.0 / document.len() as f64);
        let _ = fs::remove_file(&file);
    }
    println!("{line}");
}

/// Does one thing and prints the peak resident size in kilobytes.
pub(crate) fn one(what: &str, wire: &str, file: &str) {
    let wire = Format::parse(wire).expect("a format");
    let question = CheckOptions::for_profile(Profile::for_format(wire));
    if what != "nothing" {
        let bytes = fs::read(file).expect("the file");
        let source = foxwedge_formats::text(&bytes).expect("text");
        match what {
            "value" => {
                drop(std::hint::black_box(serde_json::from_str::<serde_json::Value>(source)))
            }
            _ => {
                let reading = foxwedge_formats::read(
                    source,
                    wire,
                    foxwedge_formats::outline_options(question.profile),
                )
                .expect("readable");
                if what == "fix" {
                    let (patched, _) = reading.fix(&question);
                    patched.write_to(&mut std::io::sink()).expect("sink");
                } else {
                    std::hint::black_box(foxwedge_core::check(&reading.draft, &question));
                }
            }
        }
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.and_then(|peak| peak.split_whitespace().next()).unwrap_or("nan"));
}
