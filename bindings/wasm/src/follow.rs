//! The exports for agents that are followed.

use foxwedge_embed::FollowCall;

use crate::{handles::NO_HANDLE, memory};

/// Begins to follow an agent; the input is the options, of this length. Returns a handle, or
/// `u32::MAX` if that failed.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn follow_open(options: usize) -> u32 {
    let mut memory = memory();
    let [options] = memory.parts([options]);
    match FollowCall::new(&String::from_utf8_lossy(options)) {
        Ok(follower) => memory.followers.insert(follower),
        Err(error) => {
            memory.reply(Err(error));
            NO_HANDLE
        }
    }
}

/// Takes a step. The input is its name and its body, of these lengths. `now` is in milliseconds;
/// what is no positive number is no time.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn follow_step(handle: u32, step: usize, body: usize, now: f64) -> u32 {
    let mut memory = memory();
    let [step, body] = memory.parts([step, body]);
    let [step, body] = [step, body].map(|part| String::from_utf8_lossy(part).into_owned());
    // The cast saturates.
    let now = (now > 0.0).then_some(now as u64);
    let result = memory.followers.get(handle).and_then(|follower| follower.step(&step, &body, now));
    memory.reply(result)
}

/// Forgets an agent. Its handle is free afterwards.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn follow_close(handle: u32) {
    // Nothing to forget is no mistake.
    let _ = memory().followers.take(handle);
}
