// BERT in plain JavaScript: token ids in, hidden states and predictions out (Devlin et al. 2019, arXiv 1810.04805).
//
// Read it from top to bottom, as the data flows: embeddings, layers of self-attention and feed-forward, output layers.
// A tensor is a Float32Array with its rows one after another. The end of its name is its shape, one letter per dimension:
// T tokens, H hidden size, N heads, D size of a head (H = N * D), F feed-forward size, L layers, V vocabulary, O outputs and
// I inputs of a linear layer.
import { gelu, geluTanh, layerNorm, linear, softmax } from "./arithmetic.js";

/** BERT with the output layers that its checkpoint has. */
export class Bert {
  /**
   * config: {hiddenSize, numLayers, numHeads, firstPosition, vocabSize, layerNormEps, activation, leftToRight}
   * weights: Map from the name of a tensor, such as "embeddings.token.weight", to its values; a matrix is {codes_OI, scale_O},
   * where codes are integers from -127 to 127 and weight = code * scale of the row
   */
  constructor(config, weights) {
    this.config = config;
    this.weights = weights;
    this.activation = config.activation === "gelu" ? gelu : geluTanh;
  }

  /**
   * Run the whole encoder. off: heads to switch off, as a Set of "layer.head".
   * Returns hidden_LTH (the embeddings, then the output of each layer), probs_LNTT (the attention of each layer) and
   * heads_LTH (the outputs of the heads of each layer, side by side).
   */
  run(ids_T, types_T, off = new Set()) {
    const hidden_LTH = [this.embed(ids_T, types_T)];
    const probs_LNTT = [];
    const heads_LTH = [];
    for (let layer = 0; layer < this.config.numLayers; layer++) {
      const { probs_NTT, heads_TH } = this.attend(layer, hidden_LTH[layer], off);
      hidden_LTH.push(this.finishLayer(layer, hidden_LTH[layer], heads_TH));
      probs_LNTT.push(probs_NTT);
      heads_LTH.push(heads_TH);
    }
    return { hidden_LTH, probs_LNTT, heads_LTH };
  }

  /**
   * The final hidden_H of token t with one head switched off. normal: the result of `run` with all heads on.
   * Nothing changes before this head, so the computation begins with its output; the last layer is computed for token t only.
   */
  runWithout(layer, head, { hidden_LTH, heads_LTH }, t) {
    const { hiddenSize: H, numHeads: N, numLayers: L } = this.config;
    const at = (states_TH) => states_TH.subarray(t * H, (t + 1) * H);
    let heads_TH = heads_LTH[layer].map((value, i) => (Math.floor((i % H) / (H / N)) === head ? 0 : value));
    let hidden_TH = hidden_LTH[layer];
    for (let l = layer; l < L - 1; l++) {
      hidden_TH = this.finishLayer(l, hidden_TH, heads_TH);
      heads_TH = this.attend(l + 1, hidden_TH, new Set()).heads_TH;
    }
    return this.finishLayer(L - 1, at(hidden_TH), at(heads_TH));
  }

  /** Embed the tokens: LayerNorm(token + position + sentence), section 3 and figure 2 of the paper. */
  embed(ids_T, types_T) {
    const { hiddenSize: H, firstPosition } = this.config;
    const sum_TH = new Float32Array(ids_T.length * H);
    ids_T.forEach((id, t) => {
      const rows = { token: id, position: firstPosition + t, token_type: types_T[t] };
      for (const [name, row] of Object.entries(rows)) {
        const { codes_OI, scale_O } = this.weights.get(`embeddings.${name}.weight`);
        for (let h = 0; h < H; h++) sum_TH[t * H + h] += codes_OI[row * H + h] * scale_O[row];
      }
    });
    return this.norm("embeddings.norm", sum_TH);
  }

  /** Self-attention (Vaswani et al. 2017, section 3.2): softmax(query · key / √D) · value in every head. */
  attend(layer, hidden_TH, off) {
    const { hiddenSize: H, numHeads: N, leftToRight } = this.config;
    const T = hidden_TH.length / H;
    const D = H / N;
    // one matrix has the weights of query, key and value; a row is [query of all heads, key of all heads, value of all heads]
    const qkv_T3H = this.linear(`encoder.layers.${layer}.attention.qkv`, hidden_TH);
    const probs_NTT = new Float32Array(N * T * T);
    const heads_TH = new Float32Array(T * H);
    for (let n = 0; n < N; n++) {
      for (let t = 0; t < T; t++) { // t is the token that attends, s the token it attends to
        const row_T = probs_NTT.subarray((n * T + t) * T, (n * T + t + 1) * T);
        const visible = leftToRight ? t + 1 : T;
        const query = t * 3 * H + n * D;
        for (let s = 0; s < visible; s++) {
          const key = s * 3 * H + H + n * D;
          let score = 0;
          for (let d = 0; d < D; d++) score += qkv_T3H[query + d] * qkv_T3H[key + d];
          row_T[s] = score / Math.sqrt(D);
        }
        softmax(row_T.subarray(0, visible));
        if (off.has(`${layer}.${n}`)) continue; // a head that is switched off contributes zeros
        for (let s = 0; s < visible; s++) {
          const value = s * 3 * H + 2 * H + n * D;
          for (let d = 0; d < D; d++) heads_TH[t * H + n * D + d] += row_T[s] * qkv_T3H[value + d];
        }
      }
    }
    return { heads_TH, probs_NTT };
  }

  /** The part of a layer after the attention heads: x = LayerNorm(x + W heads + b), then x = LayerNorm(x + feedForward(x)). Every token is computed by itself. */
  finishLayer(layer, hidden_TH, heads_TH) {
    const name = `encoder.layers.${layer}`;
    const middle_TH = this.norm(`${name}.attention_norm`, add(hidden_TH, this.linear(`${name}.attention.out`, heads_TH)));
    const wide_TF = this.linear(`${name}.feed_forward.up`, middle_TH).map(this.activation);
    return this.norm(`${name}.feed_forward_norm`, add(middle_TH, this.linear(`${name}.feed_forward.down`, wide_TF)));
  }

  /** Predict a token from each row of hidden_TH: softmax(embeddings · LayerNorm(gelu(W h + b)) + bias). Returns a list of probs_V. */
  predictTokens(hidden_TH) {
    const transformed_TH = this.norm("heads.mlm.norm", this.linear("heads.mlm.dense", hidden_TH).map(this.activation));
    const bias_R = this.weights.get("heads.mlm.bias"); // the table of embeddings may have R > V rows; the last ones stand for no token
    const logits_TR = linear(transformed_TH, this.weights.get("embeddings.token.weight"), bias_R);
    return Array.from({ length: logits_TR.length / bias_R.length }, (_, t) => (
      softmax(logits_TR.subarray(t * bias_R.length, t * bias_R.length + this.config.vocabSize))));
  }

  /** Predict whether sentence B follows A from the hidden state of [CLS]: softmax(W tanh(pooler) + b) -> [yes, no]. */
  predictNext(hidden_H) {
    return softmax(this.linear("heads.nsp", this.linear("pooler.dense", hidden_H).map(Math.tanh)));
  }

  linear(name, input_TI) {
    return linear(input_TI, this.weights.get(`${name}.weight`), this.weights.get(`${name}.bias`));
  }

  norm(name, hidden_TH) {
    return layerNorm(hidden_TH, this.weights.get(`${name}.weight`), this.weights.get(`${name}.bias`), this.config.layerNormEps);
  }
}

function add(a, b) {
  return a.map((value, i) => value + b[i]);
}
