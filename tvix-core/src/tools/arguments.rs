//! Reads arguments as clients really send them.
//!
//! Numbers as text, whole floats, `null` and `""` for what is optional, a list as JSON text or as one
//! bare text, unknown keys, camelCase names, the whole object as JSON text: all of these are seen in
//! the field and understood. What is out of range or of the wrong type is an error that names the
//! argument, what came and what to send; nothing is clamped.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::definition::{Param, ParamKind};
use crate::{Error, Result};

/// The greatest number of characters of a wrong value that an error repeats.
const SHOWN: usize = 60;

/// Arguments that passed their declaration.
#[derive(Debug)]
pub(super) struct Arguments(HashMap<&'static str, Argument>);

#[derive(Debug)]
enum Argument {
    /// `null` or an empty text for something optional: usually the same as absent.
    Empty(Blank),
    Text(String),
    Integer(i64),
    List(Vec<String>),
    Object(Map<String, Value>),
}

/// How an optional argument was left empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    Null,
    EmptyText,
}

/// An optional text for which absent and empty differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Presence<'a> {
    Absent,
    Blank(Blank),
    Text(&'a str),
}

impl Arguments {
    /// Reads `value` by the declaration `params`.
    pub(super) fn read(params: &'static [Param], value: Value) -> Result<Self> {
        let mut given = object(value)?;
        let mut read = HashMap::new();
        for param in params {
            let value = given.remove(param.name).or_else(|| given.remove(&camel_case(param.name)));
            if let Some(argument) = param.read(value)? {
                read.insert(param.name, argument);
            }
        }
        Ok(Self(read))
    }

    /// The text of `name`, if one was given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Argument::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The text of a required parameter: reading has made sure that it is there.
    pub(super) fn required(&self, name: &str) -> Result<&str> {
        self.text(name).ok_or_else(|| missing(name))
    }

    /// The text of `name`, telling absent from empty.
    pub(super) fn presence(&self, name: &str) -> Presence<'_> {
        match self.0.get(name) {
            Some(Argument::Text(text)) => Presence::Text(text),
            Some(Argument::Empty(blank)) => Presence::Blank(*blank),
            _ => Presence::Absent,
        }
    }

    /// The number of `name`, its default if none was given.
    pub(super) fn integer(&self, name: &str) -> usize {
        match self.0.get(name) {
            Some(Argument::Integer(number)) => usize::try_from(*number).unwrap_or(usize::MAX),
            _ => 0,
        }
    }

    /// The list of `name`, empty if none was given.
    pub(super) fn list(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Argument::List(items)) => items,
            _ => &[],
        }
    }

    /// The object of `name`, empty if none was given.
    pub(super) fn object(&self, name: &str) -> Map<String, Value> {
        match self.0.get(name) {
            Some(Argument::Object(fields)) => fields.clone(),
            _ => Map::new(),
        }
    }
}

fn object(value: Value) -> Result<Map<String, Value>> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(fields) => Ok(fields),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ if text.trim().is_empty() => Ok(Map::new()),
            _ => Err(wrong("arguments", &Value::String(text), "an object")),
        },
        other => Err(wrong("arguments", &other, "an object")),
    }
}

impl Param {
    fn read(&self, value: Option<Value>) -> Result<Option<Argument>> {
        let value = match value {
            None | Some(Value::Null) if self.required => return Err(missing(self.name)),
            None => return Ok(self.default()),
            Some(value) => value,
        };
        if !self.required && value.is_null() {
            return Ok(self.default().or(Some(Argument::Empty(Blank::Null))));
        }
        if !self.required && value.as_str().is_some_and(|text| text.trim().is_empty()) {
            return Ok(self.default().or(Some(Argument::Empty(Blank::EmptyText))));
        }
        self.read_present(value).map(Some)
    }

    fn default(&self) -> Option<Argument> {
        match self.kind {
            ParamKind::Integer { default, .. } => Some(Argument::Integer(default)),
            _ => None,
        }
    }

    fn read_present(&self, value: Value) -> Result<Argument> {
        match self.kind {
            ParamKind::Text { .. } => self.read_text(value).map(Argument::Text),
            ParamKind::Integer { min, max, .. } => self.read_integer(&value, min, max),
            ParamKind::TextList => self.read_list(value).map(Argument::List),
            ParamKind::Object { .. } => self.read_object(value).map(Argument::Object),
        }
    }

    fn read_text(&self, value: Value) -> Result<String> {
        match value {
            Value::String(text) => Ok(text),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(wrong(self.name, &other, "a text")),
        }
    }

    fn read_integer(&self, value: &Value, min: i64, max: Option<i64>) -> Result<Argument> {
        let expected = match max {
            Some(max) => format!("{min}-{max}"),
            None => format!("a whole number from {min}"),
        };
        let range = min..=max.unwrap_or(i64::MAX);
        let number = whole(value).filter(|number| range.contains(number));
        number.map(Argument::Integer).ok_or_else(|| wrong(self.name, value, &expected))
    }

