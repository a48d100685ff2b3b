//! Task lists, which agents keep with tool calls.

use crate::{RawJson, SharedId, TaskItem, TaskStatus, follow::fields::LineFields};

/// The whole list, if the tool writes it at once.
pub(crate) fn read_written_list(tool: &str, input: &RawJson) -> Option<Vec<TaskItem>> {
    match tool {
        "TodoWrite" | "todo_write" | "write_todos" => {}
        _ => return None,
    }
    let input = LineFields::read(input.raw())?;
    let list = ["todos", "tasks", "items"].into_iter().find(|name| input.is_list(name))?;
    let tasks = input.list(list).into_iter().filter_map(|raw| LineFields::read(raw.get()));
    Some(tasks.map(|task| read_task(&task)).collect())
}

/// A list that is changed one task at a time, by `TaskCreate` and `TaskUpdate`.
#[derive(Default)]
pub(super) struct TaskList {
    tasks: Vec<TaskItem>,
}

impl TaskList {
    /// The list after a successful call; `None` if the call does not change it. `outcome` is the
    /// structured result of the tool.
    pub(super) fn apply_call(
        &mut self,
        tool: &str,
        input: &RawJson,
        outcome: Option<&LineFields<'_>>,
    ) -> Option<Vec<TaskItem>> {
        let input = LineFields::read(input.raw())?;
        match tool {
            "TaskCreate" => {
                let created = outcome.and_then(|outcome| outcome.object("task"));
                let id = created.and_then(|task| task.id("id"));
                self.tasks.push(TaskItem { id, ..read_task(&input) });
            }
            "TaskUpdate" => self.update(&input)?,
            _ => return None,
        }
        Some(self.tasks.clone())
    }

    fn update(&mut self, input: &LineFields<'_>) -> Option<()> {
        let id = input.id("taskId").or_else(|| input.id("id"))?;
        let position = self.tasks.iter().position(|task| task.id.as_ref() == Some(&id));
        if input.text("status").as_deref() == Some("deleted") {
            position.map(|position| self.tasks.remove(position))?;
            return Some(());
        }
        let position = position.unwrap_or_else(|| {
            // Created before the stream began.
            let content = format!("#{id}");
            self.tasks.push(TaskItem { id: Some(id), content, ..empty_task() });
            self.tasks.len() - 1
        });
        let task = self.tasks.get_mut(position)?;
        if let Some(content) = content(input) {
            task.content = content;
        }
        if let Some(word) = input.text("status") {
            task.status = status(&word);
        }
        if let Some(active) = input.non_empty_text("activeForm") {
            task.active = Some(active);
        }
        Some(())
    }
}

fn read_task(task: &LineFields<'_>) -> TaskItem {
    let id: Option<SharedId> = task.id("id");
    let status = task.text("status").map_or(TaskStatus::Pending, |word| status(&word));
    let active = task.non_empty_text("activeForm");
    TaskItem { id, content: content(task).unwrap_or_default(), status, active }
}

fn content(task: &LineFields<'_>) -> Option<String> {
    ["content", "subject", "description", "text"]
        .into_iter()
        .find_map(|name| task.non_empty_text(name))
}

fn status(word: &str) -> TaskStatus {
    match word {
        "pending" => TaskStatus::Pending,
        "in_progress" => TaskStatus::InProgress,
        "completed" => TaskStatus::Completed,
        "paused" => TaskStatus::Paused,
        _ => TaskStatus::Unknown,
    }
}

fn empty_task() -> TaskItem {
    TaskItem { id: None, content: String::new(), status: TaskStatus::Pending, active: None }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    fn line(tasks: &[TaskItem]) -> String {
        let told = tasks.iter().map(|task| {
            let TaskItem { id, content, status, active } = task;
            let (id, active) = (id.as_deref().unwrap_or("-"), active.as_deref().unwrap_or("-"));
            format!("{id} {content} {status:?} {active}")
        });
        told.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_task_list_is_read_in_the_format_of_each_agent() {
        let table = [
            (
                "TodoWrite",
                r#"{"todos":[{"content":"a","status":"in_progress","activeForm":"doing a"}]}"#,
                Some("- a InProgress doing a"),
            ),
            (
                "todo_write",
                r#"{"todos":[{"id":"1","content":"a","status":"pending"},7,{"id":2}]}"#,
                Some("1 a Pending -; 2  Pending -"),
            ),
            (
                "write_todos",
                r#"{"todos":[{"description":"a","status":"cancelled"}]}"#,
                Some("- a Unknown -"),
            ),
            ("TodoWrite", r#"{"todos":[]}"#, Some("")),
            ("TodoWrite", r#"{"todos":7}"#, None),
            ("TodoWrite", "[]", None),
            ("Bash", r#"{"todos":[]}"#, None),
        ];
        for (tool, input, expected) in table {
            let tasks = read_written_list(tool, &RawJson::parse(input).unwrap());
            assert_eq!(tasks.as_deref().map(line).as_deref(), expected, "{tool} {input}");
        }
    }

    #[test]
    fn a_list_grows_task_by_task() {
        let mut list = TaskList::default();
        let table = [
            ("TaskCreate", r#"{"subject":"a"}"#, r#"{"task":{"id":"1"}}"#, Some("1 a Pending -")),
            (
                "TaskCreate",
                r#"{"subject":"b","activeForm":"doing b"}"#,
                r#"{"task":{"id":2}}"#,
                Some("1 a Pending -; 2 b Pending doing b"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"1","status":"completed"}"#,
                "{}",
                Some("1 a Completed -; 2 b Pending doing b"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"1","status":"deleted"}"#,
                "{}",
                Some("2 b Pending doing b"),
            ),
            (
                "TaskUpdate",
                r#"{"taskId":"9","status":"in_progress"}"#,
                "{}",
                Some("2 b Pending doing b; 9 #9 InProgress -"),
            ),
            ("TaskUpdate", r#"{"taskId":"5","status":"deleted"}"#, "{}", None),
            ("TaskUpdate", r#"{"status":"completed"}"#, "{}", None),
            ("TaskList", "{}", "{}", None),
        ];
        for (tool, input, outcome, expected) in table {
            let outcome = LineFields::read(outcome);
            let tasks = list.apply_call(tool, &RawJson::parse(input).unwrap(), outcome.as_ref());
            assert_eq!(tasks.as_deref().map(line).as_deref(), expected, "{tool} {input}");
        }
    }
}
