//! The gateways, and how each is started in front of an upstream.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_core::Format;

use super::{PeerPath, status_of};
use crate::{
    acceptance::{
        gateway_process::{TOKEN, isolate, request_with},
        process::{OwnedProcess, free_address, wait_for},
    },
    bench::relays::find_program,
};

/// A gateway that is installed.
pub(super) struct PeerGateway {
    pub(super) name: &'static str,
    program: PathBuf,
    kind: PeerKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PeerKind {
    Foxwedge,
    Nginx,
    Litellm,
    Portkey,
    SglangRouter,
    VllmRouter,
    AnthropicProxy,
}

/// A running gateway. Dropping it ends it.
pub(super) struct RunningPeer {
    pub(super) address: String,
    _process: OwnedProcess,
}

/// The gateways that are installed and serve this path.
pub(super) fn installed(path: PeerPath, foxwedge: &Path, peers: &Path) -> Vec<PeerGateway> {
    let all = [
        ("foxwedge", PeerKind::Foxwedge, Some(foxwedge.to_owned())),
        ("nginx", PeerKind::Nginx, find_program("nginx")),
        ("LiteLLM", PeerKind::Litellm, Some(peers.join("py/litellm-venv/bin/litellm"))),
        (
            "Portkey",
            PeerKind::Portkey,
            Some(peers.join("node/portkey/node_modules/@portkey-ai/gateway/build/start-server.js")),
        ),
        (
            "sglang-router",
            PeerKind::SglangRouter,
            Some(peers.join("py/smg-venv/bin/sglang-router")),
        ),
        ("vllm-router", PeerKind::VllmRouter, Some(peers.join("py/vr-venv/bin/vllm-router"))),
        ("anthropic-proxy", PeerKind::AnthropicProxy, Some(peers.join("bin/bin/anthropic-proxy"))),
    ];
    let found = all.into_iter().filter_map(|(name, kind, program)| {
        let program = program.filter(|program| program.exists() && kind.serves(path))?;
        Some(PeerGateway { name, program, kind })
    });
    found.collect()
}

impl PeerKind {
    fn serves(self, path: PeerPath) -> bool {
        match (self, path) {
            (PeerKind::Foxwedge | PeerKind::Litellm, _) => true,
            (PeerKind::Nginx | PeerKind::Portkey, PeerPath::Chat | PeerPath::Messages) => true,
            (PeerKind::SglangRouter | PeerKind::VllmRouter, PeerPath::Chat) => true,
            (PeerKind::AnthropicProxy, PeerPath::MessagesToChat) => true,
            (PeerKind::Nginx | PeerKind::Portkey, PeerPath::MessagesToChat)
            | (
                PeerKind::SglangRouter | PeerKind::VllmRouter,
                PeerPath::Messages | PeerPath::MessagesToChat,
            )
            | (PeerKind::AnthropicProxy, PeerPath::Chat | PeerPath::Messages) => false,
        }
    }
}

impl PeerGateway {
    /// Starts it, and waits until it passes a request on.
    pub(super) fn start(
        &self,
        folder: &Path,
        upstream: &str,
        path: PeerPath,
        first: &str,
    ) -> Result<RunningPeer, String> {
        let address = free_address()?;
        let mut command = self.command(folder, upstream, &address)?;
        let mut process = OwnedProcess::start_tree(&mut command, folder)?;
        let line = format!("POST {}", path.url_path());
        let headers = self.headers(path, upstream);
        wait_for(&format!("{} replies", self.name), || {
            let reply = request_with(&address, &line, &headers, first).unwrap_or_default();
            let status = status_of(&reply).filter(|status| *status < 500);
            match (status, process.status()?) {
                (None, Some(status)) => Err(format!("{} ended: {status}", self.name)),
                (status, _) => Ok(status),
            }
        })
        .map_err(|error| {
            let output = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
            format!("{error}\n{output}")
        })?;
        Ok(RunningPeer { address, _process: process })
    }

    /// What it wants to be told with each request, beside what any client sends.
    pub(super) fn headers(&self, path: PeerPath, upstream: &str) -> String {
        let version = "x-api-key: none\r\nanthropic-version: 2023-06-01\r\n";
        let headers = match path {
            PeerPath::Chat => "",
            PeerPath::Messages | PeerPath::MessagesToChat => version,
        };
        if self.kind != PeerKind::Portkey {
            return headers.to_owned();
        }
        let provider = if path == PeerPath::Chat { "openai" } else { "anthropic" };
        format!(
            "{headers}x-portkey-provider: {provider}\r\n\
             x-portkey-custom-host: http://{upstream}/v1\r\n"
        )
    }

