// The worker: it holds the tokenizer and the model and answers the page, which stays responsive meanwhile.
// A request is {id, kind, ...}. Answers are {id, result}, and for kinds that compute step by step also {id, part};
// {id, error: {id, parameters}} says what is wrong with the texts; the id of the error is the name of a sentence of the page. A new request stops the older ones.
// The weights come in messages {kind: "weights", text}, which have no answer.
import { Bert } from "./model.js";
import { Tokenizer } from "./tokenizer.js";
import { WeightReader } from "./weights.js";
import { attentionPayload } from "./attention_payload.js";

let model, tokenizer, maxTokens, weightReader;
let newest = 0; // the id of the newest request
const HEADS_AT_A_TIME = 4;

/** What is wrong with the texts; the page has a sentence for each id. */
class InputError extends Error {
  constructor(id, parameters = []) {
    super(id);
    Object.assign(this, { id, parameters });
  }
}

/** Kind of a request -> the function that computes its result: (request, isCurrent() -> boolean, send(part)). */
const HANDLERS = {
  async load({ config, weights, tokenizerSettings }) {
    weightReader = new WeightReader(weights);
    const content = await weightReader.content.catch(() => { throw new InputError("errorDamaged"); });
    tokenizer = new Tokenizer({ ...tokenizerSettings, tokens: content.tokens });
    model = new Bert(config, content.weights);
    maxTokens = config.maxTokens;
    return true;
  },

  /** The attention of all heads, as a payload of the attention view. */
  async attention({ a, b }) {
    const input = encode(a, b);
    const { probs_LNTT } = model.run(input.ids, input.types);
    return { payload: await attentionPayload(input, probs_LNTT, model.config.numHeads) };
  },

  /** The best tokens for each [MASK]. */
  async fill({ a, count }) {
    const input = encode(a, null);
    const { hidden_LTH } = model.run(input.ids, input.types);
    return { tokens: input.tokens, masks: predictAt(hidden_LTH.at(-1), masksOf(input)).map((probs_V) => bestTokens(probs_V, count)) };
  },

  /** The probability that b follows a. */
  async next({ a, b }) {
    const input = encode(a, b);
    return { follows: model.predictNext(at(model.run(input.ids, input.types).hidden_LTH.at(-1), 0))[0] };
  },

  /** A prediction with all heads and without those in `off`; then, for each head that `measured` lacks, without this head alone. */
  async heads({ a, b, off, count, measured }, isCurrent, send) {
    const input = encode(a, b);
    const { t, predict } = predictionOf(input, b);
    const normal = model.run(input.ids, input.types);
    const [before] = predict(at(normal.hidden_LTH.at(-1), t));
    const [after] = off.length ? predict(at(model.run(input.ids, input.types, new Set(off)).hidden_LTH.at(-1), t)) : [before];
    const ids = [...new Set([...bestIds(before, count), ...bestIds(after, count)])];
    const label = (id) => (b === null ? tokenizer.tokens[id] : id);
    const outcomes = ids.map((id) => ({ label: label(id), before: before[id], after: after[id] }));
    send({ outcomes, isPair: b !== null });
    const winner = bestIds(before, 1)[0];
    // the last layer first, which takes the least time; the output layer predicts for a few heads at a time, which is faster
    for (const heads of splitIntoGroups(headsToMeasure(measured), HEADS_AT_A_TIME)) {
      const hidden = [];
      for (const { layer, head } of heads) {
        await pause();
        if (!isCurrent()) return null;
        hidden.push(model.runWithout(layer, head, normal, t));
      }
      const probs = predict(joinRows(hidden));
      send({ effects: heads.map(({ layer, head }, i) => ({
        layer, head, change: logOdds(probs[i][winner]) - logOdds(before[winner]), before: before[winner], after: probs[i][winner],
      })) });
    }
    return { outcomes };
  },

  /** What each layer would predict at each position: the MLM output layer on every hidden state (nostalgebraist 2020). */
  async lens({ a }, isCurrent, send) {
    const input = encode(a, null);
    const { hidden_LTH } = model.run(input.ids, input.types);
    send({ tokens: input.tokens, layers: hidden_LTH.length });
    const columns = [];
    const masks = masksOf(input, false);
    const order = [...masks, ...input.ids.keys()].filter((t, i, all) => all.indexOf(t) === i); // masks first
    for (const t of order) {
      await pause();
      if (!isCurrent()) return null;
      const probs_LV = model.predictTokens(joinRows(hidden_LTH.map((hidden_TH) => at(hidden_TH, t))));
      columns[t] = probs_LV.map((probs_V) => bestTokens(probs_V, 1)[0]);
      send({ position: t, column: columns[t] });
    }
    return { tokens: input.tokens, columns };
  },

  /** Everything that a test compares with Python, for many inputs. */
  async trace({ inputs }) {
    return inputs.map(({ a, b, off }) => {
      const input = encode(a, b);
      const { hidden_LTH, probs_LNTT } = model.run(input.ids, input.types, new Set(off ?? []));
      const { leftToRight } = model.config;
      const canFill = model.weights.has("heads.mlm.bias") && !leftToRight;
      const canPair = model.weights.has("heads.nsp.bias") && !leftToRight;
      return {
        ids: input.ids, hidden: hidden_LTH, probs: probs_LNTT,
        masks: canFill ? predictAt(hidden_LTH.at(-1), masksOf(input, false)) : [],
        next: canPair ? model.predictNext(at(hidden_LTH.at(-1), 0)) : [],
      };
    });
  },

  async tokenize({ texts }) {
    return texts.map((text) => tokenizer.tokenize(text));
  },
};

