//! What people use instead, on the same history, where it is installed.
//!
//! LiteLLM: `pip install litellm` for the `python3` on the path, or the one that `FOXWEDGE_PYTHON`
//! names. The AI SDK: `npm install ai` in a folder that `FOXWEDGE_NODE_MODULES` names. Both parse
//! the bytes, convert, and write them, as anybody has to who stands between two providers.

use std::{fs, path::Path, process::Command, time::Duration};

use foxwedge_core::Format;
use foxwedge_formats::convert::{ConversionOptions, request};

use super::{
    best,
    data::{State, history},
};

const MESSAGES: usize = 1_000;

const LITELLM: &str = "
import json, os, sys, time
os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'
from litellm.litellm_core_utils.prompt_templates import factory
raw = open(sys.argv[1], encoding='utf-8').read()
best = None
for _ in range(25):
    start = time.perf_counter()
    messages = json.loads(raw)
    told = factory.anthropic_messages_pt(messages, model='claude-sonnet-4-5', llm_provider='anthropic')
    json.dumps(told)
    spent = time.perf_counter() - start
    best = min(best or spent, spent)
print(best)
";

const AI_SDK: &str = "
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
const [file, modules] = process.argv.slice(-2);
const { convertToModelMessages } = createRequire(path.resolve(modules, 'x.js'))('ai');
// Its own form of a conversation: a call and its answer are one part.
const form = (messages) => {
  const out = []; const calls = new Map();
  messages.forEach((message, index) => {
    if (message.role === 'tool') {
      const part = calls.get(message.tool_call_id);
      if (part) part.output = message.content;
      return;
    }
    const parts = message.content ? [{ type: 'text', text: message.content }] : [];
    for (const call of message.tool_calls ?? []) {
      const part = { type: 'tool-' + call.function.name, toolCallId: call.id, state: 'output-available',
        input: JSON.parse(call.function.arguments), output: null };
      calls.set(call.id, part); parts.push(part);
    }
    out.push({ id: 'm' + index, role: message.role, parts });
  });
  return out;
};
const raw = JSON.stringify(form(JSON.parse(fs.readFileSync(file, 'utf8'))));
let best = Infinity;
for (let round = 0; round < 60; round += 1) {
  const start = performance.now();
  const told = await convertToModelMessages(JSON.parse(raw));
  JSON.stringify(told);
  best = Math.min(best, performance.now() - start);
}
console.log(best / 1000);
";

/// Converts the same history here and there.
pub(crate) fn beside() {
    let chat = history(Format::OpenaiChat, MESSAGES, State::Sound);
    let convert = || {
        request(&chat, Format::OpenaiChat, Format::Anthropic, &ConversionOptions::default())
            .expect("readable");
    };
    let before = best(50, convert);
    let folder = std::env::temp_dir().join(format!("foxwedge-bench-{}", std::process::id()));
    let file = folder.join("history.json");
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, &chat));
    let (litellm, ai) = match written {
        Ok(()) => (litellm(&file), ai_sdk(&file)),
        Err(_) => (None, None),
    };
    fs::remove_dir_all(&folder).ok();
    // Once more behind them, as the machine may have become slower meanwhile.
    let here = before.min(best(50, convert));
    let each = |time: Duration| time.as_secs_f64() * 1e6 / MESSAGES as f64;
    println!("{:<12}{:>9.2}", "here", each(here));
    for (name, time, how) in [
        ("LiteLLM", litellm, "pip install litellm"),
        ("AI SDK", ai, "npm install ai, FOXWEDGE_NODE_MODULES"),
    ] {
        match time {
            Some(time) => {
                let ratio = time.as_secs_f64() / here.as_secs_f64();
                println!("{name:<12}{:>9.2}{:>8.1} times ours", each(time), ratio);
            }
            None => println!("{name:<12}  not here ({how})"),
        }
    }
}

fn litellm(file: &Path) -> Option<Duration> {
    let python = std::env::var("FOXWEDGE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    seconds(Command::new(python).arg("-c").arg(LITELLM).arg(file))
}

fn ai_sdk(file: &Path) -> Option<Duration> {
    let modules = std::env::var("FOXWEDGE_NODE_MODULES").ok()?;
    let mut node = Command::new("node");
    seconds(node.args(["--input-type=module", "-e", AI_SDK, "--"]).arg(file).arg(modules))
}

/// The seconds that a program prints last.
fn seconds(command: &mut Command) -> Option<Duration> {
    let told = command.output().ok().filter(|told| told.status.success())?;
    let text = String::from_utf8(told.stdout).ok()?;
    let seconds: f64 = text.lines().last()?.trim().parse().ok()?;
    Some(Duration::from_secs_f64(seconds))
}
