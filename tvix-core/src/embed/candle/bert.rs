//! BERT: tokens to one state for each, as in `transformers`' `BertModel` without its pooler.

use candle_core::{D, DType, Device, Module, Result, Tensor};
use candle_nn::{
    Embedding, LayerNorm, Linear, VarBuilder, embedding, layer_norm, linear, ops::softmax_last_dim,
};

use super::folder::{Activation, Config};

/// What a padded place scores: far below any other, and finite.
const MASKED: f64 = -1e9;

#[derive(Debug)]
pub(super) struct Bert {
    words: Embedding,
    positions: Embedding,
    /// Of the first kind of token, the only one that a single text has; of shape 1 × hidden.
    kind: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Bert {
    /// Reads the weights, which may stand under the name `bert`.
    pub(super) fn load(weights: Vec<u8>, config: &Config) -> Result<Self> {
        let all = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        let is_bare = all.contains_tensor("embeddings.word_embeddings.weight");
        let all = if is_bare { all } else { all.pp("bert") };
        let (size, from) = (config.hidden_size, all.pp("embeddings"));
        let kinds = embedding(config.type_vocab_size, size, from.pp("token_type_embeddings"))?;
        let layers = (0..config.num_hidden_layers)
            .map(|number| Layer::load(&all.pp(format!("encoder.layer.{number}")), config));
        Ok(Self {
            words: embedding(config.vocab_size, size, from.pp("word_embeddings"))?,
            positions: embedding(
                config.max_position_embeddings,
                size,
                from.pp("position_embeddings"),
            )?,
            kind: kinds.embeddings().narrow(0, 0, 1)?,
            norm: layer_norm(size, config.layer_norm_eps, from.pp("LayerNorm"))?,
            layers: layers.collect::<Result<_>>()?,
        })
    }

    /// The states, text × place × hidden, of `tokens`, text × place; `mask` is 1 where a token is and 0
    /// where a place is padded.
    pub(super) fn forward(&self, tokens: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let places = Tensor::arange(0, tokens.dim(1)? as u32, tokens.device())?;
        let places = self.positions.forward(&places)?.broadcast_add(&self.kind)?;
        let states = self.words.forward(tokens)?.broadcast_add(&places)?;
        let mut states = self.norm.forward(&states)?;
        // 1 becomes 0 and 0 becomes `MASKED`; text × head × asking place × place looked at.
        let mask = mask.affine(-MASKED, MASKED)?.unsqueeze(1)?.unsqueeze(1)?;
        for layer in &self.layers {
            states = layer.forward(&states, &mask)?;
        }
        Ok(states)
    }
}

#[derive(Debug)]
struct Layer {
    heads: usize,
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    up: Linear,
    activation: Activation,
    down: Linear,
    norm: LayerNorm,
}

impl Layer {
    fn load(from: &VarBuilder<'_>, config: &Config) -> Result<Self> {
        let (size, inner) = (config.hidden_size, config.intermediate_size);
        let square = |name| linear(size, size, from.pp(name));
        let norm = |name| layer_norm(size, config.layer_norm_eps, from.pp(name));
        Ok(Self {
            heads: config.num_attention_heads,
            query: square("attention.self.query")?,
            key: square("attention.self.key")?,
            value: square("attention.self.value")?,
            attended: square("attention.output.dense")?,
            attended_norm: norm("attention.output.LayerNorm")?,
            up: linear(size, inner, from.pp("intermediate.dense"))?,
            activation: config.hidden_act,
            down: linear(inner, size, from.pp("output.dense"))?,
            norm: norm("output.LayerNorm")?,
        })
    }

    fn forward(&self, states: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let attended = self.attended.forward(&self.attend(states, mask)?)?;
        let states = self.attended_norm.forward(&(attended + states)?)?;
        let inner = self.activation.apply(&self.up.forward(&states)?)?;
        self.norm.forward(&(self.down.forward(&inner)? + states)?)
    }

    fn attend(&self, states: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let (texts, places, size) = states.dims3()?;
        let width = size / self.heads;
        let split = |projected: Tensor| {
            projected.reshape((texts, places, self.heads, width))?.transpose(1, 2)?.contiguous()
        };
        let query = (split(self.query.forward(states)?)? / (width as f64).sqrt())?;
        let key = split(self.key.forward(states)?)?;
        let value = split(self.value.forward(states)?)?;
        let scores = query.matmul(&key.transpose(D::Minus1, D::Minus2)?)?.broadcast_add(mask)?;
        let found = softmax_last_dim(&scores)?.matmul(&value)?;
        found.transpose(1, 2)?.reshape((texts, places, size))
    }
}

impl Activation {
    fn apply(self, states: &Tensor) -> Result<Tensor> {
        match self {
            Self::Gelu => states.gelu_erf(),
            Self::GeluTanh => states.gelu(),
            Self::Relu => states.relu(),
        }
    }
}