    fn command(&self, folder: &Path, upstream: &str, address: &str) -> Result<Command, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let port = address.rsplit(':').next().unwrap_or_default();
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(failed).map(|()| path)
        };
        let is_script = self.program.extension().is_some_and(|it| it == "js");
        let mut command = Command::new(if is_script { Path::new("node") } else { &self.program });
        isolate(&mut command, folder).map_err(failed)?;
        command.current_dir(folder);
        match self.kind {
            PeerKind::Foxwedge => {
                let config = write("foxwedge.toml", &foxwedge_config(upstream))?;
                command.args(["serve", "--log", "off", "--listen", address, "--config"]);
                command.arg(config).arg("--store").arg(folder.join("runs.db"));
                command.env("FOXWEDGE_TOKEN", TOKEN);
            }
            PeerKind::Nginx => {
                write("nginx.conf", &nginx_config(upstream, address))?;
                command.arg("-p").arg(folder).args(["-c", "nginx.conf"]);
            }
            PeerKind::Litellm => {
                let config = write("litellm.yaml", &litellm_config(upstream))?;
                command.arg("--config").arg(config).args(["--host", "127.0.0.1", "--port", port]);
                command.args(["--num_workers", "1", "--telemetry", "False"]);
                command.env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true");
                command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
            }
            PeerKind::Portkey => {
                command.arg(&self.program).args(["--headless", &format!("--port={port}")]);
                command.env("NODE_ENV", "production");
            }
            PeerKind::SglangRouter | PeerKind::VllmRouter => {
                if self.kind == PeerKind::SglangRouter {
                    command.arg("launch");
                }
                command.args(["--worker-urls", &format!("http://{upstream}")]);
                command.args(["--host", "127.0.0.1", "--port", port, "--policy", "round_robin"]);
                let metrics = free_address()?;
                let metrics = metrics.rsplit(':').next().unwrap_or_default();
                command.args(["--prometheus-host", "127.0.0.1", "--prometheus-port", metrics]);
            }
            PeerKind::AnthropicProxy => {
                command.args(["--bind", "127.0.0.1", "--port", port]);
                command.env("UPSTREAM_BASE_URL", format!("http://{upstream}/v1"));
                command.env("UPSTREAM_API_KEY", "none");
            }
        }
        Ok(command)
    }
}

fn foxwedge_config(upstream: &str) -> String {
    let route = |path: PeerPath| {
        let (model, messages) = (path.model(), path.upstream() == Format::Anthropic);
        let (kind, base) = if messages { ("anthropic", "") } else { ("openai", "/v1") };
        format!(
            "[[upstream]]\nname = \"{model}\"\nkind = \"{kind}\"\nkey = \"none\"\n\
             base_url = \"http://{upstream}{base}\"\n\n\
             [[route]]\nmodel = \"{model}\"\nupstream = \"{model}\"\n\n"
        )
    };
    PeerPath::ALL.map(route).concat()
}

fn nginx_config(upstream: &str, address: &str) -> String {
    format!(
        "daemon off; master_process off; pid pid; error_log error.log;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; client_max_body_size 8m; client_body_temp_path a;\n\
         proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;\n\
         server {{ listen {address}; location / {{ proxy_pass http://{upstream}; }} }} }}\n"
    )
}

fn litellm_config(upstream: &str) -> String {
    let model = |path: PeerPath| {
        let (provider, base) = match path {
            PeerPath::Chat => ("openai", "/v1"),
            PeerPath::Messages => ("anthropic", ""),
            PeerPath::MessagesToChat => ("hosted_vllm", "/v1"),
        };
        let name = path.model();
        format!(
            "  - model_name: {name}\n    litellm_params: {{model: \"{provider}/{name}\", \
             api_base: \"http://{upstream}{base}\", api_key: \"none\"}}\n"
        )
    };
    let models = PeerPath::ALL.map(model).concat();
    format!(
        "model_list:\n{models}litellm_settings: {{num_retries: 0, request_timeout: 60, \
         telemetry: false}}\n"
    )
}
