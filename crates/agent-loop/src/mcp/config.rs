//! Parses MCP server configuration: the file that most programs share (`.mcp.json`), or one line.
//! Does not read the environment: the caller passes a lookup for variables.
//!
//! Errors name the place and never repeat a value: it may be a key.

mod expand;
mod one_line;

use std::{fmt, path::PathBuf, time::Duration};

use serde_json::{Map, Value};

use foxwedge_upstream::SecretText;

use super::{McpServer, McpTransport, OauthSettings, address};
use expand::expand_variables;
pub use one_line::parse_line;

/// Looks up an environment variable.
pub type VariableLookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Maximum servers per file.
const MAX_SERVERS: usize = 64;
/// Maximum bytes of a server name.
const MAX_NAME: usize = 64;

/// An error in an MCP server configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpConfigError {
    /// The place, such as `mcpServers.files.args[1]`.
    pub place: String,
    /// The error.
    pub what: String,
}

impl fmt::Display for McpConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`: {}", self.place, self.what)
    }
}

impl std::error::Error for McpConfigError {}

/// Reads the servers of a file. Disabled ones (`"disabled": true`) are left out.
///
/// # Errors
/// If the file is invalid, or a variable is not set.
pub fn parse(text: &str, lookup: &VariableLookup<'_>) -> Result<Vec<McpServer>, McpConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Value = serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        McpConfigError { place, what: "this is not valid JSON".to_owned() }
    })?;
    let top = McpConfigPath("mcpServers".to_owned());
    let servers = match file.get("mcpServers") {
        Some(Value::Object(servers)) => servers,
        Some(other) => return Err(top.type_error("an object that maps names to servers", other)),
        None => return Err(top.error("it is missing")),
    };
    if servers.len() > MAX_SERVERS {
        return Err(top.error(format!("more than {MAX_SERVERS} servers")));
    }
    let mut parsed = Vec::new();
    for (name, server) in servers {
        let place = top.field(name);
        let Value::Object(server) = server else {
            return Err(place.type_error("an object", server));
        };
        check_name(name, &place)?;
        if matches!(server.get("disabled"), Some(Value::Bool(true))) {
            continue;
        }
        parsed.push(ServerEntry { fields: server, place, lookup }.read(name)?);
    }
    Ok(parsed)
}

/// Checks that a server name can be part of a tool name.
fn check_name(name: &str, place: &McpConfigPath) -> Result<(), McpConfigError> {
    let is_allowed =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '/' | '@');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_allowed) {
        return Err(place.error(format!(
            "the name of a server is 1 to {MAX_NAME} letters, digits, `_`, `-`, `.`, `/`, `@`"
        )));
    }
    Ok(())
}

/// The path of a value in the configuration.
#[derive(Clone, Debug)]
struct McpConfigPath(String);

impl McpConfigPath {
    fn field(&self, name: &str) -> McpConfigPath {
        let short: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
        McpConfigPath(format!("{}.{short}", self.0))
    }

    fn item(&self, at: usize) -> McpConfigPath {
        McpConfigPath(format!("{}[{at}]", self.0))
    }

    fn error(&self, what: impl Into<String>) -> McpConfigError {
        McpConfigError { place: self.0.clone(), what: what.into() }
    }

    fn type_error(&self, expected: &str, found: &Value) -> McpConfigError {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.error(format!("this must be {expected}, not {found}"))
    }
}

/// One server in the file.
struct ServerEntry<'e> {
    fields: &'e Map<String, Value>,
    place: McpConfigPath,
    lookup: &'e VariableLookup<'e>,
}

impl ServerEntry<'_> {
    fn read(&self, name: &str) -> Result<McpServer, McpConfigError> {
        let (command, url) = (self.text("command")?, self.text("url")?);
        let transport = match (self.text("type")?.as_deref(), command, url) {
            (None | Some("stdio"), Some(command), None) => self.stdio(command)?,
            (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
                let headers = self.http_headers(&url)?;
                McpTransport::Http { url, headers }
            }
            (Some("sse"), None, Some(url)) => {
                let headers = self.http_headers(&url)?;
                McpTransport::Sse { url, headers }
            }
            (None, None, None) => {
                return Err(self.place.error("it needs `command` or `url`"));
            }
            (_, Some(_), Some(_)) => {
                return Err(self.place.error("it has both `command` and `url`"));
            }
            (Some("stdio"), None, _) => return Err(self.place.error("`command` is missing")),
            (Some("http" | "streamable-http" | "streamableHttp" | "sse"), _, None) => {
                return Err(self.place.error("`url` is missing"));
            }
            (Some(_), _, _) => {
                let what = "this must be \"stdio\", \"http\" or \"sse\"";
                return Err(self.place.field("type").error(what));
            }
        };
        let mut server = McpServer::new(name, transport);
        server.allow = self.allowed_tools()?;
        server.trust_read_only = self.boolean("trustReading")?.unwrap_or(server.trust_read_only);
        server.call_timeout = self.call_timeout()?.unwrap_or(server.call_timeout);
        server.oauth = self.oauth()?;
        Ok(server)
    }

    fn stdio(&self, program: String) -> Result<McpTransport, McpConfigError> {
        if program.is_empty() {
            return Err(self.place.field("command").error("it is empty"));
        }
        let mut command = vec![program];
        command.extend(self.list("args")?.unwrap_or_default());
        let env = self.pairs("env")?;
        if let Some((name, _)) = env.iter().find(|(name, _)| !is_variable(name)) {
            return Err(self.place.field("env").field(name).error("invalid variable name"));
        }
        let folder = self.text("cwd")?.map(PathBuf::from);
        if command.iter().chain(env.iter().map(|(_, value)| value)).any(|it| it.contains('\0')) {
            return Err(self.place.error("a string in it holds a zero byte"));
        }
        Ok(McpTransport::Stdio { command, env, folder })
    }

    /// Checks the address, and reads the headers.
    fn http_headers(&self, url: &str) -> Result<Vec<(String, String)>, McpConfigError> {
        address::parse(url).map_err(|what| self.place.field("url").error(what))?;
        let headers = self.pairs("headers")?;
        for (name, value) in &headers {
            let place = self.place.field("headers").field(name);
            address::parse_header(name, value).map_err(|what| place.error(what))?;
        }
        Ok(headers)
    }

    /// The settings of a login, in the form that other programs use.
    fn oauth(&self) -> Result<OauthSettings, McpConfigError> {
        let place = self.place.field("oauth");
        let fields = match self.fields.get("oauth") {
            None => return Ok(OauthSettings::default()),
            Some(Value::Object(fields)) => fields,
            Some(other) => return Err(place.type_error("an object", other)),
        };
        let entry = ServerEntry { fields, place, lookup: self.lookup };
        let callback_port = match fields.get("callbackPort") {
            None => None,
            Some(port) => match port.as_u64().and_then(|port| u16::try_from(port).ok()) {
                Some(port @ 1..) => Some(port),
                Some(0) | None => {
                    return Err(entry.place.field("callbackPort").error("this must be a port"));
                }
            },
        };
        Ok(OauthSettings {
            client_id: entry.text("clientId")?,
            client_secret: entry.text("clientSecret")?.map(SecretText::new),
            scopes: entry.text("scopes")?,
            callback_port,
        })
    }

    fn text(&self, name: &str) -> Result<Option<String>, McpConfigError> {
        let place = self.place.field(name);
        self.fields.get(name).map(|value| self.expanded_text(value, &place)).transpose()
    }

    fn expanded_text(
        &self,
        value: &Value,
        place: &McpConfigPath,
    ) -> Result<String, McpConfigError> {
        let Value::String(text) = value else { return Err(place.type_error("a string", value)) };
        expand_variables(text, self.lookup).map_err(|what| place.error(what))
    }

    fn list(&self, name: &str) -> Result<Option<Vec<String>>, McpConfigError> {
        let place = self.place.field(name);
        match self.fields.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let items = items.iter().enumerate();
                let read = items.map(|(at, item)| self.expanded_text(item, &place.item(at)));
                read.collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(place.type_error("a list of strings", other)),
        }
    }

    fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, McpConfigError> {
        let place = self.place.field(name);
        match self.fields.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Object(pairs)) => {
                let read = pairs.iter().map(|(key, value)| {
                    Ok((key.clone(), self.expanded_text(value, &place.field(key))?))
                });
                read.collect()
            }
            Some(other) => Err(place.type_error("an object of strings", other)),
        }
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, McpConfigError> {
        match self.fields.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.place.field(name).type_error("true or false", other)),
        }
    }

    /// The tools to offer; `None` means all, also if `*` is in the list.
    fn allowed_tools(&self) -> Result<Option<Vec<String>>, McpConfigError> {
        let names = self.list("tools")?;
        Ok(names.filter(|names| !names.iter().any(|name| name == "*")))
    }

    /// The timeout of one call, in milliseconds as in other programs.
    fn call_timeout(&self) -> Result<Option<Duration>, McpConfigError> {
        let expected = "a number of milliseconds from 1 to 86400000";
        match self.fields.get("timeout") {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(millis @ 1..=86_400_000) => Ok(Some(Duration::from_millis(millis))),
                Some(_) => {
                    Err(self.place.field("timeout").error(format!("this must be {expected}")))
                }
                None => Err(self.place.field("timeout").type_error(expected, value)),
            },
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

#[cfg(test)]
mod tests;
