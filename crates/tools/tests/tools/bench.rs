//! A folder for one test, and a call of one tool in it.

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

/// A folder with `root`, which is the workspace, and `outside`, which is not. Goes away.
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

    /// Writes a file of the workspace, with the folders on the way.
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

    /// Calls a tool and waits for its answer.
    pub(crate) async fn call(&self, name: &str, input: Value) -> Said {
        self.call_with(name, input, StopReceiver::never(), OutputCapture::new(KEPT)).await
    }

    pub(crate) async fn call_with(
        &self,
        name: &str,
        input: Value,
        stop: StopReceiver,
        output: OutputCapture,
    ) -> Said {
        let work = ToolInvocation { call_id: "call_1", input: &input, stop, output };
        said(self.tool(name).run(work).await)
    }

    /// Calls a tool on a task of its own.
    pub(crate) fn begin(&self, name: &str, input: Value) -> Begun {
        let (interrupt, output) = (StopSender::new(), OutputCapture::new(KEPT));
        let (tool, stop, its) = (self.tool(name), interrupt.receiver(), output.clone());
        let task = tokio::spawn(async move {
            let work = ToolInvocation { call_id: "call_1", input: &input, stop, output: its };
            said(tool.run(work).await)
        });
        Begun { task, interrupt, output }
    }

    /// Files that lie in the folder outside.
    pub(crate) fn names_outside(&self) -> Vec<String> {
        names(&self.outside())
    }
}

/// A call at work.
pub(crate) struct Begun {
    pub(crate) task: tokio::task::JoinHandle<Said>,
    pub(crate) interrupt: StopSender,
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

/// What a tool answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    pub(crate) how: ToolCompletion,
    pub(crate) text: String,
}

fn said(answer: ToolCallResult) -> Said {
    match answer.content {
        ToolResultContent::Text(text) => Said { how: answer.completion, text },
        ToolResultContent::Blocks(blocks) => {
            Said { how: answer.completion, text: Value::from(blocks).to_string() }
        }
    }
}

impl Said {
    /// It went well, and said this.
    #[track_caller]
    pub(crate) fn is(&self, expected: &str) {
        assert_eq!((self.how, self.text.as_str()), (ToolCompletion::Done, expected));
    }

    /// It went well, and said this among other things.
    #[track_caller]
    pub(crate) fn has(&self, expected: &str) {
        assert!(
            self.how == ToolCompletion::Done && self.text.contains(expected),
            "{self:?}: {expected}"
        );
    }

    /// It did not go well, and said why.
    #[track_caller]
    pub(crate) fn refuses(&self, expected: &str) {
        assert!(
            self.how == ToolCompletion::Failed && self.text.contains(expected),
            "{self:?}: {expected}"
        );
    }
}
