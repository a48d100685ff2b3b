use super::*;

#[test]
fn names_that_fit_stay_and_others_are_computed() {
    let long = "a".repeat(70);
    let longer = format!("{long}b");
    let tools =
        ["read_file", "get weather", "get_weather", "get.weather", "天气", "", &long, &longer];
    let names = ToolNameTable::new(tools, 51);
    assert_eq!(names.agent_name("read_file"), "read_file");
    assert_eq!(names.agent_name("get_weather"), "get_weather");
    for tool in tools {
        let inner = names.agent_name(tool);
        assert!(fits(inner, 51), "{tool}: {inner}");
        assert_eq!(names.client_name(inner), Some(tool), "{inner}");
    }
    assert_eq!(names.client_name("Bash"), None);
    assert_eq!(names.agent_name("Bash"), "Bash");
    assert_eq!(names, ToolNameTable::new(tools, 51), "the same tools give the same names");
}

#[test]
fn a_computed_name_is_never_that_of_another_tool() {
    let computed = ToolNameTable::new(["get weather"], 51).agent_name("get weather").to_owned();
    let names = ToolNameTable::new(["get weather", &computed, "get weather"], 51);
    assert_eq!(names.agent_name(&computed), computed);
    assert_ne!(names.agent_name("get weather"), computed);
    assert_eq!(names.client_name(names.agent_name("get weather")), Some("get weather"));
}

#[test]
fn a_thousand_tools_with_one_beginning_stay_apart() {
    let tools: Vec<String> = (0..1000).map(|n| format!("{}{n}", "long_".repeat(20))).collect();
    for room in [0, 16, 51] {
        let names = ToolNameTable::new(tools.iter().map(String::as_str), room);
        assert_eq!(names.client_names.len(), 1000);
        assert!(names.client_names.keys().all(|name| fits(name, room.max(MIN_NAME_BYTES))));
        for tool in &tools {
            assert_eq!(names.client_name(names.agent_name(tool)), Some(tool.as_str()));
        }
    }
}
