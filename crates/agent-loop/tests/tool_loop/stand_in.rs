//! A stand-in for the process of a loop: the loop runs under its owner name, and dropping the loop
//! kills it. The next loop finds that the process is gone, as after a real crash.

use std::process::{Child, Command, Stdio};

use foxwedge_store::process;

/// A process that only waits.
pub(crate) struct ProcessStandIn(Child);

impl ProcessStandIn {
    pub(crate) fn new() -> ProcessStandIn {
        // It waits for input that never comes. If we are killed, its input closes and it ends.
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        ProcessStandIn(command.spawn().expect("a process"))
    }

    /// The owner name for a loop.
    pub(crate) fn name(&self) -> String {
        let id = self.0.id();
        let began = foxwedge_process::start_time(id).expect("its start");
        format!("foxwedge {id} {began} {}", process::machine_id().expect("a machine"))
    }
}

impl Drop for ProcessStandIn {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
