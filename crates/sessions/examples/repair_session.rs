//! Repairs a session file of any supported agent in memory and prints what a repair changes.
//!
//! ```sh
//! cargo run -p foxwedge-sessions --example repair_session -- session.jsonl > repaired.jsonl
//! ```

use std::{env, error::Error, fs, io};

use foxwedge_core::CheckOptions;
use foxwedge_formats::outline_options;
use foxwedge_sessions::{AgentDetection, detect_agent, read, readable_text};

/// The second message names a parent that is not in the file: Claude Code loses what is before it.
const SAMPLE: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","version":"2.1.112","message":{"role":"user","content":"Hello."}}
{"type":"user","uuid":"u2","parentUuid":"lost","sessionId":"s1","version":"2.1.112","message":{"role":"user","content":"Are you there?"}}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = match env::args().nth(1) {
        Some(file) => fs::read(file)?,
        None => SAMPLE.as_bytes().to_vec(),
    };
    let text = readable_text(&bytes)?;
    let AgentDetection::Known(agent) = detect_agent(text.as_str()) else {
        return Err("not a session file of a supported agent".into());
    };
    let session = read(&text, agent, outline_options(agent.profile()))?;
    let (repaired, repair) = session.fix(&CheckOptions::for_profile(agent.profile()));
    for edit in repair.edits.iter() {
        eprintln!("FW{}: {}", edit.code, edit.note);
    }
    repaired.write_to(&mut io::stdout().lock())?;
    Ok(())
}
