//! Commands of the user: `!make test` runs it at once. The next prompt tells the model.

use foxwedge_tools::{
    OutputCapture, StopSender, ToolCallResult, ToolInvocation, ToolResultContent,
};
use serde_json::json;

use super::{
    ChatAgent,
    attachments::{COMMAND_MARK, text_block},
    commands::reply_with_lines,
    terminal::CommandReply,
};
use foxwedge_local::output::{HelpfulError, pluralize};

/// Bytes of output that are kept.
const MAX_OUTPUT_BYTES: usize = 32 << 10;
/// Lines of output that are shown.
const MAX_SHOWN_LINES: usize = 200;
/// Time limit of a command, in seconds.
const COMMAND_SECONDS: u64 = 600;

impl ChatAgent {
    /// Runs a command of the user, shows its output, and keeps it for the next prompt.
    pub(crate) async fn run_shell(&mut self, command: &str) -> anyhow::Result<CommandReply> {
        let Some(shell) = self.shell.clone() else {
            return Err(HelpfulError::new("commands cannot be run here").into());
        };
        let stop = StopSender::new();
        self.run_controller.set_command(Some(stop.clone()));
        let input = json!({ "command": command, "timeout_seconds": COMMAND_SECONDS });
        let invocation = ToolInvocation {
            call_id: "user-command",
            input: &input,
            stop: stop.receiver(),
            output: OutputCapture::new(MAX_OUTPUT_BYTES),
        };
        let ToolCallResult { content, .. } = shell.run(invocation).await;
        self.run_controller.set_command(None);
        let output = match content {
            ToolResultContent::Text(text) => text,
            ToolResultContent::Blocks(_) => String::new(),
        };
        self.shell_blocks
            .push(text_block(&format!("{COMMAND_MARK}{command}` myself:\n\n{output}")));
        let lines: Vec<String> = output.lines().map(str::to_owned).collect();
        let hidden = lines.len().saturating_sub(MAX_SHOWN_LINES);
        let note = (hidden > 0).then(|| format!("… {} above", pluralize(hidden, "line")));
        Ok(reply_with_lines(note.into_iter().chain(lines.into_iter().skip(hidden)).collect()))
    }
}
