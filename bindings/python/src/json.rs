//! Writes Python values as JSON, as `json.dumps` does, but strictly: what is not JSON is an error with
//! its place.

use pyo3::{
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

/// What the engine reads; deeper values are most likely circles.
const MAX_DEPTH: usize = 512;

/// A value that is not JSON.
pub(crate) struct JsonMistake {
    what: String,
    /// The keys and indexes that lead to it, the innermost first.
    path: Vec<String>,
}

impl JsonMistake {
    fn new(what: impl Into<String>) -> JsonMistake {
        JsonMistake { what: what.into(), path: Vec::new() }
    }

    fn within(mut self, step: String) -> JsonMistake {
        // The path of a circle would be long, and says nothing more.
        if self.path.len() < 16 {
            self.path.push(step);
        }
        self
    }

    /// One sentence.
    pub(crate) fn message(mut self) -> String {
        self.path.reverse();
        let path = self.path.concat();
        let place = if path.is_empty() { "the input".to_owned() } else { format!("`{path}`") };
        format!("{place} {}", self.what)
    }
}

/// A value as JSON, without spaces.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> Result<String, JsonMistake> {
    let mut out = String::new();
    write_value(&mut out, value, 0)?;
    Ok(out)
}

fn write_value(
    out: &mut String,
    value: &Bound<'_, PyAny>,
    depth: usize,
) -> Result<(), JsonMistake> {
    if depth > MAX_DEPTH {
        let what = format!("is nested deeper than {MAX_DEPTH} levels, or contains itself");
        return Err(JsonMistake::new(what));
    }
    if let Ok(text) = value.cast::<PyString>() {
        write_text(out, text)
    } else if let Ok(object) = value.cast::<PyDict>() {
        write_object(out, object, depth)
    } else if let Ok(list) = value.cast::<PyList>() {
        write_list(out, list.iter(), depth)
    } else if value.is_none() {
        out.push_str("null");
        Ok(())
    } else if let Ok(flag) = value.cast::<PyBool>() {
        out.push_str(if flag.is_true() { "true" } else { "false" });
        Ok(())
    } else if let Ok(number) = value.cast::<PyInt>() {
        write_integer(out, number)
    } else if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        if !number.is_finite() {
            return Err(JsonMistake::new(format!("is {number}, which is not JSON")));
        }
        out.push_str(&format!("{number:?}"));
        Ok(())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        write_list(out, tuple.iter(), depth)
    } else {
        let kind = value.get_type().name().map(|name| name.to_string());
        let kind = kind.unwrap_or_else(|_| "object".to_owned());
        Err(JsonMistake::new(format!("has the type `{kind}`, which is not JSON")))
    }
}

fn write_text(out: &mut String, text: &Bound<'_, PyString>) -> Result<(), JsonMistake> {
    out.push('"');
    match text.to_str() {
        Ok(text) => foxwedge_json::escape_into(out, text),
        Err(_) => write_halves(out, text)
            .map_err(|_| JsonMistake::new("is a text that cannot be read"))?,
    }
    out.push('"');
    Ok(())
}

/// A text with halves of surrogate pairs, which JSON can write: the engine has a rule about them.
fn write_halves(out: &mut String, text: &Bound<'_, PyString>) -> PyResult<()> {
    let encoded = text.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let encoded = encoded.cast::<PyBytes>()?;
    let (units, _) = encoded.as_bytes().as_chunks::<2>();
    for unit in char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit))) {
        match unit {
            Ok(letter) => foxwedge_json::escape_into(out, letter.encode_utf8(&mut [0; 4])),
            Err(half) => out.push_str(&format!("\\u{:04x}", half.unpaired_surrogate())),
        }
    }
    Ok(())
}

fn write_object(
    out: &mut String,
    object: &Bound<'_, PyDict>,
    depth: usize,
) -> Result<(), JsonMistake> {
    out.push('{');
    for (index, (key, value)) in object.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let key = key
            .cast::<PyString>()
            .map_err(|_| JsonMistake::new(format!("has the key `{key}`, which is no text")))?;
        write_text(out, key)?;
        out.push(':');
        write_value(out, &value, depth + 1)
            .map_err(|mistake| mistake.within(format!(".{}", key.to_string_lossy())))?;
    }
    out.push('}');
    Ok(())
}

fn write_list<'py>(
    out: &mut String,
    values: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> Result<(), JsonMistake> {
    out.push('[');
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_value(out, &value, depth + 1)
            .map_err(|mistake| mistake.within(format!("[{index}]")))?;
    }
    out.push(']');
    Ok(())
}

fn write_integer(out: &mut String, number: &Bound<'_, PyInt>) -> Result<(), JsonMistake> {
    if let Ok(small) = number.extract::<i64>() {
        out.push_str(&small.to_string());
        return Ok(());
    }
    // A class derived from `int` may print itself in another way.
    let digits = number.py().get_type::<PyInt>().call_method1("__repr__", (number,));
    let digits = digits.map_err(|_| JsonMistake::new("is a number with too many digits"))?;
    out.push_str(&digits.to_string());
    Ok(())
}
