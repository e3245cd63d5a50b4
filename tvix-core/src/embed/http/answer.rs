//! What an endpoint answers, checked.

use serde::Deserialize;
use serde_json::Value;

use crate::embed::{Vector, vector};

/// How much of a text of the endpoint's is repeated in an error, in characters.
const REPEATED: usize = 200;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Absent from some endpoints, which then answer in order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The `texts` vectors in `body`, in the order of the texts, of one dimension and of length 1; or what is
/// wrong.
pub(super) fn vectors(body: &[u8], texts: usize) -> Result<Vec<Vector>, String> {
    let answer: Answer = serde_json::from_slice(body).map_err(|error| {
        let reason = cut(&error.to_string());
        format!("its answer is not JSON with embeddings: {reason}{}", message(body))
    })?;
    if answer.data.len() != texts {
        return Err(format!("it answered {texts} texts with {} vectors", answer.data.len()));
    }
    let mut vectors = vec![None; texts];
    for (place, item) in answer.data.into_iter().enumerate() {
        let place = item.index.unwrap_or(place);
        match vectors.get_mut(place) {
            Some(slot @ None) => *slot = Some(vector::unit(item.embedding)?),
            Some(Some(_)) => return Err(format!("two of its vectors have the index {place}")),
            None => return Err(format!("its index {place} is none of the {texts} texts")),
        }
    }
    let vectors: Vec<Vector> = vectors.into_iter().flatten().collect();
    let mut dimensions = vectors.iter().map(Vec::len);
    let first = dimensions.next();
    match dimensions.find(|other| Some(*other) != first) {
        None => Ok(vectors),
        Some(other) => Err(format!(
            "its vectors have different dimensions: {} and {other}",
            first.unwrap_or_default()
        )),
    }
}

/// `: ` and the words in which an endpoint tells of a fault; nothing if it has none. The rest of its
/// answer is not repeated, since it may hold the texts.
pub(super) fn message(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let error = &body["error"];
    let words = error.as_str().or_else(|| error["message"].as_str());
    words.or_else(|| body["message"].as_str()).map_or_else(String::new, |words| {
        let plain = words.replace(char::is_control, " ");
        format!(": {}", cut(plain.trim()))
    })
}

fn cut(text: &str) -> String {
    text.chars().take(REPEATED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(body: &str, texts: usize) -> String {
        vectors(body.as_bytes(), texts).expect_err(body)
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let body = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[5,0]}]}"#;
        assert_eq!(vectors(body.as_bytes(), 2), Ok(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
        let body = r#"{"data":[{"embedding":[0,2]},{"embedding":[5,0]}],"model":"m"}"#;
        assert_eq!(vectors(body.as_bytes(), 2), Ok(vec![vec![0.0, 1.0], vec![1.0, 0.0]]));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (body, texts, told) in [
            ("<html>", 1, "not JSON"),
            (r#"{"error":"model not loaded"}"#, 1, "model not loaded"),
            (r#"{"data":[{"embedding":[NaN]}]}"#, 1, "not JSON"),
            (r#"{"data":[{"embedding":[null]}]}"#, 1, "not JSON"),
            (r#"{"data":[{"embedding":[1e39]}]}"#, 1, "out of range"),
            (r#"{"data":[{"embedding":[0,0]}]}"#, 1, "zero"),
            (r#"{"data":[]}"#, 1, "1 texts with 0 vectors"),
            (r#"{"data":[{"index":4,"embedding":[1]}]}"#, 1, "index 4"),
            (r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#, 2, "two"),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, 2, "1 and 2"),
        ] {
            let error = wrong(body, texts);
            assert!(error.contains(told), "{body}: {error}");
        }
    }

    #[test]
    fn only_the_words_of_a_fault_are_repeated() {
        assert_eq!(message(br#"{"error":{"message":"too\nlong"},"input":"secret"}"#), ": too long");
        assert_eq!(message(br#"{"detail":[{"input":"secret"}]}"#), "");
        assert_eq!(message(b"<html>"), "");
    }
}
