//! What an upstream of a cloud needs beside an address: regions, projects, and credentials that are
//! no plain key.
//!
//! Variables of a cloud are used for that cloud's own hosts only: with another `base_url` the file
//! has to name the credentials.

use std::{path::Path, sync::Arc};

use foxwedge_upstream::{
    AccessTokenSource, AwsCredentials, CloudPlatform, CredentialsError, EntraAuthority, SecretText,
    UpstreamKey, UpstreamKind, bedrock_url, vertex_url,
};

use super::{
    SettingOrigin,
    config_reader::{ConfigReader, SectionReader, display_path, excerpt, invalid},
    secrets::{self, SecretSource},
    values::quote,
};

/// The keys of one cloud only.
const CLOUD_KEYS: [(&str, &[UpstreamKind]); 11] = [
    ("api_version", &[UpstreamKind::Azure]),
    ("tenant", &[UpstreamKind::Azure]),
    ("authority", &[UpstreamKind::Azure]),
    ("client_id", &[UpstreamKind::Azure]),
    ("client_secret", &[UpstreamKind::Azure]),
    ("project", &[UpstreamKind::Vertex]),
    ("credentials_file", &[UpstreamKind::Vertex]),
    ("region", &[UpstreamKind::Vertex, UpstreamKind::Bedrock]),
    ("access_key_id", &[UpstreamKind::Bedrock]),
    ("secret_access_key", &[UpstreamKind::Bedrock]),
    ("session_token", &[UpstreamKind::Bedrock]),
];

/// A cloud, as far as the file and the environment describe it.
pub(super) struct CloudConfig {
    pub(super) platform: CloudPlatform,
    /// The path between the address and the paths of requests.
    pub(super) version: String,
    /// The address, unless the file has one.
    pub(super) url: Option<(String, SettingOrigin)>,
    region: Option<String>,
}

/// Reads everything but the address and the credentials. `None` if the kind is not of a cloud, or
/// something is missing.
pub(super) fn read_cloud(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    kind: UpstreamKind,
) -> Option<CloudConfig> {
    for (key, kinds) in CLOUD_KEYS {
        if section.has(key) && !kinds.contains(&kind) {
            let message = format!("an upstream of the kind `{}` has no such setting", kind.name());
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let help = format!("remove `{key}`: it is for {}", names.join(" and "));
            reader.report_error(&section.origin(), section.full_key(key), message, help);
        }
    }
    match kind {
        UpstreamKind::Azure => {
            let api_version = read_word(reader, section, "api_version", &[]).map(|(text, _)| text);
            let version = if api_version.is_some() { "/openai" } else { "/openai/v1" };
            let api_version = api_version.map(String::into_boxed_str);
            Some(CloudConfig {
                platform: CloudPlatform::Azure { api_version },
                version: version.to_owned(),
                url: reader.read_variable("AZURE_OPENAI_ENDPOINT"),
                region: None,
            })
        }
        UpstreamKind::Vertex => {
            let project = read_word(reader, section, "project", &["GOOGLE_CLOUD_PROJECT"]);
            if project.is_none() && !section.has("project") {
                let help = "`project = \"my-project\"`, or GOOGLE_CLOUD_PROJECT";
                reader.report_missing(section, "project", help);
            }
            let variables = ["GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION"];
            let (region, origin) = read_word(reader, section, "region", &variables)
                .unwrap_or_else(|| ("global".to_owned(), SettingOrigin::Default));
            let (project, _) = project?;
            Some(CloudConfig {
                platform: CloudPlatform::Vertex,
                version: format!("/v1/projects/{project}/locations/{region}"),
                url: Some((vertex_url(&region), origin)),
                region: Some(region),
            })
        }
        UpstreamKind::Bedrock => {
            let variables = ["AWS_REGION", "AWS_DEFAULT_REGION"];
            let found = read_word(reader, section, "region", &variables);
            if found.is_none() && !section.has("region") {
                let help = "`region = \"us-east-1\"`, or AWS_REGION";
                reader.report_missing(section, "region", help);
            }
            let (region, origin) = found?;
            Some(CloudConfig {
                platform: CloudPlatform::Bedrock,
                version: String::new(),
                url: Some((bedrock_url(&region), origin)),
                region: Some(region),
            })
        }
        UpstreamKind::Openai
        | UpstreamKind::OpenaiCompatible
        | UpstreamKind::Anthropic
        | UpstreamKind::Gemini
        | UpstreamKind::Scripted
        | UpstreamKind::ClaudeCode => None,
    }
}

