//! A folder for one test, and calls of tools in it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use foxwedge_tools::{
    OutputCapture, StopReceiver, StopSender, Tool, ToolCallResult, ToolCompletion, ToolInvocation,
    ToolLimits, ToolResultContent, ToolWorkspace,
};
use serde_json::Value;

/// Bytes of output that a call keeps.
pub(crate) const KEPT: usize = 16 << 10;

/// A folder with `root`, the workspace, and `outside`, which is not part of it. Deleted on drop.
pub(crate) struct Bench {
    folder: PathBuf,
    pub(crate) workspace: ToolWorkspace,
    limits: ToolLimits,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with(ToolLimits::default())
    }

    pub(crate) fn with(limits: ToolLimits) -> Bench {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("foxwedge-tools-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("root")).unwrap();
        fs::create_dir_all(folder.join("outside")).unwrap();
        fs::write(folder.join("outside/secret"), "secret").unwrap();
        let workspace = ToolWorkspace::open(&folder.join("root")).unwrap();
        Bench { folder, workspace, limits }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.join("outside")
    }

    /// Writes a file of the workspace and creates its folders.
    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.root().join(name)).unwrap()).into_owned()
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.workspace.tools_named(&[name], self.limits.clone()).unwrap();
        Arc::clone(tools.first().unwrap())
    }

    /// Calls a tool and waits for its result.
    pub(crate) async fn call(&self, name: &str, input: Value) -> CallOutcome {
        self.call_with(name, input, StopReceiver::never(), OutputCapture::new(KEPT)).await
    }

    pub(crate) async fn call_with(
        &self,
        name: &str,
        input: Value,
        stop: StopReceiver,
        output: OutputCapture,
    ) -> CallOutcome {
        let invocation = ToolInvocation { call_id: "call_1", input: &input, stop, output };
        call_outcome(self.tool(name).run(invocation).await)
    }

    /// Calls a tool on its own task.
    pub(crate) fn begin(&self, name: &str, input: Value) -> RunningCall {
        let (stop_sender, output) = (StopSender::new(), OutputCapture::new(KEPT));
        let (tool, stop, task_output) = (self.tool(name), stop_sender.receiver(), output.clone());
        let task = tokio::spawn(async move {
            let invocation =
                ToolInvocation { call_id: "call_1", input: &input, stop, output: task_output };
            call_outcome(tool.run(invocation).await)
        });
        RunningCall { task, stop_sender, output }
    }

    /// Names of the files in the outside folder.
    pub(crate) fn names_outside(&self) -> Vec<String> {
        names(&self.outside())
    }
}

/// A running call.
pub(crate) struct RunningCall {
    pub(crate) task: tokio::task::JoinHandle<CallOutcome>,
    pub(crate) stop_sender: StopSender,
    pub(crate) output: OutputCapture,
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The result of a tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallOutcome {
    pub(crate) completion: ToolCompletion,
    pub(crate) text: String,
}

fn call_outcome(result: ToolCallResult) -> CallOutcome {
    match result.content {
        ToolResultContent::Text(text) => CallOutcome { completion: result.completion, text },
        ToolResultContent::Blocks(blocks) => {
            CallOutcome { completion: result.completion, text: Value::from(blocks).to_string() }
        }
    }
}

impl CallOutcome {
    /// The call succeeded with exactly this text.
    #[track_caller]
    pub(crate) fn is(&self, expected: &str) {
        assert_eq!((self.completion, self.text.as_str()), (ToolCompletion::Done, expected));
    }

    /// The call succeeded, and its text contains this.
    #[track_caller]
    pub(crate) fn has(&self, expected: &str) {
        assert!(
            self.completion == ToolCompletion::Done && self.text.contains(expected),
            "{self:?}: {expected}"
        );
    }

    /// The call failed, and its text contains this.
    #[track_caller]
    pub(crate) fn refuses(&self, expected: &str) {
        assert!(
            self.completion == ToolCompletion::Failed && self.text.contains(expected),
            "{self:?}: {expected}"
        );
    }
}