/** Encode one text or two. Throws InputError if a text is empty or the input too long. */
function encode(a, b) {
  const input = tokenizer.encode(a, b);
  const hasText = (type) => input.tokens.some((_, t) => input.types[t] === type && !input.added[t]);
  if (!hasText(0)) throw new InputError("errorEmpty");
  if (b !== null && !hasText(1)) throw new InputError("errorSecondEmpty");
  if (input.ids.length > maxTokens) throw new InputError("errorTooLong", [input.ids.length, maxTokens]);
  return input;
}

/** The positions of [MASK]. Throws InputError if there is none and one is required. */
function masksOf(input, isRequired = true) {
  const masks = [...input.tokens.keys()].filter((t) => input.tokens[t] === "[MASK]");
  if (isRequired && !masks.length) throw new InputError("errorNoMask");
  return masks;
}

/** The prediction on which the effect of heads is measured: the position t of a token, and a function from hidden states of this token to lists of probabilities. */
function predictionOf(input, b) {
  const { hiddenSize: H } = model.config;
  const predictNextOfRows = (hidden_RH) => Array.from({ length: hidden_RH.length / H }, (_, r) => model.predictNext(at(hidden_RH, r)));
  if (b !== null) return { t: 0, predict: predictNextOfRows };
  if (!model.weights.has("heads.mlm.bias")) throw new InputError("errorSecondEmpty");
  return { t: masksOf(input)[0], predict: (hidden_RH) => model.predictTokens(hidden_RH) };
}

/** All heads that `measured`, a list of "layer.head", lacks; those of the last layer first. */
function headsToMeasure(measured) {
  const { numLayers: L, numHeads: N } = model.config;
  const all = Array.from({ length: L * N }, (_, i) => ({ layer: L - 1 - Math.floor(i / N), head: i % N }));
  return all.filter(({ layer, head }) => !measured.includes(`${layer}.${head}`));
}

function splitIntoGroups(list, size) {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
}

/** Predict the tokens at some positions. */
function predictAt(hidden_TH, positions) {
  return model.predictTokens(joinRows(positions.map((t) => at(hidden_TH, t))));
}

function joinRows(rows) {
  const joined = new Float32Array(rows.length * model.config.hiddenSize);
  rows.forEach((row, i) => joined.set(row, i * model.config.hiddenSize));
  return joined;
}

/** Row t of hidden_TH. */
function at(hidden_TH, t) {
  const H = model.config.hiddenSize;
  return hidden_TH.subarray(t * H, (t + 1) * H);
}

/** The ids of the largest probabilities, the largest first. */
function bestIds(probs, count) {
  const ids = [];
  for (let id = 0; id < probs.length; id++) {
    if (ids.length === count && probs[id] <= probs[ids.at(-1)]) continue;
    let place = ids.length;
    while (place > 0 && probs[id] > probs[ids[place - 1]]) place--;
    ids.splice(place, 0, id);
    if (ids.length > count) ids.pop();
  }
  return ids;
}

/** The tokens with the largest probabilities, the largest first: [{token, prob}]. */
function bestTokens(probs, count) {
  return bestIds(probs, count).map((id) => ({ token: tokenizer.tokens[id], prob: probs[id] }));
}

function logOdds(prob) {
  const bounded = Math.min(Math.max(prob, 1e-7), 1 - 1e-7);
  return Math.log(bounded / (1 - bounded));
}

/** Let the worker receive messages. */
function pause() {
  return new Promise((resolve) => { setTimeout(resolve); });
}

self.onmessage = async ({ data: request }) => {
  if (request.kind === "weights") {
    weightReader.add(request.text);
    return;
  }
  newest = request.id;
  const answer = (message) => self.postMessage({ id: request.id, ...message });
  try {
    const isCurrent = () => request.id === newest;
    answer({ result: await HANDLERS[request.kind](request, isCurrent, (part) => answer({ part })) });
  } catch (error) {
    if (!(error instanceof InputError)) console.error(error);
    answer({ error: { id: error.id ?? "errorFailed", parameters: error.parameters ?? [] } });
  }
};
self.postMessage({ id: null }); // tells the page that the worker runs
