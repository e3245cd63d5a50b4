//! A BERT model in a local folder.

mod bert;
mod folder;

use std::{path::Path, sync::Arc};

use async_lock::{OnceCell, Semaphore};
use async_trait::async_trait;
use candle_core::{Device, IndexOp, Tensor};
use tokenizers::Tokenizer;

use self::{
    bert::Bert,
    folder::{ModelFolder, Pooling},
};
use super::{Embedder, Hints, Model, Role, Vector, vector, worker};
use crate::{Error, Result};

/// Tokens in one run of the model, padding included: about a second on one slow core, after which a query
/// gets its turn.
const BATCH_TOKENS: usize = 2_048;
/// Runs at a time: a query beside texts that are embedded in the background.
const AT_A_TIME: usize = 2;
/// What of a text is looked at, in characters for each token there is room for: no language has tokens
/// that long on average.
const CHARS_PER_TOKEN: usize = 16;

/// A BERT model in a local folder, run on the processor: `all-MiniLM-L6-v2`, bge and e5 models and their
/// likes.
///
/// The folder is as `sentence-transformers` and the hubs have it: `config.json` whose `model_type` is
/// `bert`, `tokenizer.json` and `model.safetensors`; `1_Pooling/config.json` decides how tokens become
/// one vector, else bge models take the first token and others the mean. The prefixes of e5, bge, mxbai
/// and nomic models are added by name: a word such as `e5` or `bge` in `_name_or_path` of `config.json` or
/// in the last three parts of the folder's path.
///
/// Opening reads `config.json` and a sample of the weights; the model is loaded at the first text. Texts
/// are cut at 512 tokens or what the model has positions for. It needs no runtime: the model runs on
/// threads of its own.
#[derive(Debug)]
pub struct CandleEmbedder {
    folder: Arc<ModelFolder>,
    model: Model,
    loaded: OnceCell<Arc<Loaded>>,
    places: Arc<Semaphore>,
}

impl CandleEmbedder {
    /// The model in `folder`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming the folder when a file is missing or the model is of a kind that is
    /// not supported.
    pub fn open(folder: &Path) -> Result<Self> {
        let folder = ModelFolder::open(folder)?;
        Ok(Self {
            model: Model { name: folder.name.clone(), dimension: folder.config.hidden_size },
            folder: Arc::new(folder),
            loaded: OnceCell::new(),
            places: Arc::new(Semaphore::new(AT_A_TIME)),
        })
    }

    async fn loaded(&self) -> Result<Arc<Loaded>> {
        let load = || {
            let folder = Arc::clone(&self.folder);
            worker::run("loading the embedding model", move |_| Loaded::read(&folder).map(Arc::new))
        };
        self.loaded.get_or_try_init(load).await.cloned()
    }
}

#[async_trait]
impl Embedder for CandleEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn hints(&self) -> Hints {
        Hints { unrelated: self.folder.family.unrelated, ..Hints::TRANSFORMER }
    }

    async fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vector>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let loaded = self.loaded().await?;
        let prefix = self.folder.family.prefix(role);
        let texts: Vec<String> = texts.iter().map(|text| loaded.cut(prefix, text)).collect();
        let (count, tokenizing) = (texts.len(), Arc::clone(&loaded));
        let pieces =
            worker::run("splitting texts", move |wanted| tokenizing.pieces(&texts, wanted)).await?;
        let mut vectors = vec![Vector::new(); count];
        for batch in batches(pieces) {
            let (loaded, place) = (Arc::clone(&loaded), self.places.acquire_arc().await);
            let found = worker::run("running the embedding model", move |_| {
                let found = loaded.vectors(&batch);
                drop(place);
                found
            });
            for (place, vector) in found.await? {
                vectors[place] = vector;
            }
        }
        Ok(vectors)
    }
}

/// The tokens of a text, and its place in the call.
#[derive(Debug, Clone)]
struct Piece {
    place: usize,
    tokens: Vec<u32>,
}

