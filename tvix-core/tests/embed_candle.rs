//! The embedder of a local folder, against a tiny model whose answers were computed by another program
//! (`fixtures/tiny_bert/make.py`), and on demand against a real one.
#![cfg(feature = "embed-candle")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tvix_core::{
    Error, Result,
    embed::{CandleEmbedder, Embedder, Role, Vector},
    settings::EmbedSettings,
};

/// Greatest difference to what was computed in another order and in f64.
const CLOSE: f32 = 1e-4;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny_bert")
}

/// A copy of the tiny model in a folder called `name`.
struct Copy {
    _parent: TempDir,
    path: PathBuf,
}

impl Copy {
    fn new(name: &str) -> Self {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join(name);
        fs::create_dir(&path).unwrap();
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            fs::copy(fixture().join(file), path.join(file)).unwrap();
        }
        Self { _parent: parent, path }
    }

    fn write(&self, file: &str, text: &Value) {
        let path = self.path.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.to_string()).unwrap();
    }

    /// Sets a key of `config.json`.
    fn set(&self, key: &str, value: impl Into<Value>) {
        let text = fs::read(self.path.join("config.json")).unwrap();
        let mut config: Value = serde_json::from_slice(&text).unwrap();
        config[key] = value.into();
        self.write("config.json", &config);
    }

    fn pool(&self, first_token: bool, mean: bool) {
        let text = json!({"pooling_mode_cls_token": first_token, "pooling_mode_mean_tokens": mean});
        self.write("1_Pooling/config.json", &text);
    }

    fn open(&self) -> CandleEmbedder {
        CandleEmbedder::open(&self.path).unwrap()
    }

    fn refusal(&self) -> String {
        let error = CandleEmbedder::open(&self.path).unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
        error.to_string()
    }
}

/// The texts with their vectors by `pooling`, as computed by the other program.
fn golden(pooling: &str) -> Vec<(String, Vector)> {
    let text = fs::read(fixture().join("golden.json")).unwrap();
    let all: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let entry = |entry: &Value| {
        let vector = serde_json::from_value(entry[pooling].clone()).unwrap();
        (entry["text"].as_str().unwrap().to_owned(), vector)
    };
    all.iter().map(entry).collect()
}

fn golden_of(text: &str, pooling: &str) -> Vector {
    golden(pooling).into_iter().find(|(known, _)| known == text).unwrap().1
}

fn assert_close(found: &[f32], wanted: &[f32], text: &str) {
    assert_eq!(found.len(), wanted.len(), "{text}");
    let apart = found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < CLOSE, "{text}: {apart}: {found:?}, wanted {wanted:?}");
}

async fn one(embedder: &CandleEmbedder, text: &str, role: Role) -> Vector {
    embedder.embed(&[text], role).await.unwrap().remove(0)
}

#[tokio::test]
async fn vectors_are_those_of_another_implementation() {
    for (pooling, first_token) in [("mean", false), ("first", true)] {
        let copy = Copy::new("tiny");
        copy.pool(first_token, !first_token);
        let embedder = copy.open();
        assert_eq!(embedder.model().dimension, 16);
        let golden = golden(pooling);
        // All at once, so that short texts are padded beside long ones; then each alone.
        let texts: Vec<&str> = golden.iter().map(|(text, _)| text.as_str()).collect();
        let together = embedder.embed(&texts, Role::Passage).await.unwrap();
        assert_eq!(together.len(), golden.len());
        for ((text, wanted), found) in golden.iter().zip(&together) {
            assert_close(found, wanted, text);
            assert_close(&one(&embedder, text, Role::Query).await, wanted, text);
        }
    }
}

#[tokio::test]
async fn e5_and_bge_have_their_prefixes_and_bge_takes_the_first_token() {
    let copy = Copy::new("multilingual-e5-tiny");
    let e5 = copy.open();
    assert_close(
        &one(&e5, "the cat", Role::Query).await,
        &golden_of("query: the cat", "mean"),
        "q",
    );
    let passage = golden_of("passage: the cat", "mean");
    assert_close(&one(&e5, "the cat", Role::Passage).await, &passage, "p");
    assert!(e5.hints().unrelated > 0.7 && !e5.hints().instant);

    let named = Copy::new("some-folder");
    named.set("_name_or_path", "BAAI/bge-tiny-en");
    let bge = named.open();
    assert!(bge.model().name.starts_with("candle/bge-tiny-en/"), "{:?}", bge.model());
    let prefix = "Represent this sentence for searching relevant passages: the cat";
    assert_close(&one(&bge, "the cat", Role::Query).await, &golden_of(prefix, "first"), "q");
    assert_close(&one(&bge, "the cat", Role::Passage).await, &golden_of("the cat", "first"), "p");
}

#[tokio::test]
async fn half_a_million_letters_and_nothing_at_all_are_texts() {
    let copy = Copy::new("tiny");
    let embedder = copy.open();
    assert_eq!(embedder.embed(&[], Role::Query).await.unwrap(), Vec::<Vector>::new());
    let long = "the rye ".repeat(60_000);
    let found = embedder.embed(&["", &long, "\u{0}\u{fffd}"], Role::Passage).await.unwrap();
    assert_close(&found[1], &golden_of(&"the rye ".repeat(40), "mean"), "long");
    assert!(found.iter().flatten().all(|value| value.is_finite()));
}

