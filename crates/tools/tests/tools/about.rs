//! Tool descriptions match what the tools accept.

use std::time::Duration;

use foxwedge_tools::{
    NAMES, ToolEffect, ToolLimits, ToolWorkspace, Toolbox, UnknownTool, WorkspaceError,
};
use serde_json::{Value, json};

use crate::bench::Bench;

#[test]
fn every_tool_describes_its_arguments() {
    let bench = Bench::new();
    let tools = bench.workspace.tools(ToolLimits::default());
    let mut toolbox = Toolbox::new();
    for (tool, name) in tools.iter().zip(NAMES) {
        toolbox.add(tool.clone()).unwrap();
        let spec = tool.spec();
        assert_eq!(spec.name, name);
        let (effect, limit) = match name {
            "list" | "read" | "search" => (ToolEffect::Reads, 30),
            "write" | "edit" => (ToolEffect::Writes, 30),
            _ => (ToolEffect::Writes, 600),
        };
        assert_eq!((spec.effect, spec.limit), (effect, Duration::from_secs(limit)), "{name}");
        assert_eq!(spec.schema["additionalProperties"], false, "{name}");
        for (key, property) in spec.schema["properties"].as_object().unwrap() {
            assert!(property["description"].as_str().is_some_and(|text| text.len() > 10), "{key}");
        }
    }
    assert_eq!((tools.len(), toolbox.len()), (6, 6));
}

/// A tool accepts exactly the properties of its schema, with their types.
#[tokio::test]
async fn schemas_and_tools_agree() {
    let bench = Bench::new();
    for name in NAMES {
        let spec = bench.tool(name).spec().clone();
        let properties = spec.schema["properties"].as_object().unwrap().clone();
        // Wrong types only, so that no tool does anything.
        let wrong: serde_json::Map<String, Value> =
            properties.keys().map(|key| (key.clone(), json!([]))).collect();
        let result = bench.call(name, Value::from(wrong)).await;
        for (key, property) in &properties {
            let kind = match property["type"].as_str().unwrap() {
                "string" => "must be a string",
                "integer" => "must be a whole number",
                "boolean" => "must be true or false",
                other => panic!("{other}"),
            };
            result.refuses(&format!("`{key}` {kind}"));
        }
        assert!(!result.text.contains("not known"), "{result:?}");
        let result = bench.call(name, json!({ "nonsense": 1 })).await;
        result.refuses("\"nonsense\" is not known");
        for required in spec.schema["required"].as_array().unwrap() {
            result.refuses(&format!("`{}` is missing", required.as_str().unwrap()));
        }
    }
}

#[test]
fn tools_are_chosen_by_name() {
    let bench = Bench::new();
    let some = bench.workspace.tools_named(&["run", "read"], ToolLimits::default()).unwrap();
    let names: Vec<_> = some.iter().map(|tool| tool.spec().name.to_string()).collect();
    assert_eq!(names, ["run", "read"]);
    let unknown =
        bench.workspace.tools_named(&["read", "fly"], ToolLimits::default()).err().unwrap();
    assert_eq!(unknown, UnknownTool("fly".to_owned()));
    assert_eq!(
        unknown.to_string(),
        "there is no built-in tool `fly`; there are list, read, search, write, edit, run"
    );
}

#[test]
fn a_workspace_is_a_folder() {
    let bench = Bench::new();
    bench.put("file", "");
    let missing = ToolWorkspace::open(&bench.root().join("missing")).unwrap_err();
    assert!(matches!(missing, WorkspaceError::Missing(_)), "{missing:?}");
    let file = ToolWorkspace::open(&bench.root().join("file")).unwrap_err();
    assert!(matches!(file, WorkspaceError::NotAFolder(_)), "{file:?}");
    let below = ToolWorkspace::open(&bench.root().join("file/x")).unwrap_err();
    assert!(matches!(below, WorkspaceError::NotAFolder(_)), "{below:?}");
    assert_eq!(bench.workspace.root(), bench.root().canonicalize().unwrap());
}