/// Runs of the model over texts of like length, so that little is padded; the shortest first.
fn batches(mut pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    pieces.sort_by_key(|piece| piece.tokens.len());
    let mut batches: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        match batches.last_mut() {
            Some(batch) if (batch.len() + 1) * piece.tokens.len() <= BATCH_TOKENS => {
                batch.push(piece);
            }
            _ => batches.push(vec![piece]),
        }
    }
    batches
}

/// What a folder holds, in memory.
#[derive(Debug)]
struct Loaded {
    bert: Bert,
    tokenizer: Box<Tokenizer>,
    pooling: Pooling,
    max_tokens: usize,
}

impl Loaded {
    fn read(folder: &ModelFolder) -> Result<Self> {
        let weights = folder.read("model.safetensors")?;
        let bert = Bert::load(weights, &folder.config).map_err(|error| {
            Error::corrupt(folder.file("model.safetensors").display().to_string(), error)
        })?;
        let max_tokens = folder.config.max_tokens();
        let tokenizer = Box::new(folder.tokenizer(max_tokens)?);
        Ok(Self { bert, tokenizer, pooling: folder.pooling, max_tokens })
    }

    /// `text` behind `prefix`, without what would be cut anyway.
    fn cut(&self, prefix: &str, text: &str) -> String {
        let most = self.max_tokens * CHARS_PER_TOKEN;
        let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
        format!("{prefix}{}", &text[..end])
    }

    fn pieces(&self, texts: &[String], wanted: &dyn Fn() -> bool) -> Result<Vec<Piece>> {
        let mut pieces = Vec::with_capacity(texts.len());
        for (place, text) in texts.iter().enumerate().take_while(|_| wanted()) {
            let encoded = self.tokenizer.encode_fast(text.as_str(), true);
            let encoded = encoded.map_err(|error| Error::backend("splitting a text", error))?;
            pieces.push(Piece { place, tokens: encoded.get_ids().to_vec() });
        }
        Ok(pieces)
    }

    fn vectors(&self, batch: &[Piece]) -> Result<Vec<(usize, Vector)>> {
        let operation = "running the embedding model";
        let rows = self.rows(batch).map_err(|error| Error::backend(operation, error))?;
        let units = batch.iter().zip(rows).map(|(piece, row)| {
            let unit = vector::unit(row).map_err(|reason| Error::backend(operation, reason))?;
            Ok((piece.place, unit))
        });
        units.collect()
    }

    /// One row for each text of `batch`, of any length.
    fn rows(&self, batch: &[Piece]) -> candle_core::Result<Vec<Vec<f32>>> {
        let width = batch.iter().map(|piece| piece.tokens.len()).max().unwrap_or_default();
        let (mut tokens, mut mask) = (Vec::new(), Vec::new());
        for piece in batch {
            let padding = width - piece.tokens.len();
            tokens.extend_from_slice(&piece.tokens);
            // Any token would do: the mask keeps it from being looked at.
            tokens.extend(std::iter::repeat_n(0, padding));
            mask.extend(std::iter::repeat_n(1_f32, piece.tokens.len()));
            mask.extend(std::iter::repeat_n(0_f32, padding));
        }
        let shape = (batch.len(), width);
        let tokens = Tensor::from_vec(tokens, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let states = self.bert.forward(&tokens, &mask)?;
        let pooled = match self.pooling {
            Pooling::FirstToken => states.i((.., 0))?,
            Pooling::Mean => {
                let mask = mask.unsqueeze(2)?;
                states.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?)?
            }
        };
        pooled.to_vec2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_texts_of_like_length() {
        let piece = |(place, length)| Piece { place, tokens: vec![1; length] };
        let pieces = [500, 3, 512, 4, 500, 512, 512].into_iter().enumerate().map(piece).collect();
        let places = |batch: &Vec<Piece>| batch.iter().map(|piece| piece.place).collect::<Vec<_>>();
        let found: Vec<_> = batches(pieces).iter().map(places).collect();
        assert_eq!(found, [vec![1, 3, 0, 4], vec![2, 5, 6]]);
        assert!(batches(Vec::new()).is_empty());
    }
}
