//! Follows the output of an agent and prints the frames that a user interface of the AI SDK reads.
//!
//! ```sh
//! claude -p "hello" --output-format stream-json --verbose | cargo run -p foxwedge-run --example follow_agent -- -
//! ```

use std::{env, io};

use foxwedge_run::{
    MachineInput, MachineSettings, SessionMachine,
    encode::{EncoderOptions, RunEncoder, UiFormat},
    follow::{AgentExit, AgentFollower, StreamSource},
    step,
};

const SAMPLE: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m","tools":["Bash"]}
{"type":"assistant","session_id":"s1","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Hello."}]}}
{"type":"result","subtype":"success","session_id":"s1","result":"Hello.","is_error":false}"#;

fn main() -> io::Result<()> {
    let output = match env::args().nth(1) {
        Some(_) => io::read_to_string(io::stdin())?,
        None => SAMPLE.to_owned(),
    };
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run-1".into());
    let mut events: Vec<_> = output.lines().flat_map(|line| follower.line(line)).collect();
    events.extend(follower.finish(AgentExit::Code(0)));

    let mut session = SessionMachine::new(MachineSettings::default());
    let mut encoder = RunEncoder::new(UiFormat::AiSdk, EncoderOptions::new(&"s1".into()));
    let mut frames = Vec::new();
    for (now, event) in (0..).zip(events) {
        let effects;
        (session, effects) = step(session, now, MachineInput::Event(event));
        effects.iter().for_each(|effect| encoder.push(effect, &mut frames));
    }
    let mut text = String::new();
    frames.iter().for_each(|frame| frame.write_sse(&mut text));
    print!("{text}");
    Ok(())
}