    fn read_list(&self, value: Value) -> Result<Vec<String>> {
        let items = match value {
            Value::Array(items) => items,
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Array(items)) => items,
                _ => vec![Value::String(text)],
            },
            Value::Number(_) => vec![value],
            other => return Err(wrong(self.name, &other, "a list of texts")),
        };
        let texts =
            items.into_iter().filter(|item| !item.is_null()).map(|item| self.read_text(item));
        let texts: Vec<String> = texts.collect::<Result<_>>()?;
        Ok(texts.into_iter().filter(|text| !text.trim().is_empty()).collect())
    }

    fn read_object(&self, value: Value) -> Result<Map<String, Value>> {
        match value {
            Value::Object(fields) => Ok(fields),
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Object(fields)) => Ok(fields),
                _ => Err(wrong(self.name, &Value::String(text), "an object")),
            },
            other => Err(wrong(self.name, &other, "an object")),
        }
    }
}

/// The whole number in `value`: a number without fraction, or its text.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| whole_float(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| whole_float(text.parse().ok()?))
        }
        _ => None,
    }
}

/// Beyond 2^53 a float no longer says which whole number was meant.
fn whole_float(number: f64) -> Option<i64> {
    let exact = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
    exact.then_some(number as i64)
}

fn missing(name: &str) -> Error {
    Error::invalid(name, "is missing, send a text")
}

fn wrong(name: &str, value: &Value, expected: &str) -> Error {
    let shown: String = value.to_string().chars().take(SHOWN).collect();
    Error::invalid(name, format_args!("got {shown}, send {expected}"))
}

/// `date_from` as `dateFrom`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut all, word| {
        let mut letters = word.chars();
        all.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        all.push_str(letters.as_str());
        all
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    static PARAMS: &[Param] = &[
        Param::required("query", ParamKind::Text { max: Some(10) }, "d"),
        Param::optional("limit", ParamKind::Integer { min: 1, max: Some(30), default: 20 }, "d"),
        Param::optional("date_from", ParamKind::Text { max: None }, "d"),
        Param::optional("sources", ParamKind::TextList, "d"),
        Param::optional("metadata", ParamKind::Object { hint: ("k", "d") }, "d"),
    ];

    fn read(value: Value) -> Result<Arguments> {
        Arguments::read(PARAMS, value)
    }

    #[test]
    fn numbers_are_understood_in_every_dress_and_never_clamped() {
        for (value, number) in [
            (json!(3), 3),
            (json!(3.0), 3),
            (json!("3"), 3),
            (json!(" 3.0 "), 3),
            (json!(null), 20),
            (json!(""), 20),
        ] {
            let read = read(json!({"query": "", "limit": value})).expect("read");
            assert_eq!(read.integer("limit"), number, "{value}");
        }
        let wrong = [
            json!(0),
            json!(31),
            json!("2.5"),
            json!(2.5),
            json!("three"),
            json!(true),
            json!([3]),
            json!(1e300),
        ];
        for value in wrong {
            let error =
                read(json!({"query": "", "limit": value})).expect_err("refused").to_string();
            assert!(error.starts_with("limit: got ") && error.ends_with("send 1-30"), "{error}");
        }
    }

    #[test]
    fn lists_and_objects_may_be_json_text() {
        for (value, items) in [
            (json!(["a", "b"]), vec!["a", "b"]),
            (json!("[\"a\", \"b\"]"), vec!["a", "b"]),
            (json!("a"), vec!["a"]),
            (json!([]), vec![]),
            (json!(null), vec![]),
        ] {
            let read = read(json!({"query": "", "sources": value})).expect("read");
            assert_eq!(read.list("sources"), items, "{value}");
        }
        let text = read(json!({"query": "", "metadata": "{\"a\": 1}"})).expect("read");
        assert_eq!(Value::Object(text.object("metadata")), json!({"a": 1}));
        for wrong in [json!([1]), json!("[1]"), json!(7)] {
            assert!(read(json!({"query": "", "metadata": wrong})).is_err());
        }
    }

    #[test]
    fn arguments_may_be_absent_text_or_camel_case() {
        let error = read(Value::Null).expect_err("query is required").to_string();
        assert!(error.starts_with("query: is missing"), "{error}");
        let whole = read(json!("{\"query\": \"a\", \"dateFrom\": \"2031-01-01\", \"why\": 1}"))
            .expect("read");
        assert_eq!((whole.text("query"), whole.text("date_from")), (Some("a"), Some("2031-01-01")));
        assert!(read(json!(["query"])).is_err());
    }

    #[test]
    fn absent_null_and_empty_are_told_apart_where_it_matters() {
        let presence = |value: Value| {
            let read = read(value).expect("read");
            match read.presence("date_from") {
                Presence::Absent => "absent",
                Presence::Blank(Blank::Null) => "null",
                Presence::Blank(Blank::EmptyText) => "empty",
                Presence::Text(_) => "text",
            }
        };
        assert_eq!(presence(json!({"query": ""})), "absent");
        assert_eq!(presence(json!({"query": "", "date_from": null})), "null");
        assert_eq!(presence(json!({"query": "", "date_from": " "})), "empty");
        assert_eq!(presence(json!({"query": "", "date_from": "x"})), "text");
    }

    #[test]
    fn a_number_for_a_text_is_its_digits_and_a_structure_is_refused() {
        assert_eq!(read(json!({"query": 5})).expect("read").text("query"), Some("5"));
        for wrong in [json!({"q": 1}), json!(["q"])] {
            let error = read(json!({"query": wrong})).expect_err("refused").to_string();
            assert!(error.starts_with("query: got "), "{error}");
        }
    }
}
