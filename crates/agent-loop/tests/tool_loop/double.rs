//! Somebody who stands in for a process: a loop runs in its name, and when the loop is dropped, the
//! double dies. Whoever comes next finds that the process is gone, as after a real death.

use std::process::{Child, Command, Stdio};

use foxwedge_store::process;

/// A process that does nothing but live.
pub(crate) struct Double(Child);

impl Double {
    pub(crate) fn new() -> Double {
        // It waits for input that never comes: if we are killed, its input ends, and so does it.
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Double(command.spawn().expect("a process"))
    }

    /// The name in which a loop runs.
    pub(crate) fn name(&self) -> String {
        let id = self.0.id();
        let began = process::start_time(id).expect("its start");
        format!("foxwedge {id} {began} {}", process::machine_id().expect("a machine"))
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
