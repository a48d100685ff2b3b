//! The gateway at work, from its first connection to its last.

use std::{io, net::SocketAddr, process::ExitCode, sync::Arc};

use anyhow::Context;
use foxwedge_gateway::{DrainReport, GatewayServer};
use foxwedge_gateway::{
    GatewayEngine,
    config::{GatewayConfig, LoadedConfig, SessionFileAccess},
};
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    startup_messages,
    token::{self, TokenCreation},
};
use crate::{cli_output::CliError, console::ConsoleBackend, runs, signals::ProcessSignals};

/// How it ended.
enum ServeEnd {
    /// Everything that was at work is over.
    Drained(DrainReport),
    /// Somebody asked twice.
    Forced,
}

/// Opens the store, listens, and serves.
pub(super) fn run(mut loaded: LoadedConfig) -> anyhow::Result<ExitCode> {
    let made = token::ensure_token(&mut loaded)?;
    // What a panic says may repeat what was said in a conversation: its place is enough.
    std::panic::set_hook(Box::new(|panic| match panic.location() {
        Some(at) => eprintln!("error: a mistake at {}:{}", at.file(), at.line()),
        None => eprintln!("error: a mistake"),
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("no threads can be had")?;
    let log = loaded.config.telemetry.log;
    let end = runtime.block_on(serve(loaded, made));
    // Nothing that still hangs may keep the process: runs that were left are closed at the next
    // start.
    runtime.shutdown_background();
    match end? {
        ServeEnd::Drained(DrainReport { finished, cut }) => {
            startup_messages::report_stopped(log, finished, cut);
            Ok(ExitCode::SUCCESS)
        }
        ServeEnd::Forced => Ok(ExitCode::from(130)),
    }
}

async fn serve(loaded: LoadedConfig, made: TokenCreation) -> anyhow::Result<ServeEnd> {
    let mut signals = ProcessSignals::listen().context("no signals can be heard")?;
    startup_messages::report_warnings(&loaded);
    let config = Arc::new(loaded.config.clone());
    // Whoever cannot listen does not touch the store.
    let (listener, address) = listen(&config).await?;
    let kept = runs::connect(config.store.clone()).await?;
    startup_messages::report_closed_runs(config.telemetry.log, kept.sweep().await?.len());
    let engine =
        GatewayEngine::open_as(runs::current_owner(), Arc::clone(&config), Arc::clone(&kept.store))
            .await?;
    startup_messages::report_ready(&loaded, address, &kept.url.to_string(), made);
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        // Whoever holds the other end says so, or is gone: both mean stop.
        let _ = stopped.await;
    };
    let gateway = GatewayServer::new(Arc::clone(&config), engine, kept.store);
    let gateway = match config.console.files {
        SessionFileAccess::Shown => gateway.local_sessions(Arc::new(ConsoleBackend::new())),
        SessionFileAccess::Hidden => gateway,
    };
    let served = gateway.serve(listener, stopped);
    tokio::pin!(served);
    tokio::select! {
        served = &mut served => return Ok(ServeEnd::Drained(served?)),
        () = signals.next() => {}
    }
    startup_messages::report_draining(config.telemetry.log, config.times.drain.as_secs());
    drop(stop);
    tokio::select! {
        served = &mut served => Ok(ServeEnd::Drained(served?)),
        () = signals.next() => Ok(ServeEnd::Forced),
    }
}

async fn listen(config: &GatewayConfig) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let address = config.listen;
    let refused = |error: io::Error| {
        let help = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "somebody listens there already; another port: `--listen 127.0.0.1:4178`"
            }
            io::ErrorKind::PermissionDenied => "ports below 1024 are the system's",
            _ => "`--listen 127.0.0.1:4177` is an address of every machine",
        };
        CliError::new(format!("nobody can listen at {address}: {error}")).help(help)
    };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().context("the address cannot be told")?;
    Ok((listener, address))
}
