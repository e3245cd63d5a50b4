//! The folder of a model: which files there must be, and what they say.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokenizers::{Tokenizer, TruncationParams};

use crate::{
    Error, Result,
    embed::{Role, family::Family},
};

/// The longest text in tokens, whatever the model has positions for.
const TOKENS_MAX: usize = 512;
/// How many places of the weights are looked at to tell models apart, and how many bytes at each.
const SAMPLES: u64 = 64;
const SAMPLE: usize = 4_096;

/// `config.json`, as far as it matters here.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Config {
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) vocab_size: usize,
    pub(super) max_position_embeddings: usize,
    #[serde(default = "two")]
    pub(super) type_vocab_size: usize,
    #[serde(default = "small")]
    pub(super) layer_norm_eps: f64,
    #[serde(default)]
    pub(super) hidden_act: Activation,
    #[serde(default, rename = "_name_or_path")]
    name: String,
}

fn two() -> usize {
    2
}

fn small() -> f64 {
    1e-12
}

/// What stands between the two halves of a layer.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activation {
    /// By the error function.
    #[default]
    Gelu,
    /// By the hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    Relu,
}

impl Config {
    /// The longest text, in tokens.
    pub(super) fn max_tokens(&self) -> usize {
        self.max_position_embeddings.min(TOKENS_MAX)
    }
}

/// How the states of a text's tokens become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    FirstToken,
    Mean,
}

/// A folder that holds a model which can be run here.
#[derive(Debug)]
pub(super) struct ModelFolder {
    path: PathBuf,
    pub(super) config: Config,
    pub(super) family: Family,
    pub(super) pooling: Pooling,
    /// Tells this model from any other, whatever the folder is called.
    pub(super) name: String,
}

impl ModelFolder {
    /// Checks the folder without loading the model.
    pub(super) fn open(path: &Path) -> Result<Self> {
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            let file = path.join(name);
            if !file.is_file() {
                let wanted = "send a folder with config.json, tokenizer.json and model.safetensors";
                return Err(wrong(&file, format_args!("is missing; {wanted}")));
            }
        }
        let config = config(&path.join("config.json"))?;
        check_modules(path)?;
        let family = family(path, &config.name);
        let pooling = pooling(path, family)?;
        let name = name(path, &config.name, family, pooling)?;
        Ok(Self { path: path.to_owned(), config, family, pooling, name })
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>> {
        fs::read(self.file(name)).map_err(|error| unreadable(&self.file(name), error))
    }

    /// The tokenizer, which cuts texts at `max_tokens` and does not pad.
    pub(super) fn tokenizer(&self, max_tokens: usize) -> Result<Tokenizer> {
        let wrong = |error: &dyn std::fmt::Display| wrong(&self.file("tokenizer.json"), error);
        let mut tokenizer =
            Tokenizer::from_bytes(self.read("tokenizer.json")?).map_err(|error| wrong(&error))?;
        tokenizer.with_padding(None);
        let cut = TruncationParams { max_length: max_tokens, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(cut)).map_err(|error| wrong(&error))?;
        Ok(tokenizer)
    }
}

fn wrong(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::invalid("embed.path", format_args!("{}: {reason}", path.display()))
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::backend(format!("reading {}", path.display()), error)
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(|error| unreadable(path, error))?;
    serde_json::from_slice(&text).map_err(|error| wrong(path, error))
}

fn config(path: &Path) -> Result<Config> {
    let all: Value = json(path)?;
    let kind = all["model_type"].as_str().unwrap_or("absent");
    if kind != "bert" {
        let reason = format!("its model_type is {kind}; only bert is supported");
        return Err(wrong(path, reason));
    }
    let positions = all["position_embedding_type"].as_str().unwrap_or("absolute");
    if positions != "absolute" {
        let reason =
            format!("its position_embedding_type is {positions}; only absolute is supported");
        return Err(wrong(path, reason));
    }
    let config: Config = serde_json::from_value(all).map_err(|error| wrong(path, error))?;
    let (size, heads) = (config.hidden_size, config.num_attention_heads);
    if size == 0 || heads == 0 || !size.is_multiple_of(heads) {
        return Err(wrong(path, format_args!("its hidden_size {size} has no {heads} equal heads")));
    }
    // Room for a token between the two that mark a text's ends.
    if config.max_position_embeddings < 3 || config.type_vocab_size == 0 {
        return Err(wrong(path, "it leaves no room for a token"));
    }
    Ok(config)
}

/// A model with more steps than the transformer and its pooling would give other vectors than its own.
fn check_modules(path: &Path) -> Result<()> {
    let path = path.join("modules.json");
    if !path.is_file() {
        return Ok(());
    }
    let modules: Vec<Value> = json(&path)?;
    let kinds = modules.iter().filter_map(|module| module["type"].as_str());
    let mut kinds = kinds.map(|kind| kind.rsplit('.').next().unwrap_or(kind));
    match kinds.find(|kind| !["Transformer", "Pooling", "Normalize"].contains(kind)) {
        None => Ok(()),
        Some(kind) => {
            Err(wrong(&path, format_args!("it has a module {kind}, which is not supported")))
        }
    }
}

/// By the name in `config.json`, else by the end of the path, which for a downloaded model holds
/// `models--OWNER--NAME/snapshots/REVISION`.
fn family(path: &Path, name: &str) -> Family {
    let unknown = Family::of("");
    let by_name = Family::of(name);
    if by_name != unknown {
        return by_name;
    }
    let mut parts: Vec<_> = path.components().rev().take(3).collect();
    parts.reverse();
    let end: PathBuf = parts.into_iter().collect();
    Family::of(&end.to_string_lossy())
}

fn pooling(path: &Path, family: Family) -> Result<Pooling> {
    let path = path.join("1_Pooling").join("config.json");
    if !path.is_file() {
        return Ok(if family.first_token { Pooling::FirstToken } else { Pooling::Mean });
    }
    let all: Value = json(&path)?;
    let on = |name: &str| all[name].as_bool() == Some(true);
    match (on("pooling_mode_cls_token"), on("pooling_mode_mean_tokens")) {
        (true, false) => Ok(Pooling::FirstToken),
        (false, true) => Ok(Pooling::Mean),
        _ => {
            let reason = "exactly one of pooling_mode_cls_token and pooling_mode_mean_tokens must be true; \
                          no other pooling is supported";
            Err(wrong(&path, reason))
        }
    }
}

/// The model's name and a fingerprint of all that decides its vectors.
fn name(path: &Path, name: &str, family: Family, pooling: Pooling) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(format!(
        "{:?}",
        (family.prefix(Role::Query), family.prefix(Role::Passage), pooling)
    ));
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let file = path.join(file);
        sample(&file, &mut hash).map_err(|error| unreadable(&file, error))?;
    }
    let of_folder = path.file_name().unwrap_or_default().to_string_lossy();
    let last = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(&of_folder);
    let begin = hash.finalize();
    let begin = begin.iter().take(6).fold(0_u64, |all, byte| (all << 8) | u64::from(*byte));
    Ok(format!("candle/{last}/{begin:012x}"))
}

/// The file's length and pieces of it at equal distances: enough to tell models apart, without reading
/// all of a large file at every start.
fn sample(path: &Path, hash: &mut Sha256) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    hash.update(length.to_le_bytes());
    for number in 0..SAMPLES {
        file.seek(SeekFrom::Start(length / SAMPLES * number))?;
        let mut piece = Vec::with_capacity(SAMPLE);
        file.by_ref().take(SAMPLE as u64).read_to_end(&mut piece)?;
        hash.update(&piece);
    }
    Ok(())
}
