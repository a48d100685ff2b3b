//! Upstreams of clouds: their addresses, where credentials come from, what is refused.

use super::*;

fn upstream(here: &Here) -> (String, String, String) {
    let loaded = here.loaded();
    let upstream = &loaded.config.upstreams[0];
    let key = match &upstream.key {
        UpstreamKey::Configured(_) => "key",
        UpstreamKey::Token(_) => "token",
        UpstreamKey::Signature(_) => "signature",
        UpstreamKey::FromCaller | UpstreamKey::None => "none",
    };
    let url = setting(&loaded, "[[upstream]]", "base_url");
    (url, upstream.version.to_string(), key.to_owned())
}

fn cloud(kind: &str, settings: &str) -> Here {
    Here::new().saying(&format!("[[upstream]]\nname = \"c\"\nkind = \"{kind}\"\n{settings}"))
}

#[test]
fn a_cloud_is_described_by_the_file_or_by_its_own_variables() {
    let aws = |here: Here| {
        here.with("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE").with("AWS_SECRET_ACCESS_KEY", "secret-1")
    };
    let signed = aws(cloud("bedrock", "")).with("AWS_REGION", "eu-west-1");
    let url = "\"https://bedrock-runtime.eu-west-1.amazonaws.com\" # AWS_REGION";
    assert_eq!(upstream(&signed), (url.into(), String::new(), "signature".into()));
    let keyed = signed.with("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key");
    assert_eq!(upstream(&keyed).2, "key");

    let account = "{\"type\":\"authorized_user\",\"client_id\":\"a\",\"refresh_token\":\"b\"}";
    let vertex = cloud("vertex", "project = \"p\"\n")
        .with("GOOGLE_APPLICATION_CREDENTIALS", "/adc.json")
        .holding("/adc.json", account);
    let version = "/v1/projects/p/locations/global";
    let url = "\"https://aiplatform.googleapis.com\" # default";
    assert_eq!(upstream(&vertex), (url.into(), version.into(), "token".into()));

    let azure = cloud("azure", "")
        .with("AZURE_OPENAI_ENDPOINT", "https://fox.openai.azure.com/")
        .with("AZURE_OPENAI_API_KEY", "azure-key");
    let url = "\"https://fox.openai.azure.com\" # AZURE_OPENAI_ENDPOINT";
    assert_eq!(upstream(&azure), (url.into(), "/openai/v1".into(), "key".into()));
    let entra = "base_url = \"https://gate.example\"\napi_version = \"2024-10-21\"\n\
                 tenant = \"fox.example\"\nclient_id = \"app\"\nclient_secret = \"env:SECRET\"";
    let entra = cloud("azure", entra).with("SECRET", "entra-secret");
    assert_eq!(upstream(&entra).1, "/openai");
    assert_eq!(upstream(&entra).2, "token");
}

#[test]
fn other_clouds_of_azure_have_an_authority() {
    let azure = || {
        cloud("azure", "base_url = \"https://fox.openai.azure.us\"")
            .with("AZURE_TENANT_ID", "fox.example")
            .with("AZURE_CLIENT_ID", "app")
            .with("AZURE_CLIENT_SECRET", "entra-secret")
    };
    for authority in ["login.microsoftonline.us", "https://login.microsoftonline.us/"] {
        let here = azure().with("AZURE_AUTHORITY_HOST", authority);
        assert_eq!(upstream(&here).2, "token", "{authority}");
    }
    for authority in ["http://login.microsoftonline.us", "https://169.254.169.254", "a b"] {
        let complaints = azure().with("AZURE_AUTHORITY_HOST", authority).complaints();
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("authority"), "{complaints:?}");
    }
}

#[test]
fn credentials_of_the_environment_are_for_the_clouds_own_hosts() {
    let here = cloud("bedrock", "region = \"us-east-1\"\nbase_url = \"https://elsewhere.example\"")
        .with("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .with("AWS_SECRET_ACCESS_KEY", "canary-secret")
        .with("AWS_BEARER_TOKEN_BEDROCK", "canary-key");
    let complaints = here.complaints();
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].contains("`upstream.c.key`: missing"), "{complaints:?}");
    assert!(!complaints[0].contains("canary"));
}

#[test]
fn what_a_cloud_lacks_or_cannot_use_is_reported() {
    let table = [
        ("azure", "key = \"abcdefgh\"", "`upstream.c.base_url`: missing"),
        (
            "azure",
            "key = \"abcdefgh\"\napi_version = \"2024-10-21\"\n\
             base_url = \"https://fox.openai.azure.com/openai/deployments/gpt/\"",
            "`upstream.c.base_url`: its path names a deployment",
        ),
        ("vertex", "key = \"abcdefgh\"", "`upstream.c.project`: missing"),
        ("bedrock", "key = \"abcdefgh\"", "`upstream.c.region`: missing"),
        (
            "vertex",
            "project = \"p/../q\"\nkey = \"abcdefgh\"",
            "`upstream.c.project`: invalid value \"p/../q\"",
        ),
        (
            "vertex",
            "project = \"p\"\ncredentials_file = \"none.json\"",
            "`upstream.c.credentials_file`: `none.json` cannot be read",
        ),
        (
            "bedrock",
            "region = \"r\"\nsecret_access_key = \"abcdefgh\"",
            "`upstream.c.access_key_id`: missing",
        ),
        (
            "bedrock",
            "region = \"r\"\nkey = \"abcdefgh\"\nformats = [\"anthropic\"]",
            "`upstream.c.formats`: an upstream of the kind `bedrock` has no format `anthropic`",
        ),
        (
            "openai",
            "key = \"abcdefgh\"\nformats = [\"bedrock\"]",
            "`upstream.c.formats`: an upstream of the kind `openai` has no format `bedrock`",
        ),
        (
            "openai",
            "key = \"abcdefgh\"\nregion = \"r\"",
            "`upstream.c.region`: an upstream of the kind `openai` has no such setting",
        ),
        (
            "openai",
            "key = \"abcdefgh\"\nclient_cert = \"none.pem\"",
            "`upstream.c.client_key`: missing",
        ),
    ];
    for (kind, settings, expected) in table {
        let complaints = cloud(kind, settings).complaints();
        let is_there = complaints.iter().any(|complaint| complaint.contains(expected));
        assert!(is_there, "{kind} {settings}: {complaints:?}");
    }
}