impl CloudConfig {
    /// The path between the address and the paths of requests, for an address that may end with a
    /// part of it.
    pub(super) fn join_version<'u>(&self, url: &'u str) -> &'u str {
        let url = url.trim_end_matches('/');
        match self.platform {
            CloudPlatform::Azure { .. } => {
                let url = url.strip_suffix("/v1").unwrap_or(url);
                url.strip_suffix("/openai").unwrap_or(url)
            }
            CloudPlatform::Vertex | CloudPlatform::Bedrock => url,
        }
    }

    /// Whether an address has the path of a deployment, which requests add.
    pub(super) fn names_deployment(&self, url: &str) -> bool {
        match self.platform {
            CloudPlatform::Azure { .. } => url.contains("/openai/deployments"),
            CloudPlatform::Vertex | CloudPlatform::Bedrock => false,
        }
    }

    /// Whether credentials in the environment may be sent to an address.
    pub(super) fn owns(&self, host: &str) -> bool {
        let domains: &[&str] = match self.platform {
            CloudPlatform::Azure { .. } => &[
                ".openai.azure.com",
                ".cognitiveservices.azure.com",
                ".services.ai.azure.com",
                ".openai.azure.us",
                ".cognitiveservices.azure.us",
                ".openai.azure.cn",
                ".cognitiveservices.azure.cn",
            ],
            CloudPlatform::Vertex => &["aiplatform.googleapis.com", ".rep.googleapis.com"],
            CloudPlatform::Bedrock => &[".amazonaws.com", ".amazonaws.com.cn"],
        };
        domains.iter().any(|domain| host.ends_with(domain))
    }

    /// Reads credentials of the file that are no plain key. `Some(None)` if there are none; `None`
    /// after an error.
    pub(super) fn read_credentials(
        &self,
        reader: &mut ConfigReader<'_>,
        section: &mut SectionReader<'_>,
    ) -> Option<Option<UpstreamKey>> {
        match self.platform {
            CloudPlatform::Azure { .. } if section.has("client_secret") => {
                let tenant = required_word(reader, section, "tenant");
                let client_id = required_word(reader, section, "client_id");
                let secret = read_secret(reader, section, "client_secret")?;
                let authority = read_authority(reader, section);
                let source = AccessTokenSource::entra(&authority, &tenant?, &client_id?, &secret);
                let origin = section.setting_origin("tenant");
                Some(Some(token_key(reader, section, "tenant", &origin, source)?))
            }
            CloudPlatform::Vertex if section.has("credentials_file") => {
                let (path, origin) = reader.read_text(section, "credentials_file")?;
                Some(Some(read_google_file(reader, section, &path, &origin)?))
            }
            CloudPlatform::Bedrock if section.has("secret_access_key") => {
                let id = read_secret(reader, section, "access_key_id");
                if !section.has("access_key_id") {
                    let help = "it belongs to `secret_access_key`";
                    reader.report_missing(section, "access_key_id", help);
                }
                let secret = read_secret(reader, section, "secret_access_key");
                let token = match section.has("session_token") {
                    true => Some(read_secret(reader, section, "session_token")?),
                    false => None,
                };
                Some(Some(self.signing_key(&id?, secret?, token)))
            }
            CloudPlatform::Azure { .. } | CloudPlatform::Vertex | CloudPlatform::Bedrock => {
                Some(None)
            }
        }
    }

    /// Reads credentials of the environment that are no plain key. `None` if there are none.
    pub(super) fn read_environment(
        &self,
        reader: &mut ConfigReader<'_>,
        section: &mut SectionReader<'_>,
    ) -> Option<UpstreamKey> {
        let mut variable = |name: &'static str| reader.read_variable(name);
        match self.platform {
            CloudPlatform::Azure { .. } => {
                let (tenant, origin) = variable("AZURE_TENANT_ID")?;
                let (client_id, _) = variable("AZURE_CLIENT_ID")?;
                let secret = SecretText::new(variable("AZURE_CLIENT_SECRET")?.0);
                let authority = read_authority(reader, section);
                let source = AccessTokenSource::entra(&authority, &tenant, &client_id, &secret);
                token_key(reader, section, "tenant", &origin, source)
            }
            CloudPlatform::Vertex => {
                let (path, origin) = variable("GOOGLE_APPLICATION_CREDENTIALS")?;
                read_google_file(reader, section, &path, &origin)
            }
            CloudPlatform::Bedrock => {
                let (id, origin) = variable("AWS_ACCESS_KEY_ID")?;
                let (secret, _) = variable("AWS_SECRET_ACCESS_KEY")?;
                let token = variable("AWS_SESSION_TOKEN").map(|(token, _)| SecretText::new(token));
                let shown = secrets::REDACTED_SECRET.to_owned();
                section.add_setting("access_key_id", shown, &origin);
                Some(self.signing_key(&SecretText::new(id), SecretText::new(secret), token))
            }
        }
    }

    fn signing_key(
        &self,
        id: &SecretText,
        secret_access_key: SecretText,
        session_token: Option<SecretText>,
    ) -> UpstreamKey {
        UpstreamKey::Signature(Arc::new(AwsCredentials {
            access_key_id: id.reveal().into(),
            secret_access_key,
            session_token,
            region: self.region.as_deref().unwrap_or_default().into(),
        }))
    }

    /// How credentials can be given.
    pub(super) fn credentials_help(&self) -> &'static str {
        match self.platform {
            CloudPlatform::Azure { .. } => {
                "set `key`, or `tenant`, `client_id` and `client_secret`; for Azure's own hosts \
                 AZURE_OPENAI_API_KEY works, too"
            }
            CloudPlatform::Vertex => {
                "set `credentials_file`, or `key` with an access token; for Google's own hosts \
                 GOOGLE_APPLICATION_CREDENTIALS works, too"
            }
            CloudPlatform::Bedrock => {
                "set `access_key_id` and `secret_access_key`, or `key`; for Amazon's own hosts \
                 AWS_ACCESS_KEY_ID and AWS_BEARER_TOKEN_BEDROCK work, too"
            }
        }
    }
}

