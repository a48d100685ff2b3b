//! Reloads the configuration of a running gateway: all of it, or nothing.

use crate::{
    GatewayEngine,
    config::{ConfigChanges, ConfigError, LoadedConfig},
    metrics::ReloadResult,
};

/// Reloads the configuration of one gateway.
pub struct ConfigReloader {
    engine: GatewayEngine,
    running: LoadedConfig,
    /// The configuration of the start: its settings that only a start can change are still in use.
    started: LoadedConfig,
}

/// The result of a reload.
#[derive(Debug)]
pub enum ReloadOutcome {
    /// The new configuration is in use.
    Applied(ConfigChanges),
    /// The configuration has errors. Nothing changed.
    Refused(ConfigError),
}

impl ConfigReloader {
    /// A reloader for an engine that runs with this configuration.
    pub fn new(engine: GatewayEngine, running: LoadedConfig) -> ConfigReloader {
        ConfigReloader { engine, started: running.clone(), running }
    }

    /// The configuration in use, as it was read.
    pub fn running(&self) -> &LoadedConfig {
        &self.running
    }

    /// Uses a configuration that was read, or keeps the running one if it has errors.
    pub fn reload(&mut self, read: Result<LoadedConfig, ConfigError>) -> ReloadOutcome {
        let metrics = self.engine.metrics();
        let loaded = match read {
            Ok(loaded) => loaded,
            Err(error) => {
                metrics.count_reload(ReloadResult::Refused);
                return ReloadOutcome::Refused(error);
            }
        };
        metrics.count_reload(ReloadResult::Applied);
        let after_restart = loaded.changes_since(&self.started).after_restart;
        let changes = ConfigChanges { after_restart, ..loaded.changes_since(&self.running) };
        self.engine.set_config(loaded.config.clone());
        self.running = loaded;
        ReloadOutcome::Applied(changes)
    }
}