#[test]
fn no_runtime_is_needed() {
    let copy = Copy::new("tiny");
    let embedder = copy.open();
    let mut found = embedder.embed(&["rye"], Role::Passage);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        match found.as_mut().poll(&mut context) {
            std::task::Poll::Ready(vectors) => {
                assert_close(&vectors.unwrap()[0], &golden_of("rye", "mean"), "rye");
                return;
            }
            std::task::Poll::Pending => std::thread::yield_now(),
        }
    }
}

#[test]
fn models_are_told_apart_by_what_decides_their_vectors() {
    let name = |change: &dyn Fn(&Copy)| {
        let copy = Copy::new("tiny");
        change(&copy);
        copy.open().model().name.clone()
    };
    let plain = name(&|_| ());
    assert_eq!(plain, name(&|_| ()));
    assert_ne!(plain, name(&|copy| copy.pool(true, false)));
    assert_ne!(plain, name(&|copy| copy.set("layer_norm_eps", 1e-5)));
    let weights = |copy: &Copy| {
        let path = copy.path.join("model.safetensors");
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(path, bytes).unwrap();
    };
    assert_ne!(plain, name(&weights));
}

#[test]
fn what_cannot_be_run_is_refused_by_name_at_opening() {
    let missing = Copy::new("tiny");
    fs::remove_file(missing.path.join("tokenizer.json")).unwrap();
    assert!(missing.refusal().contains("tokenizer.json: is missing"), "{}", missing.refusal());

    for (key, value, told) in [
        ("model_type", json!("xlm-roberta"), "model_type is xlm-roberta; only bert"),
        ("position_embedding_type", json!("relative_key"), "position_embedding_type"),
        ("num_attention_heads", json!(3), "3 equal heads"),
        ("hidden_act", json!("swish"), "swish"),
        ("hidden_size", json!("big"), "big"),
    ] {
        let copy = Copy::new("tiny");
        copy.set(key, value);
        let error = copy.refusal();
        assert!(error.starts_with("embed.path: ") && error.contains("config.json"), "{error}");
        assert!(error.contains(told), "{error}");
    }

    let pooled = Copy::new("tiny");
    pooled.pool(false, false);
    assert!(pooled.refusal().contains("no other pooling"), "{}", pooled.refusal());
    let dense = Copy::new("tiny");
    let module = json!([{"idx": 2, "type": "sentence_transformers.models.Dense"}]);
    dense.write("modules.json", &module);
    assert!(dense.refusal().contains("a module Dense"), "{}", dense.refusal());
}

#[tokio::test]
async fn damaged_files_are_an_error_at_the_first_text_and_no_panic() {
    let damaged = Copy::new("tiny");
    fs::write(damaged.path.join("model.safetensors"), b"\x08\0\0\0\0\0\0\0{}      ").unwrap();
    let error = damaged.open().embed(&["a"], Role::Query).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    let other = Copy::new("tiny");
    other.set("intermediate_size", 48);
    let error = other.open().embed(&["a"], Role::Query).await.unwrap_err().to_string();
    assert!(error.contains("model.safetensors is damaged: "), "{error}");
    let tokenizer = Copy::new("tiny");
    tokenizer.write("tokenizer.json", &json!({"version": "1.0"}));
    let error = tokenizer.open().embed(&["a"], Role::Query).await.unwrap_err().to_string();
    assert!(error.contains("tokenizer.json"), "{error}");
}

#[tokio::test]
async fn it_is_chosen_by_settings() -> Result<()> {
    let copy = Copy::new("tiny");
    let settings = EmbedSettings::Candle { path: copy.path.clone() };
    let embedder = tvix_core::embed::open(&settings)?.unwrap();
    let vectors = embedder.embed(&["rye"], Role::Passage).await?;
    assert_close(&vectors[0], &golden_of("rye", "mean"), "rye");
    Ok(())
}

/// The figures that the documentation of sentence-transformers gives for all-MiniLM-L6-v2.
#[tokio::test]
async fn minilm_gives_its_published_cosines() {
    let Some(folder) = std::env::var_os("TVIX_TEST_MINILM") else {
        eprintln!("SKIPPED: set TVIX_TEST_MINILM to a folder with all-MiniLM-L6-v2");
        return;
    };
    let embedder = CandleEmbedder::open(Path::new(&folder)).unwrap();
    for (one, other, wanted) in [
        ("The cat sits outside", "A man is playing guitar", 0.0363),
        ("The new movie is awesome", "The new movie is so great", 0.8939),
        ("The new movie is awesome", "The dog plays in the garden", 0.0543),
    ] {
        let found = embedder.embed(&[one, other], Role::Passage).await.unwrap();
        let cosine: f32 = found[0].iter().zip(&found[1]).map(|(a, b)| a * b).sum();
        eprintln!("{cosine:.4}, published {wanted:.4}: {one} / {other}");
        assert!((cosine - wanted).abs() < 1e-3, "{one} / {other}: {cosine}");
    }
}
