//! What happens to sessions in the database of opencode: one row at a time, or all rows of a kind as an older version
//! wrote them.

use serde_json::{Value, json};

use super::{
    damage::DamagedSession,
    history::text_of,
    script::{CALLS, REPLIES},
};

/// Every accident that can happen to these rows.
pub(super) fn all(session: &str) -> Vec<DamagedSession> {
    let rows = SessionRows::read(session);
    let happened = ACCIDENTS.into_iter().filter_map(|(name, lost, accident)| {
        let mut rows = rows.clone();
        accident(&mut rows)?;
        Some(DamagedSession { name, bytes: rows.text().into_bytes(), lost })
    });
    happened.collect()
}

/// What it is called, whose answer it takes, and what it does to the rows; nothing, if it cannot happen.
type RowAccident = (&'static str, Option<&'static str>, fn(&mut SessionRows) -> Option<()>);

const ACCIDENTS: [RowAccident; 12] = [
    ("as the kill left it", None, |_| Some(())),
    ("the row of a result is cut off", Some(RESULT), |rows| rows.call(RESULT)?.cut_off()),
    ("the row of an open call is cut off", None, |rows| rows.call(OPEN)?.cut_off()),
    ("the row of a text is cut off", None, |rows| {
        let is_text = |row: &StoredRow| text_of(&row.data, "text") == REPLIES[2];
        rows.rows.iter_mut().find(|row| is_text(row))?.cut_off()
    }),
    ("the row of a message is cut off", None, |rows| rows.message_of(RESULT)?.cut_off()),
    ("the row of a message is empty", None, |rows| {
        rows.message_of(RESULT)?.raw = Some(String::new());
        Some(())
    }),
    ("rows of messages lack fields, as an older version wrote them", None, |rows| {
        for row in rows.rows.iter_mut().filter(|row| row.table == "message") {
            row.remove(&["agent", "path", "tokens", "mode", "cost", "parentID"])?;
        }
        Some(())
    }),
    ("the end of a step lacks `reason` and `tokens`", None, |rows| {
        let is_end = |row: &StoredRow| text_of(&row.data, "type") == "step-finish";
        rows.rows.iter_mut().find(|row| is_end(row))?.remove(&["reason", "tokens"])
    }),
    ("a call with a result lacks `title`, `metadata` and `time`", None, |rows| {
        let state = rows.call(RESULT)?.data["state"].as_object_mut()?;
        state.retain(|field, _| !["title", "metadata", "time"].contains(&field.as_str()));
        Some(())
    }),
    ("the input of a call is a string", None, |rows| {
        let state = &mut rows.call(RESULT)?.data["state"];
        state["input"] = json!(state["input"].to_string());
        Some(())
    }),
    ("a call has no input", None, |rows| {
        rows.call(RESULT)?.data["state"].as_object_mut()?.remove("input").map(drop)
    }),
    ("a call is there twice, in two rows", None, |rows| {
        let mut twin = rows.call(RESULT)?.clone();
        twin.columns["id"] = json!(format!("{}x", text_of(&twin.columns, "id")));
        rows.rows.push(twin);
        Some(())
    }),
];

/// The call whose row is damaged, and one that is open.
const RESULT: &str = CALLS[1].0;
const OPEN: &str = CALLS[4].0;

/// The rows of a session.
#[derive(Clone)]
struct SessionRows {
    rows: Vec<StoredRow>,
}

#[derive(Clone)]
struct StoredRow {
    table: String,
    columns: Value,
    /// The payload, and what is there in its place.
    data: Value,
    raw: Option<String>,
}

impl SessionRows {
    fn read(session: &str) -> SessionRows {
        let rows = session.lines().filter_map(|line| {
            let mut row: Value = serde_json::from_str(line).ok()?;
            let columns = row["row"].take();
            let data = serde_json::from_str(text_of(&columns, "data")).ok()?;
            Some(StoredRow { table: text_of(&row, "table").to_owned(), columns, data, raw: None })
        });
        SessionRows { rows: rows.collect() }
    }

    fn text(&self) -> String {
        let lines = self.rows.iter().map(|row| {
            let mut columns = row.columns.clone();
            columns["data"] = json!(row.raw.clone().unwrap_or_else(|| row.data.to_string()));
            format!("{}\n", json!({ "table": row.table, "row": columns }))
        });
        lines.collect()
    }

    fn call(&mut self, id: &str) -> Option<&mut StoredRow> {
        self.rows.iter_mut().find(|row| text_of(&row.data, "callID") == id)
    }

    /// The row of the message that holds a call.
    fn message_of(&mut self, call: &str) -> Option<&mut StoredRow> {
        let message = text_of(&self.call(call)?.columns, "message_id").to_owned();
        self.rows.iter_mut().find(|row| text_of(&row.columns, "id") == message)
    }
}

impl StoredRow {
    fn cut_off(&mut self) -> Option<()> {
        let text = self.data.to_string();
        self.raw = Some(text.get(..text.len() / 2)?.to_owned());
        Some(())
    }

    fn remove(&mut self, fields: &[&str]) -> Option<()> {
        let data = self.data.as_object_mut()?;
        fields.iter().for_each(|field| drop(data.remove(*field)));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accident_happens_to_rows_of_its_own() {
        let row = |table: &str, id: &str, data: Value| {
            let columns = json!({ "id": id, "message_id": "m", "data": data.to_string() });
            format!("{}\n", json!({ "table": table, "row": columns }))
        };
        let call = |id: &str| {
            let state = json!({ "input": {}, "title": "t", "metadata": {}, "time": {} });
            json!({ "type": "tool", "callID": id, "state": state })
        };
        let session = [
            row("message", "m", json!({ "role": "assistant", "agent": "build" })),
            row("part", "p1", call(RESULT)),
            row("part", "p2", call(OPEN)),
            row("part", "p3", json!({ "type": "text", "text": REPLIES[2] })),
            row("part", "p4", json!({ "type": "step-finish", "reason": "stop" })),
        ]
        .concat();
        let damaged = all(&session);
        assert_eq!(damaged.len(), ACCIDENTS.len());
        for (at, one) in damaged.iter().enumerate() {
            let same = damaged.iter().filter(|other| other.bytes == one.bytes).count();
            assert_eq!((same, one.bytes == session.as_bytes()), (1, at == 0), "{}", one.name);
        }
    }
}