/// Reads a name that becomes a part of an address or a path: from the file, else from the first of
/// the variables that is set.
fn read_word(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    key: &'static str,
    variables: &[&'static str],
) -> Option<(String, SettingOrigin)> {
    let in_file = reader.read_text(section, key);
    let found = in_file.or_else(|| variables.iter().find_map(|name| reader.read_variable(name)));
    let (text, origin) = found?;
    section.add_setting(key, quote(&text), &origin);
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    if text.is_empty() || text.starts_with('.') || !text.bytes().all(is_plain) {
        let help = "use A-Z a-z 0-9 . _ - only";
        reader.report_error(&origin, section.full_key(key), invalid(&excerpt(&text)), help);
        return None;
    }
    Some((text, origin))
}

fn required_word(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    key: &'static str,
) -> Option<String> {
    if !section.has(key) {
        reader.report_missing(section, key, "it belongs to `client_secret`");
    }
    read_word(reader, section, key, &[]).map(|(text, _)| text)
}

/// Reads a secret of the file: itself, or `env:NAME`.
fn read_secret(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    key: &'static str,
) -> Option<SecretText> {
    let plain = reader.read_text(section, key);
    SecretSource { plain, file: None, names: (key, key) }.read(reader, section)
}

fn read_google_file(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    path: &str,
    origin: &SettingOrigin,
) -> Option<UpstreamKey> {
    const KEY: &str = "credentials_file";
    section.add_setting(KEY, quote(path), origin);
    let path = reader.resolve_path(Path::new(path));
    match reader.environment.file(&path) {
        Ok(file) => {
            secrets::warn_if_exposed(reader, &path, origin, &section.full_key(KEY), file.exposure);
            token_key(reader, section, KEY, origin, AccessTokenSource::google(&file.text))
        }
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", display_path(&path));
            reader.report_error(origin, section.full_key(KEY), message, "");
            None
        }
    }
}

/// Reads which of Azure's clouds issues tokens. The usual one after an error.
fn read_authority(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> EntraAuthority {
    const KEY: &str = "authority";
    let in_file = reader.read_text(section, KEY);
    let Some((text, origin)) = in_file.or_else(|| reader.read_variable("AZURE_AUTHORITY_HOST"))
    else {
        return EntraAuthority::default();
    };
    section.add_setting(KEY, quote(&text), &origin);
    EntraAuthority::at(&text).unwrap_or_else(|(message, help)| {
        reader.report_error(&origin, section.full_key(KEY), message, help);
        EntraAuthority::default()
    })
}

fn token_key(
    reader: &mut ConfigReader<'_>,
    section: &SectionReader<'_>,
    key: &str,
    origin: &SettingOrigin,
    source: Result<AccessTokenSource, CredentialsError>,
) -> Option<UpstreamKey> {
    match source {
        Ok(source) => Some(UpstreamKey::Token(Arc::new(source))),
        Err((message, help)) => {
            reader.report_error(origin, section.full_key(key), message, help);
            None
        }
    }
}
