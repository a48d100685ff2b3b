//! What real clients sent, in every format and back.

use std::{fs, path::Path};

use foxwedge_core::{Format, Profile};

use super::{BOLD, lawful};

#[test]
fn what_real_clients_sent_goes_everywhere_and_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recorded");
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("the recordings are part of the project") {
        let path = entry.expect("a folder can be listed").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a plain name");
        let text = fs::read_to_string(&path).expect("a recording can be read");
        let wire = match name.split('-').next() {
            Some("claude" | "anthropic") => Format::Anthropic,
            Some("codex") => Format::OpenaiResponses,
            Some("gemini") => Format::Gemini,
            _ => Format::OpenaiChat,
        };
        for profile in Profile::ALL {
            lawful(wire, profile, BOLD, &text);
        }
        seen += 1;
    }
    assert!(seen > 20, "{seen} recordings");
}
