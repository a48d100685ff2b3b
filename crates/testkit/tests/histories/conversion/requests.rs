//! Whole requests for every target. What becomes of them is kept beside them as reviewed snapshots.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use foxwedge_core::{Edit, Format, Profile};
use foxwedge_formats::{convert::ConvertedRequest, detect, model::LossLocation};
use serde_json::Value;

use super::sent;

/// Everybody but [`Profile::Strict`], who is nobody.
const TARGETS: [Profile; 8] = [
    Profile::OpenaiChat,
    Profile::OpenaiResponses,
    Profile::Anthropic,
    Profile::Gemini,
    Profile::Bedrock,
    Profile::GeminiInteractions,
    Profile::Mistral,
    Profile::Deepseek,
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/conversion/requests")
}

/// The requests: name, format, text. A file is called `name.format.json`.
fn requests() -> Vec<(String, Format, String)> {
    let files = fs::read_dir(root()).expect("the requests are part of the project");
    let mut files: Vec<PathBuf> = files.map(|it| it.expect("it can be listed").path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == "json"));
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a plain name");
        let wire = name.rsplit('.').next().and_then(Format::parse);
        let wire = wire.unwrap_or_else(|| panic!("{name} names no format"));
        (name.to_owned(), wire, fs::read_to_string(&path).expect("a request can be read"))
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_format_has_a_request_and_is_recognised() {
    let all = requests();
    for wire in Format::ALL {
        assert!(all.iter().any(|(_, from, _)| *from == wire), "no request of {}", wire.name());
    }
    for (name, wire, text) in all {
        assert_eq!(detect(&text).map(|found| found.wire), Some(wire), "{name}");
    }
}

#[test]
fn every_request_goes_to_every_target_as_reviewed() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, wire, text) in requests() {
            for profile in TARGETS {
                let told = told(&sent(wire, profile, &text));
                insta::assert_snapshot!(format!("{name}.{}", profile.name()), told);
            }
        }
    });
}

#[test]
fn every_snapshot_has_its_request() {
    let known: Vec<String> = requests().into_iter().map(|(name, _, _)| name).collect();
    for entry in fs::read_dir(root()).expect("the requests are part of the project") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let of = |request: &String| {
            let target =
                name.strip_prefix(request.as_str()).and_then(|rest| rest.strip_prefix('.'));
            let target = target.and_then(|rest| rest.strip_suffix(".snap"));
            target.is_some_and(|target| TARGETS.iter().any(|profile| profile.name() == target))
        };
        assert!(!name.ends_with(".snap") || known.iter().any(of), "{name} belongs to nothing");
    }
}

/// A conversion as its reader should see it.
fn told(converted: &ConvertedRequest) -> String {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes it");
    let body: Value = serde_json::from_str(&converted.body).expect("it is JSON");
    line(serde_json::to_string_pretty(&body).expect("a value can be written"));
    line("\nlosses".to_owned());
    for loss in &converted.losses {
        let place = match loss.location {
            LossLocation::Request => "request".to_owned(),
            LossLocation::Message(index) => format!("messages[{index}]"),
            LossLocation::Reply => "reply".to_owned(),
        };
        line(format!("  {} {place}: {}", loss.kind.name(), loss.note));
    }
    line("\nrenamed".to_owned());
    for renamed in &converted.renamed {
        line(format!("  `{}` is `{}`", renamed.old, renamed.new));
    }
    let edits: [(&str, &[Edit]); 2] =
        [("before", &converted.source_edits), ("behind", &converted.target_edits)];
    for (name, edits) in edits.into_iter().filter(|(_, edits)| !edits.is_empty()) {
        line(format!("\n{name}"));
        for edit in edits {
            let strategy = edit.strategy.name();
            line(format!("  FW{} {strategy} messages[{}]: {}", edit.code, edit.message, edit.note));
        }
    }
    text
}
