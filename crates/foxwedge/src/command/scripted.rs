//! `foxwedge scripted`: serves the built-in model as a provider.

use std::process::ExitCode;

use anyhow::Context;
use tokio::net::TcpListener;

use crate::cli::ScriptedArgs;
use foxwedge_local::{
    language::localize,
    output::{self, HelpfulError},
    signals::ProcessSignals,
};

/// Serves until a signal stops it.
pub(crate) fn run(args: ScriptedArgs) -> anyhow::Result<ExitCode> {
    let address = args.listen;
    if !address.ip().is_loopback() {
        let help = "it checks no key, so it needs a loopback address: `--listen 127.0.0.1:4178`";
        let message = format!("the scripted model does not listen on {address}");
        return Err(HelpfulError::new(message).help(help).into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot start the worker threads")?;
    runtime.block_on(async {
        let mut signals = ProcessSignals::listen().context("cannot listen for signals")?;
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        let address = listener.local_addr().context("cannot read the listen address")?;
        output::write_stdout(&format!("http://{address}\n"))?;
        output::write_stderr(&localize(format!(
            "the scripted model listens: OPENAI_BASE_URL=http://{address}/v1 \
             ANTHROPIC_BASE_URL=http://{address}, any key, model `scripted`\n"
        )));
        foxwedge_gateway::serve_scripted(listener, async move { signals.next().await }).await;
        Ok(ExitCode::SUCCESS)
    })
}
